"""Steering: rack and pinion, or Pitman arm with a relay, and its profiles; tie rods of the front axle hang on its link.

Positive input turns the wheels left.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model import ConstantRate, Input, Model, Prismatic, Revolute, Spherical, Universal
from rtmbs.model.checks import Array, direction, number, numbers
from rtmbs.model.profiles import Motion, Numeric, Profile
from rtmbs.vehicle.axle import CHASSIS, RACK, Part, above_zero

DRIVER = "steering"  # name of the driver and of its input


@dataclass(frozen=True)
class RackAndPinion:
    """Rack-and-pinion steering: a rack slides along y in the chassis, displacement = -pinion_radius * pinion angle.

    A positive angle turns the wheels left. The tie rods of the front axle hang on the rack.

    Parameters
    ----------
    rack : Part
        Rack; its body in the Model is ``steering_link``.
    point : ndarray
        Point (3,) of the slide in the chassis frame [m].
    pinion_radius : float
        Radius of the pinion [m].
    max_angle : float
        Largest angle of the pinion [rad].
    """

    rack: Part
    point: Array  # of the slide [m]
    pinion_radius: float  # [m]
    max_angle: float  # of the pinion [rad]

    def __post_init__(self) -> None:
        hold(self, "rack", "rack", name=RACK)
        hold(self, "rack", "point")
        for name in ("pinion_radius", "max_angle"):
            above_zero(getattr(self, name), f"rack: {name}")

    @property
    def parts(self) -> tuple[Part, ...]:
        """Parts of the steering: the rack."""
        return (self.rack,)

    @property
    def ratio(self) -> float:
        """Displacement of the rack over the angle of the pinion [m/rad], left positive."""
        return -self.pinion_radius

    def add(self, model: Model) -> tuple[str, str]:
        """Add the joints of the steering to a Model.

        Parameters
        ----------
        model : Model
            Model of the car, with its chassis and the parts of the steering.

        Returns
        -------
        tuple[str, str]
            Joint and coordinate that the driver moves.
        """
        model.add_joint("rack", Prismatic((0.0, 1.0, 0.0)), CHASSIS, self.rack.name, point=self.point, frame=CHASSIS)
        return "rack", "displacement"

    def determinant(self, turns: Mapping[str, Array]) -> float:
        """Return 1.0: a rack has one branch.

        Parameters
        ----------
        turns : Mapping[str, ndarray]
            Rotations (3, 3) of the parts against the chassis, from design.

        Returns
        -------
        float
            1.0.
        """
        return 1.0

    def replace_constraints(self, model: Model) -> None:
        """Leave the model as it is: a rack has joints only.

        Parameters
        ----------
        model : Model
            Model of the car.
        """


@dataclass(frozen=True)
class PitmanArm:
    """Pitman-arm steering: an arm on the sector shaft moves a relay rod, which an idler arm of the same length guides.

    A positive angle turns the wheels left. The tie rods of the front axle hang on the relay rod.

    Parameters
    ----------
    link : Part
        Relay rod; its body in the Model is ``steering_link``.
    arm : Part
        Pitman arm.
    shaft_point : ndarray
        Point (3,) of the sector shaft in the chassis frame [m].
    shaft_axis : ndarray
        Unit vector (3,) of the sector shaft.
    joint_point : ndarray
        Point (3,) of the universal joint between arm and relay rod [m].
    axis_on_link : ndarray
        Unit vector (3,) of the universal joint that the relay rod carries.
    idler_point : ndarray
        Point (3,) of the idler arm on the chassis [m].
    idler_end : ndarray
        Point (3,) of the idler arm on the relay rod [m].
    max_angle : float
        Largest angle of the arm [rad].
    """

    link: Part
    arm: Part
    shaft_point: Array  # of the sector shaft [m]
    shaft_axis: Array
    joint_point: Array  # between arm and link [m]
    axis_on_link: Array
    idler_point: Array  # of the idler arm on the chassis [m]
    idler_end: Array  # on the link [m]
    max_angle: float  # [rad]

    def __post_init__(self) -> None:
        hold(self, "Pitman arm", "link", name=RACK)
        hold(self, "Pitman arm", "arm")
        hold(self, "Pitman arm", "shaft_point", "joint_point", "idler_point", "idler_end")
        for name in ("shaft_axis", "axis_on_link"):
            object.__setattr__(self, name, direction(getattr(self, name), f"Pitman arm: {name}"))
        above_zero(self.max_angle, "Pitman arm: max_angle")

    @property
    def parts(self) -> tuple[Part, ...]:
        """Parts of the steering: relay rod and Pitman arm."""
        return (self.link, self.arm)

    @property
    def ratio(self) -> float:
        """Angle about the shaft axis over the angle of the arm, left positive."""
        return -1.0

    def add(self, model: Model) -> tuple[str, str]:
        """Add the joints of the steering to a Model.

        Parameters
        ----------
        model : Model
            Model of the car, with its chassis and the parts of the steering.

        Returns
        -------
        tuple[str, str]
            Joint and coordinate that the driver moves.
        """
        link, arm = self.link.name, self.arm.name
        axis = tuple(self.shaft_axis)
        model.add_joint("sector_shaft", Revolute(axis), CHASSIS, arm, point=self.shaft_point, frame=CHASSIS)
        universal = Universal(axis, tuple(self.axis_on_link))
        model.add_joint("pitman_joint", universal, arm, link, point=self.joint_point, frame=CHASSIS)
        model.add_marker("idler.chassis", CHASSIS, self.idler_point, frame=CHASSIS)
        model.add_marker("idler.link", link, self.idler_end, frame=CHASSIS)
        length = float(np.linalg.norm(self.idler_end - self.idler_point))
        model.add_constraint(
            "idler", idler_arm(self.shaft_axis, length), between=("idler.chassis", "idler.link"), equations=2
        )
        return "sector_shaft", "angle"

    def determinant(self, turns: Mapping[str, Array]) -> float:
        """Return the determinant of the equations of the relay rod for its turns; its sign is that of the branch.

        The universal joint holds a point of the relay rod and its turn about one axis, the idler arm two more.

        Parameters
        ----------
        turns : Mapping[str, ndarray]
            Rotations (3, 3) of the parts against the chassis, from design.

        Returns
        -------
        float
            Determinant [m^3].
        """
        arm, link = turns[self.arm.name], turns[self.link.name]
        joint = self.shaft_point + arm @ (self.joint_point - self.shaft_point)
        lever = link @ (self.idler_end - self.joint_point)
        square = np.cross(self.shaft_axis, link @ self.axis_on_link)
        idler = joint + lever - self.idler_point
        return float(np.linalg.det((square, np.cross(lever, self.shaft_axis), np.cross(lever, idler))))

    def replace_constraints(self, model: Model) -> None:
        """Replace the equations of the idler arm by an arm with two joints, for a kinematic analysis.

        Parameters
        ----------
        model : Model
            Model of the car, changed in place.
        """
        del model.constraints["idler"]
        ends = [model.markers[name].reference() for name in ("idler.chassis", "idler.link")]
        model.add_body("idler_arm", mass=0.0, position=ends[0])
        model.add_joint("idler_shaft", Revolute(tuple(self.shaft_axis)), CHASSIS, "idler_arm", point=ends[0])
        model.add_joint("idler_joint", Spherical(), "idler_arm", self.link.name, point=ends[1])


Steering = RackAndPinion | PitmanArm


def hold(steering: Any, what: str, *fields: str, name: str = "") -> None:
    """Check parts and points of a steering in its place; the part that tie rods hang on gets its ``name``."""
    for field in fields:
        given = getattr(steering, field)
        if field in ("rack", "link", "arm"):
            if not isinstance(given, Part):
                raise ModelError(
                    f"{what}: {field} is {shown(given)}; it must be a Part, as rtmbs.vehicle.part makes it"
                )
            checked: Any = replace(given, name=name or given.name)
        else:
            checked = numbers(given, f"{what}: {field}", (3,))
        object.__setattr__(steering, field, checked)


def idler_arm(axis: Array, length: float) -> Callable[..., Any]:
    """Return the constraint of a massless arm: constant length [m], perpendicular to its axis."""

    def idler(t: float, pose: Any, parameters: Any) -> Any:
        r = pose.r
        return np.stack((np.dot(r, axis), (np.dot(r, r) - length * length) / (2.0 * length)))

    return idler


@dataclass(frozen=True)
class Ramp(Numeric):
    """Profile from ``start`` before t0 to ``end`` after t1 at a constant rate that builds up and ends within ``blend``.

    The ends are parabolas from t0 - blend / 2 to t0 + blend / 2 and likewise at t1, so the rate does not jump.

    Parameters
    ----------
    t0 : float
        Time at which the ramp begins [s].
    t1 : float
        Time at which the ramp ends [s].
    start : float
        Value before the ramp [rad].
    end : float
        Value after the ramp [rad].
    blend : float, default 2e-3
        Duration of the parabolas [s].

    Examples
    --------
    >>> ramp = rtmbs.vehicle.Ramp(1.0, 3.0, 0.0, 0.4)
    >>> round(ramp(2.0)[0], 6)
    0.2
    """

    t0: float
    t1: float
    start: float
    end: float
    blend: float = 2e-3

    def __post_init__(self) -> None:
        t0, t1 = (number(getattr(self, name), f"ramp: {name}") for name in ("t0", "t1"))
        for name in ("start", "end"):
            number(getattr(self, name), f"ramp: {name}")
        if not t0 < t1:
            raise ModelError(f"ramp: t1 is {t1:g}; it must be above t0, which is {t0:g}")
        above_zero(self.blend, "ramp: blend")

    def __call__(self, t: float) -> Motion:
        rate = (self.end - self.start) / (self.t1 - self.t0)
        first, last = self.eased(t - self.t0), self.eased(t - self.t1)
        f, fd, fdd = (rate * (one - two) for one, two in zip(first, last, strict=True))
        return self.start + f, fd, fdd

    def eased(self, t: float) -> Motion:
        """Return max(t, 0) with a parabola in place of its corner.

        Parameters
        ----------
        t : float
            Time from the corner [s].

        Returns
        -------
        tuple[float, float, float]
            Value [s], first derivative [1] and second derivative [1/s].
        """
        return eased(t, self.blend)


def eased(t: float, blend: float) -> Motion:
    """Return max(t, 0) with a parabola of the duration ``blend`` [s] in place of its corner, and two derivatives."""
    if t <= -0.5 * blend:
        return 0.0, 0.0, 0.0
    if t >= 0.5 * blend:
        return t, 1.0, 0.0
    s = t + 0.5 * blend
    return 0.5 * s * s / blend, s / blend, 1.0 / blend


@dataclass(frozen=True)
class Scaled:
    """A profile times a factor."""

    profile: Any
    factor: float

    @property
    def jumps(self) -> Any:
        """The times at which the profile jumps."""
        return getattr(self.profile, "jumps", ())

    def __call__(self, t: float) -> Motion:
        f, fd, fdd = self.profile(t)
        return self.factor * f, self.factor * fd, self.factor * fdd


def steering_profile(steering: Steering, angle: Any) -> Profile | Input:
    """Return the profile of the driver for an angle of pinion or Pitman arm [rad], left positive.

    ``angle`` is a number, a profile that answers (f, fd, fdd) at t, or None for an input that is set while running.
    """
    if angle is None:
        return Input((0.0, 0.0, 0.0))
    if callable(angle):
        return Scaled(angle, steering.ratio)
    return ConstantRate(0.0, steering.ratio * float(angle))
