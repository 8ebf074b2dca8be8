"""Random constrained motions with equations of reduced coordinates beside them, for campaigns over solvers.

Lengths, masses, rates and units of length are random. ``rows`` repeats every holonomic row.
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


def pendulum(rng: np.random.Generator, rows: int = 1, turning: bool = False) -> ReducedMotion:
    """Return a pendulum that swings or turns over, in a random unit of length."""
    unit, mass = 10.0 ** rng.uniform(-2.0, 2.0), 10.0 ** rng.uniform(-1.0, 1.0)
    length, gravity = unit * rng.uniform(0.5, 2.0), GRAVITY * unit
    rate = (rng.uniform(2.2, 3.0) if turning else rng.uniform(0.3, 1.6)) * np.sqrt(gravity / length)
    system = FunctionSystem(
        2,
        rows,
        lambda q, t: mass * np.eye(2),
        lambda q, v, t: np.array([0.0 * v[0], -mass * gravity + 0.0 * v[1]]),
        lambda q, t: [(q[0] ** 2 + q[1] ** 2) / length - length] * rows,
    )

    def place(y: Array, t: float) -> Array:
        return length * np.array([np.sin(y[0]), -np.cos(y[0])])

    start = np.array([0.0, rate])
    return ReducedMotion(
        system, place(start, 0.0), np.array([length * rate, 0.0]),
        lambda t, y: [y[1], -gravity / length * np.sin(y[0])], start, place, np.full(2, length),
    )  # fmt: skip


def double_pendulum(rng: np.random.Generator, rows: int = 1) -> ReducedMotion:
    """Return two point masses on rods."""
    a, b = rng.uniform(0.5, 1.5, 2)
    m, k = rng.uniform(0.5, 2.0, 2)
    start = np.array([*rng.uniform(-0.6, 0.6, 2), *rng.uniform(-1.0, 1.0, 2)])
    inertia, weight = np.diag([m, m, k, k]), -GRAVITY * np.array([0.0, m, 0.0, k])
    system = FunctionSystem(
        4,
        2 * rows,
        lambda q, t: inertia,
        lambda q, v, t: weight + 0.0 * v,
        lambda q, t: [q[0] ** 2 + q[1] ** 2 - a**2, (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - b**2] * rows,
    )

    def place(y: Array, t: float) -> Array:
        first = a * np.array([np.sin(y[0]), -np.cos(y[0])])
        return np.append(first, first + b * np.array([np.sin(y[1]), -np.cos(y[1])]))

    def rates(t: float, y: Array) -> list[float]:
        c, s = np.cos(y[0] - y[1]), np.sin(y[0] - y[1])
        M = np.array([[(m + k) * a, k * b * c], [a * c, b]])
        right = [-k * b * s * y[3] ** 2 - (m + k) * GRAVITY * np.sin(y[0]), a * s * y[2] ** 2 - GRAVITY * np.sin(y[1])]
        return [y[2], y[3], *np.linalg.solve(M, right)]

    w, c, s = start[2:], np.cos(start[:2]), np.sin(start[:2])
    v = np.array([a * c[0] * w[0], a * s[0] * w[0], b * c[1] * w[1], b * s[1] * w[1]])
    v[2:] += v[:2]
    return ReducedMotion(system, place(start, 0.0), v, rates, start, place, np.full(4, a + b))


def driven_pendulum(rng: np.random.Generator, rows: int = 1) -> ReducedMotion:
    """Return a pendulum under drag with a pivot and a length that time moves."""
    drag, pace, reach = rng.uniform(0.1, 0.5), rng.uniform(1.0, 3.0), rng.uniform(0.6, 1.2)
    move, stretch = rng.uniform(0.1, 0.4), rng.uniform(0.0, 0.1)

    def pivot(t: float) -> tuple[float, float, float]:
        c, s = np.cos(pace * t), np.sin(pace * t)
        return move * s, move * pace * c, -move * pace**2 * s

    def length(t: float) -> tuple[float, float]:
        return reach + stretch * np.cos(3.0 * t), -3.0 * stretch * np.sin(3.0 * t)

    def rates(t: float, y: Array) -> list[float]:
        (_, xd, xdd), (l, ld), (s, c) = pivot(t), length(t), (np.sin(y[0]), np.cos(y[0]))
        return [y[1], -(GRAVITY * s + xdd * c + 2 * ld * y[1] + drag * (xd * c + l * y[1])) / l]

    def place(y: Array, t: float) -> Array:
        return np.array([pivot(t)[0] + length(t)[0] * np.sin(y[0]), -length(t)[0] * np.cos(y[0])])

    def phi(q: Any, t: Any, xp: Any = np) -> Any:
        far = reach + stretch * xp.cos(3.0 * t)
        return [(q[0] - move * xp.sin(pace * t)) ** 2 + q[1] ** 2 - far**2] * rows

    system = FunctionSystem(
        2, rows, lambda q, t: np.eye(2), lambda q, v, t: np.array([-drag * v[0], -GRAVITY - drag * v[1]]), phi
    )
    start = np.array([rng.uniform(-1.0, 1.0), rng.uniform(-2.0, 2.0)])
    (_, xd, _), (l, ld), (s, c) = pivot(0.0), length(0.0), (np.sin(start[0]), np.cos(start[0]))
    v = np.array([xd + ld * s + l * c * start[1], -ld * c + l * s * start[1]])
    return ReducedMotion(system, place(start, 0.0), v, rates, start, place, np.full(2, reach))


def slider_crank(rng: np.random.Generator, rows: int = 1) -> ReducedMotion:
    """Return a planar slider-crank in five coordinates: crank, centre and angle of the rod, slider."""
    crank, rod = rng.uniform(0.15, 0.3), rng.uniform(0.6, 1.2)
    inertia = np.array([rng.uniform(0.01, 0.1), *[rng.uniform(0.2, 1.0)] * 2, 0.03, rng.uniform(0.5, 2.0)])
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

    def rates(t: float, y: Array) -> list[float]:
        N, Nd = ways(y)
        return [y[1], N @ (weight - M @ Nd * y[1]) / (N @ M @ N)]

    start = np.array([rng.uniform(-3.0, 3.0), rng.uniform(3.0, 8.0)])
    system = FunctionSystem(5, 4 * rows, lambda q, t: M, lambda q, v, t: weight + 0.0 * v, loops)
    return ReducedMotion(system, place(start, 0.0), ways(start)[0] * start[1], rates, start, place, np.ones(5))


def satellite(rng: np.random.Generator, rows: int = 1) -> ReducedMotion:
    """Return a free body in Euler parameters, whose mass matrix is singular, and Euler's equations."""
    a, b = rng.uniform(0.5, 2.0, 2)
    J = np.diag([a, b, a + b - rng.uniform(0.1, 0.4)])

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
    p, w = rng.normal(size=4), rng.uniform(-2.0, 2.0, 3)
    p /= np.linalg.norm(p)
    start = np.concatenate((p, w))
    return ReducedMotion(system, p, 0.5 * L(p).T @ w, rates, start, lambda y, t: y[:4], np.ones(4))


