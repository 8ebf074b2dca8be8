"""Recorded force laws of a model, joined into one program and laid out as tables."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rtmbs.ad import Program, Tape, joined, lowered
from rtmbs.model import Force, Model
from rtmbs.model.laws import Law
from rtmbs.system.connector_list import ConnectorList, numbers
from rtmbs.system.force_tables import ends
from rtmbs.system.identity import identity
from rtmbs.system.law_state_tables import WIDTH, input_order, own_entries, state_infos, state_tables
from rtmbs.system.outside import Outside, values_read
from rtmbs.system.recorded_laws import BuiltLaw, Workshop
from rtmbs.system.skeleton import Placement, Skeleton
from rtmbs.system.slots import Slots
from rtmbs.system.system import Array, CalledLaw, ForceInfo, Integers, LawStateInfo
from rtmbs.system.tables import Laws


class LawTables(NamedTuple):
    """All force laws, the places in the matrix still open."""

    laws: Laws
    called: tuple[CalledLaw, ...]
    infos: dict[str, ForceInfo]
    code: tuple[str, ...]  # of the called laws: what tells two of them apart
    states: tuple[LawStateInfo, ...]
    outside: tuple[Outside, ...]  # what recorded laws read from outside of their arguments


def build_laws(workshop: Workshop, skeleton: Skeleton, slots: Slots, connector_list: ConnectorList) -> LawTables:
    """Return the tables of every force law; raises ModelError with the name of a law that cannot be."""
    model = workshop.model
    built = [workshop.law(force, skeleton) for force in model.forces.values() if isinstance(force.law, Law)]
    first = give_slots(built, slots)
    frames = recorded_first([law for law in built if not law.coordinates])
    joints = recorded_first([law for law in built if law.coordinates])
    placed = [placements(law.force, skeleton) for law in frames]
    own = [connector_list.add(a[0].dof, b[0].dof) for a, b in placed]
    dofs = {law.force.name: joint_dofs(law, skeleton) for law in joints}
    states = state_tables(frames, joints)
    tables = Laws(
        program=lowered(one_tape(frames, joints)) if any(law.tape for law in built) else no_program(),
        slot=np.array([slot for law in (*frames, *joints) if law.tape for slot in first[law.force.name]], np.int64),
        connector=numbers(own),
        frame_a=frame_table([frame(place, *axes) for (place, *axes), _ in placed]),
        frame_b=frame_table([frame(place, *axes) for _, (place, *axes) in placed]),
        wrench_entry=wrench_entries(frames),
        row=np.array([dof for law in joints for dof in dofs[law.force.name]], np.int64),
        input=input_table([dofs[law.force.name] for law in joints]),
        force_entry=np.concatenate([force_entries(joints), states.fill]),
        counts=np.array(
            [
                len([law for law in frames if law.tape]),
                sum(law.function.acts for law in joints if law.tape),
                sum(law.function.looks for law in joints if law.tape),
                sum(np.count_nonzero(own_entries(law)) for law in joints if law.tape),
            ],
            np.int64,
        ),
        state_block=states.block,
        state_place=states.place,
    )
    infos = law_infos(model, frames, joints, own, dofs)
    code = tuple(code_of(law) for law in built if not law.tape)
    outside = tuple(read_outside(law) for law in built if law.tape)
    states_of = state_infos((*frames, *joints))
    return LawTables(tables, called_laws(frames, joints, first), infos, code, states_of, outside)


def law_infos(
    model: Model,
    frames: list[BuiltLaw],
    joints: list[BuiltLaw],
    connectors: list[int],
    dofs: dict[str, tuple[int, ...]],
) -> dict[str, ForceInfo]:
    """Return what is known of every law: those between frames, then those on joints."""
    found, force = {}, 0
    for row, (law, connector) in enumerate(zip(frames, connectors, strict=True)):
        name, on_body = law.force.name, law.force.body is not None
        found[name] = ForceInfo(name, "law", row, *ends(model, law.force), (), law.reason, on_body, connector)
    for law in joints:
        name = law.force.name
        found[name] = ForceInfo(name, "joint law", force, *ends(model, law.force), dofs[name], law.reason)
        force += law.function.acts
    return found


def code_of(law: BuiltLaw) -> str:
    """Return what a called law is known by: its name and the identity of its function."""
    assert isinstance(law.force.law, Law)
    return f"{law.force.name} {identity(law.force.law.function)}"


def read_outside(law: BuiltLaw) -> Outside:
    """Return what a recorded law reads from outside of its arguments."""
    assert isinstance(law.force.law, Law)
    function = law.force.law.function
    return Outside(law.force.name, function, values_read(function))


def recorded_first(laws: list[BuiltLaw]) -> list[BuiltLaw]:
    return [law for law in laws if law.tape] + [law for law in laws if not law.tape]


def give_slots(built: list[BuiltLaw], slots: Slots) -> dict[str, list[int]]:
    """Give every law its parameters as inputs, and return the slots of (t, parameters) by force."""
    clock = slots.add_signal("time", "time", float, 1, smooth=True) if any(law.time for law in built) else 0
    found = {}
    for law in built:
        assert isinstance(law.force.law, Law)
        mine = [clock]
        for name, value in law.force.law.parameters.items():
            slot = slots.add_input(f"{law.force.name}.{name}", value.ravel())
            mine.extend(range(slot, slots.used))
            if value.ndim > 1:
                slots.shapes[f"{law.force.name}.{name}"] = value.shape
        found[law.force.name] = mine
    return found


def placements(force: Force, skeleton: Skeleton) -> tuple[tuple[Placement, Array, Array], ...]:
    """Return body placement, marker axes and marker point (body axes) of both ends."""
    if force.between:
        return tuple((skeleton.bodies[marker.body.name], marker.axes, marker.point) for marker in force.between)
    assert force.body is not None
    assert force.point is not None
    ground = Placement(-1, np.eye(3), np.zeros(3))
    return (ground, np.eye(3), np.zeros(3)), (skeleton.bodies[force.body.name], np.eye(3), force.point)


def frame(place: Placement, axes: Array, point: Array) -> Array:
    """Return [axes | point] of a marker in dof axes (3, 4)."""
    return np.column_stack((place.rotation @ axes, place.point(point)))


def frame_table(frames: list[Array]) -> Array:
    return np.array(frames, np.float64).reshape(len(frames), 3, 4)


def joint_dofs(law: BuiltLaw, skeleton: Skeleton) -> tuple[int, ...]:
    return tuple(skeleton.joint_dofs[joint.name][k] for joint, k in law.coordinates)


def input_table(dofs: list[tuple[int, ...]]) -> Integers:
    """Return (dof, is a rate) of every input: coordinates of a law, then its rates."""
    rows = [(dof, rate) for mine in dofs for rate in (0, 1) for dof in mine]
    return np.array(rows, np.int64).reshape(len(rows), 2)


def one_tape(frames: list[BuiltLaw], joints: list[BuiltLaw]) -> Tape:
    """Join the tapes; outputs: wrenches, generalised forces, then the entries of both in the same order, then rates
    of states and the other entries. States are the last inputs.
    """
    laws = [law for law in (*frames, *joints) if law.tape]
    whole = joined([law.tape for law in laws if law.tape])
    values, entries, rates, slopes, first = [], [], [], [], 0
    for law in laws:
        assert law.tape
        acts, m, own = law.function.acts, law.function.m, own_entries(law)
        values.append(np.arange(first, first + acts))
        rates.append(np.arange(first + acts, first + m))
        entries.append(first + m + np.flatnonzero(own))
        slopes.append(first + m + np.flatnonzero(~own))
        first += law.tape.m
    order = np.concatenate([np.zeros(0, np.int64), *values, *entries, *rates, *slopes])
    return replace(whole, a=states_last(whole, laws), outputs=whole.outputs[order])


def states_last(whole: Tape, laws: list[BuiltLaw]) -> Integers:
    """Return the first operands of a joined tape with the states behind all other inputs."""
    from rtmbs.ad.operations import INPUT

    new, a = input_order(laws), whole.a.copy()
    looked = (whole.op == INPUT) & (whole.a < whole.n)
    a[looked] = new[whole.a[looked]]
    return a


def no_laws() -> Laws:
    """Return the tables of a model without force laws."""
    frames, integers = np.zeros((0, 3, 4)), np.zeros(0, np.int64)
    wrench_entry, inputs, force_entry = (np.zeros((0, width), np.int64) for width in (3, 2, 4))
    counts, block = np.zeros(4, np.int64), np.zeros((0, WIDTH), np.int64)
    return Laws(
        no_program(), integers, integers, frames, frames, wrench_entry, integers, inputs, force_entry, counts, block,
        integers,
    )  # fmt: skip


def no_program() -> Program:
    """Return the program of a model without recorded laws; making one would load the recorder's kernels."""
    integers = [np.zeros(0, np.int32) for _ in range(4)]
    code, output = np.zeros(0, np.uint32), np.zeros(0, np.int32)
    return Program(*integers, np.zeros(0, np.int64), code, output, np.zeros(0), np.zeros(3, np.int64))


