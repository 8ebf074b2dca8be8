"""What becomes of a step that fails: its error, or another try in smaller parts."""

from collections.abc import Sequence
from typing import Protocol, Self

from rtmbs.errors import (
    HalfTurnError,
    LoopOpenError,
    NotConvergedError,
    NotFiniteError,
    SingularTangentError,
    StepError,
)
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.simulation.one_thread import ASKED, NOTHING, visited
from rtmbs.state import State

FAILURES: dict[Outcome, type[StepError]] = {
    Outcome.NOT_CONVERGED: NotConvergedError,
    Outcome.UNSOLVED: StepError,
    Outcome.SINGULAR_TANGENT: SingularTangentError,
    Outcome.NOT_FINITE: NotFiniteError,
    Outcome.LOOP_OPEN: LoopOpenError,
    Outcome.HALF_TURN: HalfTurnError,
}
SHOWN = 6  # corrections of Newton's iteration in a sentence


class Stepping(Protocol):
    """Whoever can let a twin step in its place; a Simulation."""

    h: float

    @property
    def state(self) -> State: ...
    def step(self) -> StepReport: ...
    def twin(self) -> Self: ...
    def take_over(self, twin: Self) -> None: ...


def step_error(step: int, report: StepReport, tried: str = "") -> StepError:
    """Return the error that the failed step number ``step`` stands for, with time, reason, history and names.

    ``tried`` says what else was tried.
    """
    what = "culprit" if report.outcome in (Outcome.NOT_FINITE, Outcome.HALF_TURN) else "largest residual at"
    names = f"; {what} {', '.join(report.worst)}" if report.worst else ""
    reason = f"; {report.reason}" if report.reason else ""
    history = f"; scaled corrections: {last_of(report.corrections)}" if report.corrections else ""
    message = f"step {step} to t = {report.t:g} s: {report.advice}{reason}{names}{history}{tried}"
    return FAILURES[report.outcome](
        message,
        step=step,
        t=report.t,
        residuals=report.corrections,
        worst=report.worst,
        reason=report.reason,
    )


def last_of(corrections: Sequence[float]) -> str:
    """Return the last corrections as text; the error has all of them."""
    shown = ", ".join(f"{size:.2e}" for size in corrections[-SHOWN:])
    return f"..., {shown}" if len(corrections) > SHOWN else shown


WORST = (Outcome.NEAR_SINGULAR, Outcome.UNBALANCED, Outcome.UNPROJECTED, Outcome.UNFINISHED)  # of parts that were taken


def in_parts(sim: Stepping, report: StepReport, at_most: int) -> StepReport:
    """Take the failed step of ``report`` in 2, 4, ... parts, ``at_most`` times, and go on with h.

    A twin takes the parts, and the Simulation takes over its state by one assignment: whatever raises in between, half
    a step is no step. Returns the report of the whole; raises the StepError of ``report`` when no parts help.
    """
    for halving in range(1, at_most + 1):
        twin = sim.twin()
        twin.h = sim.h / 2**halving
        reports: list[StepReport] = []
        with visited(sim, NOTHING, ASKED):  # the twin shares the equations
            while len(reports) < 2**halving and (not reports or reports[-1].outcome.accepted):
                reports.append(twin.step())
        if reports[-1].outcome.accepted:
            together = whole(reports)
            sim.take_over(twin)
            return together
    tried = f"; in 2 to {2**at_most} parts it failed too" if at_most else ""
    raise step_error(sim.state.k + 1, report, tried)


def whole(reports: list[StepReport]) -> StepReport:
    """Return the report of a step from those of its parts: sums of counts, worst outcome, largest violations."""
    outcomes = [report.outcome for report in reports]
    worst = next((outcome for outcome in WORST if outcome in outcomes), outcomes[-1])
    sums = (
        "iterations",
        "tries",
        "shortened",
        "evaluations",
        "jacobians",
        "factorisations",
        "projections",
        "energy_given",
    )
    largest = [name for name in StepReport._fields if "violation" in name]
    return reports[-1]._replace(
        outcome=worst,
        parts=len(reports),
        **{name: sum(getattr(report, name) for report in reports) for name in sums},
        **{name: max(getattr(report, name) for report in reports) for name in largest},
    )
