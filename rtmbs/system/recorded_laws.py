"""Force laws and constraints of the user: checked on trial inputs, recorded on tapes, tapes compared with them.

Inputs x of a law: r, R (row-major), v, w between two frames; coordinates, then rates, on joints; last the states of the
law. Values: the force, last the rates of the states. Parameters p: time, then the user's in the order they were given.

Inputs x of a constraint: r, R (row-major) and t between two frames; coordinates and t on joints. Parameters p: the
user's.

A law with an ``if`` on its values is recorded along all of its branches. One that cannot be recorded (a loop that ends
by a value, a call into other code) stays a Python function that is called; a warning says why, and so does the start
report. A function of NumPy that the recorder does not know is refused with its way out instead: most of them have one
that costs nothing. A recorded law keeps the values that it read at compile beside its arguments, so a Simulation
refuses to go on when one has changed since.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

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
from rtmbs.contact.friction import DryFriction
from rtmbs.errors import PACKAGE, InputError, ModelError, warn
from rtmbs.model.captured import Writes, captured, function_behind, values_captured
from rtmbs.model.checks import rotation_of_quaternion
from rtmbs.model.constraints import MOST, Constraint, JointPose, Pose
from rtmbs.model.description import ModelDescription
from rtmbs.model.forces import Force, JointKinematics, Kinematics, Law
from rtmbs.model.joints import Joint, Prismatic
from rtmbs.system.dof_layout import DofLayout
from rtmbs.system.system import Array, Integers, System
from rtmbs.system.tables import FRAME_INPUTS, POSE_INPUTS

TRIALS, SEED, SPREAD = 3, 20, 0.1  # at which a law is tried, near the reference pose
TRIED_FURTHER, FURTHER = 24, (1e-3, 1e2)  # points at which a law with branches is tried as well, so far from there


class LawFunction:
    """A force law with the data to call it. Raises ModelError with the force's name.

    ``coordinates`` (joint, number) are those of a law on joints, () for one between two frames.
    """

    noun, result, seen = "its law", "the force", "t, kinematics and parameters"  # in sentences to the user
    escape = " (trace=False calls the law in Python instead)"

    def __init__(self, model: ModelDescription, force: Force, coordinates: tuple[tuple[Joint, int], ...]) -> None:
        assert isinstance(force.law, Law)
        names = tuple(f"{joint.name}.{joint.type.coordinates[k]}" for joint, k in coordinates)
        self.what, self.law, self.names = f"force {force.name!r}", force.law, names
        self.single = force.joint is not None
        self.along_line = force.between is not None
        self.looks, self.acts = (2 * len(names), len(names)) if names else (FRAME_INPUTS, 6)  # without the states
        self.states = force.law.states
        self.n, self.m = self.looks + len(self.states), self.acts + len(self.states)
        self.k = 1 + sum(value.size for value in force.law.parameters.values())
        self.p0 = np.concatenate([np.zeros(1), *(value.ravel() for value in force.law.parameters.values())])
        reference = reference_coordinates(model, coordinates) if names else reference_frames(model, force)
        self.x0 = np.concatenate((reference, [state.first for state in self.states]))

    def __call__(self, x: Any, p: Any) -> Any:
        """Return the law's values (m,) for inputs x (n,) and parameters p (k,): floats or traced."""
        parameters, first = {}, 1
        for name, value in self.law.parameters.items():
            parameters[name] = p[first : first + value.size].reshape(value.shape)
            if isinstance(parameters[name], np.ndarray):
                parameters[name].flags.writeable = False
            first += value.size
        r = x[:3].copy()  # a law may write over what it is given
        result, rates = self.evaluate(p[0], self.kinematics(x), MappingProxyType(parameters), x[self.looks :])
        values = self.forces(result) if self.names else self.wrench(result, r)
        return values if rates is None else np.concatenate((values, rates))

    def kinematics(self, x: Any) -> Kinematics | JointKinematics:
        """Return the kinematics that the law receives."""
        if not self.names:
            return Kinematics(x[:3], x[3:12].reshape(3, 3), x[12:15], x[15:18])
        if self.single:
            return JointKinematics(x[0], x[1], self.names)
        return JointKinematics(x[: self.acts], x[self.acts : self.looks], self.names)

    def evaluate(self, t: Any, kinematics: Any, parameters: Mapping[str, Any], states: Any) -> tuple[Any, Any]:
        """Call the user's law; return the force, and the rates (k,) of its states, None without states."""
        if not self.states:
            return self.law.function(t, kinematics, parameters), None
        by_name = {state.name: states[k] for k, state in enumerate(self.states)}
        result = self.law.function(t, kinematics, parameters, by_name)
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise ModelError(
                f"{self.what}: its law has states and returned {result!r}; it must return a pair, the force and the "
                f"rates of {', '.join(by_name)}"
            )
        rates, count = self.flattened(result[1]), len(self.states)
        if np.shape(rates) == () and count == 1:
            rates = rates.reshape(1)
        if np.shape(rates) != (count,):
            raise ModelError(
                f"{self.what}: its law returned rates of shape {np.shape(rates)}; it has {count} states, "
                f"{', '.join(by_name)}, and must return one rate for each"
            )
        return result[0], rates

    def wrench(self, result: Any, r: Any) -> Any:
        """Return the result of a law between two frames as a wrench (6,)."""
        values = self.flattened(result)
        shape = np.shape(values)
        if shape == (6,):
            return values
        if shape == (2, 3):
            return values.reshape(6)
        if shape in ((), (1,)) and self.along_line:
            pull = values.reshape(())
            return np.concatenate((-pull / np.sqrt(np.dot(r, r)) * r, np.zeros(3)))
        wanted = "a wrench [f, n] of 6 numbers" + (", or a scalar along the line" if self.along_line else "")
        raise ModelError(f"{self.what}: its law returned an array of shape {shape}; it must return {wanted}")

    def forces(self, result: Any) -> Any:
        """Return the result of a law on joint coordinates as generalised forces (m,)."""
        values = self.flattened(result)
        if np.shape(values) == (self.acts,):
            return values
        if np.shape(values) == () and self.acts == 1:
            return values.reshape(1)
        wanted = "one number" if self.single else f"{self.acts} numbers, one for each coordinate"
        raise ModelError(f"{self.what}: its law returned an array of shape {np.shape(values)}; it must return {wanted}")

    def flattened(self, result: Any) -> Any:
        """Return numbers, sequences and traced values as one array; refuse other results."""
        if result is None:
            raise ModelError(f"{self.what}: {self.noun} returned None; it must return {self.result}")
        if isinstance(result, tuple | list):
            try:
                return np.stack([self.flattened(part) for part in result])
            except ValueError:
                raise ModelError(
                    f"{self.what}: {self.noun} returned parts of different shapes, {result!r}; it must return "
                    "all numbers in one array, or parts of three numbers each"
                ) from None
        if hasattr(result, "ids"):
            return result
        array = np.asarray(result)
        if array.dtype == object:
            return array
        if array.dtype.kind == "c":
            raise ModelError(f"{self.what}: {self.noun} returned the complex number {result!r}; {self.result} is real")
        if array.dtype.kind not in "fiub":
            raise ModelError(f"{self.what}: {self.noun} returned {result!r}; it must return numbers")
        return array.astype(np.float64)

    # ---- trying it -------------------------------------------------------------------------------------------------

    def trials(self) -> list[tuple[Array, Array]]:
        """Return trial inputs and parameters: the reference pose at rest, then near it in motion."""
        rng = np.random.default_rng(SEED)
        tried = [(self.x0, self.p0)]
        for _ in range(TRIALS):
            x = self.x0 + SPREAD * rng.normal(size=self.n)
            if not self.names:
                turn = rotation_of_quaternion(np.append(1.0, 0.5 * SPREAD * rng.normal(size=3)))
                x[3:12] = (turn @ self.x0[3:12].reshape(3, 3)).ravel()
            tried.append(self.at_time(rng.uniform(0.0, 1.0), x))
        return tried

    def further_trials(self) -> Iterator[tuple[tuple[Array, Array], Array]]:
        """Yield points near the reference and far from it, and the values of the law there.

        A law with branches takes others there. Values are no numbers where it raises.
        """
        rng = np.random.default_rng(SEED)
        for spread in np.geomspace(*FURTHER, TRIED_FURTHER):
            x = self.x0 + spread * rng.normal(size=self.n)
            if not self.names:
                x[3:12] = rotation_of_quaternion(rng.normal(size=4)).ravel()
            x, p = self.at_time(rng.uniform(0.0, 1.0), x)
            values = np.full(self.m, np.nan)
            with np.errstate(all="ignore"), suppress(ModelError):
                values = self.checked_values(x, p)
            yield (x, p), values

    def at_time(self, t: float, x: Array) -> tuple[Array, Array]:
        """Return inputs ``x`` and the reference parameters at ``t`` [s]."""
        p = self.p0.copy()
        p[0] = t
        return x, p

    def trial_values(self) -> list[Array]:
        """Call the law at every trial; refuse one that raises, is not finite at the reference, or has a memory."""
        found = []
        for place, (x, p) in enumerate(self.trials()):
            with np.errstate(all="ignore"):
                try:
                    first, second = self.checked_values(x, p), self.checked_values(x, p)
                except ModelError:
                    if place == 0:
                        raise
                    first = second = np.full(self.m, np.nan)  # a law may refuse states that it was not made for
            if not np.array_equal(first, second, equal_nan=True):
                raise ModelError(
                    f"{self.what}: {self.noun} returned {first.tolist()} and then {second.tolist()} for the same "
                    f"input; it must depend on {self.seen} only, without a memory or random numbers"
                )
            if place == 0 and self.along_line and not np.any(x[:3]) and np.any(np.isnan(first)):
                raise ModelError(
                    f"{self.what}: its markers coincide at the reference pose, so a scalar has no line to act along; "
                    "return a wrench [f, n], or place the markers apart"
                )
            if place == 0 and not np.all(np.isfinite(first)):
                raise ModelError(
                    f"{self.what}: {self.noun} returned {first.tolist()} at the reference pose, at rest; "
                    "it must be finite there (divide by numpy.sqrt(v . v + tiny**2), not by a norm that may be zero)"
                )
            found.append(first)
        return found

    def checked_values(self, x: Array, p: Array) -> Array:
        """Return the values as floats (m,); an error of the law carries its name."""
        try:
            return np.asarray(self(x.copy(), p.copy()), np.float64)
        except ModelError:
            raise
        except Exception as error:  # the user's function may raise anything
            raise ModelError(f"{self.what}: {self.noun} raised {type(error).__name__}: {error}") from error


