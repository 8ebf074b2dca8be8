"""Force elements and drivers: which step and which slots each row of their tables uses."""

from typing import NamedTuple

import numpy as np

from rtmbs.model import Force, ForceLaw, Model
from rtmbs.model.markers import reference_distance
from rtmbs.system.skeleton import Skeleton
from rtmbs.system.slots import Slots
from rtmbs.system.tables import REVOLUTE, Drivers, JointForces, Springs, Wrenches


class ForceTables(NamedTuple):
    """All force elements, and the pairs of steps that springs and wrenches link, in the order of ``Links``."""

    joint_forces: JointForces
    springs: Springs
    wrenches: Wrenches
    pairs: list[tuple[int, int]]


def build_forces(model: Model, skeleton: Skeleton, slots: Slots) -> ForceTables:
    """Return the force tables, their places in the matrix still open."""
    by_kind: dict[str, list[Force]] = {"between": [], "joint": [], "body": []}
    for force in model.forces.values():
        if isinstance(force.law, ForceLaw):
            by_kind[force.law.attaches].append(force)
    springs, spring_pairs = build_springs(by_kind["between"], skeleton, slots)
    joint_forces = build_joint_forces(by_kind["joint"], skeleton, slots)
    wrenches, wrench_pairs = build_wrenches(by_kind["body"], skeleton, slots)
    return ForceTables(joint_forces, springs, wrenches, spring_pairs + wrench_pairs)


def build_springs(forces: list[Force], skeleton: Skeleton, slots: Slots) -> tuple[Springs, list[tuple[int, int]]]:
    """Return what acts between two points."""
    points: list[list[np.ndarray]] = [[], []]
    pairs, slot = [], []
    for force in forces:
        assert force.between
        places = [skeleton.bodies[marker.body.name] for marker in force.between]
        for k in (0, 1):
            points[k].append(places[k].point(force.between[k].point))
        pairs.append((places[0].step, places[1].step))
        slot.append(add_parameters(force, slots, length=reference_distance(*force.between)))
    ends = [np.array(side).reshape(len(forces), 3) for side in points]
    return Springs(ends[0], ends[1], np.array(slot, np.int64)), pairs


def build_joint_forces(forces: list[Force], skeleton: Skeleton, slots: Slots) -> JointForces:
    """Return what acts on one coordinate."""
    step, slot = [], []
    for force in forces:
        assert force.joint
        joint, k = force.joint
        step.append(skeleton.joint_steps[joint.name][k])
        slot.append(add_parameters(force, slots, unit=joint.type.units()[k]))
    steps = np.array(step, np.int64)
    return JointForces(steps, np.array(slot, np.int64), np.zeros(len(steps), np.int64))


def build_wrenches(forces: list[Force], skeleton: Skeleton, slots: Slots) -> tuple[Wrenches, list[tuple[int, int]]]:
    """Return what acts on one body."""
    point, axes, follows, slot, pairs = [], [], [], [], []
    for force in forces:
        assert force.body is not None
        assert force.point is not None
        place = skeleton.bodies[force.body.name]
        point.append(place.point(force.point))
        axes.append(place.rotation)
        follows.append(int(getattr(force.law, "axes", "world") == "body"))
        slot.append(add_parameters(force, slots))
        pairs.append((-1, place.step))
    nw = len(forces)
    table = Wrenches(
        point=np.array(point).reshape(nw, 3),
        axes=np.array(axes).reshape(nw, 3, 3),
        follows=np.array(follows, np.int64),
        slot=np.array(slot, np.int64),
    )
    return table, pairs


def add_parameters(force: Force, slots: Slots, length: float = 0.0, unit: str = "") -> int:
    """Give a force its slots, one after the other, and return the first."""
    first = slots.used
    assert isinstance(force.law, ForceLaw)
    for parameter in force.law.parameters(length, unit):
        name = f"{force.name}.{parameter.label}"
        if parameter.function is not None:
            what = f"force {force.name!r}: the function of its {parameter.label}"
            slot = slots.add_signal(what, name, parameter.function, len(parameter.value))
            slots.inputs[name] = slice(slot, slots.used)  # to be read; the signal overwrites it
        elif parameter.offered:
            slots.add_input(name, parameter.value)
        else:
            slots.add(parameter.value)
    return first


def build_drivers(model: Model, skeleton: Skeleton, slots: Slots) -> tuple[Drivers, list[tuple[str, bool]]]:
    """Return the driven coordinates without their places in the matrix, with (name, coordinate is an angle)."""
    step, slot, rows = [], [], []
    for driver in model.drivers.values():
        if driver.joint:
            joint, k = driver.joint
            step.append(skeleton.joint_steps[joint.name][k])
            slot.append(slots.add_signal(f"driver {driver.name!r}", driver.name, driver.profile, 3, driver=True))
            rows.append((driver.name, skeleton.steps[step[-1]].kind == REVOLUTE))
    steps = np.array(step, np.int64)
    return Drivers(steps, np.array(slot, np.int64), np.zeros(len(steps), np.int64)), rows
