"""Tables of force laws: joined program, inputs, states, and re-attachment of a law to another body.

A law with k states, n kinematic inputs and m forces has a block of slopes, row by row: dF/ds (m, k), dg/dx (k, n) and
dg/ds (k, k), with g the rates (METHODS 1.32). Its elimination couples every force that a state moves with every input
that moves a state; a law between two frames has a dense derivative anyhow, one on joints gets entries of its own.

``attach_law`` keeps the tree and every coordinate. A connector from ground to a body lives on the path to that body, so
all pairs of a path are in the pattern from the first such change on (``uncondensed``); later changes keep the pattern.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rtmbs.ad import (
    LaneProgram,
    Member,
    Program,
    SeatProgram,
    Tape,
    joined,
    lane_program,
    lowered,
    no_lanes,
    no_seats,
    outputs_vary,
    part_of,
    seat_program,
    switching_tape,
)
from rtmbs.errors import InputError, unknown_name
from rtmbs.forces.kind import integers
from rtmbs.model.captured import captured, values_captured
from rtmbs.model.description import ModelDescription
from rtmbs.model.forces import Force, Law
from rtmbs.numerics.linear.symbolic import entries
from rtmbs.system.dof_layout import ConnectorList, DofLayout, Placement
from rtmbs.system.force_tables import ends
from rtmbs.system.input_slots import Slots
from rtmbs.system.pattern import join, uncondensed
from rtmbs.system.recorded_laws import BuiltLaw, LawRecorder
from rtmbs.system.system import Array, CalledLaw, ForceInfo, Integers, LawStateInfo, LawSwitches, System
from rtmbs.system.tables import FRAME_INPUTS, Connectors, Laws
from rtmbs.system.user_functions import CapturedValues, identity


class LawTables(NamedTuple):
    """Tables of all force laws, without places in the matrix."""

    laws: Laws
    called: tuple[CalledLaw, ...]
    infos: dict[str, ForceInfo]
    code: tuple[str, ...]  # of the called laws: what tells two of them apart
    states: tuple[LawStateInfo, ...]
    outside: tuple[CapturedValues, ...]  # what recorded laws read from outside of their arguments
    tape: Tape | None  # of all recorded laws
    switches: LawSwitches | None  # of all recorded laws
    may_bend: bool  # slopes of a law change with the motion


def build_laws(recorder: LawRecorder, layout: DofLayout, slots: Slots, connector_list: ConnectorList) -> LawTables:
    """Return the tables of every force law; raises ModelError with the name of a law that cannot be built."""
    model = recorder.model
    built = [recorder.law(force, layout) for force in model.forces.values() if isinstance(force.law, Law)]
    first = give_slots(built, slots)
    frames = recorded_first([law for law in built if not law.coordinates])
    joints = recorded_first([law for law in built if law.coordinates])
    recorded = [law for law in (*frames, *joints) if law.tape]
    placed = [placements(law.force, layout) for law in frames]
    own = [connector_list.add(a[0].dof, b[0].dof) for a, b in placed]
    dofs = {law.force.name: joint_dofs(law, layout) for law in joints}
    states = state_tables(frames, joints)
    tape = one_tape(recorded) if recorded else None
    lanes = side_by_side(recorded) if len(recorded) > 1 else no_lane_program()
    tables = Laws(
        program=no_program() if tape is None else lowered(tape),
        lanes=lanes,
        rates=rates_side_by_side(recorded) if len(lanes.lanes) else no_lane_program(),
        begins=rates_in_seats(recorded),
        slot=np.array([slot for law in (*frames, *joints) if law.tape for slot in first[law.force.name]], np.int64),
        connector=integers(own),
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
    code = tuple(law_identity(law) for law in built if not law.tape)
    outside = tuple(captured_by(law) for law in built if law.tape)
    states_of = state_infos((*frames, *joints))
    return LawTables(
        tables, called_laws(frames, joints, first), infos, code, states_of, outside, tape, switches_of(recorded),
        any(map(may_bend, built)),
    )  # fmt: skip


def may_bend(law: BuiltLaw) -> bool:
    """Return whether slopes of a law change with the motion; those of a law that Python calls may do so."""
    return law.tape is None or outputs_vary(law.tape, law.function.m)


def switches_of(laws: list[BuiltLaw]) -> LawSwitches | None:
    """Return the switching functions of recorded laws; None where no law has any."""
    parts, forces = list[Tape](), list[str]()
    for law in laws:
        assert law.tape
        found = switching_tape(law.tape, law.function.m)
        parts.append(found or replace(law.tape, outputs=law.tape.outputs[:0]))
        forces += [law.force.name] * parts[-1].m
    if not forces:
        return None
    whole = joined(parts)
    return LawSwitches(replace(whole, a=states_last(whole, laws)), tuple(forces))


def law_infos(
    model: ModelDescription,
    frames: list[BuiltLaw],
    joints: list[BuiltLaw],
    connectors: list[int],
    dofs: dict[str, tuple[int, ...]],
) -> dict[str, ForceInfo]:
    """Return the data of every law: those between frames, then those on joints."""
    found, force = {}, 0
    for row, (law, connector) in enumerate(zip(frames, connectors, strict=True)):
        name, on_body = law.force.name, law.force.body is not None
        function = getattr(law.force.law, "function", None)
        given = function if callable(getattr(function, "touch", None)) else None
        info = ForceInfo(name, "law", row, *ends(model, law.force), (), law.reason, on_body, connector, given)
        found[name] = info._replace(nonnegative=getattr(function, "nonnegative_inputs", ()))
    for law in joints:
        name = law.force.name
        info = ForceInfo(name, "joint law", force, *ends(model, law.force), dofs[name], law.reason)
        function = getattr(law.force.law, "function", None)
        found[name] = info._replace(nonnegative=getattr(function, "nonnegative_inputs", ()))
        force += law.function.acts
    return found


def law_identity(law: BuiltLaw) -> str:
    """Return the name of a called law with the identity of its function."""
    assert isinstance(law.force.law, Law)
    return f"{law.force.name} {identity(law.force.law.function)}"


def captured_by(law: BuiltLaw) -> CapturedValues:
    """Return the values that a recorded law captured."""
    assert isinstance(law.force.law, Law)
    function = law.force.law.function
    return CapturedValues(law.force.name, function, values_captured(captured(function)))


def recorded_first(laws: list[BuiltLaw]) -> list[BuiltLaw]:
    return [law for law in laws if law.tape] + [law for law in laws if not law.tape]


def give_slots(built: list[BuiltLaw], slots: Slots) -> dict[str, list[int]]:
    """Reserve the parameters of every law as inputs, and return the slots of (t, parameters) by force."""
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


def placements(force: Force, layout: DofLayout) -> tuple[tuple[Placement, Array, Array], ...]:
    """Return body placement, marker axes and marker point (body axes) of both ends."""
    if force.between:
        return tuple((layout.bodies[marker.body.name], marker.axes, marker.point) for marker in force.between)
    assert force.body is not None
    assert force.point is not None
    ground = Placement(-1, np.eye(3), np.zeros(3))
    return (ground, np.eye(3), np.zeros(3)), (layout.bodies[force.body.name], np.eye(3), force.point)


def frame(place: Placement, axes: Array, point: Array) -> Array:
    """Return [axes | point] of a marker in dof axes (3, 4)."""
    return np.column_stack((place.rotation @ axes, place.point(point)))


def frame_table(frames: list[Array]) -> Array:
    return np.array(frames, np.float64).reshape(len(frames), 3, 4)


def joint_dofs(law: BuiltLaw, layout: DofLayout) -> tuple[int, ...]:
    return tuple(layout.joint_dofs[joint.name][k] for joint, k in law.coordinates)


def input_table(dofs: list[tuple[int, ...]]) -> Integers:
    """Return (dof, is a rate) of every input: coordinates of a law, then its rates."""
    rows = [(dof, rate) for mine in dofs for rate in (0, 1) for dof in mine]
    return np.array(rows, np.int64).reshape(len(rows), 2)


def one_tape(laws: list[BuiltLaw]) -> Tape:
    """Join the tapes of recorded laws; outputs in the order of ``output_order``, states behind all other inputs."""
    whole = joined([law.tape for law in laws if law.tape])
    return replace(whole, a=states_last(whole, laws), outputs=whole.outputs[output_order(laws)])


def output_order(laws: list[BuiltLaw]) -> Integers:
    """Return the outputs of joined tapes in the order of ``Laws``.

    These are wrenches, generalised forces, the entries of both in the same order, rates of states, other entries.
    """
    values, entries, rates, slopes, first = [], [], [], [], 0
    for law in laws:
        assert law.tape
        acts, m, own = law.function.acts, law.function.m, own_entries(law)
        values.append(np.arange(first, first + acts))
        rates.append(np.arange(first + acts, first + m))
        entries.append(first + m + np.flatnonzero(own))
        slopes.append(first + m + np.flatnonzero(~own))
        first += law.tape.m
    return np.concatenate([np.zeros(0, np.int64), *values, *entries, *rates, *slopes])


def side_by_side(laws: list[BuiltLaw]) -> LaneProgram:
    """Return the program of recorded laws in lanes, with the inputs and outputs of ``one_tape``.

    Derivatives of forces by kinematics are late: of two residuals in a step one needs them.
    """
    acts, entries = sum(law.function.acts for law in laws), sum(np.count_nonzero(own_entries(law)) for law in laws)
    place = np.arange(sum(law.tape.m for law in laws if law.tape))
    return lane_program(*members_of(laws), late=(place >= acts) & (place < acts + entries))


def rates_side_by_side(laws: list[BuiltLaw]) -> LaneProgram:
    """Return the program of rates of states and their own slopes in lanes, with the places of ``side_by_side``.

    It has a tenth of the operations of a tyre: no force, and no derivative of one.
    """
    members, n, k = members_of(laws)
    found = [rates_of(law, member) for law, member in zip(laws, members, strict=True) if law.function.states]
    return lane_program(found, n, k) if found else no_lane_program()


def rates_in_seats(laws: list[BuiltLaw]) -> SeatProgram:
    """Return the same program for contacts of shapes, of which few begin at a time."""
    if not any(begins(law) for law in laws):
        return no_seat_program()
    members, n, k = members_of(laws)
    found = [rates_of(law, member) for law, member in zip(laws, members, strict=True) if begins(law)]
    return seat_program(found, n, k)


def rates_of(law: BuiltLaw, member: Member) -> Member:
    """Return the function of the rates of a law's states, and of their slopes."""
    assert law.tape
    rates = np.arange(law.function.acts, law.function.m)
    slopes = law.function.m + np.flatnonzero(law.row >= law.function.acts)
    own = np.concatenate([rates, slopes])
    return Member(part_of(law.tape, own), member.x, member.p, member.y[own])


