"""Every item of the survey of the DAE family and of the notes beside it as one measured row.

The notes are those on stabilisation and on automatic differentiation.

``python -m bench.methods.survey`` prints a table and ends with 1 when an item does not hold; ``--items`` chooses by
beginnings, and ``--json`` writes the rows that ``page.py`` reads. A row measures one number beside what is allowed.
References are equations of reduced coordinates that SciPy integrates without rtmbs, closed forms and matrix functions.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import rtmbs
from bench.derivative_costs import count, recorded
from bench.documents import table
from bench.methods import comparison
from bench.methods.reduced_problems import PROBLEMS, Case, Reduced, exact_end, swing
from bench.table1.measure import Options, measure
from rtmbs import ad, library
from rtmbs.dae import (
    CVODE,
    GILL,
    HHT,
    IDA,
    ODAE,
    AdamsBashforthMoulton,
    FuehrerLeimkuhler,
    GeneralisedAlpha,
    HalfExplicit,
    HaugYen,
    Index3Lagrangian,
    RadauGGL,
    RungeKutta,
    SolveIVP,
    TangentSpace,
    integrate,
    resume,
    solve_implicit,
)
from rtmbs.errors import RtmbsError
from rtmbs.formulations import (
    FORMULATIONS,
    QR,
    SVD,
    Baumgarte,
    Compiled,
    FormulationError,
    FunctionSystem,
    JointCoordinates,
    KaneSystem,
    NullSpace,
    Partitioning,
    check_system,
    consistent_state,
    error_response,
    gain_bound,
    plot_error_response,
    transfer_function,
)
from rtmbs.formulations.function_system import slider_crank
from rtmbs.formulations.stabilisation import SEED_GAINS, measured_response, measured_systems, unit_rate_state

SUNDIALS = find_spec("sksundae") is not None
GRAVITY = 9.81


class Item(NamedTuple):
    """One row: what is measured, and what it may be."""

    name: str
    measured: Callable[[], float]
    allowed: float


# ---- motions with reduced equations


def driven_pendulum(rows: int = 1) -> Case:
    """Return a pendulum under drag with a pivot and a length that time moves, and the equation of its angle."""
    drag, y0, t_end = 0.4, np.array([0.5, 1.0]), 0.4

    def pivot(t: float) -> tuple[float, float, float]:
        return 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t), -1.2 * np.sin(2 * t)

    def length(t: float) -> tuple[float, float]:
        return 0.8 + 0.1 * np.cos(3 * t), -0.3 * np.sin(3 * t)

    def rates(t: float, y: Any) -> Any:
        (_, xd, xdd), (l, ld), (s, c) = pivot(t), length(t), (np.sin(y[0]), np.cos(y[0]))
        return np.array([y[1], -(GRAVITY * s + xdd * c + 2 * ld * y[1] + drag * (xd * c + l * y[1])) / l])

    def at(y: Any, t: float) -> Any:
        return np.array([pivot(t)[0] + length(t)[0] * np.sin(y[0]), -length(t)[0] * np.cos(y[0])])

    def phi(q: Any, t: Any, xp: Any = np) -> Any:
        reach = 0.8 + 0.1 * xp.cos(3.0 * t)
        return [(q[0] - 0.3 * xp.sin(2.0 * t)) ** 2 + q[1] ** 2 - reach**2] * rows

    system = FunctionSystem(
        2, rows, lambda q, t: np.eye(2), lambda q, v, t: np.array([-drag * v[0], -GRAVITY - drag * v[1]]), phi
    )
    (_, xd, _), (l, ld), (s, c) = pivot(0.0), length(0.0), (np.sin(y0[0]), np.cos(y0[0]))
    v = np.array([xd + ld * s + l * c * y0[1], -ld * c + l * s * y0[1]])
    end = exact_end(rates, y0, t_end, lambda y: at(y, t_end))
    return Case(system, at(y0, 0.0), v, t_end, end, Reduced(rates, y0, lambda y: at(y, t_end)))


def error(case: Case, method: Any, steps: int = 1) -> float:
    """Return the largest error of q at the end."""
    found = integrate(case.system, method, case.q, case.v, case.t_end, case.t_end / steps)
    return float(np.abs(found.q[-1] - case.end).max())


def order(case: Case, method: Any, steps: tuple[int, int]) -> float:
    """Return the order that two numbers of steps show, by root mean squares of the second half of a motion."""
    assert case.reduced is not None
    rates, start, place = case.reduced
    sizes = []
    for number in steps:
        found = integrate(case.system, method, case.q, case.v, case.t_end, case.t_end / number)
        exact = solve_ivp(rates, (0.0, case.t_end), start, "DOP853", found.t, rtol=1e-13, atol=1e-14).y.T
        late = (found.q - [place(y) for y in exact])[number // 2 :]
        sizes.append(float(np.sqrt(np.mean(late**2))))
    return float(np.log(sizes[0] / sizes[1]) / np.log(steps[1] / steps[0]))


# ---- items


def stabilisation() -> Iterator[Item]:
    """Yield the items of the note on feedback: the augmented system, the error equation, its gains."""
    case = driven_pendulum()
    yield Item(
        "augmented system, by Direct", lambda: error(case, RungeKutta(formulation=FORMULATIONS["direct"]()), 200), 1e-8
    )
    yield Item("coefficients of Runge-Kutta-Gill", gill, 1e-15)
    swinging = swing(4.0, 0.4)
    yield Item("Runge-Kutta-Gill, order 4", lambda: 4.0 - order(swinging, RungeKutta(GILL, QR()), (20, 40)), 0.3)
    times = np.linspace(0.0, 3.0, 31)
    yield Item("impulse without feedback", lambda: float(np.abs(error_response(0.0, 0.0, times) - times).max()), 1e-14)
    yield Item("response and transfer function, three cases", three_cases, 1e-12)
    yield Item("figures of three pairs of gains", lambda: abs(3.0 - len(plot_error_response(t_end=0.1).axes)), 0.0)
    yield Item("error equation measured on two mechanisms", responses, 1e-8)
    yield Item("stabilised rheonomic system", lambda: error(case, RungeKutta(GILL, Baumgarte(20.0, 20.0)), 200), 1e-6)
    limits = {"runge-kutta-4": 2.785, "heun": 2.0, "euler": 2.0}
    yield Item("limits of gains", lambda: max(abs(gain_bound(name) - x) for name, x in limits.items()), 1e-3)


def gill() -> float:
    """Return the largest difference of the coefficients from Gill's."""
    r, A = np.sqrt(2.0), np.zeros((4, 4))
    A[1, 0], A[2, :2], A[3, 1:3] = 0.5, ((r - 1.0) / 2.0, (2.0 - r) / 2.0), (-r / 2.0, 1.0 + r / 2.0)
    b = np.array([1.0, 2.0 - r, 2.0 + r, 1.0]) / 6.0
    found = np.zeros((4, 4))
    for i, row in enumerate(GILL.a):
        found[i + 1, : len(row)] = row
    return float(max(np.abs(found - A).max(), np.abs(np.array(GILL.b) - b).max()))


