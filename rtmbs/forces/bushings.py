"""Bushings: a 6 x 6 stiffness and damping between two frames, a preload, and a curve for each of the six axes.

Deformations q = (r, theta) are taken in axes of marker a: r from a to b, and theta the rotation vector of b seen from
a, R = exp(theta~), of less than half a turn. With p = preload - K q - curves(q) - C qd the bushing gives b, at its
marker, f = p_r and n = J^-T p_theta, where w = J thetad, J = T^T of ``rtmbs.numerics.rotations`` (METHODS 1.29). So
q . K q / 2 is the exact energy of every symmetric K.

Curves of force over deformation are monotone cubic splines, straight beyond their ends; ``knots`` (k, 6) counts the
points of a curve, and 0 stands for no curve.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rtmbs.forces.algebra import relative_motion, wrench_at
from rtmbs.forces.frames import relative_change, world_variation, world_wrench
from rtmbs.forces.frames import relative_motion as seen_motion
from rtmbs.forces.kind import XYZ, BuildContext, DrawnLine, ForceKernels, ForceKind, Measure, ends_of, integers
from rtmbs.jit.compiled import inner_kernel, merged_kernel
from rtmbs.jit.struct import struct
from rtmbs.model.forces import BUSHING_AXES, Bushing, Force
from rtmbs.numerics.rotations import plain
from rtmbs.numerics.rotations.kernels import inverse_change, inverse_factor, inverse_jacobian, inverse_slope, logarithm
from rtmbs.numerics.rotations.plain import turn
from rtmbs.numerics.spatial import add3, dot3

# mypy: allow-untyped-defs, allow-untyped-calls


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
    """Return forces and slopes of all curves (6 each), and the energy that they store."""
    a, b, c = one_curve(table, k, 0, q[0]), one_curve(table, k, 1, q[1]), one_curve(table, k, 2, q[2])
    d, e, f = one_curve(table, k, 3, q[3]), one_curve(table, k, 4, q[4]), one_curve(table, k, 5, q[5])
    forces, slopes = (a[0], b[0], c[0], d[0], e[0], f[0]), (a[1], b[1], c[1], d[1], e[1], f[1])
    return forces, slopes, a[2] + b[2] + c[2] + d[2] + e[2] + f[2]


def page_curves(xp, bushings, q):
    """Return the forces of the curves (B, nb, 6): each piece from its start up to q or its end, summed."""
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


# mypy: allow-untyped-defs, allow-untyped-calls


Array = Any
DAMPING, PRELOAD = 36, 72  # places among the slots of a bushing; the stiffness comes first
SIZE = 78


@struct
class Bushings(NamedTuple):
    """Bushings between two frames; a curve is a monotone cubic spline, straight beyond its ends."""

    connector: Array  # (nb,) int64
    frame_a: Array  # (nb, 3, 4): marker axes to dof axes of a, and the marker's point in dof axes [m]
    frame_b: Array  # (nb, 3, 4): the same on b
    knots: Array  # (nb, 6) int64: points of the curve of each axis; 0: none
    place: Array  # (nb, 6, points) deformation at the points, ascending [m, rad]
    force: Array  # (nb, 6, points) resisting force there [N, N m]
    rise: Array  # (nb, 6, points) its derivative
    stored: Array  # (nb, 6, points) its integral from zero deformation [J]
    slot: Array  # (nb,) int64: slot of K (36, row by row), C (36), preload f, n


# ----------------------------------------------------------------------------------------------------------- building


def build(forces: Sequence[Force], site: BuildContext) -> Bushings:
    """Return the bushings of a model."""
    connector, slot, ends, curves = [], [], [], []
    for force in forces:
        assert isinstance(force.law, Bushing)
        ends.append(ends_of(force, site))
        connector.append(site.connect(ends[-1][0].dof, ends[-1][1].dof))
        slot.append(site.parameters(force))
        curves.append([getattr(force.law, f"curve_{axis}") for axis in BUSHING_AXES])
    count, longest = len(ends), max((len(one) for own in curves for one in own if one is not None), default=0)
    knots, columns = np.zeros((count, 6), np.int64), np.zeros((4, count, 6, longest))
    for k, own in enumerate(curves):
        for axis, points in enumerate(own):
            if points is not None:
                knots[k, axis] = len(points)
                columns[:, k, axis, : len(points)] = spline(points)
    frames = [np.array([pair[side].frame for pair in ends]).reshape(count, 3, 4) for side in (0, 1)]
    curved = dict(zip(("place", "force", "rise", "stored"), columns, strict=True))
    return Bushings(integers(connector), frames[0], frames[1], knots, slot=integers(slot), **curved)


# ------------------------------------------------------------------------------------------------------------ kernels


@merged_kernel
def table(tables):
    """Return the bushings."""
    return tables.forces.bushings


@inner_kernel
def product_row(u, slot, q):
    """Return six numbers of ``u`` times q."""
    return (
        u[slot] * q[0] + u[slot + 1] * q[1] + u[slot + 2] * q[2]
        + u[slot + 3] * q[3] + u[slot + 4] * q[4] + u[slot + 5] * q[5]
    )  # fmt: skip


@inner_kernel
def product(u, slot, q):
    """Return the 6 x 6 matrix in ``u``, row by row, times q."""
    return (
        product_row(u, slot, q), product_row(u, slot + 6, q), product_row(u, slot + 12, q),
        product_row(u, slot + 18, q), product_row(u, slot + 24, q), product_row(u, slot + 30, q),
    )  # fmt: skip


@inner_kernel
def state(tables, k, ws):
    """Return q and qd (6 each), theta, b of J^-1 and its derivative, and w of bushing ``k``."""
    r, R, v, w = seen_motion(tables.forces.bushings, k, tables.connectors, ws)
    theta = logarithm(R)
    square = dot3(theta, theta)
    b = inverse_factor(square)
    thetad = inverse_jacobian(theta, b, w, -1.0)
    q = (r[0], r[1], r[2], theta[0], theta[1], theta[2])
    return q, (v[0], v[1], v[2], thetad[0], thetad[1], thetad[2]), theta, b, inverse_slope(square, b), w


@inner_kernel
def load(tables, k, u, q, qd):
    """Return p = preload - K q - curves(q) - C qd as two triples, and the slopes of the curves."""
    slot = tables.forces.bushings.slot[k]
    forces, slopes, _ = curves(tables.forces.bushings, k, q)
    K, C = product(u, slot, q), product(u, slot + DAMPING, qd)
    first = slot + PRELOAD
    p = (
        u[first] - K[0] - C[0] - forces[0],
        u[first + 1] - K[1] - C[1] - forces[1],
        u[first + 2] - K[2] - C[2] - forces[2],
    )
    m = (
        u[first + 3] - K[3] - C[3] - forces[3],
        u[first + 4] - K[4] - C[4] - forces[4],
        u[first + 5] - K[5] - C[5] - forces[5],
    )
    return p, m, slopes


@inner_kernel
def wrench(tables, k, u, ws):
    """Wrench of bushing ``k`` on dof b."""
    q, qd, theta, b, _, _ = state(tables, k, ws)
    p, m, _ = load(tables, k, u, q, qd)
    return world_wrench(tables.forces.bushings, k, tables.connectors, p, inverse_jacobian(theta, b, m, 1.0), ws)


@inner_kernel
def variation(tables, k, side, X, dV, u, ws):
    """Change of the wrench on b when the end ``side`` moves by the twist X and its velocity by dV."""
    bushings, connectors = tables.forces.bushings, tables.connectors
    q, qd, theta, b, rise, w = state(tables, k, ws)
    p, m, slopes = load(tables, k, u, q, qd)
    dr, turned, dv, dw = relative_change(bushings, k, connectors, side, X, dV, ws)
    change = inverse_jacobian(theta, b, turned, -1.0)
    rate = add3(inverse_jacobian(theta, b, dw, -1.0), inverse_change(theta, b, rise, change, w, -1.0))
    dq = (dr[0], dr[1], dr[2], change[0], change[1], change[2])
    K = product(u, bushings.slot[k], dq)
    C = product(u, bushings.slot[k] + DAMPING, (dv[0], dv[1], dv[2], rate[0], rate[1], rate[2]))
    dp = (-K[0] - C[0] - slopes[0] * dq[0], -K[1] - C[1] - slopes[1] * dq[1], -K[2] - C[2] - slopes[2] * dq[2])
    dm = (-K[3] - C[3] - slopes[3] * dq[3], -K[4] - C[4] - slopes[4] * dq[4], -K[5] - C[5] - slopes[5] * dq[5])
    n = inverse_jacobian(theta, b, m, 1.0)
    dn = add3(inverse_jacobian(theta, b, dm, 1.0), inverse_change(theta, b, rise, change, m, 1.0))
    return world_variation(bushings, k, connectors, side, X, p, n, dp, dn, ws)


@inner_kernel
def energy(tables, k, u, ws):
    """Return the elastic energy less preload . q, no other potential, and damping with the asymmetric part of K."""
    bushings = tables.forces.bushings
    q, _, _, _, _, _ = state(tables, k, ws)
    slot = bushings.slot[k]
    K, first = product(u, slot, q), slot + PRELOAD
    _, _, stored = curves(bushings, k, q)
    untold = 0.0
    for i in range(6):
        stored += (0.5 * K[i] - u[first + i]) * q[i]
        for j in range(6):
            untold += abs(u[slot + 6 * i + j] - u[slot + 6 * j + i]) + abs(u[slot + DAMPING + 6 * i + j])
    return stored, 0.0, untold


@inner_kernel
def measure(tables, k, u, ws, out):
    """Write q, qd, f and n on b in axes of a, and the energy."""
    q, qd, theta, b, _, _ = state(tables, k, ws)
    p, m, _ = load(tables, k, u, q, qd)
    n = inverse_jacobian(theta, b, m, 1.0)
    for i in range(6):
        out[i], out[6 + i] = q[i], qd[i]
    for i in range(3):
        out[12 + i], out[15 + i] = p[i], n[i]
    out[18] = energy(tables, k, u, ws)[0]


# ----------------------------------------------------------------------------------------------------------- readable


def page(xp, tables, u, A, r, V):
    """Return the wrenches (B, nb, 6), readable."""
    bushings = tables.forces.bushings
    frames = bushings.frame_a, bushings.frame_b
    axes, x, r, R, v, w = relative_motion(xp, tables.connectors, bushings.connector, *frames, A, r, V)
    theta, slot = plain.logarithm(xp, R), bushings.slot[:, None]
    q = xp.concatenate((r, theta), axis=-1)
    qd = xp.concatenate((v, plain.inverse_jacobian(xp, theta, w, -1.0)), axis=-1)
    K, C = (u[slot + first + np.arange(36)].reshape(len(slot), 6, 6) for first in (0, DAMPING))
    p = u[slot + PRELOAD + np.arange(6)] - turn(xp, K, q) - turn(xp, C, qd) - page_curves(xp, bushings, q)
    return wrench_at(xp, axes, x, p[..., :3], plain.inverse_jacobian(xp, theta, p[..., 3:], 1.0))


# -------------------------------------------------------------------------------------------------- channels, drawing


def channels(bushings: Bushings, row: int) -> tuple[Measure, ...]:
    """Return deformations, their rates, force and torque on b, in axes of marker a, and the energy."""
    frame = "marker a"  # the axes
    return (
        Measure("displacement", "m", 0, XYZ, frame),
        Measure("rotation", "rad", 3, XYZ, frame),
        Measure("displacement_rate", "m/s", 6, XYZ, frame),
        Measure("rotation_rate", "rad/s", 9, XYZ, frame),
        Measure("force", "N", 12, XYZ, frame),
        Measure("torque", "N m", 15, XYZ, frame),
        Measure("energy", "J", 18),
    )


def drawing(bushings: Bushings, row: int) -> DrawnLine:
    """Return a block in the axes of marker a, and a bar to b where the two are apart."""
    return DrawnLine("block", bushings.frame_a[row, :, 3], bushings.frame_b[row, :, 3], bushings.frame_a[row, :, :3])


BUSHINGS = ForceKind(
    name="bushings",
    word="bushing",
    table=Bushings,
    size=SIZE,
    units={"stiffness": "N/m, N, N m/rad", "damping": "N s/m, N s, N m s/rad", "force": "N", "torque": "N m"},
    kernels=ForceKernels(table, wrench, variation, energy),
    build=build,
    page=page,
    measured=19,
    measure=measure,
    channels=channels,
    drawing=drawing,
)