def members_of(laws: list[BuiltLaw]) -> tuple[list[Member], int, int]:
    """Return recorded laws with the places of their inputs and outputs, and the numbers of inputs and parameters."""
    x, y = input_order(laws), np.argsort(output_order(laws))
    members, n, k, m = [], 0, 0, 0
    for law in laws:
        assert law.tape
        p = np.arange(k, k + law.tape.k)
        members.append(Member(law.tape, x[n : n + law.tape.n], p, y[m : m + law.tape.m]))
        n, k, m = n + law.tape.n, k + law.tape.k, m + law.tape.m
    return members, n, k


def states_last(whole: Tape, laws: list[BuiltLaw]) -> Integers:
    """Return the first operands of a joined tape with the states behind all other inputs."""
    from rtmbs.ad.operations import INPUT

    new, a = input_order(laws), whole.a.copy()
    looked = (whole.op == INPUT) & (whole.a < whole.n)
    a[looked] = new[whole.a[looked]]
    return a


@cache
def no_program() -> Program:
    """Return the program of a model without recorded laws, one for all; the recorder's kernels are not loaded."""
    integers = [np.zeros(0, np.int32) for _ in range(4)]
    code, output = np.zeros(0, np.uint32), np.zeros(0, np.int32)
    return Program(*integers, np.zeros(0, np.int64), code, output, np.zeros(0), np.zeros(3, np.int64))