def three_cases() -> float:
    """Return the largest difference from the matrix exponential, and of the transfer function from its matrix."""
    worst = 0.0
    for alpha, beta in (*SEED_GAINS, (0.0, 0.0)):
        A = np.array([[0.0, 1.0], [-(beta**2), -2.0 * alpha]])
        found = error_response(alpha, beta, [0.05, 0.3])
        worst = max(worst, *(abs(found[i] - expm(A * t)[0, 1]) for i, t in enumerate((0.05, 0.3))))
        s = 3.0 + 7.0j
        worst = max(worst, abs(transfer_function(alpha, beta, s) - np.linalg.inv(s * np.eye(2) - A)[0, 1]))
    return worst


def responses() -> float:
    """Return the largest difference of Phi of a stabilised mechanism from the closed form."""
    t = np.linspace(0.0, 0.5, 11)
    return max(
        float(
            np.abs(measured_response(system, *gains, *unit_rate_state(system, q), t) - error_response(*gains, t)).max()
        )
        for gains in SEED_GAINS
        for _, system, q, _ in measured_systems()
    )


def forms() -> Iterator[Item]:
    """Yield every formulation by name, the consistent start, and Kane's form."""
    case, twice = driven_pendulum(), driven_pendulum(rows=2)
    for name, kind in FORMULATIONS.items():
        yield Item(f"formulation {name}", lambda kind=kind: error(case, RungeKutta(formulation=kind()), 200), 1e-6)
        if kind().redundant:
            yield Item(
                f"{name}, a row twice", lambda kind=kind: error(twice, RungeKutta(formulation=kind()), 200), 1e-6
            )
    yield Item("consistent start, stationary", stationarity, 1e-6)
    yield Item("Kane's first-order form, a knife edge", kane, 1e-8)
    yield Item("check_system tells wrong derivatives", mistakes, 0.0)


