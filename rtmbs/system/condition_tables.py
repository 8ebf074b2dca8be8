"""Tables of the user's constraints: recorded with first and second derivatives, joined into one program."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rtmbs.ad import Evaluator, Tape, TapeSizeError, UnsupportedFunctionError, joined, lowered, sparse_jacobian
from rtmbs.ad.trace import record as record_function
from rtmbs.errors import ModelError
from rtmbs.model.constraints import Constraint
from rtmbs.model.description import ModelDescription
from rtmbs.system.closure_tables import ZERO, ClosureRow, ClosureRows, pointer
from rtmbs.system.dof_layout import DofLayout
from rtmbs.system.input_slots import Slots
from rtmbs.system.law_tables import frame, frame_table, no_program
from rtmbs.system.recorded_laws import LARGEST_LAW, ConditionFunction, check_tape, largest_finite, read_inputs
from rtmbs.system.system import Array, Integers
from rtmbs.system.tables import CONDITION, Conditions

SHIFT = 3  # inputs of a pair of frames that are lengths


class BuiltConstraint(NamedTuple):
    """A constraint with its tape and derivatives."""

    constraint: Constraint
    function: ConditionFunction
    tape: Tape  # values, first derivatives, second ones
    slope: Integers  # (ne, 2) equation, input
    bend: Integers  # (nf, 3) equation, input, input
    scale: Array  # (m,)
    turns: list[bool]  # which equations are measured in rad


def build_conditions(model: ModelDescription, length: float) -> list[BuiltConstraint]:
    """Record every constraint of a model, those between frames first; raises ModelError with a constraint's name."""
    ordered = sorted(model.constraints.values(), key=lambda one: one.between is None)
    return [build_condition(model, one, length) for one in ordered]


def build_condition(model: ModelDescription, constraint: Constraint, length: float) -> BuiltConstraint:
    """Evaluate a constraint in floats, record it with two derivatives, and compare the tape with it."""
    function = ConditionFunction(model, constraint)
    tried = function.trial_values()
    try:
        values = record_function(function, function.n, function.m, k=function.k, limit=LARGEST_LAW)
        first = sparse_jacobian(values, values=True)
        size = max(largest_finite(values) for values in tried)
        check_tape(function, first.tape, function.trials(), tried, size)
        second = sparse_jacobian(first.tape, values=True)
    except TapeSizeError as error:
        raise ModelError(f"{function.what}: its function or its derivative is too long: {error}") from error
    except (UnsupportedFunctionError, ModelError) as error:
        said = str(error)
        raise ModelError(said if said.startswith("constraint") else f"{function.what}: {said}") from error
    except Exception as error:  # numbers went through: the function is sound, but a tape cannot hold it
        raise ModelError(
            f"{function.what}: its function cannot be recorded: {str(error).split('. ')[0]}; a constraint needs exact "
            "derivatives, so write it without an if on values (numpy.where does the same)"
        ) from error
    slope = np.column_stack((first.row, first.column)).astype(np.int64)
    bent = np.asarray(second.row) >= function.m
    of, by = np.asarray(second.row)[bent] - function.m, np.asarray(second.column)[bent]
    bend = np.column_stack((slope[of], by)).astype(np.int64).reshape(-1, 3)
    count = function.m + len(slope)
    outputs = np.concatenate((second.tape.outputs[:count], second.tape.outputs[count:][bent]))
    tape = replace(second.tape, outputs=outputs)
    scale, turns = scaled(function, slope, Evaluator(first.tape), length)
    return BuiltConstraint(constraint, function, tape, slope, bend, scale, turns)


def scaled(
    function: ConditionFunction, slope: Integers, evaluator: Evaluator, length: float
) -> tuple[Array, list[bool]]:
    """Return the factor of every equation, so that its largest derivative is one, and whether that is by an angle.

    The derivatives are those at the poses tried; angles weigh by the radian, shifts by the characteristic ``length``.
    """
    largest_finite = np.zeros((function.m, function.n))
    for place, (x, p) in enumerate(function.trials()):
        with np.errstate(all="ignore"):
            entries = evaluator.value(x, p)[function.m :]
        found = np.zeros_like(largest_finite)
        found[slope[:, 0], slope[:, 1]] = np.nan_to_num(np.abs(entries), nan=0.0, posinf=0.0)
        if place == 0:
            signed = np.zeros_like(largest_finite)
            signed[slope[:, 0], slope[:, 1]] = entries
            function.check_slopes(signed)
        largest_finite = np.maximum(largest_finite, found)
    units = [joint.type.units()[k] for joint, k in function.constraint.joints]
    metres = np.array([unit == "m" for unit in units]) if function.names else np.arange(function.n - 1) < SHIFT
    weight = largest_finite[:, :-1] * np.where(metres, length, 1.0)
    if np.any(np.max(weight, axis=1) == 0.0):
        row = int(np.argmin(np.max(weight, axis=1)))
        raise ModelError(
            f"{function.what}: equation {row} of its function does not depend on the pose; it holds nothing"
        )
    main = np.argmax(weight, axis=1)
    return 1.0 / largest_finite[np.arange(function.m), main], [not bool(metres[k]) for k in main]


