"""Why a tolerance asks for steps that are too small: a force with a jump or kink, a function of time, or rounding."""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from rtmbs.results.catalogue import sources
from rtmbs.results.channel import units_of
from rtmbs.results.evaluation import Evaluation
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.simulation.dense import Moment
from rtmbs.system.system import System
from rtmbs.system.tables import Array

STANDS_OUT = 0.2  # of the largest bend of a force: usual bends below it leave one step that stands out
BENDS = 0.25  # of the largest change in a step
ROUNDING = 1e-11  # of a force: changes below it tell nothing
LAWS = ("law", "joint law")  # kinds that may jump, beside functions of time
CHATTER = 1e-3  # of a force: no smooth one changes so much in such a step


def remedy(system: System, tables: Any, moments: Sequence[Moment]) -> str:
    """Return what bends in steps too small, ``moments`` at their ends, and what would help."""
    moved = {signal.name.rpartition(".")[0] for signal in system.signals}
    if force := bent_force(system, tables, moments, moved):
        better = "declare the jumps of its function of time" if force in moved else "smooth its law"
        return f"force {force!r} jumps or has a kink there; {better}, or give a larger tolerance"
    if max((bend(column) for column in np.array([one.zdd for one in moments]).T), default=0.0) > 0.0:
        return (
            "accelerations jump there, or rounding adds more than a step; smooth the force law that jumps, or give a "
            "larger tolerance"
        )
    if undeclared := [signal.name for signal in system.signals if signal.jumps is None]:
        return f"give a larger tolerance, or declare the jumps of functions of time, as of {undeclared[0]!r}"
    return "nothing bends there, and what rounding adds to a step is larger; give a larger tolerance"


def bent_force(system: System, tables: Any, moments: Sequence[Moment], moved: Container[str]) -> str:
    """Return the law, or force ``moved`` by a function of time, that bends in some small steps most; empty for none."""
    values = {name: np.array([getattr(one, name) for one in moments]) for name in ("t", *OF_STATE)}
    found = sources(system, Evaluation(system, tables, Samples(**values)))
    size = {"N": float(system.length), "N m": 1.0}
    suspects = {force for force, info in system.forces.items() if info.kind in LAWS or force in moved}
    largest: dict[str, float] = {}
    for name, source in found.items():
        force = name.rpartition(".")[0]
        units = units_of(source.axes, source.unit)
        if force not in suspects or not size.keys() >= set(units):
            continue
        columns = source.channel(name).values.reshape(len(moments), -1).T
        bends = [size[unit] * bend(column) for unit, column in zip(units, columns, strict=True)]
        largest[force] = max(largest.get(force, 0.0), *bends)
    worst = max(largest, key=lambda force: largest[force], default="")
    return worst if largest.get(worst, 0.0) > 0.0 else ""


def bend(values: Array) -> float:
    """Return how far values (k,) bend in one place, or chatter, in their unit; 0 for smooth ones and for rounding."""
    if len(values) < 4:
        return 0.0
    steps = np.diff(values)
    change, bends = float(np.abs(steps).max()), np.abs(np.diff(steps))
    size = float(np.abs(values).max())
    in_one_place = change > ROUNDING * size and np.median(bends) <= STANDS_OUT * bends.max()
    if not (in_one_place or change > CHATTER * size) or bends.max() < BENDS * change:
        return 0.0
    return float(bends.max())
