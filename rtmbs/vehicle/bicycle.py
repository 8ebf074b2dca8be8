"""Whipple bicycle: two frames and two knife-edge wheels that roll without slip, in ISO 8855 axes.

The rear frame with a rigid rider carries the rear wheel; the front frame with fork and handlebar turns about the steer
axis and carries the front wheel. Rolling without slip binds rates, so it is nonholonomic. Source of the defaults: J. P.
Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, Proc. R. Soc. A 463 (2007) 1955, table 1, whose y and z axes point
to the right and down.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model import Floating, Model, Revolute
from rtmbs.model.body import inertia_matrix
from rtmbs.model.checks import Array, Numbers, number, numbers

FRAME, FORK, REAR, FRONT = "rear_frame", "front_frame", "rear_wheel", "front_wheel"
ALONG_LEFT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # marker axes: h along y, to the left


@dataclass(frozen=True)
class BicycleData:
    """Bicycle with a rigid rider: geometry and masses; the defaults are those of the benchmark bicycle.

    Positions are from the contact point of the rear wheel, x forward, z up.

    Parameters
    ----------
    wheelbase : float, default 1.02
        Distance of both contact points [m].
    trail : float, default 0.08
        Distance by which the steer axis meets the road before the contact point of the front wheel [m].
    tilt : float, default pi / 10
        Angle between the steer axis and the vertical [rad], its top to the rear.
    gravity : float, default 9.81
        Acceleration of gravity [m/s^2].
    rear_radius : float, default 0.3
        Radius of the rear wheel [m].
    rear_mass : float, default 2.0
        Mass of the rear wheel [kg].
    rear_inertia : tuple[float, float], default (0.0603, 0.12)
        Inertia of the rear wheel about a diameter and about its axis [kg m^2].
    frame_centre : tuple[float, float], default (0.3, 0.9)
        Centre of mass (x, z) of rear frame and rider [m].
    frame_mass : float, default 85.0
        Mass of rear frame and rider [kg].
    frame_inertia : tuple[float, float, float, float], default (9.2, 11.0, 2.8, -2.4)
        Their inertia xx, yy, zz, xz about the centre of mass [kg m^2].
    fork_centre : tuple[float, float], default (0.9, 0.7)
        Centre of mass (x, z) of fork and handlebar [m].
    fork_mass : float, default 4.0
        Mass of fork and handlebar [kg].
    fork_inertia : tuple[float, float, float, float], default (0.05892, 0.06, 0.00708, 0.00756)
        Their inertia xx, yy, zz, xz about the centre of mass [kg m^2].
    front_radius : float, default 0.35
        Radius of the front wheel [m].
    front_mass : float, default 3.0
        Mass of the front wheel [kg].
    front_inertia : tuple[float, float], default (0.1405, 0.28)
        Inertia of the front wheel about a diameter and about its axis [kg m^2].

    Raises
    ------
    ModelError
        For lengths and masses that are not above zero, a steer axis that is not upright, inertias that no body has, and
        numbers that are not finite.
    """

    wheelbase: float = 1.02
    trail: float = 0.08
    tilt: float = float(np.pi / 10.0)
    gravity: float = 9.81
    rear_radius: float = 0.3
    rear_mass: float = 2.0
    rear_inertia: tuple[float, float] = (0.0603, 0.12)
    frame_centre: tuple[float, float] = (0.3, 0.9)
    frame_mass: float = 85.0
    frame_inertia: tuple[float, float, float, float] = (9.2, 11.0, 2.8, -2.4)
    fork_centre: tuple[float, float] = (0.9, 0.7)
    fork_mass: float = 4.0
    fork_inertia: tuple[float, float, float, float] = (0.05892, 0.06, 0.00708, 0.00756)
    front_radius: float = 0.35
    front_mass: float = 3.0
    front_inertia: tuple[float, float] = (0.1405, 0.28)

    def __post_init__(self) -> None:
        for one in fields(self):
            value: Any = getattr(self, one.name)
            if isinstance(one.default, tuple):
                numbers(value, f"bicycle: {one.name}", (len(one.default),))
            elif number(value, f"bicycle: {one.name}") <= 0.0 and one.name not in ("trail", "tilt", "gravity"):
                raise ModelError(f"bicycle: {one.name} is {value:g}; it must be above zero")
        if not abs(self.tilt) < 0.5 * np.pi:
            raise ModelError(f"bicycle: tilt is {self.tilt:g}; it must be between -pi / 2 and pi / 2")
        for name in ("rear_inertia", "front_inertia"):
            across, along = getattr(self, name)
            inertia_matrix((across, along, across), f"bicycle: {name} (across, along, across)")
        for name in ("frame_inertia", "fork_inertia"):
            xx, yy, zz, xz = getattr(self, name)
            inertia_matrix((xx, yy, zz, 0.0, xz, 0.0), f"bicycle: {name}")


def bicycle(
    data: BicycleData | None = None, speed: Numbers = 0.0, *, lean_rate: Numbers = 0.0, steer: Numbers = 0.0
) -> Model:
    """Return the Model of a bicycle that drives straight on.

    The bodies are ``rear_frame``, ``front_frame``, ``rear_wheel`` and ``front_wheel``. The joints are ``pose``,
    ``steer``, ``rear_hub`` and ``front_hub``; the contacts ``rear_contact`` and ``front_contact``.

    Parameters
    ----------
    data : BicycleData, optional
        Bicycle; the benchmark bicycle unless given.
    speed : float, default 0.0
        Speed along x [m/s].
    lean_rate : float, default 0.0
        Lean rate at the start [rad/s], positive to the right.
    steer : float, default 0.0
        Steer angle at the start [rad], positive to the left; the bicycle is then assembled upright in the rear.

    Returns
    -------
    Model
        Bicycle with initial values. ``rtmbs.linearise_rolling`` of its Simulation has weave, capsize and castering.

    Raises
    ------
    ModelError
        For a speed, a rate or an angle that is not a finite number.

    Examples
    --------
    >>> sim = rtmbs.Simulation(rtmbs.vehicle.bicycle(speed=5.0).compile(), h=1e-3)
    >>> weave = max(rtmbs.linearise_rolling(sim).moving(), key=lambda one: one.imag)
    >>> f"{weave.real:.3f} {weave.imag:.3f}"
    '-0.775 4.465'
    """
    given = BicycleData() if data is None else data
    v, rate = number(speed, "bicycle: speed"), number(lean_rate, "bicycle: lean_rate")
    angle = number(steer, "bicycle: steer")
    model = Model("bicycle", (0.0, 0.0, -given.gravity))
    hubs = (0.0, given.rear_radius), (given.wheelbase, given.front_radius)
    for name, mass, centre, inertia in (
        (FRAME, given.frame_mass, given.frame_centre, given.frame_inertia),
        (FORK, given.fork_mass, given.fork_centre, given.fork_inertia),
    ):
        xx, yy, zz, xz = inertia
        model.add_body(name, mass=mass, inertia=(xx, yy, zz, 0.0, xz, 0.0), position=in_plane(centre))
    for name, mass, hub, (across, along) in (
        (REAR, given.rear_mass, hubs[0], given.rear_inertia),
        (FRONT, given.front_mass, hubs[1], given.front_inertia),
    ):
        model.add_body(name, mass=mass, inertia=(across, along, across), position=in_plane(hub))
    axis = (-np.sin(given.tilt), 0.0, np.cos(given.tilt))
    model.add_joint("pose", Floating(), model.ground, FRAME, point=(0.0, 0.0, 0.0))
    model.add_joint("steer", Revolute(axis), FRAME, FORK, point=(given.wheelbase + given.trail, 0.0, 0.0))
    model.add_marker("road", model.ground, (0.0, 0.0, 0.0))
    for which, carrier, wheel, hub, radius in (
        ("rear", FRAME, REAR, hubs[0], given.rear_radius),
        ("front", FORK, FRONT, hubs[1], given.front_radius),
    ):
        model.add_joint(f"{which}_hub", Revolute((0.0, 1.0, 0.0)), carrier, wheel, point=in_plane(hub))
        model.add_marker(f"{which}_centre", wheel, in_plane(hub), axes=ALONG_LEFT)
        model.add_rolling(f"{which}_contact", f"{which}_centre", "road", radius)
    rates = (v, 0.0, 0.0, rate, 0.0, 0.0)
    model.set_initial("pose", (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), rates, pin=False)
    model.set_initial("steer", angle, 0.0)
    model.set_initial("rear_hub", 0.0, v / given.rear_radius)
    model.set_initial("front_hub", 0.0, v / given.front_radius, pin=False)
    return model


def in_plane(place: tuple[float, float]) -> Array:
    """Return a point (3,) of the plane of the bicycle."""
    return np.array([place[0], 0.0, place[1]])
