"""Channels of joints: coordinates, rates and accelerations of b relative to a, whatever way the tree walks.

A joint of the tree (an auxiliary body too) reads its coordinates; a cut joint measures them between its two bodies.
Joints without public coordinates (spherical, floating, line) tell orientation, a floating one position as well, all
measured.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, warn
from rtmbs.model.joints import PlaneAngle, turn_angle, two_turn_angles
from rtmbs.results.channel import QUATERNION, XYZ, Source
from rtmbs.results.motion import BodyMotion, RelativeMotion, body_motion, dot, turned, unwrap
from rtmbs.results.resampled import Resampled
from rtmbs.rotations.quaternions import quaternions
from rtmbs.system.system import JointInfo, System

Array = NDArray[np.float64]
Motion = tuple[Array, Array, Array]  # value, rate, acceleration, each (S,)
Frame = tuple[BodyMotion, Array]  # a body, and joint axes to its axes (3, 3)

ANGLE_UNITS = ("rad", "rad/s", "rad/s^2")
LENGTH_UNITS = ("m", "m/s", "m/s^2")
ORDERS = ("", "_rate", "_acceleration")
UNSURE = 0.5 * np.pi  # [rad] between what an angle turned from sample to sample and what its rates say: a quarter turn
POSITIONS = ("position", "velocity", "linear_acceleration")


def joint_sources(system: System, resampled: Resampled) -> Iterator[tuple[str, Source]]:
    """Yield the motion of every joint that has any."""
    for info in system.joints.values():
        measured = Measured(resampled, system, info)
        if info.coordinates:
            yield from coordinate_sources(info, resampled, measured)
        elif info.kind.turns_freely:
            yield from orientation_sources(info, measured)
        if info.kind.free:
            yield from position_sources(info, measured)


def coordinate_sources(info: JointInfo, resampled: Resampled, measured: "Measured") -> Iterator[tuple[str, Source]]:
    """Yield every coordinate with rate and acceleration; a joint of one coordinate has short names for the last two."""
    for k, (coordinate, unit) in enumerate(zip(info.coordinates, info.units, strict=True)):
        units = ANGLE_UNITS if unit == "rad" else LENGTH_UNITS
        for order, (suffix, unit_of_order) in enumerate(zip(ORDERS, units, strict=True)):
            source = Source((), unit_of_order, coordinate_values(info, resampled, measured, k, order))
            yield f"{info.name}.{coordinate}{suffix}", source
            if suffix and len(info.coordinates) == 1:
                yield f"{info.name}.{suffix[1:]}", source


def coordinate_values(
    info: JointInfo, resampled: Resampled, measured: "Measured", k: int, order: int
) -> Callable[[], Array]:
    """Return what reads (in the tree) or measures (cut) coordinate ``k``: value, rate or acceleration by ``order``."""
    if info.in_tree:
        raw = (resampled.samples.z, resampled.samples.zd, resampled.samples.zdd)[order]
        return lambda: raw[:, info.dofs[k]]
    return lambda: measured.coordinates[k][order]


def orientation_sources(info: JointInfo, measured: "Measured") -> Iterator[tuple[str, Source]]:
    """Yield orientation, angular velocity and its derivative of b relative to a, the latter two in axes of b."""
    name = info.name
    yield f"{name}.orientation", Source(QUATERNION, "1", lambda: measured.orientation, info.a)
    yield f"{name}.rate", Source(XYZ, "rad/s", lambda: measured.relative.seen_by_b()[0], info.b)
    yield f"{name}.acceleration", Source(XYZ, "rad/s^2", lambda: measured.relative.seen_by_b()[1], info.b)


def position_sources(info: JointInfo, measured: "Measured") -> Iterator[tuple[str, Source]]:
    """Yield where the point of b stands from the point of a, in joint axes carried by a, with its derivatives."""
    frame = f"joint axes of {info.a}"
    for order, (what, unit) in enumerate(zip(POSITIONS, LENGTH_UNITS, strict=True)):
        yield f"{info.name}.{what}", Source(XYZ, unit, partial(measured.position, order), frame)


class Measured:
    """The coordinates of one joint, measured between its two bodies."""

    def __init__(self, resampled: Resampled, system: System, info: JointInfo) -> None:
        self.resampled, self.system, self.info = resampled, system, info

    @property
    def relative(self) -> RelativeMotion:
        """Motion of b seen from a."""
        info, bodies = self.info, self.system.bodies
        a, b = bodies[info.a], bodies[info.b]
        ground = min(self.resampled.row(a.dof), self.resampled.row(b.dof))
        seen = [body_motion(self.resampled, body, ground) for body in (a, b)]
        return RelativeMotion(seen[0], seen[1], info.point_a, info.point_b)

    @property
    def orientation(self) -> Array:
        """Quaternions (S, 4) that take body axes of b to those of a."""
        relative = self.relative
        return quaternions(np.swapaxes(relative.a.orientation, 1, 2) @ relative.b.orientation)

    def position(self, order: int) -> Array:
        """Position (order 0), velocity or acceleration (S, 3) of the point of b in joint axes carried by a."""
        relative = self.relative
        return turned(np.swapaxes(relative.a.orientation @ self.info.frame_a, 1, 2), relative.distance[order])

    @property
    def coordinates(self) -> tuple[Motion, ...]:
        """Value, rate and acceleration of every coordinate; kept until the samples are overwritten."""
        kept = self.resampled.coordinates
        if self.info.name not in kept:
            kept[self.info.name] = self.info.kind.measure(self)
        return kept[self.info.name]

    def slide(self, k: int) -> Motion:
        """Displacement along the axis of dof ``k``, which body a carries; raises InputError when it does not."""
        info = self.info
        if "rad" in info.units[:k]:
            raise InputError(
                f"joint {info.name!r} is cut, and the coordinates of a {info.type}, which slides after it turned,"
                " cannot be measured from outside; give it an initial value, so that it keeps its coordinates"
            )
        return self.relative.slide(info.axes_a[k])

    def turn(self, k: int) -> Motion:
        """Angle about an axis that both bodies carry: that of a direction of b across it, seen from a."""
        info, relative = self.info, self.relative
        angle = angle_of(turn_angle(self.axes[k]), (relative.a, info.frame_a), (relative.b, info.frame_b))
        return self.unwrapped(angle, *relative.spin(info.axes_a[k], relative.a))

    def two_turns(self, first: int, second: int) -> tuple[Motion, Motion]:
        """Turn about e, carried by a, then about f, carried by b and perpendicular: R = exp(e~ alpha) exp(f~ beta)."""
        info, relative = self.info, self.relative
        a, b = (relative.a, info.frame_a), (relative.b, info.frame_b)
        seen_by_a, seen_by_b = two_turn_angles(self.axes[first], self.axes[second])
        return (
            self.unwrapped(angle_of(seen_by_a, a, b), *relative.spin(info.axes_a[first], relative.a)),
            self.unwrapped(angle_of(seen_by_b, b, a), *relative.spin(info.axes_b[second], relative.b)),
        )

    @property
    def axes(self) -> list[Array]:
        """Axes of the dofs in joint axes."""
        return [dof.axis for dof in self.info.kind.dofs()]

    def unwrapped(self, angle: Array, rate: Array, acceleration: Array) -> Motion:
        """Return a measured angle with its whole turns; warns where samples lie too far apart to count them."""
        t = self.resampled.samples.t
        found = unwrap(angle, rate, t)
        expected = 0.5 * (rate[1:] + rate[:-1]) * np.diff(t)
        unsure = np.abs(np.diff(found) - expected) > UNSURE
        if np.any(unsure):
            first = int(np.argmax(unsure))
            warn(
                f"joint {self.info.name!r} is cut, and its angle is measured: between the samples at t = {t[first]:g} "
                f"and {t[first + 1]:g} s it turned so far that its whole turns are not known"
                f"{f', nor at {np.count_nonzero(unsure) - 1} later places' if np.count_nonzero(unsure) > 1 else ''}; "
                "record more often, or give the joint an initial value, so that it keeps its coordinate"
            )
        return found, rate, acceleration


def angle_of(plane: PlaneAngle, carrier: Frame, other: Frame) -> Array:
    """Return an angle (S,) in a plane that ``carrier`` carries, of a direction that ``other`` carries."""
    x, y = (carrier[0].orientation @ (carrier[1] @ direction) for direction in (plane.x, plane.y))
    seen = other[0].orientation @ (other[1] @ plane.seen)
    return np.asarray(np.arctan2(dot(y, seen), dot(x, seen)))
