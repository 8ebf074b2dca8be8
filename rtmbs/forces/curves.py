"""Curves of force over deformation: monotone cubic splines, straight beyond their ends.

One for each of six axes; ``knots`` (k, 6) counts the points of a curve, and 0 stands for no curve.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from typing import Any

import numpy as np

from rtmbs.jit.compiled import inner_kernel


def spline(points: Any) -> Any:
    """Return places, forces, slopes and integrals (4, n) of the monotone cubic through points (n, 2).

    Slopes are weighted harmonic means of the neighbouring ones, and zero at a turning point (Fritsch and Butland 1984);
    at the ends those of the first and the last chord. So the force never overshoots and its derivative is continuous.
    """
    x, f = points.T
    h, chord = np.diff(x), np.diff(f) / np.diff(x)
    rise = np.concatenate((chord[:1], np.zeros(len(x) - 2), chord[-1:]))
    for i in range(1, len(x) - 1):
        if chord[i - 1] * chord[i] > 0.0:
            w, v = 2.0 * h[i] + h[i - 1], h[i] + 2.0 * h[i - 1]
            rise[i] = (w + v) / (w / chord[i - 1] + v / chord[i])
    areas = h * (f[:-1] + f[1:]) / 2.0 + h * h * (rise[:-1] - rise[1:]) / 12.0
    stored = np.concatenate((np.zeros(1), np.cumsum(areas)))
    columns = np.array((x, f, rise, stored))
    columns[3] -= curve_values(x, f, rise, stored, len(x), np.float64(0.0))[2]
    return columns


def curve_values(place, force, rise, stored, knots, q):
    """Return force, its derivative and its integral of one curve at deformation ``q``."""
    last = knots - 1
    if q.real <= place[0] or q.real >= place[last]:
        i = 0 if q.real <= place[0] else last
        x = q - place[i]
        return force[i] + rise[i] * x, rise[i] + 0.0 * x, stored[i] + (force[i] + 0.5 * rise[i] * x) * x
    i = 0
    while q.real >= place[i + 1]:
        i += 1
    h, step = place[i + 1] - place[i], force[i + 1] - force[i]
    t = (q - place[i]) / h
    one, two = h * rise[i], 3.0 * step - h * (2.0 * rise[i] + rise[i + 1])
    three = h * (rise[i] + rise[i + 1]) - 2.0 * step
    value = force[i] + t * (one + t * (two + t * three))
    area = t * (force[i] + t * (one / 2.0 + t * (two / 3.0 + t * three / 4.0)))
    return value, (one + t * (2.0 * two + t * 3.0 * three)) / h, stored[i] + h * area


curve_kernel = inner_kernel(curve_values)


@inner_kernel
def one_curve(table, k, axis, q):
    """Return force, derivative and integral of the curve of one axis; zeros where there is none."""
    if table.knots[k, axis] == 0:
        return 0.0 * q, 0.0 * q, 0.0 * q
    place, force = table.place[k, axis], table.force[k, axis]
    return curve_kernel(place, force, table.rise[k, axis], table.stored[k, axis], table.knots[k, axis], q)


@inner_kernel
def curves(table, k, q):
    """Return forces and slopes of all curves (6 each), and what they store."""
    a, b, c = one_curve(table, k, 0, q[0]), one_curve(table, k, 1, q[1]), one_curve(table, k, 2, q[2])
    d, e, f = one_curve(table, k, 3, q[3]), one_curve(table, k, 4, q[4]), one_curve(table, k, 5, q[5])
    forces, slopes = (a[0], b[0], c[0], d[0], e[0], f[0]), (a[1], b[1], c[1], d[1], e[1], f[1])
    return forces, slopes, a[2] + b[2] + c[2] + d[2] + e[2] + f[2]


def page_curves(xp, bushings, q):
    """Return what the curves resist with (B, nb, 6): each of their pieces from its start up to q or its end, summed."""
    if not np.any(bushings.knots):
        return 0 * q
    many, columns = getattr(xp, "whole", xp), []
    for k, axis in np.ndindex(bushings.knots.shape):
        own = k, axis, slice(bushings.knots[k, axis])
        x, f, rise = bushings.place[own], bushings.force[own], bushings.rise[own]
        here = q[:, k, axis]
        if len(x) == 0:
            columns.append(0 * here)
            continue
        total = f[0] + rise[0] * many.minimum(here - x[0], 0.0) + rise[-1] * many.maximum(here - x[-1], 0.0)
        for i, h in enumerate(np.diff(x)):
            t, step = many.minimum(many.maximum((here - x[i]) / h, 0.0), 1.0), f[i + 1] - f[i]
            two, three = 3 * step - h * (2 * rise[i] + rise[i + 1]), h * (rise[i] + rise[i + 1]) - 2 * step
            total = total + t * (h * rise[i] + t * (two + t * three))
        columns.append(total)
    return xp.stack(columns, axis=1).reshape(q.shape)