def stationarity() -> float:
    """Return the largest share of the weighted change that is not along Phi_q^T, over 60 starts of a slider-crank."""
    system, rng, worst = slider_crank(), np.random.default_rng(1), 0.0
    middle = PROBLEMS["slider-crank"]().q
    for k in range(60):
        start, w = middle + 0.3 * rng.normal(size=5) * (k % 3 + 1) / 3, 10.0 ** rng.uniform(-1.0, 1.0, 5)
        q = consistent_state(system, start, np.zeros(5), 0.0, weights=w)[0]
        P, g = system.constraint_jacobian(q, 0.0), w * (q - start)
        worst = max(worst, float(np.linalg.norm(g - P.T @ np.linalg.lstsq(P.T, g, rcond=None)[0]) / np.linalg.norm(g)))
    return worst


def kane() -> float:
    """Return the error of a sleigh in two speeds and three coordinates."""
    case, (m, a, inertia) = PROBLEMS["sleigh"](), (1.3, 0.4, 0.3)
    system = KaneSystem(
        3, 2, 0, lambda q, u, t, xp=np: [u[0] * xp.cos(q[2]), u[0] * xp.sin(q[2]), u[1]],
        lambda q, t: np.diag([m, inertia + m * a * a]),
        lambda q, u, t: np.array([m * a * u[1] ** 2, -m * a * u[0] * u[1]]), lambda q, t: [], nonholonomic=True,
    )  # fmt: skip
    return error(case._replace(system=system), SolveIVP("DOP853", QR(), 1e-11, 1e-12))


def mistakes() -> float:
    """Return how many of five wrong derivatives ``check_system`` lets pass."""
    case, passed = swing(2.0, 1.0), 0
    q, v = np.array([0.6, -0.8]), np.array([0.8, 0.6])
    for row, turn in ((1.0, 1.1), (1.0, -1.0), (1.0, 0.0), (0.5, 1.0), (1.01, 1.0)):
        passed += not caught(Altered(case.system, row, turn), q, v)
    return float(passed)


class Altered:
    """A system with factors at Phi_q and gamma."""

    def __init__(self, system: Any, row: float, turn: float) -> None:
        self.system, self.row, self.turn, self.n, self.m = system, row, turn, system.n, system.m
        self.mass, self.force, self.constraints = system.mass, system.force, system.constraints

    def constraint_jacobian(self, q: Any, t: float) -> Any:
        return self.row * self.system.constraint_jacobian(q, t)

    def constraint_rate_terms(self, q: Any, v: Any, t: float) -> Any:
        Phi_t, gamma = self.system.constraint_rate_terms(q, v, t)
        return Phi_t, self.turn * gamma


def caught(system: Any, q: Any, v: Any) -> bool:
    """Return whether ``check_system`` refuses a system."""
    try:
        check_system(system, q, v, 0.0)
    except FormulationError:
        return True
    return False


