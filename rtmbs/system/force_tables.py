"""Tables of force elements and of drivers on joint coordinates: dof, connector and input slots of each row.

A driver of a body that a joint holds to ground becomes a driver of the joint: a body that slides on ground moves its
origin by r0 + e s, and one that turns about the world's z axis its yaw by its angle.
"""

import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.forces.kind import ConnectorEnd, table_of
from rtmbs.forces.register import KINDS, Forces
from rtmbs.model.body import Body, Marker
from rtmbs.model.constraints import Driver
from rtmbs.model.description import ModelDescription
from rtmbs.model.forces import Force, ForceLaw
from rtmbs.model.joints import Joint, Prismatic, Revolute
from rtmbs.model.profiles import Given, Motion, Profile
from rtmbs.system.dof_layout import ConnectorList, DofLayout
from rtmbs.system.input_slots import Slots
from rtmbs.system.system import Array, ForceInfo
from rtmbs.system.tables import REVOLUTE, Drivers, JointForces


class ForceTables(NamedTuple):
    """Tables of all force elements but the laws of the user."""

    forces: Any  # ``Tables.forces``
    joint_forces: JointForces
    infos: dict[str, ForceInfo]  # in the order of the tables


class CompileContext:
    """Services for builders of force tables; implements ``forces.kind.BuildContext``."""

    def __init__(self, layout: DofLayout, slots: Slots, connector_list: ConnectorList) -> None:
        self.layout, self.slots, self.connector_list = layout, slots, connector_list

    def marker(self, marker: Marker) -> ConnectorEnd:
        """Return the end at a marker."""
        place = self.layout.bodies[marker.body.name]
        return ConnectorEnd(place.dof, place.point(marker.point), place.rotation @ marker.axes)

    def body(self, body: Body, point: Array) -> ConnectorEnd:
        """Return the end at a point (3,) in body axes, with the body's axes."""
        place = self.layout.bodies[body.name]
        return ConnectorEnd(place.dof, place.point(point), place.rotation)

    def connect(self, a: int, b: int) -> int:
        """Return the number of a new connector between dofs ``a`` and ``b``."""
        return self.connector_list.add(a, b)

    def parameters(self, force: Force, length: float = 0.0, unit: str = "") -> int:
        """Reserve the input slots of a force, one after the other, and return the first."""
        return add_parameters(force, self.slots, length, unit)


def build_forces(
    model: ModelDescription, layout: DofLayout, slots: Slots, connector_list: ConnectorList
) -> ForceTables:
    """Return the force tables, without places in the matrix."""
    by_kind: dict[str, list[Force]] = {}
    for force in model.forces.values():
        if isinstance(force.law, ForceLaw):
            by_kind.setdefault(table_of(force.law), []).append(force)
    site = CompileContext(layout, slots, connector_list)
    tables, infos = [], {}
    for kind in KINDS:
        mine = by_kind.get(kind.name, [])
        table = kind.build(mine, site)
        tables.append(table)
        for row, force in enumerate(mine):
            connector = int(table.connector[row])
            infos[force.name] = ForceInfo(force.name, kind.word, row, *ends(model, force), connector=connector)
    mine = by_kind.get("joint_forces", [])
    for row, force in enumerate(mine):
        infos[force.name] = ForceInfo(force.name, "joint", row, *ends(model, force))
    return ForceTables(Forces(*tables), build_joint_forces(mine, layout, slots), infos)


def ends(model: ModelDescription, force: Force) -> tuple[str, str]:
    """Return the bodies that a force acts on with -F and F; of a force on joints, those of the first one."""
    if force.between:
        return force.between[0].body.name, force.between[1].body.name
    if force.body is not None:
        return model.ground.name, force.body.name
    joint = force.joint[0] if force.joint else force.joints[0][0] if force.joints else None
    return (joint.a.name, joint.b.name) if joint else (model.ground.name, model.ground.name)


def build_joint_forces(forces: list[Force], layout: DofLayout, slots: Slots) -> JointForces:
    """Return the forces that act on one coordinate."""
    dof, slot = [], []
    for force in forces:
        assert force.joint
        joint, k = force.joint
        dof.append(layout.joint_dofs[joint.name][k])
        slot.append(add_parameters(force, slots, unit=joint.type.units()[k]))
    dofs = np.array(dof, np.int64)
    return JointForces(dofs, np.array(slot, np.int64), np.zeros(len(dofs), np.int64))


def add_parameters(force: Force, slots: Slots, length: float = 0.0, unit: str = "") -> int:
    """Reserve the input slots of a force, one after the other, and return the first."""
    first = slots.used
    assert isinstance(force.law, ForceLaw)
    for parameter in force.law.parameters(length, unit):
        name = f"{force.name}.{parameter.label}"
        if parameter.function is not None:
            what = f"force {force.name!r}: the function of its {parameter.label}"
            slot = slots.add_signal(what, name, parameter.function, len(parameter.value))
            slots.inputs[name] = slice(slot, slots.used)  # to be read; the signal overwrites it
        elif parameter.offered:
            slots.add_input(name, parameter.value.ravel())
            if parameter.value.ndim > 1:
                slots.shapes[name] = parameter.value.shape
        else:
            slots.add(parameter.value)
    return first


