"""Force laws written by the user: recorded, joined into one program, laid out as tables.

A law that cannot be recorded (an ``if`` on a value, a call into other code) stays a Python function that is called; the
reason is kept for the report. A function of NumPy that the recorder does not know is refused with its way out instead:
most of them have one that costs nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rtmbs.ad import (
    Evaluator,
    Program,
    SparseJacobian,
    Tape,
    TapeSizeError,
    UnsupportedFunctionError,
    joined,
    lowered,
    sparse_jacobian,
)
from rtmbs.ad.trace import record as record_function
from rtmbs.errors import ModelError
from rtmbs.model import Force, Joint, Model
from rtmbs.model.laws import Law
from rtmbs.system.connector_list import ConnectorList, numbers
from rtmbs.system.force_tables import ends
from rtmbs.system.identity import identity
from rtmbs.system.law_function import LawFunction
from rtmbs.system.law_state_tables import WIDTH, input_order, own_entries, state_infos, state_tables
from rtmbs.system.skeleton import Placement, Skeleton
from rtmbs.system.slots import Slots
from rtmbs.system.system import Array, CalledLaw, ForceInfo, Integers, LawStateInfo
from rtmbs.system.tables import Laws

AGREEMENT = 1e-9  # of a tape with its law, relative to the largest value tried
ROUNDINGS = 10.0  # of a law that rounding moves: its tape may be so many times as far from extended precision
# Operations that a law may write: a compile of 10,000 takes a second or two and 30 MB, of 100,000 twenty seconds and
# a gigabyte at most (docs/derivatives.md).
LARGEST_LAW = 200_000


class BuiltLaw(NamedTuple):
    """A law and what recording it gave."""

    force: Force
    function: LawFunction
    coordinates: tuple[tuple[Joint, int], ...]
    tape: Tape | None  # values, then the entries of their derivative; None: it is called
    row: Integers  # (entries,) of the derivative
    column: Integers  # (entries,)
    time: bool  # it looks at t
    reason: str  # why it is called


class LawTables(NamedTuple):
    """All force laws, the places in the matrix still open."""

    laws: Laws
    called: tuple[CalledLaw, ...]
    infos: dict[str, ForceInfo]
    code: tuple[str, ...]  # of the called laws: what tells two of them apart
    states: tuple[LawStateInfo, ...]


class Workshop:
    """The laws of a model as they are built: each is tried, recorded and differentiated once, whatever tree asks.

    What a law looks at belongs to the model, but for ``joints="all"``, which means the coordinates of the tree.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.built: dict[tuple[str, tuple[tuple[Joint, int], ...]], BuiltLaw] = {}

    def law(self, force: Force, skeleton: Skeleton) -> BuiltLaw:
        """Return a built law; raises ModelError with the name of one that cannot be."""
        coordinates = coordinates_of(self.model, skeleton, force)
        key = force.name, coordinates
        if key not in self.built:
            self.built[key] = build_law(self.model, force, coordinates)
        return self.built[key]


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
    return LawTables(tables, called_laws(frames, joints, first), infos, code, state_infos((*frames, *joints)))


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


def coordinates_of(model: Model, skeleton: Skeleton, force: Force) -> tuple[tuple[Joint, int], ...]:
    """Return the coordinates that a law on joints acts on; none of a law between two frames."""
    coordinates = (force.joint,) if force.joint else force.joints
    if coordinates == ():
        coordinates = tree_coordinates(model, skeleton)
        if not coordinates:
            raise ModelError(
                f"force {force.name!r}: joints='all' finds no coordinate; spherical and floating joints have none of "
                "their own, so attach the law by body= or between="
            )
    return coordinates or ()


def build_law(model: Model, force: Force, coordinates: tuple[tuple[Joint, int], ...]) -> BuiltLaw:
    """Try a law in plain numbers, record it, and hold the tape against the law."""
    assert isinstance(force.law, Law)
    function = LawFunction(model, force, coordinates)
    tried = function.values_tried()
    values, reason = (None, "trace=False") if not force.law.trace else recorded(function)
    if values is None and function.states:
        raise ModelError(
            f"{function.what}: its law has states and cannot be recorded: {reason}; write it so that it can be, "
            "or without states"
        )
    if values is None:
        row, column = np.divmod(np.arange(function.m * function.n), function.n)
        return BuiltLaw(force, function, coordinates, None, row, column, True, reason)
    sparse = with_derivative(function, values)
    check_tape(function, sparse.tape, tried)
    time = bool(np.any(leaves(sparse.tape) == function.n))
    row, column = (np.asarray(part, np.int64) for part in (sparse.row, sparse.column))
    return BuiltLaw(force, function, coordinates, sparse.tape, row, column, time, "")


