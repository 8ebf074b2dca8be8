"""Recording of force laws written by the user: trial, tape, derivative, and comparison of the tape with the law.

A law with an ``if`` on its values is recorded along all of its branches. One that cannot be recorded (a loop that ends
by a value, a call into other code) stays a Python function that is called; a warning says why, and so does the start
report. A function of NumPy that the recorder does not know is refused with its way out instead: most of them have one
that costs nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtmbs.ad import (
    Evaluator,
    SparseJacobian,
    Tape,
    TapeSizeError,
    UnsupportedFunctionError,
    record_branches,
    sparse_jacobian,
)
from rtmbs.ad.trace import record
from rtmbs.errors import PACKAGE, ModelError, warn
from rtmbs.model.captured import Writes, function_behind
from rtmbs.model.description import ModelDescription
from rtmbs.model.forces import Force
from rtmbs.model.joint import Joint
from rtmbs.model.laws import Law
from rtmbs.system.dof_layout import DofLayout
from rtmbs.system.law_functions import LawFunction
from rtmbs.system.system import Array, Integers

AGREEMENT = 1e-9  # of a tape with its law, relative to the largest value tried
ROUNDINGS = 10.0  # of a law that rounding moves: its tape may be so many times as far from extended precision
# Operations that a law may write: a compile of 10,000 takes a second or two and 30 MB, of 100,000 twenty seconds and
# a gigabyte at most (docs/derivatives.md).
LARGEST_LAW = 200_000
NUMPY = str(Path(np.__file__).parent)
BY_USER = "trace=False"  # a reason that nobody is warned of


class BuiltLaw(NamedTuple):
    """A law with its tape and derivative."""

    force: Force
    function: LawFunction
    coordinates: tuple[tuple[Joint, int], ...]
    tape: Tape | None  # values, then the entries of their derivative; None: it is called
    row: Integers  # (entries,) of the derivative
    column: Integers  # (entries,)
    time: bool  # it looks at t
    reason: str  # why it is called


class LawRecorder:
    """Recorder of the laws of a model; each is recorded once, whatever spanning tree asks.

    What a law looks at belongs to the model, but for ``joints="all"``, which means the coordinates of the tree.
    """

    def __init__(self, model: ModelDescription) -> None:
        self.model = model
        self.built: dict[tuple[str, tuple[tuple[Joint, int], ...]], BuiltLaw] = {}

    def law(self, force: Force, layout: DofLayout) -> BuiltLaw:
        """Return a built law; raises ModelError with the name of one that cannot be built."""
        coordinates = coordinates_of(self.model, layout, force)
        key = force.name, coordinates
        if key not in self.built:
            self.built[key] = build_law(self.model, force, coordinates)
        return self.built[key]


def coordinates_of(model: ModelDescription, layout: DofLayout, force: Force) -> tuple[tuple[Joint, int], ...]:
    """Return the coordinates that a law on joints acts on; none for a law between two frames."""
    coordinates = (force.joint,) if force.joint else force.joints
    if coordinates == ():
        coordinates = tree_coordinates(model, layout)
        if not coordinates:
            raise ModelError(
                f"force {force.name!r}: joints='all' finds no coordinate; spherical and floating joints have none of "
                "their own, so attach the law by body= or between="
            )
    return coordinates or ()


def build_law(model: ModelDescription, force: Force, coordinates: tuple[tuple[Joint, int], ...]) -> BuiltLaw:
    """Evaluate a law in floats, record it, and compare the tape with the law."""
    assert isinstance(force.law, Law)
    function = LawFunction(model, force, coordinates)
    writes = Writes(force.law.function)
    tried = function.trial_values()
    written = writes.names()
    sparse, reason, ways = recorded(function, written) if force.law.trace else (None, BY_USER, 0)
    if sparse is None and function.states:
        raise ModelError(
            f"{function.what}: its law has states and cannot be recorded: {reason}; write it so that it can be, "
            "or without states"
        )
    warn_unrecorded(function, reason, written)
    if sparse is None:
        row, column = np.divmod(np.arange(function.m * function.n), function.n)
        return BuiltLaw(force, function, coordinates, None, row, column, True, reason)
    check_tape(function, sparse.tape, function.trials(), tried, max(largest_finite(values) for values in tried))
    if ways > 1:
        for point, values in function.further_trials():
            check_tape(function, sparse.tape, [point], [values], largest_finite(values))
    time = bool(np.any(read_inputs(sparse.tape) == function.n))
    row, column = (np.asarray(part, np.int64) for part in (sparse.row, sparse.column))
    return BuiltLaw(force, function, coordinates, sparse.tape, row, column, time, "")


def recorded(function: LawFunction, written: Sequence[str]) -> tuple[SparseJacobian | None, str, int]:
    """Return tape and derivative, "" and the number of branches; or None, the reason, and 0."""
    what, ways = "law", 1
    try:
        if written:  # once, along one way: what it writes is not written again
            tape = record(function, function.n, function.m, k=function.k, limit=LARGEST_LAW)
        else:
            tape, ways = record_branches(function, function.n, function.m, k=function.k, limit=LARGEST_LAW)
        what = "law's derivative"
        return sparse_jacobian(tape, values=True), "", ways
    except TapeSizeError as error:
        if ways > 1:
            return None, f"all of its {ways} branches together take too many operations", 0
        raise ModelError(too_large(function, what, error)) from error
    except UnsupportedFunctionError as error:
        raise ModelError(
            f"{function.what}: {error} Or give trace=False: the law is then called in Python, by differences"
        ) from error
    except Exception as error:  # noqa: BLE001 - numbers went through: the law is sound, but a tape cannot hold it
        also = f"it writes {written[0]} outside of itself, and " if written else ""
        return None, f"{also}{str(error).split('. ')[0]}{error_location(error)}", 0


def error_location(error: BaseException) -> str:
    """Return file and line of the user's function in the traceback of an error."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((PACKAGE, NUMPY)):
            place = f" ({Path(file).name}:{trace.tb_lineno})"
        trace = trace.tb_next
    return "" if place and place.strip(" ()") in str(error) else place


