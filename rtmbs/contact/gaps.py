"""Gaps of rigid contacts: the functions of their constraints, with the law of their impacts (METHODS 8.7).

This file loads no shapes and no force laws, for every System looks for gaps among its constraints.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import InputError
from rtmbs.model.constraints import JointPose, Pose

CLOSED, SLIP, AXES = "closed", "slip", "axes"  # inputs of a rigid contact


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