def reference_frames(model: ModelDescription, force: Force) -> Array:
    """Return r, R, v, w (18,) of a force between two frames at the reference pose, at rest."""
    if force.between:
        a, b = force.between
        A, B = (marker.body.orientation @ marker.axes for marker in (a, b))
        d = b.reference() - a.reference()
    else:
        assert force.body is not None
        assert force.point is not None
        A, B, d = np.eye(3), force.body.orientation, force.body.world(force.point)
    return np.concatenate((A.T @ d, (A.T @ B).ravel(), np.zeros(6)))


def reference_coordinates(model: ModelDescription, coordinates: tuple[tuple[Joint, int], ...]) -> Array:
    """Return the coordinates, as far as the user set them, and zero rates."""
    z = [initial_coordinate(model, joint, k) for joint, k in coordinates]
    return np.array(z + [0.0] * len(z))


def initial_coordinate(model: ModelDescription, joint: Joint, k: int) -> float:
    """Return the initial value of a coordinate, zero when none was set."""
    initial = model.initials.get(joint.name)
    if initial is None or initial.position is None:
        return 0.0
    return float(np.atleast_1d(initial.position)[k])


STEP, ALIKE = 1e-6, 1e-4  # of the difference that the derivative is held against, and what it may miss


class ConditionFunction(LawFunction):
    """A constraint with the data to call it. Raises ModelError with its name."""

    noun, result, seen = "its function", "what must be zero", "t, pose and parameters"
    escape = ""

    def __init__(self, model: ModelDescription, constraint: Constraint) -> None:
        law = constraint.law
        self.constraint = constraint
        self.what, self.law = f"constraint {constraint.name!r}", law
        self.names = tuple(f"{joint.name}.{joint.type.coordinates[k]}" for joint, k in constraint.joints)
        self.single = self.along_line = False
        self.states = ()
        self.n = len(self.names) + 1 if self.names else POSE_INPUTS
        self.k = sum(value.size for value in law.parameters.values())
        self.p0 = np.concatenate([np.zeros(0), *(value.ravel() for value in law.parameters.values())])
        self.x0 = self.reference(model, constraint)
        self.m = constraint.equations or 0
        self.m = self.equation_count()

    def reference(self, model: ModelDescription, constraint: Constraint) -> Array:
        """Return the inputs at the reference pose and t = 0."""
        if constraint.between is None:
            return np.array([*(initial_coordinate(model, joint, k) for joint, k in constraint.joints), 0.0])
        a, b = constraint.between
        A, B = (marker.body.orientation @ marker.axes for marker in (a, b))
        return np.concatenate((A.T @ (b.reference() - a.reference()), (A.T @ B).ravel(), np.zeros(1)))

    def equation_count(self) -> int:
        """Return the number of equations of the function, refused when it differs from the one given by the user."""
        size = np.size(self.checked_values(self.x0, self.p0))
        most = len(self.names) or MOST
        if self.m and size != self.m:
            raise ModelError(f"{self.what}: its function returned {size} numbers where equations= says {self.m}")
        if not 1 <= size <= most:
            raise ModelError(f"{self.what}: its function returned {size} numbers; it must return from 1 to {most}")
        return int(size)

    def __call__(self, x: Any, p: Any = ()) -> Any:
        """Return the residual (m,) for inputs x (n,) and parameters p (k,): floats or traced."""
        parameters, first = {}, 0
        for name, value in self.law.parameters.items():
            parameters[name] = p[first : first + value.size].reshape(value.shape)
            first += value.size
        pose: Any = JointPose(x[:-1], self.names) if self.names else Pose(x[:3], x[3:12].reshape(3, 3))
        try:
            values = self.flattened(self.law.function(x[-1], pose, parameters))
        except AttributeError as error:
            has = "z and names" if self.names else "r and R"
            raise ModelError(
                f"{self.what}: its function raised AttributeError: {error}; its pose has {has}, for a constraint of "
                "positions implies the rates"
            ) from None
        if np.ndim(values) > 1:
            raise ModelError(
                f"{self.what}: its function returned an array of shape {np.shape(values)}; it must return one number "
                "for each equation"
            )
        return values.reshape(-1)

    def at_time(self, t: float, x: Array) -> tuple[Array, Array]:
        """Return inputs ``x`` and the reference parameters at ``t`` [s], which is the last input."""
        x[-1] = t
        return x, self.p0.copy()

    def check_slopes(self, slopes: Array) -> None:
        """Refuse a function that jumps or has a kink at the reference pose; ``slopes`` (m, n) are its derivatives."""
        d = np.random.default_rng(SEED).normal(size=self.n)
        with np.errstate(all="ignore"):
            before, here, after = (self.checked_values(self.x0 + sign * STEP * d, self.p0) for sign in (-1.0, 0.0, 1.0))
            sides = np.array([here - before, after - here]) / STEP
        expected = slopes @ d
        found = sides[np.argmax(np.abs(sides - expected), axis=0), np.arange(self.m)]
        size = np.abs(slopes) @ np.abs(d) + np.abs(here)
        wrong = np.flatnonzero(np.isfinite(found) & (np.abs(found - expected) > ALIKE * size))
        if len(wrong):
            raise ModelError(
                f"{self.what}: equation {wrong[0]} of its function changes by {found[wrong[0]]:g} where its derivative "
                f"says {expected[wrong[0]]:g}: it jumps or has a kink at the reference pose; write it smooth"
            )


