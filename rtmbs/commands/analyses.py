"""Analyses of a model file: a kinematic one, or a Simulation; its constants as the command line gives them."""

from typing import TYPE_CHECKING, Any

from rtmbs.errors import InputError, unknown_name
from rtmbs.language import Analysis as FileAnalysis
from rtmbs.language import Document

if TYPE_CHECKING:
    from rtmbs.kinematics import Analysis
    from rtmbs.results.result import Result
    from rtmbs.simulation import Simulation
    from rtmbs.studies.analysis.equilibrium import Equilibrium

WHOLE = 1e-9  # of an interval
STATIC_STEP = 1e-3  # [s] of the Simulation of a static equilibrium, which takes no steps

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
        if name.strip() in found:
            raise InputError(f"constant {name.strip()!r} is given twice on the command line; give it once, by --set")
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
    """Return the simulation of an analysis: a dynamic one from zero, else at the starting time; raises InputError."""
    from rtmbs.simulation import Simulation

    analysis = document.analysis
    if document.constraints:
        kind = {"profile": "driver of a triad"}.get(document.constraints[0]._fields[-1], "point on curve or cam")
        raise InputError(
            f"{document.constraints[0].name} is a {kind}, which a KINEMATIC ANALYSIS alone follows; change SYSTEM"
        )
    if analysis.kind == "static":
        return Simulation(document.model.compile(), STATIC_STEP, method, t0=analysis.t0)
    if analysis.t0 != 0.0:
        raise InputError(f"starting time is {analysis.t0:g}; a dynamic analysis starts at 0")
    return Simulation(document.model.compile(), step(document), method)


def at_rest(document: Document) -> "tuple[Equilibrium, Result]":
    """Return the stable equilibrium of a model file at its starting time, and it as a Result of one sample.

    Raises as ``equilibrium`` does.
    """
    from rtmbs.simulation.observers import EveryStep
    from rtmbs.studies.analysis.equilibrium import equilibrium

    found = equilibrium(simulation(document))
    return found, found.simulation.run(found.simulation.t, record=EveryStep())


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


def grid_notes(analysis: FileAnalysis) -> list[str]:
    """Return remarks on the rows of a result: an end between two of them, or a single row."""
    length = analysis.t1 - analysis.t0
    intervals = length / analysis.dt
    if length > 0.0 and intervals < 1.0 - WHOLE:
        return [f"print interval is {analysis.dt:g} s and the analysis takes {length:g} s: the result has one row"]
    if abs(intervals - round(intervals)) > WHOLE * max(intervals, 1.0):
        last = analysis.t0 + int(intervals) * analysis.dt
        return [
            f"ending time {analysis.t1:g} s is no whole number of print intervals of {analysis.dt:g} s; the last row is"
            f" at {last:g} s"
        ]
    return []


def chosen_method(words: list[str] | None) -> Any:
    """Return the method of ``--method``; None where it was not given.

    A formulation and a table are given by name: ``--method runge-kutta tableau=gill formulation=null-space``. Raises
    InputError for an option that is none, or has no such value.
    """
    from ast import literal_eval
    from dataclasses import fields

    from rtmbs.formulations import FORMULATIONS
    from rtmbs.integrators.tableaux import TABLEAUX
    from rtmbs.methods import METHODS

    if words is None:
        return None
    kind, options = METHODS[words[0]], dict[str, Any]()
    known = [f.name for f in fields(kind)]
    for word in words[1:]:
        key, equals, text = word.partition("=")
        if not equals:
            raise InputError(f"option {word!r} of --method is no KEY=VALUE; it must be one, such as rtol=1e-8")
        if key not in known:
            raise unknown_name("option", key, known)
        try:
            options[key] = literal_eval(text)
        except (ValueError, SyntaxError):
            options[key] = text
        if key == "formulation":
            options[key] = FORMULATIONS[text]()
        elif key == "tableau":
            options[key] = TABLEAUX.get(text, text)
    return kind(**options)
