"""User's force laws f(x, p) -> (m,) and constraints g(x, p) -> (m,) of flat arrays, checked on trial inputs.

Inputs x of a law: r, R (row-major), v, w between two frames; coordinates, then rates, on joints; last the states of the
law. Values: the force, last the rates of the states. Parameters p: time, then the user's in the order they were given.

Inputs x of a constraint: r, R (row-major) and t between two frames; coordinates and t on joints. Parameters p: the
user's.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import rotation_of_quaternion
from rtmbs.model.constraints import MOST, Constraint, JointPose, Pose
from rtmbs.model.description import ModelDescription
from rtmbs.model.forces import Force
from rtmbs.model.joint import Joint
from rtmbs.model.laws import JointKinematics, Kinematics, Law
from rtmbs.system.system import Array
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
        """Return the number of equations that the function returns, refused when the user said another number."""
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
