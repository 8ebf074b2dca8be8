"""Curves of an axle on the rig: wheel angles, paths, struts, kingpin axis over a motion or force; their derivatives."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle.axle import CHASSIS, MIRROR, WHEEL
from rtmbs.vehicle.kingpin import kingpin_curves, kingpin_points

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

TRAVELS = ("bump", "roll")  # motions with a wheel travel


@dataclass(frozen=True)
class WheelCurves:
    """Curves of one wheel over the motion of the rig, in chassis axes; ``rates`` are their derivatives by it.

    Parameters
    ----------
    motion : str
        Motion or force of the rig, such as "bump".
    x : ndarray
        Forward displacement of the wheel centre from design (k,) [m].
    y : ndarray
        Left displacement of the wheel centre from design (k,) [m].
    z : ndarray
        Upward displacement of the wheel centre from design (k,) [m].
    camber : ndarray
        Camber (k,) [rad], positive when the top leans to the right.
    toe : ndarray
        Toe (k,) [rad], positive when turned to the left.
    contact_x : ndarray
        Forward displacement of the lowest point of the wheel from design (k,) [m].
    contact_y : ndarray
        Left displacement of the lowest point of the wheel from design (k,) [m].
    lengths : Mapping[str, ndarray]
        Lengths of springs and dampers by name (k,) [m].
    rates : Mapping[str, ndarray]
        Derivatives (k,) by the names above and those of the lengths and of the kingpin axis, for each m of travel, rad
        of the pinion, N of a force or N m of a moment. ``brake_x`` is that of the contact point as a point of the wheel
        carrier.
    kingpin : Mapping[str, ndarray]
        Curves (k,) of the kingpin axis: ``caster`` [rad], positive when its top leans to the rear,
        ``kingpin_inclination`` [rad], positive when it leans inward, ``scrub_radius`` [m], positive when the axis meets
        the road inside of the contact, and ``trail`` [m], positive when it does so before the contact. Empty where two
        joints make no axis, as with five links.
    """

    motion: str
    x: Array
    y: Array
    z: Array
    camber: Array
    toe: Array
    contact_x: Array
    contact_y: Array
    lengths: Mapping[str, Array]
    rates: Mapping[str, Array]
    kingpin: Mapping[str, Array]

    def motion_ratio(self, name: str) -> Array:
        """Return the motion ratio of a spring or damper: its compression for each m of wheel travel.

        Parameters
        ----------
        name : str
            Name of the spring or damper, such as "spring".

        Returns
        -------
        ndarray
            Motion ratio (k,).

        Raises
        ------
        ModelError
            For a name that is no spring or damper, and for curves of another motion than "bump" and "roll".
        """
        check_travel("motion_ratio", self.motion)
        if name not in self.lengths:
            raise ModelError(f"rig: {shown(name)} is no strut; it must be one of {', '.join(self.lengths)}")
        return -self.rates[name] / self.rates["z"]


@dataclass(frozen=True)
class RigCurves:
    """Curves of an axle on the rig: kinematics of a motion, or compliance under a force.

    Parameters
    ----------
    motion : str
        Motion of the rig, "bump", "roll" or "steer", or its force, "longitudinal", "lateral" or "aligning".
    axle : str
        Axle: "front" or "rear".
    values : ndarray
        Values of the motion (k,): wheel travel up [m], of the left wheel in roll, angle of the pinion [rad], or force
        [N] or moment [N m] on the left wheel.
    left : WheelCurves
        Curves of the left wheel.
    right : WheelCurves
        Curves of the right wheel.
    track : ndarray
        Distance of the lowest points of both wheels (k,) [m].
    roll_centre_height : ndarray or None
        Height of the roll centre over the road (k,) [m]: half of the track times dy/dz of the lowest point. Of "bump"
        only; of an axle with a beam of "roll" only, by the mean of both wheels.
    live : bool, default False
        The axle carries its differential, so drive torques act as those of brakes.
    """

    motion: str
    axle: str
    values: Array
    left: WheelCurves
    right: WheelCurves
    track: Array
    roll_centre_height: Array | None
    live: bool = False

    def at(self, value: float, name: str, *, side: Literal["left", "right"] = "left") -> float:
        """Return a derivative by the motion or force at a value of it; it is linear between the points.

        Parameters
        ----------
        value : float
            Value of the motion [m or rad], the force [N] or the moment [N m].
        name : str
            Name of ``WheelCurves.rates``, such as "toe" for bump steer [rad/m] or the toe per N [rad/N].
        side : {'left', 'right'}, default 'left'
            Wheel.

        Returns
        -------
        float
            Derivative in the unit of the curve, for each m of travel, rad of the pinion, N or N m.

        Raises
        ------
        ModelError
            For a name that is no curve.
        """
        rates = getattr(self, side).rates
        if name not in rates:
            raise ModelError(f"rig: {shown(name)} is no curve; it must be one of {', '.join(rates)}")
        return float(np.interp(value, self.values, rates[name]))

    def anti_dive(self, brake_share: float, wheelbase: float, height: float) -> Array:
        """Return the anti-dive of a front axle, or the anti-lift of a rear one, under braking (k,); 1 is full.

        Brakes are on the wheel carrier: the contact point moves along as a point of it. With dx/dz of that point the
        front axle has share dx/dz L / h, the rear one -share dx/dz L / h.

        Parameters
        ----------
        brake_share : float
            Share of this axle in the brake force, 0 to 1.
        wheelbase : float
            Wheelbase L [m].
        height : float
            Height of the centre of mass above the road h [m].

        Returns
        -------
        ndarray
            Share of the load transfer that the suspension carries without its springs (k,).

        Raises
        ------
        ModelError
            For curves of another motion than "bump" and "roll".
        """
        return self._carried("anti_dive", "brake_x", brake_share, wheelbase, height)

    def anti_squat(self, drive_share: float, wheelbase: float, height: float) -> Array:
        """Return the anti-squat of a rear axle, or the anti-lift of a front one, under drive torques (k,); 1 is full.

        The reaction of the torque is on the chassis: the force acts at the wheel centre. That of a live axle is on the
        axle: the force acts at the contact point. With dx/dz of that point the rear axle has -share dx/dz L / h, the
        front one share dx/dz L / h.

        Parameters
        ----------
        drive_share : float
            Share of this axle in the drive force, 0 to 1.
        wheelbase : float
            Wheelbase L [m].
        height : float
            Height of the centre of mass above the road h [m].

        Returns
        -------
        ndarray
            Share of the load transfer that the suspension carries without its springs (k,).

        Raises
        ------
        ModelError
            For curves of another motion than "bump" and "roll".
        """
        return self._carried("anti_squat", "brake_x" if self.live else "x", drive_share, wheelbase, height)

    def _carried(self, name: str, way: str, share: float, wheelbase: float, height: float) -> Array:
        """Return the share of the load transfer that links carry, by the rate of a path x (k,)."""
        check_travel(name, self.motion)
        sign = 1.0 if self.axle == "front" else -1.0
        return np.asarray(sign * share * self.left.rates[way] / self.left.rates["z"] * wheelbase / height)

    def __str__(self) -> str:
        """Return a table of the left wheel."""
        head = f"{self.axle} axle, {self.motion}, left wheel"
        names = ("x", "y", "z", "camber", "toe")
        more = {**self.left.lengths, **self.left.kingpin}
        rows = ["".join(f"{name[:13]:>14}" for name in ("motion", *names, *more))]
        columns = [self.values, *(getattr(self.left, name) for name in names), *more.values()]
        rows += ["".join(f"{value:14.6f}" for value in row) for row in zip(*columns, strict=True)]
        return "\n".join([head, *rows])


def check_travel(name: str, motion: str) -> None:
    """Check that the motion has a wheel travel, for a quantity per wheel travel."""
    if motion not in TRAVELS:
        raise ModelError(
            f"rig: {name} is of wheel travel, and the motion is {motion}; it must be one of {', '.join(TRAVELS)}"
        )


def channels(car: "Car", axle: str) -> list[str]:
    """Return the channels that the curves are made of."""
    found = []
    for side in "lr":
        corner = f"{axle[0]}{side}"
        for quantity in ("position", "velocity", "orientation", "angular_velocity"):
            found.append(f"{WHEEL}_{corner}.{quantity}")
        for strut in car.axle(corner).struts:
            for end in "ab":
                found += [f"{strut.name}_{corner}.{end}.{quantity}" for quantity in ("position", "velocity")]
    return found


def curves_of(car: "Car", axle: str, side: str, motion: str, parts: list[dict[str, Array]], down: Array) -> WheelCurves:
    """Return the curves of one wheel from both halves of the run; ``down`` is as long as the wheel's radius."""
    corner = f"{axle[0]}{side}"
    at = {name: np.concatenate([one[name] for one in parts if name in one]) for name in channels(car, axle)}
    wheel = f"{WHEEL}_{corner}"
    axis0 = car.spin_axis(corner)
    body = held_position(car, wheel)
    R, w = rotations(at[f"{wheel}.orientation"]), at[f"{wheel}.angular_velocity"]
    n = R @ axis0
    dn = np.cross(w, n)
    arm, darm = lowest_point(n, dn, down)
    arm0, _ = lowest_point(axis0[None, :], np.zeros((1, 3)), down)
    moved, rate = at[f"{wheel}.position"] - body, at[f"{wheel}.velocity"]
    contact, dcontact = moved + arm - arm0, rate + darm
    flat = n[:, 0] ** 2 + n[:, 1] ** 2
    lengths, rates = {}, {}
    for strut in car.axle(corner).struts:
        a, b = (f"{strut.name}_{corner}.{end}" for end in "ab")
        d, v = at[f"{b}.position"] - at[f"{a}.position"], at[f"{b}.velocity"] - at[f"{a}.velocity"]
        lengths[strut.name] = np.linalg.norm(d, axis=1)
        rates[strut.name] = np.sum(d * v, axis=1) / lengths[strut.name]
    rates |= {"x": rate[:, 0], "y": rate[:, 1], "z": rate[:, 2]}
    rates |= {"contact_x": dcontact[:, 0], "contact_y": dcontact[:, 1], "camber": dn[:, 2] / np.sqrt(flat)}
    rates["toe"] = (n[:, 0] * dn[:, 1] - n[:, 1] * dn[:, 0]) / flat
    rates["brake_x"] = (rate + np.cross(w, arm))[:, 0]
    kingpin, changes = kingpin_of(car, corner, (R, w), (at[f"{wheel}.position"], rate), (arm, darm), down)
    rates |= changes
    camber, toe = np.arcsin(n[:, 2]), np.arctan2(-n[:, 0], n[:, 1])
    x, y, z = moved.T
    return WheelCurves(motion, x, y, z, camber, toe, contact[:, 0], contact[:, 1], lengths, rates, kingpin)


