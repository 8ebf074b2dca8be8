"""From a Document to the analysis that it asks for."""

from typing import TYPE_CHECKING, Any

from rtmbs.errors import InputError
from rtmbs.language import Document

if TYPE_CHECKING:
    from rtmbs.kinematics import Analysis
    from rtmbs.simulation import Simulation

OPTIONS = {  # of rtmbs.kinematics.Analysis: field of the file's analysis
    "method": "method",
    "weights": "weights",
    "pivot": "pivot",
    "singular": "singular",
    "assembly_tolerance": "assembly_tolerance",
    "pivot_tolerance": "lu_tolerance",
}


def kinematics(document: Document) -> "Analysis":
    """Return the kinematic analysis; raises ModelError and InputError as it does."""
    from rtmbs.kinematics import Analysis

    said: dict[str, Any] = {name: getattr(document.analysis, field) for name, field in OPTIONS.items()}
    return Analysis(document.model, **{name: value for name, value in said.items() if value is not None})


def simulation(document: Document) -> "Simulation":
    """Return the simulation of a dynamic analysis; raises InputError for another kind and for a start but zero."""
    from rtmbs.simulation import Simulation

    analysis = document.analysis
    if analysis.kind != "dynamic":
        raise InputError("STATIC EQUILIBRIUM cannot be made yet; write KINEMATIC ANALYSIS or DYNAMIC ANALYSIS")
    if analysis.t0 != 0.0:
        raise InputError(f"starting time is {analysis.t0:g}; a dynamic analysis starts at 0")
    return Simulation(document.model.compile(), h=step(document))


def step(document: Document) -> float:
    """Return the step of a dynamic analysis [s]: the print interval, or what divides it; raises InputError."""
    analysis = document.analysis
    h = analysis.dt if analysis.h is None else analysis.h
    parts = analysis.dt / h
    if parts < 1.0 - 1e-9 or abs(parts - round(parts)) > 1e-9 * parts:
        raise InputError(
            f"step is {h:g} and print interval {analysis.dt:g}; the interval must be a whole number of steps"
        )
    return h