# ---- recording of force laws written by the user --------------------------------------------------------------------


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
    """Recorder of the laws of a model; each is recorded once for all spanning trees.

    What a law looks at belongs to the model, but for ``joints="all"``, which means the coordinates of the tree.
    """

    def __init__(self, model: ModelDescription, length: float) -> None:
        self.model, self.length = model, length
        self.built: dict[tuple[str, tuple[tuple[Joint, int], ...]], BuiltLaw] = {}

    def law(self, force: Force, layout: DofLayout) -> BuiltLaw:
        """Return a built law; raises ModelError with the name of one that cannot be built."""
        coordinates = coordinates_of(self.model, layout, force)
        key = force.name, coordinates
        if key not in self.built:
            self.built[key] = build_law(self.model, self.length, force, coordinates)
        return self.built[key]


def for_length(force: Force, length: float, coordinates: tuple[tuple[Joint, int], ...]) -> Force:
    """Return a force whose dry friction is that of a mechanism of the characteristic ``length`` [m]."""
    assert isinstance(force.law, Law)
    function: Any = force.law.function
    friction = getattr(function, "friction", None)
    if not isinstance(friction, DryFriction):
        return force
    slides = all(isinstance(joint.type, Prismatic) for joint, _ in coordinates)  # a contact has no coordinates
    scaled = friction.for_length(length, slides)
    if scaled is friction:
        return force
    return replace(force, law=replace(force.law, function=replace(function, friction=scaled)))


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