def kingpin_of(
    car: "Car",
    corner: str,
    turn: tuple[Array, Array],
    centre: tuple[Array, Array],
    arm: tuple[Array, Array],
    down: Array,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the curves of the kingpin axis and their derivatives; empty where there is none.

    ``turn`` are rotation and angular velocity of the wheel carrier, ``centre`` position and velocity of the wheel
    centre, ``arm`` leads from there to the lowest point.
    """
    points = kingpin_points(car.axle(corner))
    if points is None:
        return {}, {}
    right = corner[1] == "r"
    (R, w), frame = turn, np.asarray(car.bodies[CHASSIS].position)

    def moved(point: Array, fixed: bool) -> tuple[Array, Array]:
        start = frame + (MIRROR * point if right else point)
        if fixed:
            return np.broadcast_to(start, w.shape), np.zeros_like(w)
        lever = R @ (start - held_position(car, f"{WHEEL}_{corner}"))
        return centre[0] + lever, centre[1] + np.cross(w, lever)

    contact = centre[0] + arm[0], centre[1] + arm[1]
    up = -down / np.linalg.norm(down)
    lower, upper = moved(points.lower, False), moved(points.upper, points.on_chassis)
    return kingpin_curves(lower, upper, contact, up, 1.0 if right else -1.0)


def held_position(car: "Car", wheel: str) -> Array:
    """Return where a wheel centre stands at design, world axes [m]."""
    return np.asarray(car.bodies[wheel].position)


def lowest_point(n: Array, dn: Array, down: Array) -> tuple[Array, Array]:
    """Return the lowest points of discs with spin axes n (k, 3) from their centres, and the rates of them.

    ``down`` (3,) is as long as the radius of the disc [m].
    """
    radius = float(np.linalg.norm(down))
    unit = down / radius
    inside = unit - n * (n @ unit)[:, None]
    change = -dn * (n @ unit)[:, None] - n * (dn @ unit)[:, None]
    size = np.linalg.norm(inside, axis=1)[:, None]
    along = inside / size
    return radius * along, radius * (change - along * np.sum(along * change, axis=1)[:, None]) / size
