"""Constrained systems with equations of reduced coordinates beside them, for work over error and for the survey.

A case is a system, its start q and v, the end [s], q there by the reduced equations, and these: their
rates f(t, y), start and the place q of y. Andrews' squeezer has no reduced equations here.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from bench import reduced_motions
from bench.methods.problems import ANDREWS_END, ANDREWS_START, andrews_system
from rtmbs import library
from rtmbs.formulations import FunctionSystem, JointCoordinates
from rtmbs.formulations.function_system import CRANK, ROD
from rtmbs.library import references

Array = NDArray[np.float64]


class Reduced(NamedTuple):
    """Equations of reduced coordinates."""

    rates: Callable[[float, Array], Any]
    start: Array
    place: Callable[[Array], Array]


class Case(NamedTuple):
    """A motion and its end."""

    system: Any
    q: Array
    v: Array
    t_end: float  # [s]
    end: Array
    reduced: Reduced | None
    mechanism: Any = None  # compiled System whose start is q and v, for runs of a Simulation


def slider_crank_case():
    """Return the slider-crank."""
    inertia = np.array([0.01, 0.5, 0.5, 0.015, 1.0])
    return case_of(reduced_motions.slider_crank(CRANK, ROD, inertia, np.array([0.7, 2.0])), 1.0)


def satellite_case():
    """Return a free body in Euler parameters, mass matrix singular."""
    p, w = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.1, 3.0, 0.2])
    return case_of(reduced_motions.satellite(np.array([1.0, 2.3, 2.9]), p, w), 4.0)


def sleigh_case():
    """Return Chaplygin's sleigh, a knife edge."""
    return case_of(reduced_motions.sleigh(1.3, 0.4, 0.3, np.array([0.0, 0.0, 0.0, 0.3, 1.8])), 2.0)


def case_of(motion, t_end):
    """Return a case of a motion with its reduced equations and its end at a time [s]."""
    place = lambda y: motion.place(y, t_end)  # noqa: E731
    return Case(
        motion.system, motion.q, motion.v, t_end, place(motion.end(t_end)), Reduced(motion.rates, motion.start, place)
    )


def rolling_disc_case():
    """Return a disc that rolls on a plane, 0.5 m and 2 kg, and its equations of moments about the contact.

    Coordinates are the contact point x, y [m], the yaw, the lean from the vertical and the roll [rad].
    """
    m, r, g = 2.0, 0.5, 9.81
    A, C = 0.25 * m * r * r, 0.5 * m * r * r
    inertia = np.array([m, m, m, A, A, C])

    def ways(q):
        """Return velocities of the centre along heading, across and up, and rates about the axes of the frame, by v."""
        cp, sp, ct, st = np.cos(q[2]), np.sin(q[2]), np.cos(q[3]), np.sin(q[3])
        return np.array([
            [cp, sp, -r * st, 0.0, 0.0], [-sp, cp, 0.0, r * ct, 0.0], [0.0, 0.0, 0.0, -r * st, 0.0],
            [0.0, 0.0, 0.0, -1.0, 0.0], [0.0, 0.0, ct, 0.0, 0.0], [0.0, 0.0, st, 0.0, 1.0],
        ])  # fmt: skip

    def mass(q, t):
        J = ways(q)
        return J.T @ (inertia[:, None] * J)

    def force(q, v, t):
        ct, st, yaw, lean = np.cos(q[3]), np.sin(q[3]), v[2], v[3]
        w1, w2, w3 = -lean, yaw * ct, v[4] + yaw * st
        frame3 = yaw * st
        turning = np.array([w2 * C * w3 - frame3 * A * w2, frame3 * A * w1 - w1 * C * w3, 0.0])
        bias = np.array([
            -2.0 * r * ct * lean * yaw, -r * st * (lean**2 + yaw**2), -r * ct * lean**2 + g,
            0.0, -yaw * lean * st, yaw * lean * ct,
        ])  # fmt: skip
        return -ways(q).T @ (inertia * bias + np.concatenate((np.zeros(3), turning)))

    def rolling(q, v, t, xp=np):
        return [v[0] + r * v[4] * xp.cos(q[2]), v[1] + r * v[4] * xp.sin(q[2])]

    names = {"coordinate_names": ["x", "y", "yaw", "lean", "roll"], "rate_row_names": ["slip x", "slip y"]}
    system = FunctionSystem(5, 0, mass, force, lambda q, t: [], rate_constraints=rolling, rate_rows=2, **names)

    def rates(t, y):
        (yaw, lean), (w1, w2, w3) = y[2:4], y[5:]
        f3 = w2 * np.tan(lean)
        roll = w3 - f3
        return np.array([
            -r * roll * np.cos(yaw), -r * roll * np.sin(yaw), w2 / np.cos(lean), -w1, roll,
            (f3 * A * w2 - w2 * C * w3 - m * r * (r * w2 * w3 + g * np.sin(lean))) / (A + m * r * r),
            (w1 * C * w3 - f3 * A * w1) / A,
            m * r * r * w2 * w1 / (C + m * r * r),
        ])  # fmt: skip

    y0, t_end = np.array([0.0, 0.0, 0.3, 0.2, 0.0, 0.1, 0.8, -6.0]), 2.0
    place = lambda y: y[:5]  # noqa: E731
    end = exact_end(rates, y0, t_end, place)
    return Case(system, y0[:5], rates(0.0, y0)[:5], t_end, end, Reduced(rates, y0, place))