def methods_of_time() -> Iterator[Item]:
    """Yield orders of fixed steps, errors by tolerance, nonholonomic constraints and a singular mass matrix."""
    case = PROBLEMS["slider-crank"]()._replace(t_end=0.4)
    assert case.reduced is not None
    case = case._replace(end=exact_end(case.reduced.rates, case.reduced.start, 0.4, case.reduced.place))
    fixed: list[tuple[str, Any, int, tuple[int, int]]] = [
        *((f"Adams-Bashforth-Moulton {k}", AdamsBashforthMoulton(k), k, (60, 120)) for k in (2, 3, 4)),
        *((f"tangent space, BDF {k}", TangentSpace("bdf", k), k, (60, 120)) for k in (2, 3, 4)),
        *((f"tangent space, Adams {k}", TangentSpace("adams", k), k, (60, 120)) for k in (2, 3, 4)),
        *((f"ODAE {k}", ODAE(k), k, (60, 120)) for k in (2, 3, 4)),
        *((f"Haug and Yen, BDF {k}", HaugYen("bdf", k), k, (60, 120)) for k in (2, 3, 4)),
        *((f"Fuehrer and Leimkuhler {k}", FuehrerLeimkuhler(k), k, (60, 120)) for k in (2, 3, 4)),
        ("index-3 Lagrangian", Index3Lagrangian(), 2, (40, 80)),
        ("generalised alpha", GeneralisedAlpha(), 2, (40, 80)),
        ("HHT", HHT(), 2, (40, 80)),
        ("half-explicit", HalfExplicit(), 4, (20, 40)),
        ("Radau on GGL", RadauGGL(), 5, (10, 20)),
    ]
    for name, method, k, steps in fixed:
        yield Item(f"{name}, order", lambda m=method, k=k, steps=steps: k - order(case, m, steps), 0.5)
    adaptive = {
        "RadauGGL": RadauGGL(rtol=1e-7, atol=1e-7), "HalfExplicit": HalfExplicit(rtol=1e-7, atol=1e-7),
        "SolveIVP": SolveIVP("DOP853", QR(), 1e-9, 1e-9),
        "SolveIVP over Compiled": SolveIVP("DOP853", Compiled(), 1e-9, 1e-9), "HHT": HHT(rtol=1e-4, atol=1e-4),
        "GeneralisedAlpha, index 2": GeneralisedAlpha(index=2, rtol=1e-4, atol=1e-4),
        "HaugYen": HaugYen(rtol=1e-5, atol=1e-5), "FuehrerLeimkuhler": FuehrerLeimkuhler(rtol=1e-5, atol=1e-5),
    }  # fmt: skip
    if SUNDIALS:
        adaptive |= {"IDA": IDA(1e-8, 1e-8), "CVODE": CVODE("adams", QR(), 1e-8, 1e-8)}
    for problem in ("slider-crank", "satellite", "sleigh", "rolling disc"):
        for name, method in adaptive.items():
            far = 1e-2 if method.rtol >= 1e-5 else 1e-4
            yield Item(f"{problem} by {name}", lambda p=problem, m=method: error(PROBLEMS[p](), m), far)


def long_runs() -> Iterator[Item]:
    """Yield runs of 50 s without hidden drift, trials without an answer, events, a run that goes on."""
    long = swing(9.0, 50.0)
    chosen: list[tuple[str, Any]] = [
        ("DOP853 over Compiled", SolveIVP("DOP853", Compiled(), 1e-8, 1e-8)),
        ("DOP853 over SVD", SolveIVP("DOP853", SVD(), 1e-8, 1e-8)),
        ("DOP853 over NullSpace", SolveIVP("DOP853", NullSpace(), 1e-8, 1e-8)),
        ("LSODA over SVD", SolveIVP("LSODA", SVD(), 1e-8, 1e-8)),
    ]
    if SUNDIALS:
        chosen.append(("CVODE over SVD", CVODE("adams", SVD(), 1e-8, 1e-8)))
    for name, method in chosen:
        yield Item(f"50 s that turn over, {name}", lambda m=method: error(long, m), 1e-3)
    yield Item("72 combinations of solver, form and tolerance end", combinations, 0.0)
    yield Item("time of an event", event_time, 1e-8)
    yield Item("a run that goes on from its middle", going_on, 1e-9)
    if SUNDIALS:
        yield Item("F(t, y, y') = 0 by IDA", implicit, 1e-6)


def combinations() -> float:
    """Return how many of 72 combinations end in an error."""
    case, failed = swing(9.0, 2.0), 0
    for solver in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"):
        for form in (Partitioning, QR, SVD, NullSpace):
            for tolerance in (1e-3, 1e-4, 1e-5):
                try:
                    error(case, SolveIVP(solver, form(), tolerance, tolerance))
                except RtmbsError:
                    failed += 1
    return float(failed)


def event_time() -> float:
    """Return the error of the time at which the pendulum hangs down."""
    case = swing(4.0, 2.0)
    assert case.reduced is not None
    exact = solve_ivp(
        case.reduced.rates, (0.0, 2.0), case.reduced.start, "DOP853", rtol=1e-13, atol=1e-14, events=lambda t, y: y[0]
    )
    method = RadauGGL(rtol=1e-10, atol=1e-10)
    found = integrate(case.system, method, case.q, case.v, 2.0, 0.5, events=lambda q, v, t: q[0])
    wanted = exact.t_events[0][exact.t_events[0] > 1e-9]
    seen = [event.t for event in found.events]
    return float(np.abs(np.array(seen) - wanted).max()) if len(seen) == len(wanted) else np.inf