def sleigh(rng: np.random.Generator, rows: int = 1) -> ReducedMotion:
    """Return Chaplygin's sleigh, a knife edge behind its mass centre; its rate constraint is there ``rows`` times."""
    m, a, inertia = rng.uniform(0.5, 2.0), rng.uniform(0.2, 0.6), rng.uniform(0.1, 0.5)

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

    def rates(t: float, y: Array) -> list[float]:
        u, w = y[3:]
        return [u * np.cos(y[2]), u * np.sin(y[2]), w, a * w * w, -m * a * u * w / (inertia + m * a * a)]

    heading, u, w = rng.uniform(-3.0, 3.0), rng.uniform(-0.5, 0.5), rng.uniform(0.5, 2.0)
    start = np.array([0.0, 0.0, heading, u, w])
    v = np.array([u * np.cos(heading), u * np.sin(heading), w])
    return ReducedMotion(system, start[:3], v, rates, start, lambda y, t: y[:3], np.ones(3))


MOTIONS: dict[str, Callable[[np.random.Generator], ReducedMotion]] = {
    "pendulum": pendulum,
    "pendulum that turns over": lambda rng: pendulum(rng, turning=True),
    "turning, row twice": lambda rng: pendulum(rng, rows=2, turning=True),
    "double pendulum": double_pendulum,
    "double pendulum, rows twice": lambda rng: double_pendulum(rng, rows=2),
    "driven pendulum": driven_pendulum,
    "slider-crank": slider_crank,
    "slider-crank, rows twice": lambda rng: slider_crank(rng, rows=2),
    "satellite": satellite,
    "sleigh": sleigh,
}
