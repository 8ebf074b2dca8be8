"""Channels of the whole mechanism: momentum, angular momentum, and the motion of its mass centre, in world axes.

Bodies that are welded to ground do not move and do not count.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from rtmbs.results.channel import WORLD, XYZ, Array, Source
from rtmbs.results.motion import body_motion, cross
from rtmbs.results.resampled import Resampled
from rtmbs.system.system import BodyInfo, System


class MassMotion(NamedTuple):
    """Sums over moving bodies."""

    mass: float  # [kg]
    center: Array  # (S, 3) mass centre from the world's origin [m]
    velocity: Array  # (S, 3) of the mass centre [m/s]
    acceleration: Array  # (S, 3) of the mass centre [m/s^2]
    spin: Array  # (S, 3) angular momentum about the mass centre [kg m^2/s]


def momentum_sources(system: System, resampled: Resampled) -> Iterator[tuple[str, Source]]:
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


def read_mass_motion(resampled: Resampled, moving: list[BodyInfo], read: Callable[[MassMotion], Array]) -> Array:
    """Return what is read off the sums over bodies (S, 3)."""
    return read(mass_motion(resampled, moving))


def about_origin(whole: MassMotion) -> Array:
    """Return the angular momentum (S, 3) about the world's origin [kg m^2/s]."""
    return whole.spin + whole.mass * cross(whole.center, whole.velocity)


def mass_motion(resampled: Resampled, moving: list[BodyInfo]) -> MassMotion:
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
