"""The paper's Table 1 with every source of K and C: the steps each takes, and what is measured on them.

``ours`` is the default method with a factor for every iteration. ``paper`` is the method as it is printed: one penalty
alpha for all rows, the tangent of Eq. 17 without further terms, one projection of rates and one of accelerations (Eq.
23 and 25), no balance of energy.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from bench.table1 import paper
from bench.table1.pairs import ClosedForm, Pair, Question, Timed, distances
from rtmbs import PenaltyTrapezoidal, library
from rtmbs.bench.fourbar import sizes, timed_step
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.jit.compile_progress import announced
from rtmbs.semirecursive.sources import make_source
from rtmbs.simulation import Simulation
from rtmbs.system.system import System

STEPS, H = 200, 5e-3  # of the paper's run: 1 s
CHECK = "complex-step"  # what the closed form itself is held against

# The ratio of the paper compares two derivatives of the same Q: sources through page.py with differences of page.py.
DIFFERENCES = "finite-difference"
PAGE_DIFFERENCES = "finite-difference-page"
FOOTING = dict.fromkeys(("autograd", "autograd-forward", PAGE_DIFFERENCES), PAGE_DIFFERENCES)

OURS, PAPER = "ours", "paper"
ALPHA = 1e7  # of the paper's method [N/m, N m]

Row = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """Which part of the table, and how long a source may step on one row of it."""

    layouts: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]  # (ny, nz)
    sources: tuple[str, ...]
    budget: float  # [s]
    alpha: float | None = None  # of the paper's method, which is measured before ours; None: ours alone

    @property
    def methods(self) -> dict[str, PenaltyTrapezoidal]:
        """The methods to measure by name."""
        every = PenaltyTrapezoidal(refactor="every-iteration")
        if self.alpha is None:
            return {OURS: every}
        return {PAPER: as_printed(self.alpha), OURS: every}


def as_printed(alpha: float) -> PenaltyTrapezoidal:
    """Return the paper's method with this penalty."""
    return PenaltyTrapezoidal(
        alpha=alpha, tangent_terms="paper", hold_energy=False, refactor="every-iteration", max_projections=1
    )


def measure(options: Options) -> Iterator[list[Row]]:
    """Yield the rows of one mechanism and method after another, one a source; a progress bar on a terminal only."""
    warm(options)
    cases = [(layout, ny, nz) for layout in options.layouts for ny, nz in options.sizes]
    total = len(cases) * len(options.methods) * len(options.sources)
    with tqdm(total=total, unit="source", disable=None, leave=False) as bar:
        for layout, ny, nz in cases:
            system = library.build("fourbar", ny=ny, nz=nz, layout=layout).compile()
            for name, method in options.methods.items():
                rows = []
                for source in options.sources:
                    bar.set_description(f"{layout} {ny}x{nz} {source}")
                    size = {"ny": ny, "nz": nz, "layout": layout, "source": source}
                    size |= {} if options.alpha is None else {"method": name}
                    rows.append(size | measure_source(system, source, options.budget, method))
                    bar.update()
                compare(rows)
                yield rows


def warm(options: Options) -> None:
    """Load or compile every kernel on the smallest mechanism, outside of anything measured."""
    system = library.build("fourbar", ny=1, nz=1).compile()
    for source in options.sources:
        for method in options.methods.values():
            with announced():
                measure_source(system, source, 0.0, method)


def measure_source(system: System, source: str, budget: float, method: PenaltyTrapezoidal) -> Row:
    """Take the steps of one source and return what they say of it; the keys that a row holds beside its size."""
    sim = Simulation(system, h=H, jacobian=source, method=method)
    state = sim.state
    question = Question(state.z.copy(), state.zd.copy(), state.R0.copy(), state.u.copy())
    timed = None
    if sim.equations.source is not None:
        timed = sim.equations.source = Timed(sim.equations.source)
        timed(*question)  # what a source prepares at its first answer is no part of a step
    seconds, reports = step(sim, budget)
    jacobians = sum(report.jacobians for report in reports)
    row: Row = {"bodies": sizes(sim)["bodies"], "n_jacs": jacobians, "steps": len(seconds)}
    if method.alpha is not None:
        row["unprojected"] = sum(report.outcome is Outcome.UNPROJECTED for report in reports)
        row["velocity_violation"] = max(report.velocity_violation for report in reports)
    return row | {"scaled_s": sum(seconds) * paper.SCALED_TO / jacobians} | judge(system, sim, timed)


def step(sim: Simulation, budget: float) -> tuple[list[float], list[StepReport]]:
    """Take the steps of the paper's run, fewer when they last longer than ``budget`` [s], one at least.

    Returns the wall time of each [s] and its report.
    """
    times, reports = [], []
    end = time.perf_counter() + budget
    for _ in range(STEPS):
        report, seconds = timed_step(sim)
        times.append(seconds)
        reports.append(report)
        if time.perf_counter() >= end:
            break
    return times, reports


def judge(system: System, sim: Simulation, timed: Timed | None) -> Row:
    """Return the time and the errors of one pair of a source, held against the closed form.

    The closed form itself (``timed`` is None) is held against complex step, at the end of its run; any other source
    at the state of its last answer.
    """
    closed = ClosedForm(system)
    if timed is None:
        state = sim.state
        question = Question(state.z, state.zd, state.R0, state.u)
        check = make_source(CHECK, system)
        assert check is not None, "only the closed form has no source of its own"
        seconds, errors = closed.seconds(question), distances(closed(*question), Pair(*check(*question)))
    else:
        seconds, errors = min(timed.seconds), distances(timed.pair, closed(*timed.question))
    return {"pair_ms": 1e3 * seconds, "error_K": errors[0], "error_C": errors[1]}


def compare(rows: list[Row]) -> None:
    """Add the ratio of every scaled time to that of differences of the same Q; null when those were not measured."""
    scaled = {row["source"]: row["scaled_s"] for row in rows}
    for row in rows:
        differences = scaled.get(FOOTING.get(row["source"], DIFFERENCES))
        row["ratio_to_differences"] = None if differences is None else row["scaled_s"] / differences