def close_condition(built: BuiltConstraint, layout: DofLayout) -> ClosureRows:
    """Return the equations of a constraint."""
    constraint, none = built.constraint, np.zeros((0, 3))
    several = built.function.m > 1
    rows = [
        ClosureRow(
            CONDITION, ZERO, ZERO, 0.0, -1, f"{constraint.name}.{f'equation_{k + 1}' if several else 'equation'}", turns
        )
        for k, turns in enumerate(built.turns)
    ]
    if constraint.between is None:
        dofs = tuple(layout.joint_dofs[joint.name][k] for joint, k in constraint.joints)
        return ClosureRows(constraint.name, dofs[0], dofs[0], ZERO, ZERO, rows, none, none, dofs)
    a, b = (layout.bodies[marker.body.name] for marker in constraint.between)
    point_a, point_b = a.point(constraint.between[0].point), b.point(constraint.between[1].point)
    return ClosureRows(constraint.name, a.dof, b.dof, point_a, point_b, rows, none, none)


def tabulate_conditions(
    built: list[BuiltConstraint], closures: list[ClosureRows], layout: DofLayout, slots: Slots
) -> Conditions:
    """Return the tables of all constraints of the user."""
    if not built:
        return no_conditions(sum(not closure.ratios for closure in closures))
    framed = [one for one in built if one.constraint.between is not None]
    names = [closure.name for closure in closures]
    first = names.index(built[0].constraint.name)
    timed = any(one.function.n - 1 in read_inputs(one.tape) for one in built)
    clock = slots.add_signal("time", "time", float, 1, smooth=True) if timed else 0
    ends = [
        [frame(layout.bodies[marker.body.name], marker.axes, marker.point) for marker in one.constraint.between or ()]
        for one in framed
    ]
    count = np.array([one.function.m for one in built])
    begin = pointer(np.array([one.function.n for one in built], np.int64))[:-1]
    width = np.repeat([7 if one.constraint.between else one.function.n for one in built], count)
    before = pointer(count)[:-1]
    return Conditions(
        first=np.array([first, first + len(framed)], np.int64),
        program=lowered(one_tape(built), by_level=True),  # a System is told by its program: the order stays
        slot=np.array(parameter_slots(built, slots), np.int64),
        clock=np.array([clock], np.int64),
        frame_a=frame_table([a for a, _ in ends]),
        frame_b=frame_table([b for _, b in ends]),
        dof=np.array([dof for one in closures if one.branch and not one.ratios for dof in (*one.branch, -1)], np.int64),
        scale=np.concatenate([one.scale for one in built]),
        input=np.repeat(begin, count),
        place=pointer(width),
        square=pointer(width * width),
        slope=np.concatenate([one.slope + np.array([k, 0]) for k, one in zip(before, built, strict=True)]),
        bend=np.concatenate([one.bend + np.array([k, 0, 0]) for k, one in zip(before, built, strict=True)]),
    )


def parameter_slots(built: list[BuiltConstraint], slots: Slots) -> list[int]:
    """Reserve input slots for the parameters of every constraint, and return them."""
    found: list[int] = []
    for one in built:
        for name, value in one.constraint.law.parameters.items():
            slot = slots.add_input(f"{one.constraint.name}.{name}", value.ravel())
            found.extend(range(slot, slots.used))
            if value.ndim > 1:
                slots.shapes[f"{one.constraint.name}.{name}"] = value.shape
    return found


def one_tape(built: list[BuiltConstraint]) -> Tape:
    """Join the tapes; outputs: all values, then all first derivatives, then all second ones."""
    whole = joined([one.tape for one in built])
    parts: list[list[Integers]] = [[], [], []]
    first = 0
    for one in built:
        for part, size in zip(parts, (one.function.m, len(one.slope), len(one.bend)), strict=True):
            part.append(np.arange(first, first + size))
            first += size
    return replace(whole, outputs=whole.outputs[np.concatenate([piece for part in parts for piece in part])])


def no_conditions(closures: int) -> Conditions:
    """Return the empty table; ``closures`` come before those of couplers."""
    frames, none, zero = np.zeros((0, 3, 4)), np.zeros(0, np.int64), np.zeros(1, np.int64)
    pairs = np.zeros((0, 2), np.int64), np.zeros((0, 3), np.int64)
    first = np.full(2, closures, np.int64)
    return Conditions(first, no_program(), none, zero, frames, frames, none, np.zeros(0), none, zero, zero, *pairs)