def recorded(function: LawFunction) -> tuple[Tape | None, str]:
    """Return the tape of a law, or None and the reason why there is none."""
    try:
        return record_function(function, function.n, function.m, k=function.k, limit=LARGEST_LAW), ""
    except TapeSizeError as error:
        raise ModelError(too_large(function, "law", error)) from error
    except UnsupportedFunctionError as error:
        raise ModelError(
            f"{function.what}: {error} Or give trace=False: the law is then called in Python, by differences"
        ) from error
    except Exception as error:  # noqa: BLE001 - numbers went through: the law is sound, but a tape cannot hold it
        return None, str(error).split(". ")[0]


def with_derivative(function: LawFunction, values: Tape) -> SparseJacobian:
    """Return the tape of a law and of the entries of its derivative."""
    try:
        return sparse_jacobian(values, values=True)
    except TapeSizeError as error:
        raise ModelError(too_large(function, "law's derivative", error)) from error


def too_large(function: LawFunction, what: str, error: TapeSizeError) -> str:
    return (
        f"{function.what}: its {what} is too long: {error}. Or give trace=False: the law is then called in Python, "
        "by differences"
    )


def check_tape(function: LawFunction, tape: Tape, tried: Sequence[Array]) -> None:
    """Refuse a law whose tape, values and then entries of the derivative, says something else than the law."""
    evaluator = Evaluator(tape)
    size = max(float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0)) for values in tried)
    for place, ((x, p), expected) in enumerate(zip(function.trials(), tried, strict=True)):
        with np.errstate(all="ignore"):
            found, entries = np.split(evaluator.value(x, p), [function.m])
            apart = np.nan_to_num(np.abs(found - expected), nan=np.inf)
        sound = np.isfinite(expected)
        if np.any(apart[sound] > AGREEMENT * size) and np.any((apart > blur(function, x, p, expected))[sound]):
            raise ModelError(
                f"{function.what}: {function.noun} was recorded as {found.tolist()} where a call gives "
                f"{expected.tolist()}; it must do the same with recorded values as with numbers, and depend on "
                f"{function.seen} only: no isinstance, nothing from outside that changes"
            )
        if place == 0 and not np.all(np.isfinite(entries)):
            raise ModelError(
                f"{function.what}: the derivative of {function.noun} is not finite at the reference pose, at rest; "
                f"write numpy.sqrt(v . v + tiny**2) for a norm that may be zero{function.escape}"
            )


def blur(function: LawFunction, x: Array, p: Array, expected: Array) -> Array:
    """Return how far rounding may move a law (m,), which is no disagreement.

    A change of the inputs by ``AGREEMENT`` says it, and so do the digits of extended precision, where there are any.
    """
    change = AGREEMENT * np.maximum(np.abs(x), 1.0) * np.where(np.arange(len(x)) % 2, 1.0, -1.0)
    with np.errstate(all="ignore"):
        try:
            one, other = function.called(x + change, p), function.called(x - change, p)
            fine = function.called(x.astype(np.longdouble), p.astype(np.longdouble))
        except ModelError:
            return np.zeros(function.m)
        moved = np.maximum(np.abs(one - other), ROUNDINGS * np.abs(fine - expected))
    return np.nan_to_num(moved, nan=np.inf)


def leaves(tape: Tape) -> Integers:
    """Return the numbers of the inputs that a tape looks at; parameters follow the independents."""
    from rtmbs.ad.operations import INPUT

    return np.asarray(tape.a[tape.op == INPUT], np.int64)


def tree_coordinates(model: Model, skeleton: Skeleton) -> tuple[tuple[Joint, int], ...]:
    """Return every public coordinate that the tree has."""
    joints = (joint for joint in model.joints.values() if joint.name in skeleton.joint_dofs)
    return tuple((joint, k) for joint in joints for k in range(len(joint.type.coordinates)))


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