@cache
def no_lane_program() -> LaneProgram:
    """Return the program in lanes of a model without recorded laws; all Systems share it, and its layout."""
    return no_lanes(no_program())


@cache
def no_seat_program() -> SeatProgram:
    """Return the program of contacts that begin of a model without such; all Systems share it, and its layout."""
    return no_seats(no_program())


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
    """Return the laws that are called in Python, with the places of their values and derivatives."""
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
    function: Callable[[Any, Any], Any] = law.function.checked_values
    return CalledLaw(law.force.name, function, np.array(slots[law.force.name]), law.function.n, row, force, entry)


WIDTH = 11
# Columns of Laws.state_block: first state, number of states, first force, number of forces, first input, number of
# inputs, first slope, number among the laws between frames (-1: on joints), first row that elimination adds to
# Laws.force_entry, counted from its end, the number of these rows, and for the bristle of a contact of shapes its
# number in ``Laws.begins``, 0 elsewhere. Numbers begin with 1.
STATE, COUNT, OUTPUT, ACTS, INPUT, LOOKS, PLACE, LAW, FILL, FILLS, BEGINS = range(WIDTH)


class StateTables(NamedTuple):
    """Columns of ``Laws`` for the states of force laws."""

    block: Integers  # (nb, WIDTH)
    place: Integers  # (entries,) in the flat slopes
    fill: Integers  # (nf, 4) further rows of ``Laws.force_entry``


