"""Constraints that the user writes in plain NumPy: what the function is given, and what it may return.

A constraint is ``function(t, pose, parameters)``. It sees the time, the pose of what it joins and its parameters by
name, and returns what must be zero; rates and accelerations follow from its derivatives.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.joint import Joint
from rtmbs.model.laws import Law, make_law
from rtmbs.model.markers import Marker

MOST = 6  # equations of a constraint between two frames


class Pose(NamedTuple):
    """Pose of marker b relative to marker a, in axes of marker a."""

    r: Any  # (3,) from a to b [m]
    R: Any  # (3, 3) axes of b to axes of a


class JointPose(NamedTuple):
    """Joint coordinates, in the order of ``joints=``."""

    z: Any  # (k,) [rad, m]
    names: tuple[str, ...]  # of the coordinates, ``crank.angle``


ConstraintFunction = Callable[[Any, Any, Mapping[str, Any]], Any]


@dataclass(frozen=True, eq=False)
class Constraint:
    """A function that must be zero, between two frames or on joint coordinates."""

    name: str
    law: Law  # the function and the defaults of its parameters
    equations: int | None  # as many as the user said; None: as many as the function returns
    between: tuple[Marker, Marker] | None = None
    joints: tuple[tuple[Joint, int], ...] = ()


def make_constraint(
    name: str,
    function: Any,
    parameters: Mapping[str, Any] | None,
    equations: Any,
    between: tuple[Marker, Marker] | None,
    joints: tuple[tuple[Joint, int], ...],
) -> Constraint:
    """Return a checked constraint."""
    what = f"constraint {name!r}"
    if not callable(function) or isinstance(function, type):
        raise ModelError(
            f"{what}: {shown(function)} is not a function; write one as function(t, pose, parameters) that returns "
            "what must be zero"
        )
    law = make_law(what, function, parameters, True, "function(t, pose, parameters)")
    most = MOST if between else len(joints)
    whole = isinstance(equations, int | np.integer) and not isinstance(equations, bool)
    if equations is not None and not (whole and 1 <= equations <= most):
        raise ModelError(f"{what}: equations is {shown(equations)}; it must be a whole number from 1 to {most}")
    return Constraint(name, law, None if equations is None else int(equations), between, joints)
