"""Tables of force elements and drivers: dof, connector and input slots of each row."""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.forces.kind import ConnectorEnd, table_of
from rtmbs.forces.register import KINDS, Forces
from rtmbs.model.body import Body
from rtmbs.model.description import ModelDescription
from rtmbs.model.forces import Force, ForceLaw
from rtmbs.model.markers import Marker
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
