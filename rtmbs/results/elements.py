"""Force elements by name: which table row each one is, and which bodies it joins.

The tables know slots and steps only. Names come from those of the slots; a spring's bodies from the markers it was
drawn between; the body of a given wrench from its step, which is unclear when several bodies are welded together there.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rtmbs.system.system import Array, System

LAST_OF_JOINT_FORCE = 3  # a motor's value is the fourth of its slots


class ForceRow(NamedTuple):
    """A force element."""

    name: str
    kind: str  # spring, joint, wrench
    row: int  # of its table


def force_rows(system: System) -> list[ForceRow]:
    """Return springs, joint forces and given wrenches in the order of their tables."""
    labels = {place.start: name for name, place in system.inputs.items()}
    labels |= {signal.slot: signal.name for signal in system.signals}

    def name(*slots: int) -> str:
        return next(labels[slot] for slot in slots if slot in labels).rsplit(".", 1)[0]

    tables = system.tables
    rows = [ForceRow(name(slot), "spring", k) for k, slot in enumerate(tables.springs.slot.tolist())]
    joints = enumerate(tables.joint_forces.slot.tolist())
    rows += [ForceRow(name(slot, slot + LAST_OF_JOINT_FORCE), "joint", k) for k, slot in joints]
    return rows + [ForceRow(name(slot), "wrench", k) for k, slot in enumerate(tables.wrenches.slot.tolist())]


def spring_ends(system: System, force: ForceRow) -> tuple[str, str]:
    """Return the bodies a and b of a spring: those of the markers in its two points."""
    link = len(system.closure_names) + force.row
    springs, links = system.tables.springs, system.tables.links
    ends = (links.a[link], springs.point_a[force.row]), (links.b[link], springs.point_b[force.row])
    first, second = (
        next(marker.body for marker in system.markers.values() if same_place(marker.step, marker.position, *end))
        for end in ends
    )
    return first, second


def wrench_body(system: System, force: ForceRow) -> str:
    """Return the body that a given wrench acts on; the first one of those in question when that is unclear."""
    return bodies_in_question(system, force)[0]


def bodies_in_question(system: System, force: ForceRow) -> list[str]:
    """Return the bodies on the step of a given wrench; one when it is alone there or has its origin in the point."""
    step = system.tables.links.b[len(system.closure_names) + len(system.tables.springs.slot) + force.row]
    here = [name for name, body in system.bodies.items() if body.step == step]
    point = system.tables.wrenches.point[force.row]
    exact = [name for name in here if same_place(step, point, step, system.bodies[name].position)]
    return exact if len(exact) == 1 else here


def unclear_wrenches(system: System) -> Iterable[tuple[str, list[str]]]:
    """Yield the given wrenches whose body is unclear, with the bodies in question."""
    for force in force_rows(system):
        if force.kind == "wrench" and len(bodies := bodies_in_question(system, force)) > 1:
            yield force.name, bodies


def same_place(step: int, point: Array, other_step: int, other: Array) -> bool:
    """True when two points of steps are one, bit for bit: the same numbers were computed in the same way."""
    return bool(step == other_step and np.array_equal(point, other))
