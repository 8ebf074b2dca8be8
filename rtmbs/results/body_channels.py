"""Channels of bodies and markers: pose, velocity and acceleration in world axes."""

from collections.abc import Callable, Iterator
from functools import partial

from rtmbs.results.channel import QUATERNION, WORLD, XYZ, Array, Source
from rtmbs.results.motion import BodyMotion, body_motion
from rtmbs.results.resampled import Resampled
from rtmbs.rotations.quaternions import quaternions
from rtmbs.system.system import BodyInfo, System

Reading = Callable[[BodyMotion], Array]

BODY: dict[str, tuple[str, Reading]] = {  # position, velocity and acceleration are those of the body's origin
    "position": ("m", lambda body: body.in_world(body.origin)),
    "velocity": ("m/s", lambda body: body.velocity(body.origin)),
    "acceleration": ("m/s^2", lambda body: body.acceleration(body.origin)),
    "angular_velocity": ("rad/s", lambda body: body.omega),
    "angular_acceleration": ("rad/s^2", lambda body: body.alpha),
}


def body_sources(system: System, resampled: Resampled) -> Iterator[tuple[str, Source]]:
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


def marker_sources(system: System, resampled: Resampled) -> Iterator[tuple[str, Source]]:
    """Yield the motion of every marker."""
    for name, marker in system.markers.items():
        for what, unit in (("position", "m"), ("velocity", "m/s"), ("acceleration", "m/s^2")):
            values = partial(of_point, resampled, system.bodies[marker.body], marker.point, what)
            yield f"{name}.{what}", Source(XYZ, unit, values, WORLD)


def of_body(resampled: Resampled, info: BodyInfo, read: Reading) -> Array:
    """Return what is read off a body's motion."""
    return read(body_motion(resampled, info))


def of_point(resampled: Resampled, info: BodyInfo, point: Array, what: str) -> Array:
    """Return position, velocity or acceleration (S, 3) of a ``point`` (3,) in body axes."""
    body = body_motion(resampled, info)
    x = body.point(point)
    if what == "position":
        return body.in_world(x)
    return body.velocity(x) if what == "velocity" else body.acceleration(x)
