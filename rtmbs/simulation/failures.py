"""Failed steps: their errors, and a retry in smaller parts."""

from collections.abc import Sequence
from typing import Any

from rtmbs.errors import (
    HalfTurnError,
    LoopOpenError,
    NotConvergedError,
    NotFiniteError,
    SingularTangentError,
    StepError,
)
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.semirecursive.diagnosis import out_of_range
from rtmbs.simulation.access import ASKED, NOTHING, callback_rights
from rtmbs.system.input_slots import not_finite_inputs

FAILURES: dict[Outcome, type[StepError]] = {
    Outcome.NOT_CONVERGED: NotConvergedError,
    Outcome.UNSOLVED: StepError,
    Outcome.SINGULAR_TANGENT: SingularTangentError,
    Outcome.NOT_FINITE: NotFiniteError,
    Outcome.LOOP_OPEN: LoopOpenError,
    Outcome.HALF_TURN: HalfTurnError,
}
SHOWN = 6  # corrections of Newton's iteration in a sentence


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


def error_of(sim: Any, report: StepReport) -> StepError:
    """Return the error that a failed step of a Simulation stands for, with step, time, history and names."""
    return step_error(sim.state.k + 1, report)


def retry(sim: Any, report: StepReport, on_failure: str, at_most: int) -> StepReport:
    """Retry a failed step in 2, 4, ... parts where ``on_failure`` allows it and it can help, or raise its error."""
    state = sim.state
    spoilt = not_finite_inputs(sim.system, state.u) or out_of_range(sim.system, state, sim.method.penalties_of(state))
    if on_failure == "raise" or report.hopeless or spoilt:
        raise error_of(sim, report)
    return in_parts(sim, report, at_most)


def last_of(corrections: Sequence[float]) -> str:
    """Return the last corrections as text; the error has all of them."""
    shown = ", ".join(f"{size:.2e}" for size in corrections[-SHOWN:])
    return f"..., {shown}" if len(corrections) > SHOWN else shown


WORST = (Outcome.NEAR_SINGULAR, Outcome.UNBALANCED, Outcome.UNPROJECTED, Outcome.UNFINISHED)  # of parts that were taken


def in_parts(sim: Any, report: StepReport, at_most: int) -> StepReport:
    """Take the failed step of ``report`` in 2, 4, ... parts, ``at_most`` times, and go on with h.

    A twin takes the parts, and the Simulation takes over its state by one assignment: whatever raises in between, half
    a step is no step. Returns the report of the whole; raises the StepError of ``report`` when no parts help.
    """
    for halving in range(1, at_most + 1):
        twin = sim._twin()
        twin.h = sim.h / 2**halving
        reports: list[StepReport] = []
        with callback_rights(sim, NOTHING, ASKED):  # the twin shares the equations
            while len(reports) < 2**halving and (not reports or reports[-1].outcome.accepted):
                reports.append(twin.step())
        if reports[-1].outcome.accepted:
            together = whole(reports)
            sim._store.take_over(twin._store)
            return together
    tried = f"; in 2 to {2**at_most} parts it failed too" if at_most else ""
    raise step_error(sim.state.k + 1, report, tried)


def whole(reports: list[StepReport]) -> StepReport:
    """Return the report of a step from those of its parts: sums of counts, most severe outcome, largest violations."""
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
