"""How fast Newton's iteration contracts with each choice of tangent, and what each source of K and C gives."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs import Model, PenaltyTrapezoidal, Simulation, library
from rtmbs.simulation.options import by_name

Array = NDArray[np.float64]

TANGENTS = ("paper", "inertia", "lagged", "exact")


class Contraction(NamedTuple):
    """What the steps of one run took."""

    steps: int  # that converged
    iterations: float  # mean of those
    rate_median: float  # of second over first scaled correction
    worst: float  # largest of them


def contraction(model: Model, h: float, tangent_terms: str, steps: int = 100) -> Contraction:
    """Take at most ``steps`` steps, until one fails, and read the scaled corrections of the reports."""
    sim = Simulation(
        model.compile(), h, method=PenaltyTrapezoidal(tangent_terms=tangent_terms, refactor="every-iteration")
    )
    counts, rates = [], []
    for _ in range(steps):
        report = sim.step()
        if report.iterations > 1:
            rates.append(report.corrections[1] / report.corrections[0])
        if not report.outcome.accepted:
            break
        counts.append(report.iterations)
    return Contraction(len(counts), float(np.mean(counts or [np.nan])), float(np.median(rates)), max(rates))


def fast_crank_rocker(rate: float) -> Callable[[], Model]:
    """The crank-rocker with its crank at ``rate`` [rad/s]."""
    return lambda: library.build("crank_rocker", rate=rate)


def final_state(model: Model, h: float, steps: int, **options: Any) -> Array:
    """Return z and zd (2, n) after some steps."""
    sim = Simulation(model.compile(), h, **by_name(**options))
    sim.run(steps * h)
    return np.array([sim.state.z, sim.state.zd])
