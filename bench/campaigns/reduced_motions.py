"""Random constrained motions with equations of reduced coordinates beside them, for campaigns over solvers.

Lengths, masses, rates and units of length are random. ``rows`` repeats every holonomic row.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import reduced_motions
from bench.reduced_motions import GRAVITY, ReducedMotion
from rtmbs.formulations import FunctionSystem

Array = NDArray[np.float64]


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
    """Return a planar slider-crank."""
    crank, rod = rng.uniform(0.15, 0.3), rng.uniform(0.6, 1.2)
    inertia = np.array([rng.uniform(0.01, 0.1), *[rng.uniform(0.2, 1.0)] * 2, 0.03, rng.uniform(0.5, 2.0)])
    start = np.array([rng.uniform(-3.0, 3.0), rng.uniform(3.0, 8.0)])
    return reduced_motions.slider_crank(crank, rod, inertia, start, rows)


def satellite(rng: np.random.Generator) -> ReducedMotion:
    """Return a free body in Euler parameters."""
    a, b = rng.uniform(0.5, 2.0, 2)
    moments = np.array([a, b, a + b - rng.uniform(0.1, 0.4)])
    p, w = rng.normal(size=4), rng.uniform(-2.0, 2.0, 3)
    return reduced_motions.satellite(moments, p / np.linalg.norm(p), w)


def sleigh(rng: np.random.Generator) -> ReducedMotion:
    """Return Chaplygin's sleigh."""
    m, a, inertia = rng.uniform(0.5, 2.0), rng.uniform(0.2, 0.6), rng.uniform(0.1, 0.5)
    heading, u, w = rng.uniform(-3.0, 3.0), rng.uniform(-0.5, 0.5), rng.uniform(0.5, 2.0)
    return reduced_motions.sleigh(m, a, inertia, np.array([0.0, 0.0, heading, u, w]))


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
