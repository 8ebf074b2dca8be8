"""Drivers as joint coordinates can follow them: one of a body that a joint holds to ground becomes one of the joint.

A body that slides on ground moves its origin by r0 + e s, one that turns about the world's z axis its yaw by its angle.
"""

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model import Body, Driver, Joint, Model, Prismatic, Profile, Revolute
from rtmbs.model.profiles import Motion

SLANT = 1e-6  # cosine between the driven direction and that of the joint from which it can be driven
UPRIGHT = 1e-12  # what an axis may miss the world's z axis by
COORDINATES = ("x", "y", "z")


@dataclass(frozen=True)
class Shifted:
    """f = (profile - start) / slope."""

    profile: Profile
    start: float
    slope: float

    @property
    def jumps(self) -> Any:
        """The jumps that the profile declares."""
        return getattr(self.profile, "jumps", None)

    def __call__(self, t: float) -> Motion:
        f, fd, fdd = self.profile(t)
        return (f - self.start) / self.slope, fd / self.slope, fdd / self.slope


def followed(model: Model) -> Model:
    """Return the model with drivers that a Simulation follows; raises ModelError for one that it cannot."""
    if all(driver.dynamic for driver in model.drivers.values()):
        return model
    found = copy.copy(model)
    found.drivers = {}
    for driver in model.drivers.values():
        one = driver if driver.dynamic else joint_driver(model, driver)
        for other in found.drivers.values():
            if one.joint and one.joint == other.joint:
                raise ModelError(
                    f"driver {one.name!r} prescribes {driver.target}, which {one.target} decides, and driver "
                    f"{other.name!r} drives that already; take one of them away"
                )
        found.drivers[one.name] = one
    return found


def joint_driver(model: Model, driver: Driver) -> Driver:
    """Return the driver of a joint coordinate that does what a driver of a body does."""
    if driver.body:
        body, coordinate = driver.body
        for joint in model.joints.values():
            if body in (joint.a, joint.b) and model.ground in (joint.a, joint.b):
                line = straight(joint, body, coordinate)
                if line is not None:
                    return replace(driver, profile=Shifted(driver.profile, *line), body=None, joint=(joint, 0))
    raise ModelError(
        f"driver {driver.name!r} prescribes {driver.target}, which only a kinematic analysis follows; drive a joint "
        "coordinate or the distance of two markers, or hold the body to ground by a prismatic or upright revolute joint"
    )


def straight(joint: Joint, body: Body, coordinate: str) -> tuple[float, float] | None:
    """Return (start, slope) of a body's coordinate over the joint's own, or None when it is no straight line."""
    sign = 1.0 if body is joint.b else -1.0  # a positive coordinate moves b relative to a
    to_world, to_body = (joint.axes_a, joint.axes_b) if body is joint.b else (joint.axes_b, joint.axes_a)
    point, own = (joint.point_a, joint.point_b) if body is joint.b else (joint.point_b, joint.point_a)
    turned = to_world @ to_body.T  # body to world at zero
    if isinstance(joint.type, Prismatic) and coordinate in COORDINATES:
        k = COORDINATES.index(coordinate)
        slope = sign * float((to_world @ np.array(joint.type.axis))[k])
        return (float((point - turned @ own)[k]), slope) if abs(slope) > SLANT else None
    if isinstance(joint.type, Revolute) and coordinate == "yaw":
        axis = to_world @ np.array(joint.type.axis)
        if abs(abs(axis[2]) - 1.0) > UPRIGHT:
            return None
        return float(np.arctan2(turned[1, 0], turned[0, 0])), sign * float(np.sign(axis[2]))
    return None