def wrench_entries(frames: list[BuiltLaw]) -> Integers:
    """Return (law, row, input) of every derivative of a wrench; those of called laws are whole blocks elsewhere."""
    parts = [np.zeros((0, 3), np.int64)]
    for k, law in enumerate(frames):
        if law.tape:
            own = own_entries(law)
            parts.append(np.column_stack((np.full(np.count_nonzero(own), k), law.row[own], law.column[own])))
    return np.concatenate(parts)


def force_entries(joints: list[BuiltLaw]) -> Integers:
    """Return (force, input, is a rate, 0) of every derivative of a generalised force."""
    parts, force, first = [np.zeros((0, 4), np.int64)], 0, 0
    for law in joints:
        own = own_entries(law)
        row, column = law.row[own], law.column[own]
        rate = (column >= law.function.acts).astype(np.int64)
        parts.append(np.column_stack((row + force, column + first, rate, np.zeros_like(rate))))
        force, first = force + law.function.acts, first + law.function.looks
    return np.concatenate(parts)


def called_laws(frames: list[BuiltLaw], joints: list[BuiltLaw], slots: dict[str, list[int]]) -> tuple[CalledLaw, ...]:
    """Return the laws that Python calls, with the places where their values and derivatives go."""
    found = []
    for k, law in enumerate(frames):
        if not law.tape:
            found.append(called(law, slots, k, 0, 0))
    force, entry = 0, 0
    for law in joints:
        if not law.tape:
            found.append(called(law, slots, -1, force, entry))
        force, entry = force + law.function.m, entry + len(law.row)
    return tuple(found)


def called(law: BuiltLaw, slots: dict[str, list[int]], row: int, force: int, entry: int) -> CalledLaw:
    function: Callable[[Any, Any], Any] = law.function.called
    return CalledLaw(law.force.name, function, np.array(slots[law.force.name]), law.function.n, row, force, entry)
