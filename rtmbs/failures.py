"""What becomes of a step that fails: its error, or another try in smaller parts."""

from typing import Protocol

from rtmbs.errors import LoopOpenError, NotConvergedError, NotFiniteError, SingularTangentError, StepError
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.state import State

FAILURES: dict[Outcome, type[StepError]] = {
    Outcome.NOT_CONVERGED: NotConvergedError,
    Outcome.SINGULAR_TANGENT: SingularTangentError,
    Outcome.NOT_FINITE: NotFiniteError,
    Outcome.LOOP_OPEN: LoopOpenError,
}


class Stepping(Protocol):
    """Whoever can go back and step again; a Simulation."""

    h: float

    @property
    def state(self) -> State: ...
    def step(self) -> StepReport: ...
    def restore(self, state: State) -> None: ...


def step_error(step: int, report: StepReport) -> StepError:
    """Return the error that the failed step number ``step`` stands for, with time, history and names."""
    history = ", ".join(f"{size:.2e}" for size in report.corrections) or "none"
    names = f"; largest at {', '.join(report.culprits)}" if report.culprits else ""
    message = f"step {step} to t = {report.t:g} s: {report.outcome.value}{names}; scaled corrections: {history}"
    return FAILURES[report.outcome](
        message, step=step, t=report.t, residuals=report.corrections, culprits=report.culprits
    )


def in_parts(sim: Stepping, report: StepReport, at_most: int) -> StepReport:
    """Take the failed step of ``report`` in 2, 4, ... parts, ``at_most`` times, and go back to h.

    Returns the report of the last part; raises the matching StepError when no number of parts helps.
    """
    h, before = sim.h, sim.state.copy()
    try:
        for halving in range(1, at_most + 1):
            sim.h = h / 2**halving
            for _ in range(2**halving):
                report = sim.step()
                if not report.outcome.good:
                    break
            else:
                sim.h = h
                return report
            sim.restore(before)
    except BaseException:  # whatever raised: half a step is no step
        sim.restore(before)
        raise
    raise step_error(sim.state.k + 1, report)
