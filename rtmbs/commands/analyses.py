"""Analyses of a model file: a kinematic one, or a Simulation; its constants as the command line gives them."""

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


def constants_of(words: list[str]) -> dict[str, float | str]:
    """Return the constants that ``--set`` gives, as text; InputError for a word that is no NAME=VALUE."""
    found: dict[str, float | str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (equals and name.strip() and text.strip()):
            raise InputError(f"--set takes NAME=VALUE, not {word!r}, such as --set length=30mm")
        found[name.strip()] = text.strip()
    return found


def kinematics(document: Document) -> "Analysis":
    """Return the kinematic analysis; raises ModelError and InputError as it does."""
    from rtmbs.kinematics import Analysis

    said: dict[str, Any] = {name: getattr(document.analysis, field) for name, field in OPTIONS.items()}
    return Analysis(
        document.model, document.constraints, **{name: value for name, value in said.items() if value is not None}
    )


def simulation(document: Document, method: Any = None) -> "Simulation":
    """Return the simulation of a dynamic or static analysis; raises InputError for a start but zero."""
    from rtmbs.simulation import Simulation

    analysis = document.analysis
    if document.constraints:
        kind = {"profile": "driver of a triad"}.get(document.constraints[0]._fields[-1], "point on curve or cam")
        raise InputError(
            f"{document.constraints[0].name} is a {kind}, which a KINEMATIC ANALYSIS alone follows; change SYSTEM"
        )
    if analysis.t0 != 0.0:
        raise InputError(f"starting time is {analysis.t0:g}; a dynamic analysis starts at 0")
    return Simulation(document.model.compile(), step(document), method)


def step(document: Document) -> float:
    """Return the step of an analysis [s]: the print interval, or a whole part of it; raises InputError."""
    analysis = document.analysis
    h = analysis.dt if analysis.h is None else analysis.h
    parts = analysis.dt / h
    if parts < 1.0 - 1e-9 or abs(parts - round(parts)) > 1e-9 * parts:
        raise InputError(
            f"step is {h:g} and print interval {analysis.dt:g}; the interval must be a whole number of steps"
        )
    return h
