"""``compile``: a model compiled into the flat arrays that kernels take.

Several spanning trees are tried; the one whose tangent factors with the least arithmetic is kept.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rtmbs.ad import Tape, has_switches, lowered
from rtmbs.contact.bearing import Bearing
from rtmbs.contact.switched import CLOSED, LOCKED, SLIP, CoordinateGap, CoordinateLock, PointGap, PoseLock
from rtmbs.errors import ModelError, TopologyError
from rtmbs.jit.compile_progress import announced
from rtmbs.model.constraints import KnifeEdge, RollingContact
from rtmbs.model.description import ModelDescription, characteristic_length
from rtmbs.model.forces import Law
from rtmbs.model.joints import Joint
from rtmbs.model.shapes import Looks
from rtmbs.numerics.linear.symbolic import flops
from rtmbs.system.closure_tables import (
    ClosureRows,
    RowDescriptions,
    build_closures,
    build_couplers,
    closure_infos,
    describe_rows,
    tabulate_closures,
    tabulate_couplers,
)
from rtmbs.system.components import find_balance, no_balance, no_origins, with_origins
from rtmbs.system.condition_tables import BuiltConstraint, build_conditions, close_condition, tabulate_conditions
from rtmbs.system.contact_tables import build_contact_sets, build_contacts, tabulate_contacts
from rtmbs.system.dof_layout import ConnectorList, DofLayout, build_dof_layout, build_initial_motion, tabulate_dofs
from rtmbs.system.force_tables import build_drivers, build_forces, with_joint_drivers
from rtmbs.system.input_slots import Slots
from rtmbs.system.law_tables import LawTables, build_laws
from rtmbs.system.pattern import give_places, lay_out
from rtmbs.system.recorded_laws import LawRecorder
from rtmbs.system.system import Array, BodyInfo, ForceInfo, Integers, JointInfo, MarkerInfo, System, joint_info
from rtmbs.system.tables import (
    PRISMATIC,
    Balance,
    CondensedClosures,
    Contacts,
    ContactSets,
    Dofs,
    Interfaces,
    Laws,
    Tables,
)
from rtmbs.system.topology import (
    CONSTRAINT,
    DRIVEN_DISTANCE,
    KNIFE_EDGE,
    ROD,
    ROLLING,
    Connector,
    Edge,
    Relation,
    Topology,
    spanning_trees,
)

FORMAT = 5  # of the tables; part of the fingerprint


def compile(model: ModelDescription, length: float | None = None) -> System:
    """Return the compiled model; ``length`` [m] replaces its characteristic length.

    Raises TopologyError for a body that hangs on nothing and a joint that holds nothing, ModelError for a function of
    time that fails at t = 0, a driver that only a kinematic analysis follows, and a driver that a pinned initial value
    contradicts. Names the element. Masses are looked at when a Simulation starts.
    """
    with announced():
        return compiled(with_joint_drivers(model), length)


def compiled(model: ModelDescription, length: float | None = None) -> System:
    """Return the System of a model with drivers on joint coordinates; ``length`` as in ``compile``."""
    length = characteristic_length(model) if length is None else length
    recorder = LawRecorder(model, length)
    conditions = build_conditions(model, length)
    equations = {one.constraint.name: one.function.m for one in conditions}
    topologies = candidates(model, equations)
    drafts = [write_draft(model, topology, length, recorder, conditions) for topology in topologies]
    best = min(drafts, key=lambda draft: flops(draft.lu))  # the user's order among equals
    return finish(model, best, length)


@dataclass(frozen=True)
class Draft:
    """All tables for one spanning tree."""

    topology: Topology
    layout: DofLayout
    closures: list[ClosureRows]
    rows: RowDescriptions
    slots: Slots
    tables: Tables
    lu: Any
    laws: LawTables
    forces: dict[str, ForceInfo]
    may_bend: bool


def candidates(model: ModelDescription, equations: Mapping[str, int]) -> list[Topology]:
    """Return the candidate spanning trees, with rods and drivers included; ``equations`` of each constraint."""
    needed = {initial.joint.name: "its initial value" for initial in model.initials.values()}
    needed |= {driver.joint[0].name: f"driver {driver.name!r}" for driver in model.drivers.values() if driver.joint}
    for force in model.forces.values():
        on = (force.joint,) if force.joint else force.joints or ()
        needed |= {joint.name: f"force {force.name!r}" for joint, _ in on}
    for coupler in model.couplers.values():
        needed |= {joint.name: f"{coupler.kind} {coupler.name!r}" for joint, *_ in coupler.terms}
    for constraint in model.constraints.values():
        needed |= {joint.name: f"constraint {constraint.name!r}" for joint, _ in constraint.joints}
    number = {name: k for k, name in enumerate(model.bodies)}
    edges = [as_edge(joint, number, joint.name in needed) for joint in model.joints.values()]
    spans = [(rod.name, ROD, rod.between) for rod in model.rods.values()]
    spans += [(one.name, DRIVEN_DISTANCE, one.between) for one in model.drivers.values() if one.between]
    connectors = tuple(
        Connector(name, kind, number[between[0].body.name], number[between[1].body.name])
        for name, kind, between in spans
    )
    connectors += tuple(
        Connector(
            one.name,
            CONSTRAINT,
            number[one.between[0].body.name],
            number[one.between[1].body.name],
            equations[one.name],
        )
        for one in model.constraints.values()
        if one.between
    )
    connectors += tuple(contact_connector(one, number) for one in model.contacts.values())
    driven = tuple(driver.name for driver in model.drivers.values() if driver.joint)
    found = spanning_trees(model.name, list(model.bodies), edges)
    for cut in found[0].cuts:  # auxiliary bodies are the same in every candidate
        joint = model.joints[edges[cut.edge].name]
        if cut.auxiliary and joint.closure:
            raise ModelError(
                f"joint {joint.name!r}: closure={joint.closure!r} leaves no coordinate for {needed[joint.name]}; "
                "leave it out"
            )
    relations = tuple(
        Relation(one.name, CONSTRAINT, coordinate_names(one.joints), equations[one.name])
        for one in model.constraints.values()
        if one.joints
    )
    relations += tuple(Relation(one.name, one.kind, one.coordinates) for one in model.couplers.values())
    return [replace(topology, connectors=connectors, relations=relations, drivers=driven) for topology in found]


def contact_connector(contact: RollingContact | KnifeEdge, number: dict[str, int]) -> Connector:
    """Return a nonholonomic constraint as a connector of the graph."""
    if isinstance(contact, RollingContact):
        ends = number[contact.plane.body.name], number[contact.wheel.body.name]
        return Connector(contact.name, ROLLING, *ends, 3)
    return Connector(contact.name, KNIFE_EDGE, number[contact.base.name], number[contact.blade.body.name])


def coordinate_names(coordinates: tuple[tuple[Joint, int], ...]) -> tuple[str, ...]:
    return tuple(f"{joint.name}.{joint.type.coordinates[k]}" for joint, k in coordinates)


def as_edge(joint: Joint, number: dict[str, int], needed: bool) -> Edge:
    """Return a joint as an edge of the graph."""
    return Edge(
        name=joint.name,
        type=type(joint.type).__name__,
        a=number[joint.a.name],
        b=number[joint.b.name],
        size=len(joint.type.dofs()),
        equations=joint.equation_count,
        coordinates=joint.type.coordinates,
        needed=needed or bool(joint.type.pitched or joint.type.obstacle()),
        cut=joint.cut,
        floating=joint.type.free,
    )


def write_draft(
    model: ModelDescription, topology: Topology, length: float, recorder: LawRecorder, conditions: list[BuiltConstraint]
) -> Draft:
    """Return all tables for one spanning tree."""
    layout = build_dof_layout(model, topology)
    if not layout.dofs:
        raise TopologyError(f"model {model.name!r} has no coordinate: nothing in it can move; add a joint that can")
    slots = Slots()
    slots.add_input("gravity", model.gravity)
    closures = build_closures(model, topology, layout, slots, length)
    plain = len(closures)
    closures += build_contacts(model, layout)
    closures += [close_condition(one, layout) for one in conditions]
    closures += build_couplers(model, layout, slots, length)
    condition_tables = tabulate_conditions(conditions, closures, layout, slots)
    drivers, driver_rows = build_drivers(model, layout, slots)
    dofs = tabulate_dofs(model, layout)
    connector_list = ConnectorList()
    closure_table = tabulate_closures(closures, connector_list)
    forces = build_forces(model, layout, slots, connector_list)
    laws = build_laws(recorder, layout, slots, connector_list)
    sets = build_contact_sets(model, layout, slots, connector_list, len(laws.states), length)
    paths, interfaces, condensed, connectors = lay_out(dofs.parent, connector_list.pairs, connector_list.branches)
    check_connectors(closures, closure_table.connector, connectors.pointer)
    lu, tables = give_places(
        Tables(
            dofs=dofs,
            origins=no_origins(len(dofs.parent)),
            paths=paths,
            interfaces=interfaces,
            condensed=condensed,
            connectors=connectors,
            closures=closure_table,
            contacts=tabulate_contacts(model, closures, plain),
            conditions=condition_tables,
            couplers=tabulate_couplers(closures),
            drivers=drivers,
            joint_forces=forces.joint_forces,
            forces=forces.forces,
            laws=laws.laws,
            balance=no_balance(len(dofs.kind)),
            sets=sets,
        )
    )
    rows = describe_rows(closures, driver_rows)
    infos = forces.infos | {name: with_limits(model, info) for name, info in laws.infos.items()}
    may_bend = laws.may_bend or len(sets.dof) > 0 or any(has_switches(one.tape) for one in conditions)
    return Draft(topology, layout, closures, rows, slots, tables, lu, laws, infos, may_bend)


def with_limits(model: ModelDescription, info: ForceInfo) -> ForceInfo:
    """Return the data of a law with its limits; ModelError for a pair of them out of order."""
    law = model.forces[info.name].law
    if not isinstance(law, Law):
        return info
    function = law.function
    ordered = getattr(function, "ordered_inputs", ())
    for low, high in ordered:
        sides = ((low, -np.inf), (high, np.inf))
        below, above = (float(np.ravel(law.parameters.get(key, side))[0]) for key, side in sides)
        if below >= above:
            sizes = f"{low} is {below:g} and {high} {above:g}"
            raise ModelError(f"force {info.name!r}: {sizes}; {low} must be below {high}")
    return info._replace(ordered=ordered, stop=function if callable(getattr(function, "depth", None)) else None)


def check_connectors(closures: list[ClosureRows], connectors: Integers, branch_pointer: Integers) -> None:
    """Refuse a rod or a driven distance between bodies that are welded together."""
    sizes = np.diff(branch_pointer)[connectors]
    for closure, size in zip(closures, sizes, strict=True):
        if size == 0:
            raise TopologyError(
                f"{closure.name!r} holds two points of bodies that fixed joints already hold together; remove it"
            )


def finish(model: ModelDescription, draft: Draft, length: float) -> System:
    """Return the System of the chosen draft."""
    layout, slots, signals = draft.layout, draft.slots, tuple(draft.slots.signals)
    locks, rigid = locks_of(model), rigid_of(model)
    tables = with_origins(draft.tables)
    tables = tables._replace(balance=find_balance(tables, draft.lu, floating_dofs(model, layout), signals, length))
    typical = np.where(tables.dofs.kind == PRISMATIC, length, 1.0)
    start = build_initial_motion(model, layout, tables.dofs.axis, typical)
    names = [dof.name for dof in layout.dofs]
    bodies = {name: body_info(model, layout, name) for name in model.bodies}
    markers = marker_infos(model, layout)
    infos = closure_infos(draft.closures)
    said = [model.name, *names, *draft.rows.names, *map(repr, slots.inputs.items())]
    said += [*slots.identities, *draft.laws.code, *(f"{one.force}.{one.name}" for one in draft.laws.states)]
    placed = [part for info in (*bodies.values(), *markers.values()) for part in info]
    return System(
        name=model.name,
        tables=tables,
        lu=draft.lu,
        u0=first_inputs(slots, locks, rigid),
        inputs=slots.inputs,
        signals=signals,
        shapes=slots.shapes,
        fingerprint=fingerprint([*said, *bodies, *markers, *placed, *arrays(hashed_tables(tables, draft))]),
        bodies=bodies,
        joints=joint_infos(model, draft),
        markers=markers,
        forces=draft.forces,
        closures=infos,
        typical=typical,
        length=length,
        coordinate_names=names,
        closure_names=[info.name for info in infos],
        row_names=draft.rows.names,
        block_of_row=draft.rows.block,
        closure_of_row=draft.rows.closure,
        row_is_rotation=draft.rows.is_rotation,
        topology=draft.topology,
        called=draft.laws.called,
        states=draft.laws.states,
        outside=draft.laws.outside,
        switches=draft.laws.switches,
        may_bend=draft.may_bend,
        reaction_stiffness=dict(model.reaction_stiffness),
        bearings=bearings_of(model),
        locks=locks,
        rigid=rigid,
        contact_sets=tuple(model.contact_sets),
        looks=shown_looks(model),
        **start._asdict(),
    )


def shown_looks(model: ModelDescription) -> dict[str, Looks]:
    """Return the looks of bodies, with the shapes by which they touch."""
    found = dict(model.looks)
    for name, shapes in model.contact_shapes.items():
        looks = found.get(name, Looks())
        found[name] = replace(looks, shapes=(*looks.shapes, *shapes))
    return found


def locks_of(model: ModelDescription) -> dict[str, bool]:
    """Return the constraints that are locks, and whether they are closed at the start."""
    functions = {name: one.law.function for name, one in model.constraints.items()}
    return {name: one.closed for name, one in functions.items() if isinstance(one, CoordinateLock | PoseLock)}


def rigid_of(model: ModelDescription) -> dict[str, CoordinateGap | PointGap]:
    """Return the gaps of rigid contacts by name of their constraints."""
    functions = {name: one.law.function for name, one in model.constraints.items()}
    return {name: one for name, one in functions.items() if isinstance(one, CoordinateGap | PointGap)}


def bearings_of(model: ModelDescription) -> dict[str, Bearing]:
    """Return the bearings of frictions that follow the load of their joint, by name of the friction."""
    laws = {name: one.law.function for name, one in model.forces.items() if isinstance(one.law, Law)}
    found = {name: getattr(law, "bearing", None) for name, law in laws.items()}
    return {name: one for name, one in found.items() if isinstance(one, Bearing)}


def first_inputs(slots: Slots, locks: Iterable[str], rigid: Iterable[str]) -> Array:
    """Return the default inputs (nu,), all locks and rigid contacts open: a start or a run closes them."""
    u = slots.array()
    for name in rigid:
        u[slots.inputs[f"{name}.{CLOSED}"]] = 0.0
        if f"{name}.{SLIP}" in slots.inputs:
            u[slots.inputs[f"{name}.{SLIP}"]] = 0.0
    for name in locks:
        u[slots.inputs[f"{name}.{LOCKED}"]] = 0.0
    return u


def hashed_tables(tables: Tables, draft: Draft) -> list[Any]:
    """Return the tables that the fingerprint depends on.

    Interfaces follow from the tree, which the dofs say, condensed closures and the balance from all the rest.
    """
    derived, laws = Interfaces | CondensedClosures | Balance, without_lanes(tables.laws, draft.laws.tape)
    return [
        laws if part is tables.laws else without_no_pitch(part)
        for part in tables
        if not isinstance(part, derived) and not no_contacts(part)
    ]


def floating_dofs(model: ModelDescription, layout: DofLayout) -> Integers:
    """Return the dofs of the floating joints of the tree."""
    names = [name for name, joint in model.joints.items() if joint.type.free]
    return np.array([dof for name in names for dof in layout.joint_dofs.get(name, ())], np.int64)


def body_info(model: ModelDescription, layout: DofLayout, name: str) -> BodyInfo:
    body, place = model.bodies[name], layout.bodies[name]
    return BodyInfo(place.dof, place.rotation, place.position, body.mass, body.center_of_mass, body.inertia)


def marker_infos(model: ModelDescription, layout: DofLayout) -> dict[str, MarkerInfo]:
    found = {}
    for marker in model.markers.values():
        place = layout.bodies[marker.body.name]
        found[marker.name] = MarkerInfo(marker.body.name, marker.point, place.dof, place.point(marker.point))
    return found


def without_no_pitch(part: Any) -> Any:
    """Return a table without the pitch of its dofs where all are zero: files from before pitch keep their System."""
    if not isinstance(part, Dofs) or np.any(part.pitch):
        return part
    return tuple(value for name, value in zip(part._fields, part, strict=True) if name != "pitch")


def no_contacts(part: Any) -> bool:
    """Return whether a table is that of contacts, and empty: files from before contacts keep their System."""
    return (isinstance(part, Contacts) and not len(part.normal)) or (
        isinstance(part, ContactSets) and not len(part.dof)
    )


def without_lanes(laws: Laws, tape: Tape | None) -> tuple[Any, ...]:
    """Return the laws with their program by level and without lanes: no order of evaluation is part of a System."""
    said = laws if tape is None else laws._replace(program=lowered(tape, by_level=True))
    return tuple(value for name, value in zip(said._fields, said, strict=True) if name != "lanes")


def arrays(tables: Iterable[Any]) -> Iterator[Array]:
    """Yield every array of nested structs."""
    for part in tables:
        if isinstance(part, tuple):
            yield from arrays(part)
        else:
            yield part


def joint_infos(model: ModelDescription, draft: Draft) -> dict[str, JointInfo]:
    """Return the place of every joint in tree or closures."""
    layout = draft.layout
    closure = {one.name: l for l, one in enumerate(draft.closures)}
    cut = {draft.topology.edges[one.edge].name: one.auxiliary for one in draft.topology.cuts}
    found = {}
    for name, joint in model.joints.items():
        found[name] = joint_info(
            joint,
            in_tree=cut.get(name, True),
            auxiliary=cut.get(name, False),
            dofs=layout.joint_dofs.get(name, (-1,)),
            reversed=layout.reversed.get(name, False),
            closure=closure.get(name, -1),
        )
    return found


def fingerprint(parts: Iterable[str | float | Array]) -> str:
    """Return the sha256 of names and arrays.

    Default inputs and start values are left out: a saved state brings its own, and may be loaded after they changed.
    """
    digest = hashlib.sha256(f"rtmbs system {FORMAT}".encode())
    for part in parts:
        if isinstance(part, str):
            digest.update(part.encode() + b"\0")
        else:
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
