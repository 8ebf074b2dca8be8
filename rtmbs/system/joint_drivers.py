"""Drivers on joint coordinates: a driver of a body that a joint holds to ground becomes one of the joint.

A body that slides on ground moves its origin by r0 + e s, one that turns about the world's z axis its yaw by its angle.
"""

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.body import Body
from rtmbs.model.constraints import Driver
from rtmbs.model.description import ModelDescription
from rtmbs.model.joint import Joint
from rtmbs.model.joints import Prismatic, Revolute
from rtmbs.model.profiles import Given, Motion, Profile

SLANT = 1e-6  # cosine between the driven direction and that of the joint from which it can be driven
UPRIGHT = 1e-12  # what an axis may miss the world's z axis by
COORDINATES = ("x", "y", "z")


@dataclass(frozen=True)
class AffineProfile:
    """Profile f = (profile - start) / slope."""

    profile: Profile
    start: float
    slope: float

    @property
    def jumps(self) -> Any:
        """Declared jumps of the profile."""
        return getattr(self.profile, "jumps", None)

    def __call__(self, t: float) -> Motion:
        f, fd, fdd = self.profile(t)
        return (f - self.start) / self.slope, fd / self.slope, fdd / self.slope


def with_joint_drivers(model: ModelDescription) -> ModelDescription:
    """Return the model with drivers on joint coordinates; raises ModelError for one that has no equivalent."""
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


def joint_driver(model: ModelDescription, driver: Driver) -> Driver:
    """Return the driver of a joint coordinate equivalent to a driver of a body."""
    if driver.body:
        body, coordinate = driver.body
        for joint in model.joints.values():
            if body in (joint.a, joint.b) and model.ground in (joint.a, joint.b):
                line = linear_relation(joint, body, coordinate)
                if line is not None:
                    k, *shift = line
                    return replace(driver, profile=affine_profile(driver, *shift), body=None, joint=(joint, k))
    raise ModelError(
        f"driver {driver.name!r} prescribes {driver.target}, which only a kinematic analysis follows; drive a joint "
        "coordinate or the distance of two markers, or hold the body to ground by a prismatic or upright revolute "
        "joint, or for x, y, z by a floating joint at the body's origin with axes of the world"
    )


def affine_profile(driver: Driver, start: float, slope: float) -> Profile:
    """Return the profile of a joint coordinate with (start, slope); ModelError for one that the user sets."""
    if (start, slope) == (0.0, 1.0):
        return driver.profile
    if isinstance(driver.profile, Given):
        raise ModelError(
            f"driver {driver.name!r}: an Input cannot prescribe {driver.target}, which is {start:g} + {slope:g} times "
            "a joint coordinate; drive the coordinate of the joint by joint=, or place the joint at the world's origin"
        )
    return AffineProfile(driver.profile, start, slope)


def linear_relation(joint: Joint, body: Body, coordinate: str) -> tuple[int, float, float] | None:
    """Return (number, start, slope): a body's coordinate over one of the joint's; None when it is not linear."""
    if joint.type.free:
        at_origin = body is joint.b and not np.any(joint.point_b) and np.array_equal(joint.axes_a, np.eye(3))
        if coordinate not in COORDINATES or not at_origin:
            return None
        k = COORDINATES.index(coordinate)
        return k, float(joint.point_a[k]), 1.0
    sign = 1.0 if body is joint.b else -1.0  # a positive coordinate moves b relative to a
    to_world, to_body = (joint.axes_a, joint.axes_b) if body is joint.b else (joint.axes_b, joint.axes_a)
    point, own = (joint.point_a, joint.point_b) if body is joint.b else (joint.point_b, joint.point_a)
    turned = to_world @ to_body.T  # body to world at zero
    if isinstance(joint.type, Prismatic) and coordinate in COORDINATES:
        k = COORDINATES.index(coordinate)
        slope = sign * float((to_world @ np.array(joint.type.axis))[k])
        return (0, float((point - turned @ own)[k]), slope) if abs(slope) > SLANT else None
    if isinstance(joint.type, Revolute) and coordinate == "yaw":
        axis = to_world @ np.array(joint.type.axis)
        if abs(abs(axis[2]) - 1.0) > UPRIGHT:
            return None
        return 0, float(np.arctan2(turned[1, 0], turned[0, 0])), sign * float(np.sign(axis[2]))
    return None