def andrews_case():
    """Return Andrews' squeezer as functions that can be recorded, and the end of the test set."""
    at = andrews_system()
    bodies, n = len(at.masses), at.n
    spring, a, b = at.springs[0], at.fixtures, at.fixtures + 1

    def arms(q):
        angle = at.angles @ q + at.phases
        return at.lengths * np.cos(angle), at.lengths * np.sin(angle)

    def ways(q):
        """Return the derivatives of all places along x and y, (k, n) each."""
        x, y = arms(q)
        return at.sums @ (-y[:, None] * at.angles), at.sums @ (x[:, None] * at.angles)

    def mass(q, t):
        X, Y = (way[:bodies] for way in ways(q))
        return X.T @ (at.masses[:, None] * X) + Y.T @ (at.masses[:, None] * Y) + at.rotation

    def force(q, v, t):
        (x, y), (X, Y), square = arms(q), ways(q), (at.angles @ v) ** 2
        F = at.torques + X[:bodies].T @ (at.masses * (at.sums @ (x * square))[:bodies])
        F = F + Y[:bodies].T @ (at.masses * (at.sums @ (y * square))[:bodies])
        over, up = at.sums[b] @ x + at.origins[b, 0], at.sums[b] @ y + at.origins[b, 1]
        over, up = over - at.sums[a] @ x - at.origins[a, 0], up - at.sums[a] @ y - at.origins[a, 1]
        length = np.sqrt(over * over + up * up)
        pull = spring.stiffness * (length - spring.length) / length
        return F + pull * (over * (X[a] - X[b]) + up * (Y[a] - Y[b]))

    def loops(q, t):
        x, y = arms(q)
        ends = at.sums[at.first] - at.sums[at.second]
        gaps = at.origins[at.first] - at.origins[at.second]
        return np.concatenate((ends @ x + gaps[:, 0], ends @ y + gaps[:, 1]))

    system = FunctionSystem(n, at.m, mass, force, loops)
    return Case(system, ANDREWS_START.copy(), np.zeros(n), 0.03, ANDREWS_END, None)


def fourbars_case():
    """Return 4 x 40 four-bars of the paper in joint coordinates, stacked, and the equations of their 40 angles."""
    ny, nz, t_end = 4, 40, 0.2
    mechanism = library.build("fourbar", ny=ny, nz=nz, closure="line").compile()
    system = JointCoordinates(mechanism)
    chain, names = references.Chain(ny, nz), [name.split(".")[0].split("_") for name in system.coordinate_names]
    rows = np.array([int(row) - 1 for _, row, _ in names])
    signs = np.array([1.0 if kind == "pin" else -float(column == "0") for kind, _, column in names])  # couplers slide

    def place(y):
        return signs * y[rows]

    def rates(t, y):
        return np.concatenate((y[nz:], chain(y[:nz], y[nz:])))

    y0 = np.concatenate((np.full(nz, np.radians(30.0)), [0.1], np.zeros(nz - 1)))
    end = exact_end(rates, y0, t_end, place)
    return Case(system, place(y0), signs * y0[nz:][rows], t_end, end, Reduced(rates, y0, place), mechanism)


def swing(speed, span):
    """Return the pendulum of 1 m from its lowest place at a speed [m/s], and the equation of its angle."""
    system = FunctionSystem(
        2,
        1,
        lambda q, t: np.eye(2),
        lambda q, v, t: np.array([0.0, -9.81]),
        lambda q, t: [q[0] ** 2 + q[1] ** 2 - 1],
    )
    rates, y0 = (lambda t, y: np.array([y[1], -9.81 * np.sin(y[0])])), np.array([0.0, speed])
    place = lambda y: np.array([np.sin(y[0]), -np.cos(y[0])])  # noqa: E731
    end = exact_end(rates, y0, span, place)
    return Case(system, np.array([0.0, -1.0]), np.array([speed, 0.0]), span, end, Reduced(rates, y0, place))


PROBLEMS = {
    "slider-crank": slider_crank_case,
    "satellite": satellite_case,
    "sleigh": sleigh_case,
    "rolling disc": rolling_disc_case,
    "andrews": andrews_case,
    "4 x 40 four-bars": fourbars_case,
    "turning pendulum, 50 s": lambda: swing(9.0, 50.0),
}


def exact_end(rates, y0, t_end, place):
    """Return q at the end by the reduced equations."""
    return place(solve_ivp(rates, (0.0, t_end), y0, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1])