def warn_unrecorded(function: LawFunction, reason: str, written: Sequence[str]) -> None:
    """Warn of a law that could not be recorded, and of one with side effects that a tape does not repeat."""
    code = function_behind(function.law.function)
    place: Any = (code.co_filename, code.co_firstlineno) if code is not None else ()
    if reason and reason != BY_USER:
        warn(
            f"{function.what}: its law could not be recorded and is called in Python, some hundred times slower: "
            f"{reason}. Write numpy.where(condition, a, b) for branches and numpy functions for others; trace=False "
            "says that a call is meant",
            *place,
        )
    elif written and not reason:
        warn(
            f"{function.what}: its law writes {written[0]} outside of itself. It is recorded and not called in a run, "
            "so nothing is written then; give a memory states=, or trace=False to call the law in Python",
            *place,
        )


def too_large(function: LawFunction, what: str, error: TapeSizeError) -> str:
    return (
        f"{function.what}: its {what} is too long: {error}. Or give trace=False: the law is then called in Python, "
        "by differences"
    )


def check_tape(
    function: LawFunction, tape: Tape, points: Sequence[tuple[Array, Array]], tried: Sequence[Array], size: float
) -> None:
    """Refuse a law whose tape (values, then entries of the derivative) differs from the law.

    ``tried`` are the values of the law at ``points``, of the typical ``size``.
    """
    evaluator = Evaluator(tape)
    for (x, p), expected in zip(points, tried, strict=True):
        with np.errstate(all="ignore"):
            found, entries = np.split(evaluator.value(x, p), [function.m])
            apart = np.nan_to_num(np.abs(found - expected), nan=np.inf)
        sound = np.isfinite(expected)
        if np.any(apart[sound] > AGREEMENT * size) and np.any(
            (apart > rounding_bound(function, x, p, expected))[sound]
        ):
            raise ModelError(
                f"{function.what}: {function.noun} was recorded as {found.tolist()} where a call gives "
                f"{expected.tolist()}; it must do the same with recorded values as with numbers, and depend on "
                f"{function.seen} only: no isinstance, nothing from outside that changes"
            )
        if x is function.x0 and not np.all(np.isfinite(entries)):
            raise ModelError(
                f"{function.what}: the derivative of {function.noun} is not finite at the reference pose, at rest; "
                f"write numpy.sqrt(v . v + tiny**2) for a norm that may be zero{function.escape}"
            )


def largest_finite(values: Array) -> float:
    """Return the largest absolute value of those that are finite."""
    return float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0))


def rounding_bound(function: LawFunction, x: Array, p: Array, expected: Array) -> Array:
    """Return a bound (m,) of rounding in a law's values: differences below it are no disagreement.

    A change of the inputs by ``AGREEMENT`` says it, and so do the digits of extended precision, where there are any.
    """
    change = AGREEMENT * np.maximum(np.abs(x), 1.0) * np.where(np.arange(len(x)) % 2, 1.0, -1.0)
    with np.errstate(all="ignore"):
        try:
            one, other = function.checked_values(x + change, p), function.checked_values(x - change, p)
            fine = function.checked_values(x.astype(np.longdouble), p.astype(np.longdouble))
        except ModelError:
            return np.zeros(function.m)
        moved = np.maximum(np.abs(one - other), ROUNDINGS * np.abs(fine - expected))
    return np.nan_to_num(moved, nan=np.inf)


def read_inputs(tape: Tape) -> Integers:
    """Return the numbers of the inputs that a tape reads; parameters follow the independents."""
    from rtmbs.ad.operations import INPUT

    return np.asarray(tape.a[tape.op == INPUT], np.int64)


def tree_coordinates(model: ModelDescription, layout: DofLayout) -> tuple[tuple[Joint, int], ...]:
    """Return every public coordinate of the joints in the tree."""
    joints = (joint for joint in model.joints.values() if joint.name in layout.joint_dofs)
    return tuple((joint, k) for joint in joints for k in range(len(joint.type.coordinates)))
