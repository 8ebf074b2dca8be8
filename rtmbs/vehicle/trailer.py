"""Trailer with one axle on trailing arms, linked to a car by a ball hitch.

Its corners are ``tl`` and ``tr``, so its wheels, hubs, springs, tyres and brakes have the names of those of a car.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model import Fixed, Model, Revolute, Spherical, SpringDamper
from rtmbs.model.body import inertia_matrix
from rtmbs.model.checks import Array, Numbers, number, numbers
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.driveline import add_brake
from rtmbs.vehicle.magic_formula import MagicFormula
from rtmbs.vehicle.tyre import Tyre
from rtmbs.vehicle.tyre_force import add_tyre

TRAILER, HITCH, STABILISER = "trailer", "hitch", "stabiliser"
CORNERS = ("tl", "tr")
LEFT = (0.0, 1.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Trailer:
    """Trailer with one axle: a rigid body on two trailing arms with springs and dampers.

    Points are from the hitch, x forward, y left, z up, with the trailer level behind the car at design.

    Parameters
    ----------
    hitch : array_like
        Hitch ball (3,) in the chassis frame of the car [m].
    mass : float
        Mass without arms and wheels [kg].
    com : array_like
        Centre of mass (3,) [m].
    inertia : array_like
        Moments (3,) or inertia (3, 3) about the centre of mass [kg m^2].
    wheel_centre : array_like
        Left wheel centre (3,) [m].
    stiffness : float
        Stiffness of each spring, which stands on the wheel centre [N/m].
    damping : float
        Damping of each damper [N s/m].
    preload : float, optional
        Force of each spring at design [N]; that of the level trailer unless given.
    arm_length : float, default 0.4
        Distance of the pivot of an arm before its wheel centre [m].
    arm_mass : float, default 15.0
        Mass of an arm, at the wheel centre [kg].
    wheel_mass : float, default 20.0
        Mass of a wheel [kg].
    wheel_inertia : tuple[float, float], default (0.6, 1.0)
        Inertia of a wheel about a diameter and about its axis [kg m^2].
    tyre : Tyre, optional
        Tyre; that of the left rear wheel of the car unless given.
    hitch_damping : float, default 0.0
        Damping of the yaw between car and trailer, as of a stabiliser [N m s/rad].

    Raises
    ------
    ModelError
        For masses, lengths, stiffnesses and inertias of the wheels that are not above zero, inertias that no wheel has,
        and a wheel that is not behind the hitch.

    Examples
    --------
    >>> trailer = rtmbs.vehicle.Trailer(
    ...     hitch=(-2.3, 0.0, 0.05), mass=600.0, com=(-2.3, 0.0, 0.3), inertia=(200.0, 900.0, 950.0),
    ...     wheel_centre=(-2.5, 0.8, -0.1), stiffness=4e4, damping=3e3,
    ... )
    >>> car = rtmbs.vehicle.read("sedan", variant="from_models", trailer=trailer)
    >>> "wheel_tl" in car.bodies
    True
    """

    hitch: Numbers
    mass: float
    com: Numbers
    inertia: Numbers
    wheel_centre: Numbers
    stiffness: float
    damping: float
    preload: float | None = None
    arm_length: float = 0.4
    arm_mass: float = 15.0
    wheel_mass: float = 20.0
    wheel_inertia: tuple[float, float] = (0.6, 1.0)
    tyre: Tyre | None = None
    hitch_damping: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mass", "stiffness", "arm_length", "arm_mass", "wheel_mass"):
            if not number(getattr(self, name), f"trailer: {name}") > 0.0:
                raise ModelError(f"trailer: {name} is {getattr(self, name):g}; it must be above zero")
        for name in ("damping", "hitch_damping"):
            if not number(getattr(self, name), f"trailer: {name}") >= 0.0:
                raise ModelError(f"trailer: {name} is {getattr(self, name):g}; it must be zero or more")
        for name in ("hitch", "com", "wheel_centre"):
            object.__setattr__(self, name, numbers(getattr(self, name), f"trailer: {name}", (3,)))
        centre: Any = self.wheel_centre
        if not (centre[0] < 0.0 and centre[1] > 0.0):
            raise ModelError(
                f"trailer: wheel_centre is {shown(centre.tolist())}; it must be behind and left of the hitch"
            )
        across, along = numbers(self.wheel_inertia, "trailer: wheel_inertia", (2,)).tolist()
        if not (across > 0.0 and along > 0.0):
            raise ModelError(f"trailer: wheel_inertia is {shown((across, along))}; both must be above zero")
        inertia_matrix((across, along, across), "trailer: wheel_inertia (across, along, across)")
        if self.tyre is not None and not isinstance(self.tyre, Tyre):
            raise ModelError(f"trailer: tyre is {shown(self.tyre)}; it must be a Tyre")

    def spring_force(self, gravity: float) -> float:
        """Return the force of a spring at design: the preload, or that of the level trailer.

        Parameters
        ----------
        gravity : float
            Acceleration of gravity [m/s^2].

        Returns
        -------
        float
            Force [N]: half of the moment of the weight about the hitch over the distance of the axle, without the
            wheel and arm, which stand on the tyre.
        """
        if self.preload is not None:
            return number(self.preload, "trailer: preload")
        com, centre = np.asarray(self.com), np.asarray(self.wheel_centre)
        return float(0.5 * self.mass * gravity * com[0] / centre[0])


def add_trailer(model: Model, trailer: Trailer, frame: Array, tyre: Tyre, options: dict[str, Any], road: str) -> None:
    """Add a trailer to a car.

    Parameters
    ----------
    model : Model
        Model of the car.
    trailer : Trailer
        Trailer.
    frame : ndarray
        Chassis frame (3,) in the world at design [m].
    tyre : Tyre
        Tyre of its wheels, of the left side.
    options : dict[str, Any]
        Options of the car.
    road : str
        Marker of the road.
    """
    ball = frame + np.asarray(trailer.hitch)
    place = ball + np.asarray(trailer.com)
    model.add_body(TRAILER, mass=trailer.mass, inertia=trailer.inertia, position=place)
    model.add_joint(HITCH, Spherical(), CHASSIS, TRAILER, point=ball)
    if trailer.hitch_damping:
        markers = f"{HITCH}.a", f"{HITCH}.b"
        for marker, body in zip(markers, (CHASSIS, TRAILER), strict=True):
            model.add_marker(marker, body, ball)
        model.add_force(STABILISER, YawDamper(trailer.hitch_damping), between=markers)
    for corner in CORNERS:
        add_side(model, trailer, corner, ball, tyre, options, road)


class YawDamper:
    """Law of a damper of the yaw between two markers.

    Parameters
    ----------
    damping : float
        Damping [N m s/rad].
    """

    def __init__(self, damping: float) -> None:
        self.damping = damping

    def __call__(self, t: float, kinematics: Any, parameters: Any) -> Any:
        """Return no force and the torque about the z axis of the first marker."""
        none = 0.0 * kinematics.w[2]
        return np.stack((none, none, none)), np.stack((none, none, -self.damping * kinematics.w[2]))


def add_side(
    model: Model, trailer: Trailer, corner: str, ball: Array, tyre: Tyre, options: dict[str, Any], road: str
) -> None:
    """Add arm, wheel, spring, damper, tyre and brake of one side."""
    centre = ball + np.asarray(trailer.wheel_centre) * (1.0, -1.0 if corner[1] == "r" else 1.0, 1.0)
    arm, wheel, hub = f"arm_{corner}", f"wheel_{corner}", f"hub_{corner}"
    m, (across, along) = trailer.arm_mass, trailer.wheel_inertia
    r2 = m * trailer.arm_length**2 / 12.0
    model.add_body(arm, mass=m, inertia=(0.1 * r2, r2, r2), position=centre)
    pivot = centre + np.array([trailer.arm_length, 0.0, 0.0])
    model.add_joint(f"arm_pivot_{corner}", Revolute(LEFT), TRAILER, arm, point=pivot)
    model.add_body(wheel, mass=trailer.wheel_mass, inertia=(across, along, across), position=centre)
    model.add_joint(hub, Revolute(LEFT) if options["spin"] else Fixed(), arm, wheel, point=centre)
    height, force = 0.4, trailer.spring_force(options["gravity"])
    ends = f"spring_{corner}.a", f"spring_{corner}.b"
    model.add_marker(ends[0], TRAILER, centre + np.array([0.0, 0.0, height]))
    model.add_marker(ends[1], arm, centre)
    free = height + force / trailer.stiffness
    model.add_force(f"spring_{corner}", SpringDamper(trailer.stiffness, trailer.damping, free), between=ends)
    own = tyre.other_side() if corner[1] == "r" and isinstance(tyre, MagicFormula) else tyre
    add_tyre(
        model, f"tyre_{corner}", own, wheel, centre=centre, road=road, friction=options["friction"],
        transient=options["transient"], slip_point=options["slip_point"], uneven=options["uneven"],
    )  # fmt: skip
    if options["spin"] and options["brakes"] is not None:
        add_brake(model, f"brake_{corner}", hub, 0.0)
