"""Methods of the DAE family that choose their own steps, on random constrained systems, against reduced equations.

A case is a pendulum of two coordinates, with its row once or twice, a double pendulum of four, or a chain of two point
masses on rods with springs and dampers, in random units of length, with random masses, rates, methods and tolerances.
The reference is the equation of the angles by DOP853 at 1e-12, without rtmbs. A case fails when it ends in an error, is
further off than the allowed number of tolerances times the growth of a small change of the start, when its events lie
elsewhere, or when a run that goes on from its middle gives other numbers.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.reduced_motions import double_pendulum
from bench.reduced_motions import GRAVITY, ReducedMotion
from rtmbs.dae import (
    HHT,
    ODAE,
    FuehrerLeimkuhler,
    GeneralisedAlpha,
    HalfExplicit,
    HaugYen,
    Index3Lagrangian,
    RadauGGL,
    TangentSpace,
    integrate,
    resume,
)
from rtmbs.errors import RtmbsError
from rtmbs.formulations import FunctionSystem

Array = NDArray[np.float64]
METHODS: tuple[tuple[str, Any, tuple[float, float]], ...] = (  # with powers of ten of tolerances
    ("radau-ggl", RadauGGL(), (-7.0, -3.0)),
    ("half-explicit", HalfExplicit(), (-7.0, -3.0)),
    ("odae 3", ODAE(3), (-5.0, -3.0)),
    ("odae 5", ODAE(5), (-6.0, -3.0)),
    ("bdf 2", TangentSpace("bdf", 2), (-4.5, -3.0)),
    ("bdf 4", TangentSpace("bdf", 4), (-5.0, -3.0)),
    ("haug-yen 3", HaugYen("bdf", 3), (-4.5, -3.0)),
    ("fuehrer-leimkuhler 4", FuehrerLeimkuhler(4), (-5.0, -3.0)),
    ("adams 4", TangentSpace("adams", 4), (-5.5, -3.0)),
    ("generalised-alpha", GeneralisedAlpha(), (-4.5, -3.0)),
    ("generalised-alpha, index 2", GeneralisedAlpha(0.5, index=2), (-4.5, -3.0)),
    ("hht", HHT(), (-4.5, -3.0)),
    ("hht, index 2", HHT(-0.05, index=2), (-4.5, -3.0)),
    ("index-3-lagrangian", Index3Lagrangian(), (-4.5, -3.0)),
)
TURNS = 1.2  # periods of small swings
ALLOWED = 300.0  # tolerances, times the growth of a small change
MOVED = 1e-6  # change of the start that shows the growth


def grown(rates: Any, start: Array, span: float, end: Array) -> float:
    """Return by how much a small change of the start grows to the end, at least one."""
    other = solve_ivp(rates, (0.0, span), start * (1.0 + MOVED), "DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    return max(1.0, float(np.abs(other - end).max() / (MOVED * np.abs(start).max())))


def pendulum(rng: np.random.Generator, rows: int) -> ReducedMotion:
    """Return a pendulum of 0.1 to 10 m that swings or turns over."""
    length, mass = 10.0 ** rng.uniform(-1.0, 1.0, 2)
    start = np.array([0.0, rng.uniform(0.3, 3.0) * np.sqrt(GRAVITY / length)])
    system = FunctionSystem(
        2,
        rows,
        lambda q, t: mass * np.eye(2),
        lambda q, v, t: np.array([0.0, -mass * GRAVITY]),
        lambda q, t: [(q[0] ** 2 + q[1] ** 2) / length - length] * rows,
    )

    def place(y: Array, t: float) -> Array:
        return length * np.array([np.sin(y[0]), -np.cos(y[0])])

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], -GRAVITY / length * np.sin(y[0])]

    speed = np.array([length * start[1], 0.0])
    return ReducedMotion(system, place(start, 0.0), speed, rates, start, place, np.full(2, length))


def case_of(seed: int) -> tuple[dict[str, float], str]:
    """Return the errors by what they are of, in allowed ones, and what describes the case."""
    rng = np.random.default_rng((seed, 3408))
    kind = int(rng.integers(3))
    name, method, powers = METHODS[int(rng.integers(len(METHODS)))]
    tolerance = float(10.0 ** rng.uniform(*powers))
    motion = double_pendulum(rng) if kind == 2 else pendulum(rng, kind + 1)
    system, q, v, rates, start = motion[:5]
    size = float(np.hypot(*q[:2]))
    span = TURNS * (0.5 if kind == 2 else 1.0) * 2.0 * np.pi * np.sqrt(size / 9.81)
    what = f"seed {seed}: {('pendulum', 'row twice', 'double')[kind]}, {name}, {tolerance:.1e}"
    method = replace(method, rtol=tolerance, atol=tolerance * size)

    def hangs(t: float, y: Array) -> float:
        return float(np.sin(y[0]))

    right = solve_ivp(rates, (0.0, span), start, "DOP853", rtol=1e-12, atol=1e-13, events=hangs)
    growth = grown(rates, start, span, right.y[:, -1])
    speed = max(1.0, float(np.abs(start[len(start) // 2 :]).max()))
    try:
        found = integrate(system, method, q, v, span, span / 8, events=lambda q, v, t: q[0] / size)
        rest = resume(integrate(system, method, q, v, span / 2, span / 8), span)
    except RtmbsError as error:
        return {"error": np.inf}, f"{what}: {error}"
    wanted = motion.place(right.y[:, -1], span)
    times = right.t_events[0][right.t_events[0] > 1e-9 * span]
    seen = np.array([event.t for event in found.events])
    same = len(times) == len(seen)
    allowed = ALLOWED * tolerance * growth
    errors = {
        "error": float(np.abs(found.q[-1] - wanted).max()) / size / allowed,
        "time of events": float(np.abs(seen - times).max(initial=0.0)) * speed / allowed if same else np.inf,
        "run that goes on": float(np.abs(rest.q[-1] - found.q[-1]).max()) / size / (1e-9 * growth),
        "position violation": float(found.violations[:, 0].max()) / (size * 1e-9),
    }
    shown = ", ".join(f"{key} {value:.1e}" for key, value in errors.items())
    steps, events = f"{found.counts.steps} steps", f"{len(seen)} events of {len(times)}"
    return errors, f"{what}, {steps}, {events}, growth {growth:.1e}: {shown}"


def run(cases: int, seed: int) -> Tally:
    """Run every case."""
    tally = Tally()
    for k in range(seed, seed + cases):
        errors, what = case_of(k)
        for name, value in errors.items():
            if np.isfinite(value):
                tally.largest(f"{name} over the allowed one", value)
        if all(value <= 1.0 for value in errors.values()):
            tally.survive()
        else:
            tally.fail(what)
    return tally


CAMPAIGN = Campaign(
    "own-tolerances",
    "methods of the DAE family that choose their steps follow reduced equations, find events, and go on from a result",
    full=400,
    bounded=8,
    run=run,
)