def going_on() -> float:
    """Return by how much a run that goes on differs from one that did not stop."""
    case, method = swing(4.0, 2.0), RadauGGL(rtol=1e-8, atol=1e-8)
    whole = integrate(case.system, method, case.q, case.v, 2.0, 0.5)
    half = integrate(case.system, method, case.q, case.v, 1.0, 0.5)
    return float(np.abs(resume(half, 2.0).q[-1] - whole.q[-1]).max())


def implicit() -> float:
    """Return the error of y' = -y + z, z = sin t."""
    found = solve_implicit(
        lambda t, y, yp: [yp[0] + y[0] - y[1], y[1] - np.sin(t)], [1.0, 0.0], [-1.0, 1.0], t_end=1.0, h=1.0
    )
    return abs(float(found["y"][-1, 0]) - (1.5 * np.exp(-1.0) + 0.5 * (np.sin(1.0) - np.cos(1.0))))


def derivatives() -> Iterator[Item]:
    """Yield the items on differentiation: sources, counts, exact Jacobians of the family, the paper's comparison."""
    for name, allowed in (("forward", 1e-14), ("reverse", 1e-14), ("trace", 1e-14), ("complex step", 1e-14),
                          ("differences", 1e-6)):  # fmt: skip
        yield Item(f"derivatives of a function by {name}", lambda name=name: source(name), allowed)
    tape = recorded(library.build("fourbar", ny=1, nz=10, layout="parallel").compile()).tape
    yield Item("value and one direction (5), of a simplified tape", lambda: count(tape).forward(1), 2.75)
    yield Item("value and one adjoint (6), in values", lambda: count(tape).reverse, 5.0)
    for name, method in stiff_methods().items():
        yield Item(f"{name} takes the exact derivatives", lambda m=method: unasked(m), 0.0)
    yield Item("K and C of M a + Phi_q^T lam - F", stiffness, 1e-6)
    for name in ("crank_rocker", "fourbar"):
        yield Item(f"20 steps (10) to (26), {name}, against a dense one", lambda n=name: paper_steps(n), 1e-9)
    yield Item("four-bar at 5 ms against its equation, order 2", four_bar, 0.2)
    yield Item("Table 1 with --paper: K and C of exact sources", paper, 1e-13)


def source(name: str) -> float:
    """Return the largest error of a Jacobian at one place."""

    def f(x: Any, p: Any = None, xp: Any = np) -> Any:
        return xp.stack([x[0] * xp.sin(x[1]), xp.exp(x[0] * x[2]) + x[1] ** 3])

    x = np.array([0.4, 1.3, -0.6])
    exact = np.array([
        [np.sin(x[1]), x[0] * np.cos(x[1]), 0.0],
        [x[2] * np.exp(x[0] * x[2]), 3 * x[1] ** 2, x[0] * np.exp(x[0] * x[2])],
    ])  # fmt: skip
    made = {
        "forward": lambda: ad.Autograd(f, 3, 2, mode="forward"),
        "reverse": lambda: ad.Autograd(f, 3, 2, mode="reverse"),
        "trace": lambda: ad.Traced(f, 3, 2), "complex step": lambda: ad.ComplexStep(f, 3, 2),
        "differences": lambda: ad.FiniteDifference(f, 3, 2),
    }  # fmt: skip
    return float(np.abs(made[name]().jacobian(x) - exact).max())


