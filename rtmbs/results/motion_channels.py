"""Motion of bodies over the samples, and its channels.

Channels of motion in world axes: bodies, markers, joints, momentum and the mass centre of the mechanism.

Joints: coordinates, rates and accelerations of b relative to a, in whatever direction the tree passes them. A joint of
the tree (an auxiliary body too) reads its coordinates; a cut joint measures them between its two bodies. Joints without
public coordinates (spherical, floating, line) have an orientation, a floating one a position as well, all measured.
Bodies that are welded to ground do not count in the momentum.

Motion of bodies over the samples, and of one body relative to another; world axes, SI units.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import warn
from rtmbs.model.joints import PlaneAngle, turn_angle, two_turn_angles
from rtmbs.numerics.rotations.quaternions import quaternions
from rtmbs.results.channel import QUATERNION, WORLD, XYZ, Source
from rtmbs.results.samples import DofMotion, Evaluation
from rtmbs.system.components import WORLD as WORLD_ORIGIN
from rtmbs.system.system import BodyInfo, JointInfo, System

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BodyMotion:
    """Pose, velocity and acceleration of one body over S samples."""

    orientation: Array  # (S, 3, 3) body to world
    origin: Array  # (S, 3) from the origin of its part, as all places here [m]
    dof: DofMotion

    @property
    def omega(self) -> Array:
        """Angular velocity (S, 3) [rad/s]."""
        return np.asarray(self.dof.V[:, 3:])

    @property
    def alpha(self) -> Array:
        """Angular acceleration (S, 3) [rad/s^2]."""
        return np.asarray(self.dof.acc[:, 3:])

    def point(self, local: Array) -> Array:
        """Return the places (S, 3) of a point (3,) of body axes, from the origin of its part [m]."""
        return np.asarray(self.origin + self.orientation @ local)

    def in_world(self, x: Array) -> Array:
        """Return a place ``x`` (S, 3) from the world's origin [m]."""
        return np.asarray(x + self.dof.o)

    def velocity(self, x: Array) -> Array:
        """Return the velocity (S, 3) of the body's point at ``x`` (S, 3) [m/s]."""
        return np.asarray(self.dof.V[:, :3] + cross(self.omega, x))

    def acceleration(self, x: Array) -> Array:
        """Return the acceleration (S, 3) of the body's point at ``x`` (S, 3) [m/s^2].

        Rows of ``acc`` are the plain derivative of V in a world that accelerates with -g (METHODS 1.1).
        """
        swept = self.dof.acc[:, :3] + self.dof.g + cross(self.alpha, x)
        return np.asarray(swept + cross(self.omega, self.velocity(x)))


def body_motion(resampled: Evaluation, body: BodyInfo, ground: int = WORLD_ORIGIN) -> BodyMotion:
    """Return the motion of a body; of one that stands still as seen from the origin of the row ``ground``.

    The last one is kept, for channels of one body are mostly asked for one after the other.
    """
    key = (id(body), ground)
    if resampled.last_body is None or resampled.last_body[0] != key:
        dof = resampled.motion(body.dof if body.dof >= 0 else ground)
        resampled.last_body = key, BodyMotion(dof.A @ body.rotation, dof.r + dof.A @ body.position, dof)
    motion: BodyMotion = resampled.last_body[1]
    return motion