def state_tables(frames: Sequence[Any], joints: Sequence[Any]) -> StateTables:
    """Return the tables of the states of built laws, in the order of the program."""
    parts, blocks, fills = [np.zeros(0, np.int64)], [], [np.zeros((0, 4), np.int64)]
    recorded = [[law for law in laws if law.tape] for laws in (frames, joints)]
    output, looked = 0, 0
    wrenches, inputs = 6 * len(recorded[0]), FRAME_INPUTS * len(recorded[0])
    for law in (*recorded[0], *recorded[1]):
        function = law.function
        if function.states:
            between = output < wrenches
            blocks.append(
                [0, len(function.states), output, function.acts, looked, function.looks, 0,
                 output // 6 if between else -1, 0, 0, int(begins(law))]
            )  # fmt: skip
            parts.append(places_of(law))
            if not between:
                fills.append(filled(law, output - wrenches, looked - inputs))
                blocks[-1][FILLS] = len(fills[-1])
        output, looked = output + function.acts, looked + function.looks
    block = numbered(np.array(blocks, np.int64).reshape(-1, WIDTH))
    block[:, BEGINS] *= np.cumsum(block[:, BEGINS])
    for k, part in enumerate(parts[1:]):
        part += block[k, PLACE]
    return StateTables(block, np.concatenate(parts), np.concatenate(fills))


def begins(law: Any) -> bool:
    """Return whether a law is the contact of two shapes, with a bristle."""
    return bool(law.function.states) and callable(getattr(law.function.law.function, "touch", None))


def numbered(block: Integers) -> Integers:
    """Return blocks with the numbers that follow from their sizes: first state, first slope, first fill."""
    block = block.copy()
    for column, size in ((STATE, block[:, COUNT]), (PLACE, slopes_of(block)), (FILL, block[:, FILLS])):
        block[:, column] = np.cumsum(size) - size
    block[:, FILL] -= block[:, FILLS].sum()
    return block


def slopes_of(block: Integers) -> Integers:
    """Return the number of slopes of each block."""
    k, m, n = block[:, COUNT], block[:, ACTS], block[:, LOOKS]
    return np.asarray(k * (m + n + k), np.int64)


def own_entries(law: Any) -> np.ndarray[Any, Any]:
    """Return which entries of a law's derivative are those of its force by its kinematics (entries,) bool."""
    return (law.row < law.function.acts) & (law.column < law.function.looks)


def places_of(law: Any) -> Integers:
    """Return the places in the law's slopes of its other entries, in their order."""
    mine = ~own_entries(law)
    row, column, k = law.row[mine], law.column[mine], len(law.function.states)
    m, n = law.function.acts, law.function.looks
    of_rate = m * k + (row - m) * n + column
    among = m * k + k * n + (row - m) * k + column - n
    return np.asarray(np.where(row < m, row * k + column - n, np.where(column < n, of_rate, among)), np.int64)


def filled(law: Any, force: int, first: int) -> Integers:
    """Return (force, input, is a rate, 0) of the fill-in of a law on joints by elimination of its states."""
    m, n = law.function.acts, law.function.looks
    moved = np.unique(law.row[(law.row < m) & (law.column >= n)])
    moving = np.unique(law.column[(law.row >= m) & (law.column < n)])
    row, column = (part.ravel() for part in np.meshgrid(moved, moving, indexing="ij"))
    rate = (column >= m).astype(np.int64)
    return np.column_stack((row + force, column + first, rate, np.zeros_like(rate)))


def input_order(laws: Sequence[Any]) -> Integers:
    """Return the new number of every input of joined tapes: kinematics of all laws, then states of all laws."""
    state = np.concatenate([np.arange(law.function.n) >= law.function.looks for law in laws])
    order = np.argsort(state, kind="stable")
    new = np.empty_like(order)
    new[order] = np.arange(len(order))
    return np.asarray(new, np.int64)


def state_infos(laws: Sequence[Any]) -> tuple[LawStateInfo, ...]:
    """Return name, first value and unit of every state in the order of ``State.s``."""
    return tuple(
        LawStateInfo(law.force.name, state.name, state.first, state.unit, state.settles)
        for law in laws
        if law.tape
        for state in law.function.states
    )


def state_dofs(laws: Laws, home: Integers) -> Integers:
    """Return the dof of every state (ns,), from those of the kinematic inputs."""
    return np.repeat(home[laws.state_block[:, INPUT]], laws.state_block[:, COUNT])


class KeptStates(NamedTuple):
    """States of force laws that remain when other laws are left out."""

    states: np.ndarray[Any, Any]  # (ns,) bool
    entries: np.ndarray[Any, Any]  # (entries,) bool
    block: Integers
    place: Integers


def kept_states(laws: Laws, outputs: Array, inputs: Array) -> KeptStates:
    """Return the states of the laws that remain; ``outputs`` and ``inputs`` are masks of forces and kinematics."""
    block = laws.state_block
    stays = outputs[block[:, OUTPUT]] if len(block) else np.zeros(0, np.bool_)
    sizes = slopes_of(block)
    owner: Integers = np.asarray(np.searchsorted(np.cumsum(sizes), laws.state_place, side="right"), np.int64)
    new = block[stays].copy()
    for column, mask in ((OUTPUT, outputs), (INPUT, inputs)):
        new[:, column] = np.asarray(np.cumsum(mask) - 1)[new[:, column]]
    new[:, LAW] = np.where(new[:, LAW] >= 0, new[:, OUTPUT] // 6, -1)
    new = numbered(new)
    entries = stays[owner]
    by: Integers = np.zeros(len(block), np.int64)
    by[stays] = new[:, PLACE] - block[stays, PLACE]
    place = laws.state_place[entries] + by[owner[entries]]
    return KeptStates(np.repeat(stays, block[:, COUNT]), entries, new, place)


def attach_law(system: System, force: str, body: str, point: Array) -> System:
    """Return ``system`` with the law ``force`` acting on ``body`` at ``point`` (3,) in body axes [m].

    Raises UnknownNameError, and InputError for a force that is no law on one body, and for ground.
    """
    if not (isinstance(force, str) and force in system.forces):
        raise unknown_name("force", force, system.forces)
    info, ground = system.forces[force], next(iter(system.bodies))
    if not info.on_body:
        raise InputError(f"force {force!r} cannot be attached elsewhere; only a force law on one body (body=) can")
    if not (isinstance(body, str) and body in system.bodies):
        raise unknown_name("body", body, system.bodies)
    if body == ground:
        raise InputError(f"force {force!r}: body {body!r} stands still; name another body")
    system = uncondensed(system)
    place, tables = system.bodies[body], system.tables
    frame = tables.laws.frame_b.copy()
    frame[info.row] = np.column_stack((place.rotation, place.position + place.rotation @ point))
    connectors = with_branch(
        tables.connectors, info.connector, place.dof, path_to(tables.dofs.parent, place.dof), system
    )
    return replace(
        system,
        tables=tables._replace(connectors=connectors, laws=tables.laws._replace(frame_b=frame)),
        forces={**system.forces, force: info._replace(b=body)},
    )


def path_to(parent: Integers, dof: int) -> Integers:
    """Return the dofs from ground to ``dof``, itself last."""
    dofs: list[int] = []
    while dof >= 0:
        dofs.append(dof)
        dof = int(parent[dof])
    return np.array(dofs[::-1], np.int64)


def with_branch(connectors: Connectors, connector: int, b: int, branch: Integers, system: System) -> Connectors:
    """Return connectors with one of them led from ground to dof ``b`` along ``branch``."""
    block = entries(system.lu, np.repeat(branch, len(branch)), np.tile(branch, len(branch)))
    dof, sign = (
        np.split(part, connectors.pointer[connector : connector + 2]) for part in (connectors.dof, connectors.sign)
    )
    places = np.split(connectors.entry, connectors.block_pointer[connector : connector + 2])
    grown = np.arange(len(connectors.pointer)) > connector
    more, more_places = len(branch) - len(dof[1]), len(block) - len(places[1])
    ends, ground = connectors.b.copy(), connectors.a.copy()
    ends[connector], ground[connector] = b, system.tables.origins.row[b]
    return connectors._replace(
        a=ground,
        b=ends,
        pointer=connectors.pointer + more * grown,
        dof=join([dof[0], branch, dof[2]]),
        sign=np.concatenate((sign[0], np.ones(len(branch)), sign[2])),
        block_pointer=connectors.block_pointer + more_places * grown,
        entry=join([places[0], np.asarray(block, np.int64), places[2]]),
    )