def spring() -> Case:
    """Return a double pendulum with a stiff spring and damper across."""
    stiffness, damping = 1e6, 2e2

    def force(q: Any, v: Any, t: Any) -> Any:
        x, y = q[2] - 0.5, q[3] + 1.5
        pull = (stiffness * (x * x + y * y - 0.5) + 2.0 * damping * (x * v[2] + y * v[3])) * 0.1
        return [0.0 * v[0], -GRAVITY + 0.0 * v[1], -pull * x, -GRAVITY - pull * y]

    system = FunctionSystem(
        4, 2, lambda q, t: np.eye(4), force,
        lambda q, t: [q[0] ** 2 + q[1] ** 2 - 1.0, (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 1.0],
    )  # fmt: skip
    q, v = consistent_state(system, np.array([0.6, -0.8, 1.2, -1.6]), np.zeros(4), 0.0)
    return Case(system, q, v, 0.2, q, None)


def stiff_methods() -> dict[str, Any]:
    """Return the methods with a matrix of derivatives."""
    found: dict[str, Any] = {
        "SciPy Radau": SolveIVP("Radau", QR(), 1e-6, 1e-8), "SciPy BDF": SolveIVP("BDF", QR(), 1e-6, 1e-8),
        "Newton of RadauGGL": RadauGGL(rtol=1e-5, atol=1e-7), "Newton of HHT": HHT(rtol=1e-4, atol=1e-6),
    }  # fmt: skip
    if SUNDIALS:
        found |= {"CVODE": CVODE("bdf", QR(), 1e-6, 1e-8), "IDA": IDA(1e-6, 1e-8)}
    return found


def unasked(method: Any) -> float:
    """Return 0 where a method asks for derivatives in a run and always gets exact ones, or else 1."""
    case, answers = spring(), list[bool]()
    exact = case.system.linearisation

    def noted(*state: Any) -> Any:
        found = exact(*state)
        answers.append(found is not None)
        return found

    case.system.linearisation = noted
    integrate(case.system, method, case.q, case.v, case.t_end, case.t_end)
    return float(not answers or not all(answers))


def stiffness() -> float:
    """Return the largest error of K and C against central differences, in terms of their largest entries."""
    case, rng, h = spring(), np.random.default_rng(3), 1e-6
    system, q, worst = case.system, case.q + 0.01, 0.0
    v, a, lam = rng.normal(size=4), rng.normal(size=4), rng.normal(size=2)

    def left(q: Any, v: Any) -> Any:
        P = system.constraint_jacobian(q, 0.0)
        return system.mass(q, 0.0) @ a + P.T @ lam - np.array(system.force(q, v, 0.0))

    for found, move in zip(system.linearisation(q, v, a, lam, 0.0), (0, 1), strict=True):
        wanted = np.zeros((4, 4))
        for i in range(4):
            step = h * np.eye(4)[i]
            there, back = ((q + s * step * (1 - move), v + s * step * move) for s in (1.0, -1.0))
            wanted[:, i] = (left(*there) - left(*back)) / (2.0 * h)
        worst = max(worst, float(np.abs(found - wanted).max() / np.abs(wanted).max()))
    return worst


def four_bar() -> float:
    """Return two less the order of a Simulation of 1 x 3 four-bars that h of 5 and 2.5 ms show."""
    exact, errors = library.references.fourbar(1, 3, 0.5, rate=4.0).q, []
    for h in (5e-3, 2.5e-3):
        system = library.build("fourbar", ny=1, nz=3, closure="line", rate=4.0).compile()
        sim = rtmbs.Simulation(system, h=h)
        sim.run(0.5)
        errors.append(max(abs(sim[f"pin_{k + 1}_0.angle"] - exact[k]) for k in range(3)))
    return abs(2.0 - float(np.log2(errors[0] / errors[1])))


def paper_steps(name: str) -> float:
    """Return the largest difference of z and zd from the paper's step, dense and with its misprints mended."""
    h, alpha, quarter = 5e-3, 1e7, 5e-3 * 5e-3 / 4.0
    compiled = library.build(name).compile()
    method = rtmbs.PenaltyTrapezoidal(
        alpha=alpha, tangent_terms="paper", hold_energy=False, refactor="every-iteration", tol=1e-12,
        projection_tol=1e-14,
    )  # fmt: skip
    sim, system = rtmbs.Simulation(compiled, h=h, method=method), JointCoordinates(compiled)
    z, v, a, t = sim.state.z.copy(), sim.state.zd.copy(), sim.state.zdd.copy(), 0.0
    for _ in range(20):
        t += h
        back, behind, x = -(2.0 / h * z + v), -(4.0 / h**2 * z + 4.0 / h * v + a), z + h * v + 0.5 * h * h * a
        for _ in range(8):
            v, a = 2.0 / h * x + back, 4.0 / h**2 * x + behind
            P, M = system.constraint_jacobian(x, t), system.mass(x, t)
            K = slope(lambda y, v=v, t=t: system.force(y, v, t), x)
            C = slope(lambda w, x=x, t=t: system.force(x, w, t), v)
            A = M - 0.5 * h * C - quarter * K + quarter * alpha * P.T @ P
            change = quarter * (M @ a + alpha * P.T @ system.constraints(x, t) - system.force(x, v, t))
            x = x - np.linalg.solve(A, change)
        z, v, a = x, 2.0 / h * x + back, 4.0 / h**2 * x + behind
        P, push = system.constraint_jacobian(z, t), quarter * alpha * system.constraint_jacobian(z, t).T
        for _ in range(10):
            v = v - np.linalg.solve(A, push @ (P @ v + system.constraint_rate_terms(z, v, t)[0]))
        for _ in range(10):
            a = a - np.linalg.solve(A, push @ (P @ a - system.constraint_rate_terms(z, v, t)[1]))
        sim.step()
    return float(max(np.abs(sim.state.z - z).max(), np.abs(sim.state.zd - v).max() / np.abs(v).max()))


def slope(function: Callable[[Any], Any], x: Any, step: float = 1e-5) -> Any:
    """Return the Jacobian of a function by differences of order four."""
    columns = []
    for e in step * np.eye(len(x)):
        near, far = function(x + e) - function(x - e), function(x + 2.0 * e) - function(x - 2.0 * e)
        columns.append((8.0 * near - far) / (12.0 * step))
    return np.transpose(columns)


def paper() -> float:
    """Return the largest error of K and C by the exact sources, 1 x 1 parallel, by the paper's method and ours."""
    sources = "structured", "autograd-forward", "autograd", "trace"
    rows = [row for part in measure(Options(("parallel",), ((1, 1),), sources, 0.1, 1e7)) for row in part]
    if {row["method"] for row in rows} != {"paper", "ours"}:
        return np.inf
    return max(float(row[key]) for row in rows for key in ("error_K", "error_C"))


def own_names() -> Iterator[Item]:
    """Yield the rows on names of users in the bench."""

    def missing() -> float:
        known = comparison.configurations(False)
        return float(sum(f"runge-kutta, {name}" not in known for name in FORMULATIONS))

    yield Item("every registered formulation is in the bench", missing, 0.0)
    names = ["runge-kutta, svd", "odae"]
    yield Item("names with a comma choose a method", lambda: float(comparison.named(", ".join(names)) != names), 0.0)


GROUPS = {
    "stabilisation": stabilisation,
    "formulations": forms,
    "methods of time": methods_of_time,
    "long runs": long_runs,
    "differentiation": derivatives,
    "names of users": own_names,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each item as it is measured; return 1 when one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", nargs="*", default=[], help="beginnings of names of items")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args(arguments)
    chosen, rows, seconds = tuple(options.items), list[dict[str, Any]](), time.process_time()
    for group, items in GROUPS.items():
        for item in items():
            if not chosen or item.name.startswith(chosen):
                rows.append({"group": group} | row_of(item))
                print(" | ".join(words(rows[-1])), flush=True)
    seconds = time.process_time() - seconds
    print(f"\n{table(['item', 'measured', 'allowed', ''], list(map(words, rows)))}")
    works = sum(row["works"] for row in rows)
    print(f"{works} of {len(rows)} work, {seconds:.0f} s of the processor")
    if options.json:
        options.json.write_text(json.dumps({"seconds": seconds, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return int(works < len(rows))


def row_of(item: Item) -> dict[str, Any]:
    """Return a row of one item."""
    began = time.process_time()
    try:
        found, said = float(item.measured()), ""
    except (RtmbsError, ValueError, np.linalg.LinAlgError) as failure:
        found, said = np.inf, str(failure).splitlines()[0]
    spent = round(time.process_time() - began, 2)
    works = bool(found <= item.allowed)
    return {
        "item": item.name, "measured": found if np.isfinite(found) else None, "allowed": item.allowed, "works": works,
        "said": said, "seconds": spent,
    }  # fmt: skip


def words(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row."""
    measured = "-" if row["measured"] is None else f"{row['measured']:.1e}"
    state = "works" if row["works"] else f"fails: {row['said']}" if row["said"] else "fails"
    return [row["item"], measured, f"{row['allowed']:.1e}", state]


if __name__ == "__main__":
    sys.exit(main())