def build_law(
    model: ModelDescription, length: float, force: Force, coordinates: tuple[tuple[Joint, int], ...]
) -> BuiltLaw:
    """Evaluate a law in floats, record it, and compare the tape with the law; ``length`` [m] is characteristic."""
    assert isinstance(force.law, Law)
    force = for_length(force, length, coordinates)
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


MADE = "this System was compiled, which does not have {it}: compile the model again"
SHOWN = 60  # letters of a value
OFTEN, SHARE = 8, 0.5e-6  # steps between two looks at least, and the time that looks may take a step [s]


class CapturedValues:
    """Captured values of the laws of a System, checked now and then.

    Raises InputError when something is another value than at compile.
    """

    def __init__(self, system: System) -> None:
        self.system = ref(system)
        self.laws = [(force, captured(function), read) for force, function, read in system.outside if read]
        begin = perf_counter()
        self.values()
        self.pause = max(OFTEN, int((perf_counter() - begin) / SHARE))
        self.left = 0

    def values(self) -> list[dict[str, str]]:
        """Return the present values in words, law by law."""
        return [values_captured(looks) for _, looks, _ in self.laws]

    def check(self) -> None:
        """Compare all captured values with those at compile."""
        self.left = self.pause
        for (force, _, read), now in zip(self.laws, self.values(), strict=True):
            for name, before in read.items():
                if now.get(name, before) != before:
                    raise InputError(changed(force, name, before, now[name]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made: anew, of the System of the copy."""
        return captured_values_of, (self.system(),)

    def step(self) -> None:
        """Compare all captured values once in ``pause`` steps."""
        self.left -= 1
        if self.left < 0:
            self.check()


CAPTURED: "WeakKeyDictionary[System, CapturedValues]" = WeakKeyDictionary()


def captured_values_of(system: System) -> CapturedValues | None:
    """Return the captured values of the laws of a System, or None without any."""
    if not any(one.read for one in system.outside):
        return None
    if system not in CAPTURED:
        CAPTURED[system] = CapturedValues(system)
    return CAPTURED[system]


def check_captured(system: System) -> None:
    """Refuse a law whose captured value has changed since the model was compiled: InputError.

    Warns once of a Model that has changed since.
    """
    if system.origin is not None:
        system.origin.warn_of_changes(MADE)
    values = captured_values_of(system)
    if values is not None:
        values.check()


def changed(force: str, name: str, before: str, now: str) -> str:
    """Return the sentence about a value that has changed."""
    return (
        f"force {force!r}: its law reads {name}, which was {before[:SHOWN]} when the model was compiled and is "
        f"{now[:SHOWN]} now. The recorded law keeps the first value. Make it a parameter, "
        f"parameters={{{name.rpartition('.')[2]!r}: ...}}, and set sim.inputs, or compile the model again"
    )