@dataclass(frozen=True)
class RelativeMotion:
    """Motion of body b seen from body a, at a point of each."""

    a: BodyMotion
    b: BodyMotion
    point_a: Array  # (3,) body axes of a [m]
    point_b: Array  # (3,) body axes of b [m]

    @cached_property
    def distance(self) -> tuple[Array, Array, Array]:
        """Way from the point of a to that of b with first and second derivative as a sees them, world axes (S, 3).

        With D the distance, D' its derivative and w, w' the rotation of a: first D' - w x D, second
        D'' - w' x D - w x (w x D) - 2 w x (D' - w x D).
        """
        xa, xb = self.a.point(self.point_a), self.b.point(self.point_b)
        D = xb - xa
        w = self.a.omega
        first = self.b.velocity(xb) - self.a.velocity(xa) - cross(w, D)
        second = self.b.acceleration(xb) - self.a.acceleration(xa)
        second = second - cross(self.a.alpha, D) - cross(w, cross(w, D)) - 2.0 * cross(w, first)
        return D, first, second

    @property
    def omega(self) -> Array:
        """Angular velocity of b relative to a (S, 3), world axes [rad/s]."""
        return self.b.omega - self.a.omega

    @property
    def alpha(self) -> Array:
        """Derivative of ``omega`` (S, 3), world axes [rad/s^2]."""
        return self.b.alpha - self.a.alpha

    def slide(self, axis: Array) -> tuple[Array, Array, Array]:
        """Displacement along an axis of body a (3,), with rate and acceleration (S,)."""
        u = self.a.orientation @ axis
        D, first, second = self.distance
        return dot(u, D), dot(u, first), dot(u, second)

    def spin(self, axis: Array, carrier: BodyMotion) -> tuple[Array, Array]:
        """Rate and acceleration (S,) of the turn about an ``axis`` (3,) in axes of its ``carrier``, a or b."""
        u = carrier.orientation @ axis
        return dot(u, self.omega), dot(u, self.alpha) + dot(cross(carrier.omega, u), self.omega)

    def seen_by_b(self) -> tuple[Array, Array]:
        """Angular velocity of b relative to a in axes of b, and its derivative (S, 3)."""
        back = np.swapaxes(self.b.orientation, 1, 2)
        second = self.alpha - cross(self.b.omega, self.omega)
        return turned(back, self.omega), turned(back, second)


def cross(x: Array, y: Array) -> Array:
    """Return the vector products (S, 3) of vectors (S, 3); np.cross takes three times as long for few samples."""
    out = np.empty(x.shape)
    for k, i, j in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[:, k] = x[:, i] * y[:, j] - x[:, j] * y[:, i]
    return out


def dot(x: Array, y: Array) -> Array:
    """Return the products (S,) of vectors (S, 3)."""
    return np.asarray(np.einsum("sk,sk->s", x, y))


def turned(R: Array, x: Array) -> Array:
    """Return R x (S, 3) for rotations (S, 3, 3)."""
    return np.asarray(np.einsum("skl,sl->sk", R, x))


def unwrap(angle: Array, rate: Array, t: Array) -> Array:
    """Return angles (S,) without jumps of whole turns: each takes the turn nearest to its extrapolation by rates."""
    expected = 0.5 * (rate[1:] + rate[:-1]) * np.diff(t)
    turns = np.round((expected - np.diff(angle)) / (2.0 * np.pi))
    return angle + 2.0 * np.pi * np.concatenate(([0.0], np.cumsum(turns)))


Reading = Callable[[BodyMotion], Array]

BODY: dict[str, tuple[str, Reading]] = {  # position, velocity and acceleration are those of the body's origin
    "position": ("m", lambda body: body.in_world(body.origin)),
    "velocity": ("m/s", lambda body: body.velocity(body.origin)),
    "acceleration": ("m/s^2", lambda body: body.acceleration(body.origin)),
    "angular_velocity": ("rad/s", lambda body: body.omega),
    "angular_acceleration": ("rad/s^2", lambda body: body.alpha),
}


def body_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield the motion of every body but ground."""
    for name, info in system.bodies.items():
        if name == system.topology.bodies[0]:
            continue
        for what, (unit, read) in BODY.items():
            yield f"{name}.{what}", Source(XYZ, unit, partial(of_body, resampled, info, read), WORLD)
        turn = partial(of_body, resampled, info, lambda body: quaternions(body.orientation))
        yield f"{name}.orientation", Source(QUATERNION, "1", turn, WORLD)
        center = partial(of_point, resampled, info, info.center_of_mass, "position")
        yield f"{name}.mass_center", Source(XYZ, "m", center, WORLD)


def marker_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield the motion of every marker."""
    for name, marker in system.markers.items():
        for what, unit in (("position", "m"), ("velocity", "m/s"), ("acceleration", "m/s^2")):
            values = partial(of_point, resampled, system.bodies[marker.body], marker.point, what)
            yield f"{name}.{what}", Source(XYZ, unit, values, WORLD)


