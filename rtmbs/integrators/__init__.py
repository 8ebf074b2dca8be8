"""Methods of time integration of any equations of motion behind the contract of ``contract.py``; no mechanics."""

from rtmbs.integrators.report import Outcome, StepReport

__all__ = ["Outcome", "StepReport"]
