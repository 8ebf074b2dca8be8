"""Force laws written by the user: each is tried, recorded, differentiated and held against its tape.

A law that cannot be recorded (an ``if`` on a value, a call into other code) stays a Python function that is called; the
reason is kept for the report. A function of NumPy that the recorder does not know is refused with its way out instead:
most of them have one that costs nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rtmbs.ad import (
    Evaluator,
    SparseJacobian,
    Tape,
    TapeSizeError,
    UnsupportedFunctionError,
    sparse_jacobian,
)
from rtmbs.ad.trace import record as record_function
from rtmbs.errors import ModelError
from rtmbs.model import Force, Joint, Model
from rtmbs.model.laws import Law
from rtmbs.system.law_function import LawFunction
from rtmbs.system.skeleton import Skeleton
from rtmbs.system.system import Array, Integers

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