def of_body(resampled: Evaluation, info: BodyInfo, read: Reading) -> Array:
    """Return the quantities of a body's motion that are channels."""
    return read(body_motion(resampled, info))


def of_point(resampled: Evaluation, info: BodyInfo, point: Array, what: str) -> Array:
    """Return position, velocity or acceleration (S, 3) of a ``point`` (3,) in body axes."""
    body = body_motion(resampled, info)
    x = body.point(point)
    if what == "position":
        return body.in_world(x)
    return body.velocity(x) if what == "velocity" else body.acceleration(x)


CoordinateMotion = tuple[Array, Array, Array]  # value, rate, acceleration, each (S,)
Frame = tuple[BodyMotion, Array]  # a body, and joint axes to its axes (3, 3)

ANGLE_UNITS = ("rad", "rad/s", "rad/s^2")
LENGTH_UNITS = ("m", "m/s", "m/s^2")
ORDERS = ("", "_rate", "_acceleration")
UNSURE = 0.5 * np.pi  # [rad] between what an angle turned from sample to sample and what its rates say: a quarter turn
POSITIONS = ("position", "velocity", "linear_acceleration")


def joint_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield the motion of every joint that has any."""
    for info in system.joints.values():
        measured = Measured(resampled, system, info)
        if info.coordinates:
            yield from coordinate_sources(info, resampled, measured)
        elif info.kind.turns_freely:
            yield from orientation_sources(info, measured)
        if info.kind.free:
            yield from position_sources(info, measured)


def coordinate_sources(info: JointInfo, resampled: Evaluation, measured: "Measured") -> Iterator[tuple[str, Source]]:
    """Yield every coordinate with rate and acceleration; a joint of one coordinate has short names for the last two."""
    for k, (coordinate, unit) in enumerate(zip(info.coordinates, info.units, strict=True)):
        units = ANGLE_UNITS if unit == "rad" else LENGTH_UNITS
        for order, (suffix, unit_of_order) in enumerate(zip(ORDERS, units, strict=True)):
            source = Source((), unit_of_order, coordinate_reader(info, resampled, measured, k, order))
            yield f"{info.name}.{coordinate}{suffix}", source
            if suffix and len(info.coordinates) == 1:
                yield f"{info.name}.{suffix[1:]}", source


def coordinate_reader(
    info: JointInfo, resampled: Evaluation, measured: "Measured", k: int, order: int
) -> Callable[[], Array]:
    """Return the function that reads (in the tree) or measures (cut) coordinate ``k``.

    ``order`` 0 is its value, 1 its rate, 2 its acceleration.
    """
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
    """Yield the position of the point of b from the point of a, in joint axes carried by a, with its derivatives."""
    frame = f"joint axes of {info.a}"
    for order, (what, unit) in enumerate(zip(POSITIONS, LENGTH_UNITS, strict=True)):
        yield f"{info.name}.{what}", Source(XYZ, unit, partial(measured.position, order), frame)


class Measured:
    """The coordinates of one joint, measured between its two bodies."""

    def __init__(self, resampled: Evaluation, system: System, info: JointInfo) -> None:
        self.resampled, self.system, self.info = resampled, system, info

    @property
    def relative(self) -> RelativeMotion:
        """CoordinateMotion of b seen from a."""
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
    def coordinates(self) -> tuple[CoordinateMotion, ...]:
        """Value, rate and acceleration of every coordinate; kept until the samples are overwritten."""
        kept = self.resampled.coordinates
        if self.info.name not in kept:
            kept[self.info.name] = self.info.kind.measure(self)
        return kept[self.info.name]

    def slide(self, k: int) -> CoordinateMotion:
        """Displacement along the axis of dof ``k``, which body a carries."""
        return self.relative.slide(self.info.axes_a[k])

    def turn(self, k: int) -> CoordinateMotion:
        """Angle about an axis that both bodies carry: that of a direction of b across it, seen from a."""
        info, relative = self.info, self.relative
        angle = angle_of(turn_angle(self.axes[k]), (relative.a, info.frame_a), (relative.b, info.frame_b))
        return self.unwrapped(angle, *relative.spin(info.axes_a[k], relative.a))

    def two_turns(self, first: int, second: int) -> tuple[CoordinateMotion, CoordinateMotion]:
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

    def unwrapped(self, angle: Array, rate: Array, acceleration: Array) -> CoordinateMotion:
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


class MassMotion(NamedTuple):
    """Sums over moving bodies."""

    mass: float  # [kg]
    center: Array  # (S, 3) mass centre from the world's origin [m]
    velocity: Array  # (S, 3) of the mass centre [m/s]
    acceleration: Array  # (S, 3) of the mass centre [m/s^2]
    spin: Array  # (S, 3) angular momentum about the mass centre [kg m^2/s]


def momentum_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield momenta of the mechanism and the motion of its mass centre; nothing where no moving body has a mass."""
    moving = moving_bodies(system)
    if not moving:
        return
    readings: tuple[tuple[str, str, Callable[[MassMotion], Array]], ...] = (
        ("momentum.linear", "kg m/s", lambda whole: whole.mass * whole.velocity),
        ("momentum.angular", "kg m^2/s", lambda whole: whole.spin),
        ("momentum.angular_about_origin", "kg m^2/s", about_origin),
        ("mass_center.position", "m", lambda whole: whole.center),
        ("mass_center.velocity", "m/s", lambda whole: whole.velocity),
        ("mass_center.acceleration", "m/s^2", lambda whole: whole.acceleration),
    )
    for name, unit, read in readings:
        yield name, Source(XYZ, unit, partial(read_mass_motion, resampled, moving, read), WORLD)


