"""Formulations: accelerations and multipliers of M a + Phi_q^T lam = F, Phi(q, t) = 0 at a state, one file a form.

Names are resolved on first use: reading this package loads neither scipy nor the rooms below.
"""

import importlib
from typing import Any

from rtmbs.formulations.registry import PLACES

HOMES = {
    **{kind: f"rtmbs.formulations.{module}" for module, kind in PLACES.values()},
    "ConstrainedSystem": "rtmbs.formulations.contract",
    "Correcting": "rtmbs.formulations.correction",
    "Disturbance": "rtmbs.formulations.error_equation",
    "FORMULATIONS": "rtmbs.formulations.registry",
    "Formulation": "rtmbs.formulations.contract",
    "FormulationError": "rtmbs.formulations.errors",
    "FunctionSystem": "rtmbs.formulations.function_system",
    "JointCoordinates": "rtmbs.formulations.joint_coordinates",
    "ReferencePointCoordinates": "rtmbs.formulations.reference_point",
    "SparseForms": "rtmbs.formulations.sparse_forms",
    "SystemWithStates": "rtmbs.formulations.contract",
    "STABILITY": "rtmbs.formulations.stability",
    "consistent_state": "rtmbs.formulations.consistent",
    "corrected": "rtmbs.formulations.correction",
    "critical_gains": "rtmbs.formulations.gains",
    "error_response": "rtmbs.formulations.error_equation",
    "gain_bound": "rtmbs.formulations.stability",
    "gains_for_method": "rtmbs.formulations.gains",
    "gains_for_step": "rtmbs.formulations.gains",
    "plot_error_response": "rtmbs.formulations.error_plot",
    "transfer_function": "rtmbs.formulations.error_equation",
}

__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'rtmbs.formulations' has no attribute '{name}'", name=name, obj=None)
    value = getattr(importlib.import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
