"""Constrained motions with equations of reduced coordinates beside them: slider-crank, free body, sleigh.

``rows`` repeats every holonomic row, so that the rows depend on each other.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from rtmbs.formulations import FunctionSystem

Array = NDArray[np.float64]
GRAVITY = 9.81
FINE = 1e-13, 1e-14  # relative and absolute tolerance of references
MOVED, COARSE = 1e-5, (1e-9, 1e-10)  # change of the start that shows the growth, and tolerances for it


class ReducedMotion(NamedTuple):
    """A constrained system, its start, and the reduced equations y' = rates(t, y) with the place q of y."""

    system: FunctionSystem
    q: Array  # (n,)
    v: Array  # (n,)
    rates: Callable[[float, Array], Any]
    start: Array  # of y
    place: Callable[[Array, float], Array]
    size: Array  # (n,) units of q

    def end(self, span: float, start: Array | None = None, tolerances: tuple[float, float] = FINE) -> Array:
        """Return y after ``span`` [s] by DOP853."""
        y0 = self.start if start is None else start
        found = solve_ivp(self.rates, (0.0, span), y0, "DOP853", rtol=tolerances[0], atol=tolerances[1])
        return np.asarray(found.y[:, -1])

    def growth(self, span: float) -> float:
        """Return the largest change of q at the end for a change of the start, in their sizes; at least one."""
        found, kept = 1.0, self.place(self.end(span, None, COARSE), span)
        for i in range(len(self.start)):
            moved = self.start.copy()
            moved[i] += (step := MOVED * max(1.0, abs(moved[i])))
            there = self.place(self.end(span, moved, COARSE), span) - kept
            found = max(found, float(np.abs(there / self.size).max()) / step)
        return found


def slider_crank(crank: float, rod: float, inertia: Array, start: Array, rows: int = 1) -> ReducedMotion:
    """Return a planar slider-crank in five coordinates: crank, centre and angle of the rod, slider.

    ``crank``, ``rod`` are lengths [m], ``inertia`` (5,) the diagonal of the mass matrix, ``start`` the angle [rad] and
    rate [rad/s] of the crank.
    """
    M, weight, ratio = np.diag(inertia), np.array([0.0, 0.0, -GRAVITY * inertia[1], 0.0, 0.0]), crank / rod

    def loops(q: Any, t: Any, xp: Any = np) -> Any:
        c, s, cr, sr = xp.cos(q[0]), xp.sin(q[0]), xp.cos(q[3]), xp.sin(q[3])
        near = [q[1] - rod / 2 * cr - crank * c, q[2] - rod / 2 * sr - crank * s]
        return [*near, q[1] + rod / 2 * cr - q[4], q[2] + rod / 2 * sr] * rows

    def place(y: Array, t: float) -> Array:
        turn = -np.arcsin(ratio * np.sin(y[0]))
        x, z = crank * np.cos(y[0]), crank * np.sin(y[0])
        return np.array([y[0], x + rod / 2 * np.cos(turn), z + rod / 2 * np.sin(turn), turn, x + rod * np.cos(turn)])

    def ways(y: Array) -> tuple[Array, Array]:
        """Return dq/dangle, and its rate."""
        s, c, w = np.sin(y[0]), np.cos(y[0]), y[1]
        turn = -np.arcsin(ratio * s)
        sr, cr = np.sin(turn), np.cos(turn)
        b = -ratio * c / cr
        bd = ratio * s * w / cr + b * sr / cr * b * w
        N = np.array([1.0, -crank * s - rod / 2 * sr * b, crank * c + rod / 2 * cr * b, b, -crank * s - rod * sr * b])
        over, up = cr * b * b * w + sr * bd, -sr * b * b * w + cr * bd
        along, across = -crank * c * w, -crank * s * w
        return N, np.array([0.0, along - rod / 2 * over, across + rod / 2 * up, bd, along - rod * over])

    def rates(t: float, y: Array) -> Array:
        N, Nd = ways(y)
        return np.array([y[1], N @ (weight - M @ Nd * y[1]) / (N @ M @ N)])

    system = FunctionSystem(5, 4 * rows, lambda q, t: M, lambda q, v, t: weight + 0.0 * v, loops)
    return ReducedMotion(system, place(start, 0.0), ways(start)[0] * start[1], rates, start, place, np.ones(5))


def satellite(moments: Array, p: Array, w: Array, rows: int = 1) -> ReducedMotion:
    """Return a free body in Euler parameters, whose mass matrix is singular, and Euler's equations.

    ``moments`` (3,) are its moments of inertia [kg m2], ``p`` (4,) its attitude, ``w`` (3,) its rate [rad/s].
    """
    J = np.diag(moments)

    def L(p: Any) -> Any:
        a, b, c, d = p
        return np.array([[-b, a, d, -c], [-c, -d, a, b], [-d, c, -b, a]])

    def rates(t: float, y: Array) -> Array:
        w = y[4:]
        return np.concatenate((0.5 * L(y[:4]).T @ w, np.linalg.solve(J, np.cross(J @ w, w))))

    system = FunctionSystem(
        4,
        rows,
        lambda p, t: 4.0 * L(p).T @ J @ L(p),
        lambda p, v, t: -8.0 * L(v).T @ (J @ (L(p) @ v)),
        lambda p, t: [p[0] ** 2 + p[1] ** 2 + p[2] ** 2 + p[3] ** 2 - 1.0] * rows,
    )
    start = np.concatenate((p, w))
    return ReducedMotion(system, p, 0.5 * L(p).T @ w, rates, start, lambda y, t: y[:4], np.ones(4))


def sleigh(m: float, a: float, inertia: float, start: Array, rows: int = 1) -> ReducedMotion:
    """Return Chaplygin's sleigh, a knife edge behind its mass centre; its rate constraint is there ``rows`` times.

    ``m`` is its mass [kg], ``a`` the distance of the mass centre [m], ``inertia`` about it [kg m2], ``start`` (5,) is
    x, y [m], heading [rad], speed along it [m/s], and turning rate [rad/s].
    """

    def mass(q: Any, t: Any) -> Any:
        s, c = m * a * np.sin(q[2]), m * a * np.cos(q[2])
        return np.array([[m, 0.0, -s], [0.0, m, c], [-s, c, inertia + m * a * a]])

    system = FunctionSystem(
        3,
        0,
        mass,
        lambda q, v, t: m * a * v[2] ** 2 * np.array([np.cos(q[2]), np.sin(q[2]), 0.0]),
        lambda q, t: [],
        rate_constraints=lambda q, v, t: [np.sin(q[2]) * v[0] - np.cos(q[2]) * v[1]] * rows,
        rate_rows=rows,
    )

    def rates(t: float, y: Array) -> Array:
        u, w = y[3:]
        return np.array([u * np.cos(y[2]), u * np.sin(y[2]), w, a * w * w, -m * a * u * w / (inertia + m * a * a)])

    heading, u, w = start[2:]
    v = np.array([u * np.cos(heading), u * np.sin(heading), w])
    return ReducedMotion(system, start[:3], v, rates, start, lambda y, t: y[:3], np.ones(3))