def moving_bodies(system: System) -> list[BodyInfo]:
    """Return the bodies that have a mass and are not welded to ground."""
    return [info for info in system.bodies.values() if info.dof >= 0 and info.mass > 0.0]


def read_mass_motion(resampled: Evaluation, moving: list[BodyInfo], read: Callable[[MassMotion], Array]) -> Array:
    """Return the channel (S, 3) of sums over bodies."""
    return read(mass_motion(resampled, moving))


def about_origin(whole: MassMotion) -> Array:
    """Return the angular momentum (S, 3) about the world's origin [kg m^2/s]."""
    return whole.spin + whole.mass * cross(whole.center, whole.velocity)


def mass_motion(resampled: Evaluation, moving: list[BodyInfo]) -> MassMotion:
    """Return the sums over bodies; places are taken from the mass centre, so that distance costs no digits."""
    mass = sum(info.mass for info in moving)
    weighted = np.zeros((3, len(resampled.samples.t), 3))
    bodies = []
    for info in moving:
        body = body_motion(resampled, info)
        x = body.point(info.center_of_mass)
        place, velocity = body.in_world(x), body.velocity(x)
        weighted += info.mass * np.array([place, velocity, body.acceleration(x)])
        in_body = np.einsum("sji,sj->si", body.orientation, body.omega)
        turning = np.einsum("sij,sj->si", body.orientation, in_body @ info.inertia)
        bodies.append((info.mass, place, velocity, turning))
    center, velocity, acceleration = weighted / mass
    spin = sum(
        (turning + m * cross(place - center, v - velocity) for m, place, v, turning in bodies), np.zeros_like(center)
    )
    return MassMotion(mass, center, velocity, acceleration, spin)
