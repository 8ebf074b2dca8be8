"""Solvers that choose their own steps over every formulation: no hidden drift, and no trial that ends a motion.

A case is a pendulum of two coordinates, with its row once or twice, or a double pendulum of four, with random sizes,
masses, rates and units of length, under a random solver, formulation and tolerance. The reference is the equation of
the angles by DOP853. A case fails when it ends in an error, or is further off than the same solver over the equation of
the angles by a factor. Violations of the solver's own state must be small as well.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from bench.campaigns.campaign import Campaign, Tally
from rtmbs.dae import CVODE, SolveIVP, integrate
from rtmbs.errors import RtmbsError
from rtmbs.formulations import QR, SVD, FunctionSystem, NullSpace, Partitioning, Penalty

Array = NDArray[np.float64]
GRAVITY = 9.81
SOLVERS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", "cvode adams", "cvode bdf")
FORMS = (Partitioning, QR, SVD, NullSpace, Penalty)
TOLERANCES = -6.0, -3.0  # powers of ten
SPAN = 10.0  # [s]
WORST = 100.0  # times the error of the same solver over the angles
FLOOR = 2000.0  # tolerances, beside that: ten turns let an error grow, and that of the other may be small by luck


def pendulum(rng: np.random.Generator, rows: int) -> tuple[FunctionSystem, Array, Array, Any, Any]:
    """Return the system, its start, the rates of (angle, rate), and the places of these."""
    length, mass = 10.0 ** rng.uniform(-1.0, 1.0, 2)
    rate = rng.uniform(0.3, 3.0) * np.sqrt(GRAVITY / length)
    system = FunctionSystem(
        2,
        rows,
        lambda q, t: mass * np.eye(2),
        lambda q, v, t: np.array([0.0, -mass * GRAVITY]),
        lambda q, t: [(q[0] ** 2 + q[1] ** 2) / length - length] * rows,
    )
    start = np.array([0.0, rate])

    def place(y: Array) -> Array:
        return length * np.array([np.sin(y[0]), -np.cos(y[0])])

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], -GRAVITY / length * np.sin(y[0])]

    return system, place(start), np.array([length * rate, 0.0]), (rates, start, length), place


def double_pendulum(rng: np.random.Generator) -> tuple[FunctionSystem, Array, Array, Any, Any]:
    """Return two point masses on rods, and the equations of their angles."""
    a, b = rng.uniform(0.5, 1.5, 2)
    m, k = rng.uniform(0.5, 2.0, 2)
    start = np.array([*rng.uniform(-0.6, 0.6, 2), *rng.uniform(-1.0, 1.0, 2)])
    inertia = np.diag([m, m, k, k])
    weight = -GRAVITY * np.array([0.0, m, 0.0, k])
    system = FunctionSystem(
        4,
        2,
        lambda q, t: inertia,
        lambda q, v, t: weight,
        lambda q, t: [q[0] ** 2 + q[1] ** 2 - a**2, (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - b**2],
    )

    def place(y: Array) -> Array:
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
    return system, place(start), v, (rates, start, a), place


def over_angles(rates: Any, start: Array, span: float, solver: str, tolerance: float) -> Array:
    """Return the end by the same solver over the equation of the angles, without rtmbs."""
    if not solver.startswith("cvode"):
        return np.asarray(solve_ivp(rates, (0.0, span), start, solver, rtol=tolerance, atol=tolerance).y[:, -1])
    from sksundae.cvode import CVODE as Sundials

    def rhs(t: float, y: Array, out: Array) -> None:
        out[:] = rates(t, y)

    formula = "Adams" if solver.endswith("adams") else "BDF"
    own = Sundials(rhs, method=formula, rtol=tolerance, atol=tolerance, max_num_steps=10**6)
    own.init_step(0.0, start)
    return np.asarray(own.step(span).y).ravel()


def case_of(seed: int) -> tuple[float, float, str]:
    """Return the error over what is allowed, the violation in tolerances, and what describes the case."""
    rng = np.random.default_rng((seed, 3405))
    kind = int(rng.integers(3))
    solver, form = str(rng.choice(SOLVERS)), FORMS[int(rng.integers(len(FORMS)))]
    if kind == 1 and form is Partitioning:
        form = QR  # dependent rows are refused by Partitioning
    tolerance = float(10.0 ** rng.uniform(*TOLERANCES))
    system, q, v, (rates, start, size), place = double_pendulum(rng) if kind == 2 else pendulum(rng, kind + 1)
    span = (0.3 if kind == 2 else 1.0) * SPAN * min(1.0, np.sqrt(size))
    what = f"{('pendulum', 'row twice', 'double')[kind]}, {solver}, {form.__name__}, {tolerance:.1e}"
    method: Any
    if solver.startswith("cvode"):
        if find_spec("sksundae") is None:
            return 0.0, 0.0, what
        method = CVODE(solver.split()[1], form(), rtol=tolerance, atol=tolerance * size)
    else:
        method = SolveIVP(solver, form(), tolerance, tolerance * size)
    exact = solve_ivp(rates, (0.0, span), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    usual = over_angles(rates, start, span, solver, tolerance)
    try:
        found = integrate(system, method, q, v, span, span / 4)
    except RtmbsError as error:
        return np.inf, np.inf, f"{what}: {error}"
    wanted = place(exact)
    error = float(np.abs(found.q[-1] - wanted).max()) / size
    allowed = WORST * float(np.abs(place(usual) - wanted).max()) / size + FLOOR * tolerance
    left = float(found.violations[:, 0].max()) / size / tolerance
    return error / allowed, left, f"{what}: error {error:.1e}, allowed {allowed:.1e}, left {left:.1e} tolerances"


def run(cases: int, seed: int) -> Tally:
    """Run every case."""
    tally = Tally()
    for k in range(seed, seed + cases):
        error, left, what = case_of(k)
        if np.isfinite(error):
            tally.largest("error over the allowed one", error)
            tally.largest("violation of the solver's own state in tolerances", left)
        if error <= 1.0:
            tally.survive()
        else:
            tally.fail(f"seed {k}: {what}")
    return tally


CAMPAIGN = Campaign(
    "adaptive-solvers",
    "a solver that chooses its own steps follows the constraints over every formulation, at tolerances 1e-6 to 1e-3",
    full=500,
    bounded=25,
    run=run,
)