def build_drivers(model: ModelDescription, layout: DofLayout, slots: Slots) -> tuple[Drivers, list[tuple[str, bool]]]:
    """Return the driven coordinates without places in the matrix, with (name, coordinate is an angle)."""
    dof, slot, rows = [], [], []
    for driver in model.drivers.values():
        if driver.joint:
            joint, k = driver.joint
            dof.append(layout.joint_dofs[joint.name][k])
            slot.append(slots.add_driver(driver.name, driver.profile))
            rows.append((driver.name, layout.dofs[dof[-1]].kind == REVOLUTE))
    dofs = np.array(dof, np.int64)
    return Drivers(dofs, np.array(slot, np.int64), np.zeros(len(dofs), np.int64)), rows


# ---- drivers on joint coordinates -----------------------------------------------------------------------------------


SLANT = 1e-6  # cosine between the driven direction and that of the joint from which it can be driven
UPRIGHT = 1e-12  # what an axis may miss the world's z axis by
COORDINATES = ("x", "y", "z")


@dataclass(frozen=True)
class AffineProfile:
    """Profile f = (profile - start) / slope."""

    profile: Profile
    start: float
    slope: float

    @property
    def jumps(self) -> Any:
        """Declared jumps of the profile."""
        return getattr(self.profile, "jumps", None)

    def __call__(self, t: float) -> Motion:
        f, fd, fdd = self.profile(t)
        return (f - self.start) / self.slope, fd / self.slope, fdd / self.slope


def with_joint_drivers(model: ModelDescription) -> ModelDescription:
    """Return the model with drivers on joint coordinates; raises ModelError for one that has no equivalent."""
    if all(driver.dynamic for driver in model.drivers.values()):
        return model
    found = copy.copy(model)
    found.drivers = {}
    for driver in model.drivers.values():
        one = driver if driver.dynamic else joint_driver(model, driver)
        for other in found.drivers.values():
            if one.joint and one.joint == other.joint:
                raise ModelError(
                    f"driver {one.name!r} prescribes {driver.target}, which {one.target} decides, and driver "
                    f"{other.name!r} drives that already; take one of them away"
                )
        found.drivers[one.name] = one
    return found


def joint_driver(model: ModelDescription, driver: Driver) -> Driver:
    """Return the driver of a joint coordinate equivalent to a driver of a body."""
    if driver.body:
        body, coordinate = driver.body
        for joint in model.joints.values():
            if body in (joint.a, joint.b) and model.ground in (joint.a, joint.b):
                line = linear_relation(joint, body, coordinate)
                if line is not None:
                    k, *shift = line
                    return replace(driver, profile=affine_profile(driver, *shift), body=None, joint=(joint, k))
    raise ModelError(
        f"driver {driver.name!r} prescribes {driver.target}, which only a kinematic analysis follows; drive a joint "
        "coordinate or the distance of two markers, or hold the body to ground by a prismatic or upright revolute "
        "joint, or for x, y, z by a floating joint at the body's origin with axes of the world"
    )


def affine_profile(driver: Driver, start: float, slope: float) -> Profile:
    """Return the profile of a joint coordinate with (start, slope); ModelError for one that the user sets."""
    if (start, slope) == (0.0, 1.0):
        return driver.profile
    if isinstance(driver.profile, Given):
        raise ModelError(
            f"driver {driver.name!r}: an Input cannot prescribe {driver.target}, which is {start:g} + {slope:g} times "
            "a joint coordinate; drive the coordinate of the joint by joint=, or place the joint at the world's origin"
        )
    return AffineProfile(driver.profile, start, slope)


def linear_relation(joint: Joint, body: Body, coordinate: str) -> tuple[int, float, float] | None:
    """Return (number, start, slope): a body's coordinate over one of the joint's; None when it is not linear."""
    if joint.type.free:
        at_origin = body is joint.b and not np.any(joint.point_b) and np.array_equal(joint.axes_a, np.eye(3))
        if coordinate not in COORDINATES or not at_origin:
            return None
        k = COORDINATES.index(coordinate)
        return k, float(joint.point_a[k]), 1.0
    sign = 1.0 if body is joint.b else -1.0  # a positive coordinate moves b relative to a
    to_world, to_body = (joint.axes_a, joint.axes_b) if body is joint.b else (joint.axes_b, joint.axes_a)
    point, own = (joint.point_a, joint.point_b) if body is joint.b else (joint.point_b, joint.point_a)
    turned = to_world @ to_body.T  # body to world at zero
    if isinstance(joint.type, Prismatic) and coordinate in COORDINATES:
        k = COORDINATES.index(coordinate)
        slope = sign * float((to_world @ np.array(joint.type.axis))[k])
        return (0, float((point - turned @ own)[k]), slope) if abs(slope) > SLANT else None
    if isinstance(joint.type, Revolute) and coordinate == "yaw":
        axis = to_world @ np.array(joint.type.axis)
        if abs(abs(axis[2]) - 1.0) > UPRIGHT:
            return None
        return 0, float(np.arctan2(turned[1, 0], turned[0, 0])), sign * float(np.sign(axis[2]))
    return None
