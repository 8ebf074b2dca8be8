"""Time stepping. Nothing here knows mechanics: an integrator is handed an object that answers a short contract."""

from rtmbs.integrators.report import Outcome, StepReport

__all__ = ["Outcome", "StepReport"]
