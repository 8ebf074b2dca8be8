"""Constraints that open and close: locks, and gaps of rigid contacts with the law of their impacts (METHODS 8.5, 8.7).

Their equations are multiplied by an input, 0 or 1. So an open one has no force, and the pattern of the equations never
changes. This file loads no shapes and no force laws, for every System looks for these constraints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rtmbs.errors import InputError, ModelError
from rtmbs.model.body import Marker
from rtmbs.model.checks import Array, Numbers
from rtmbs.model.constraints import Constraint, ConstraintFunction, JointPose, Pose
from rtmbs.model.description import Between, Coordinate, ElementLookup

LOCKED, POSITION, ROTATION = "locked", "position", "rotation"  # names of the inputs of a lock
CLOSED, SLIP, AXES = "closed", "slip", "axes"  # inputs of a rigid contact


@dataclass(frozen=True)
class CoordinateLock:
    """Function of a lock of joint coordinates; ``closed`` at the start of a Simulation or not."""

    closed: bool

    def __call__(self, t: float, pose: JointPose, parameters: Mapping[str, Any]) -> Any:
        """Return how far the coordinates are from those held (k,) [rad, m]; zero while open."""
        return parameters[LOCKED] * (pose.z - parameters[POSITION])


@dataclass(frozen=True)
class PoseLock:
    """Function of a lock between two markers: a weld, or a ball joint when it ``turns``."""

    closed: bool
    turns: bool

    def __call__(self, t: float, pose: Pose, parameters: Mapping[str, Any]) -> Any:
        """Return the distance from the held position (3,) [m] and the turn from the held axes (3,); zero while open.

        The turn is the vector of the skew part of R R0^T, zero with an invertible derivative at R = R0.
        """
        locked, shift = parameters[LOCKED], [pose.r[k] - parameters[POSITION][k] for k in range(3)]
        if self.turns:
            return np.stack([locked * one for one in shift])
        R, R0 = pose.R, parameters[ROTATION]

        def part(i: int, j: int) -> Any:
            return R[i, 0] * R0[j, 0] + R[i, 1] * R0[j, 1] + R[i, 2] * R0[j, 2]

        turn = [0.5 * (part(j, i) - part(i, j)) for i, j in ((1, 2), (2, 0), (0, 1))]
        return np.stack([locked * one for one in (*shift, *turn)])


class ConstraintModel(Protocol):
    """Part of ``Model`` that adds constraints, for files that ``Model`` itself imports."""

    @property
    def lookup(self) -> ElementLookup:
        """Lookup of the elements."""

    def add_constraint(
        self,
        name: str,
        function: ConstraintFunction,
        *,
        between: Between | None = None,
        joints: Sequence[Coordinate] | None = None,
        parameters: Mapping[str, Numbers] | None = None,
    ) -> Constraint:
        """Add a constraint."""


def add_lock(
    model: ConstraintModel, name: str, joint: Coordinate | None, between: Between | None, turns: bool, closed: bool
) -> Constraint:
    """Add the constraint of a lock; see ``Model.add_lock``."""
    what = f"lock {name!r}"
    if (joint is None) == (between is None):
        raise ModelError(f"{what}: give joint= or between=, one of the two")
    if between is not None:
        ends = model.lookup.between(what, between)
        r, R = reference_pose(*ends)
        held: dict[str, Numbers] = {LOCKED: 1.0, POSITION: r} | ({} if turns else {ROTATION: R})
        return model.add_constraint(name, PoseLock(closed, turns), between=ends, parameters=held)
    if turns:
        raise ModelError(f"{what}: turns= belongs to between=; leave it out")
    assert joint is not None
    coordinates = coordinates_of(model.lookup, what, joint)
    return model.add_constraint(
        name,
        CoordinateLock(closed),
        joints=coordinates,
        parameters={LOCKED: 1.0, POSITION: np.zeros(len(coordinates))},
    )


def coordinates_of(lookup: ElementLookup, what: str, wanted: Coordinate) -> list[Coordinate]:
    """Return one coordinate, or all of a joint."""
    if isinstance(wanted, tuple):
        return [wanted]
    joint = lookup.joint(what, wanted)
    names = joint.type.coordinates
    return [(joint, one) for one in names] if len(names) > 1 else [joint]


def reference_pose(a: Marker, b: Marker) -> tuple[Array, Array]:
    """Return the position (3,) [m] and the axes (3, 3) of marker b in axes of marker a at the reference pose."""
    to_world = a.body.orientation @ a.axes
    return to_world.T @ (b.reference() - a.reference()), to_world.T @ b.body.orientation @ b.axes


@dataclass(frozen=True)
class Impacts:
    """Law of the impacts of a rigid contact."""

    restitution: float  # of Newton: speed of parting over speed of approach
    friction: float
    rest_speed: float  # [m/s or rad/s] slower bounces end at rest


@dataclass(frozen=True)
class CoordinateGap:
    """Function of a rigid stop: how far a coordinate is from its limit; ``side`` 1 above it, -1 below."""

    limit: float
    side: float
    impacts: Impacts

    def __call__(self, t: float, pose: JointPose, parameters: Mapping[str, Any]) -> Any:
        """Return the gap [rad or m]; zero while open."""
        return parameters[CLOSED] * self.side * (pose.z[0] - self.limit)


@dataclass(frozen=True)
class PointGap:
    """Function of a ball of ``radius`` [m] about marker b, a corner with 0, above the plane of marker a."""

    radius: float
    impacts: Impacts

    def __call__(self, t: float, pose: Pose, parameters: Mapping[str, Any]) -> Any:
        """Return the gap [m], zero while open, and with friction the slip in two directions of the plane.

        The slip counts in impacts alone. Its rate is that of the touching point.
        """
        gap = parameters[CLOSED] * (pose.r[2] - self.radius)
        if self.impacts.friction == 0.0:
            return gap
        R, R0, s = pose.R, parameters[AXES], parameters[SLIP]

        def part(i: int, j: int) -> Any:
            return R[i, 0] * R0[j, 0] + R[i, 1] * R0[j, 1] + R[i, 2] * R0[j, 2]

        about_x, about_y = 0.5 * (part(2, 1) - part(1, 2)), 0.5 * (part(0, 2) - part(2, 0))
        slips = (pose.r[0] - self.radius * about_y, pose.r[1] + self.radius * about_x)
        return np.stack([gap, *(s * one for one in slips)])


def refuse_rigid(rigid: Mapping[str, Any], what: str) -> None:
    """Refuse rigid contacts where ``what`` locates no impacts: InputError."""
    if rigid:
        name = next(iter(rigid))
        raise InputError(
            f"{what} locates no impacts, so rigid contact {name!r} would never close; it must be a compliant one "
            "(add_contact, add_stop), or a run of a Simulation"
        )
