"""The user's constraint as a function of flat arrays, g(x, p) -> (m,): what is recorded, differentiated and checked.

Inputs x: r, R (row-major) and t between two frames; coordinates and t on joints. Parameters p: the user's.
"""

from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model import Model
from rtmbs.model.constraints import MOST, Constraint, JointPose, Pose
from rtmbs.system.law_function import SEED, LawFunction, start_of
from rtmbs.system.system import Array
from rtmbs.system.tables import POSE_INPUTS

STEP, ALIKE = 1e-6, 1e-4  # of the difference that the derivative is held against, and what it may miss


class ConditionFunction(LawFunction):
    """One constraint with everything it needs to be called. Raises ModelError with its name."""

    noun, result, seen = "its function", "what must be zero", "t, pose and parameters"
    escape = ""

    def __init__(self, model: Model, constraint: Constraint) -> None:
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
        self.m = self.counted()

    def reference(self, model: Model, constraint: Constraint) -> Array:
        """Return the inputs at the reference pose and t = 0."""
        if constraint.between is None:
            return np.array([*(start_of(model, joint, k) for joint, k in constraint.joints), 0.0])
        a, b = constraint.between
        A, B = (marker.body.orientation @ marker.axes for marker in (a, b))
        return np.concatenate((A.T @ (b.reference() - a.reference()), (A.T @ B).ravel(), np.zeros(1)))

    def counted(self) -> int:
        """Return how many equations the function returns, refused when the user said another number."""
        size = np.size(self.called(self.x0, self.p0))
        most = len(self.names) or MOST
        if self.m and size != self.m:
            raise ModelError(f"{self.what}: its function returned {size} numbers where equations= says {self.m}")
        if not 1 <= size <= most:
            raise ModelError(f"{self.what}: its function returned {size} numbers; it must return from 1 to {most}")
        return int(size)

    def __call__(self, x: Any, p: Any = ()) -> Any:
        """Return what must be zero (m,) for inputs x (n,) and parameters p (k,): floats or traced."""
        parameters, first = {}, 0
        for name, value in self.law.parameters.items():
            parameters[name] = p[first : first + value.size].reshape(value.shape)
            first += value.size
        pose: Any = JointPose(x[:-1], self.names) if self.names else Pose(x[:3], x[3:12].reshape(3, 3))
        try:
            values = self.flat(self.law.function(x[-1], pose, parameters))
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
            before, here, after = (self.called(self.x0 + sign * STEP * d, self.p0) for sign in (-1.0, 0.0, 1.0))
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
