"""Rig of an axle with the chassis held: kinematics and compliance, curves, gradients, kingpin axis, report.

Bump, roll and steer are kinematic analyses, and derivatives of the curves by the motion are their velocities. Forces at
the wheels are statics with bushings and springs, under constant wheel loads. Derivatives by a force are those of the
linear equations there, K dq = Q_u du, and the twist of a wheel is its Jacobian times dq.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.kinematics import Analysis
from rtmbs.model import ConstantRate, Fixed
from rtmbs.model.checks import Array, Numbers, number, numbers
from rtmbs.model.forces import Kinematics
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.studies.analysis.equilibrium import equilibrium
from rtmbs.studies.analysis.linearisation import linearise
from rtmbs.vehicle.axle import CHASSIS, MIRROR, WHEEL, Axle, above_zero
from rtmbs.vehicle.manoeuvres.report import Metric, Plot, Report
from rtmbs.vehicle.rest import carrying
from rtmbs.vehicle.steering import DRIVER

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

LOWER, UPPER, STRUT = "lower_ball", "upper_ball", "strut"
NAMES = ("caster", "kingpin_inclination", "scrub_radius", "trail")


class KingpinPoints(NamedTuple):
    """Points of the kingpin axis at design, left side, chassis frame.

    Parameters
    ----------
    lower : ndarray
        Lower point (3,) on the wheel carrier [m].
    upper : ndarray
        Upper point (3,) [m].
    on_chassis : bool
        True when the upper point stays on the chassis: the top of a MacPherson strut.
    """

    lower: Array
    upper: Array
    on_chassis: bool


def kingpin_points(axle: Axle) -> KingpinPoints | None:
    """Return the points of the kingpin axis; None where no two joints make one, as with five links.

    Parameters
    ----------
    axle : Axle
        Axle.

    Returns
    -------
    KingpinPoints or None
        Lower ball with the upper ball, or with the top of the strut.
    """
    at = {one.name: one for one in axle.connections if axle.wheel_carrier in (one.a, one.b)}
    if LOWER in at and UPPER in at:
        return KingpinPoints(at[LOWER].point, at[UPPER].point, False)
    if LOWER in at and STRUT in at and CHASSIS in (at[STRUT].a, at[STRUT].b):
        return KingpinPoints(at[LOWER].point, at[STRUT].point, True)
    return None


def kingpin_curves(
    lower: tuple[Array, Array], upper: tuple[Array, Array], contact: tuple[Array, Array], up: Array, inward: float
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return curves of the kingpin axis and their derivatives by the motion.

    The axis meets the road, a plane through the contact with the normal ``up``, at G = p + s k with
    s = (c - p) . up / (k . up).

    Parameters
    ----------
    lower, upper : tuple[ndarray, ndarray]
        Points of the axis (k, 3) in chassis axes [m] and their derivatives.
    contact : tuple[ndarray, ndarray]
        Lowest point of the wheel (k, 3) [m] and its derivative.
    up : ndarray
        Normal of the road (3,), a unit vector.
    inward : float
        -1 on the left side, where inward is -y, and 1 on the right side.

    Returns
    -------
    tuple
        Curves by the names ``NAMES``, and their derivatives: angles [rad], lengths [m].
    """
    (p, dp), (q, dq), (c, dc) = lower, upper, contact
    k, dk = q - p, dq - dp
    rise, drise = k @ up, dk @ up
    s = ((c - p) @ up) / rise
    ds = ((dc - dp) @ up - s * drise) / rise
    G = p + s[:, None] * k
    dG = dp + ds[:, None] * k + s[:, None] * dk
    x, y, z = k.T
    dx, dy, dz = dk.T
    values = {
        "caster": np.arctan2(-x, z), "kingpin_inclination": np.arctan2(inward * y, z),
        "scrub_radius": inward * (G - c)[:, 1], "trail": (G - c)[:, 0],
    }  # fmt: skip
    rates = {
        "caster": (x * dz - z * dx) / (x * x + z * z),
        "kingpin_inclination": inward * (z * dy - y * dz) / (y * y + z * z),
        "scrub_radius": inward * (dG - dc)[:, 1], "trail": (dG - dc)[:, 0],
    }  # fmt: skip
    return values, rates


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
        above_zero(wheelbase, f"rig: wheelbase of {name}")
        above_zero(height, f"rig: height of {name}")
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


FORCES = {"longitudinal": "force_x", "lateral": "force_y", "aligning": "moment_z"}  # inputs of a pad by motion
RIGHT = {"parallel": 1.0, "opposite": -1.0, "left": 0.0}  # force on the right wheel over that on the left one
Phase = Literal["parallel", "opposite", "left"]


class PadLaw:
    """Forces of a wheel pad in the lowest point of a wheel that does not turn, and the load.

    Parameters
    ----------
    radius : float
        Loaded radius of the wheel [m].
    at_centre : bool
        The longitudinal force acts at the wheel centre, as that of a drive shaft, and not in the lowest point.
    """

    def __init__(self, radius: float, at_centre: bool) -> None:
        self.radius, self.at_centre = radius, at_centre

    def __call__(self, t: float, kinematics: Kinematics, parameters: Any) -> Any:
        """Return force and moment about the wheel centre in axes of the road."""
        n = kinematics.R[:, 1]
        flat = np.sqrt(n[0] * n[0] + n[1] * n[1])
        x, y, z = self.radius * n[2] / flat * n[0], self.radius * n[2] / flat * n[1], -self.radius * flat
        Fx, Fy, Fz = parameters["force_x"], parameters["force_y"], parameters["load"]
        Mx, My, Mz = y * Fz - z * Fy, -x * Fz, x * Fy + parameters["moment_z"]
        if not self.at_centre:
            My, Mz = My + z * Fx, Mz - y * Fx
        return np.stack((Fx, Fy, Fz)), np.stack((Mx, My, Mz))


def forced_runs(
    car: "Car", axle: str, motion: str, points: Array, *, phase: Phase, load: float, radius: float, at_centre: bool
) -> list[dict[str, Array]]:
    """Return the channels of both halves of the points, with derivatives by the force in place of velocities.

    Parameters
    ----------
    car : Car
        Car with its springs and bushings.
    axle : str
        Axle that the forces act on: "front" or "rear".
    motion : str
        "longitudinal", "lateral" or "aligning".
    points : ndarray
        Increasing forces or moments of the left wheel (k,) with 0 among them [N, N m].
    phase : str
        "parallel", "opposite" or "left".
    load : float
        Load of each wheel of the axle [N].
    radius : float
        Loaded radius [m].
    at_centre : bool
        Longitudinal forces act at the wheel centres.

    Returns
    -------
    list of dict
        Channels (k, 3) or (k, 4) by name, those of points up to 0 first.
    """
    model = padded_model(car, axle, load, radius, at_centre)
    rest = equilibrium(model.compile()).simulation
    names = channels(car, axle)
    ways = {f"pad_{axle[0]}l.{FORCES[motion]}": 1.0, f"pad_{axle[0]}r.{FORCES[motion]}": RIGHT[phase]}
    halves: list[dict[str, Array]] = []
    for wanted in (points[points <= 0.0][::-1], points[points > 0.0]):
        sim, found = copy(rest), dict[str, list[Any]]()
        for value in wanted.tolist():
            for name, share in ways.items():
                sim.inputs[name] = share * value
            sim = equilibrium(sim).simulation
            for name, one in at_point(sim, names, ways).items():
                found.setdefault(name, []).append(one)
        order = slice(None, None, -1) if len(halves) == 0 else slice(None)
        halves.append({name: np.array(one)[order] for name, one in found.items()})
    return halves


def at_point(sim: Any, names: list[str], ways: dict[str, float]) -> dict[str, Any]:
    """Return channels of an equilibrium; a velocity is the derivative of its position by the force."""
    rates = [name for name in names if name.endswith("velocity")]
    lin = linearise(sim, inputs=list(ways), outputs=rates)
    f = len(lin.coordinates)
    moved = np.linalg.solve(lin.stiffness, lin.forces @ np.array(list(ways.values())))
    twists = lin.C[:, f : 2 * f] @ moved
    found = {name: np.array(sim[name]) for name in names if name not in rates}
    return found | {name: twists[3 * k : 3 * k + 3] for k, name in enumerate(rates)}


def padded_model(car: "Car", axle: str, load: float, radius: float, at_centre: bool) -> Any:
    """Return the car with its chassis held at design, and pads with loads in place of the tyres."""
    model = carrying(car.changed(steer=0.0))
    del model.joints["chassis_pose"], model.initials["chassis_pose"]
    model.add_joint("held", Fixed(), model.ground, CHASSIS, point=model.bodies[CHASSIS].position)
    for corner in car.tyres:
        own = corner[0] == axle[0]
        del model.forces[f"tyre_{corner}"]
        between = model.add_marker(f"pad_{corner}", model.ground, (0.0, 0.0, 0.0)), f"tyre_{corner}.centre"
        given = {"load": load if own else car.tyres[corner].nominal_load, "force_x": 0.0, "force_y": 0.0}
        law = PadLaw(radius, at_centre)
        model.add_force(f"pad_{corner}", law, between=between, parameters=given | {"moment_z": 0.0})
    return model


Motion = Literal["bump", "roll", "steer", "longitudinal", "lateral", "aligning"]
MOTIONS = ("bump", "roll", "steer", *FORCES)
ENDS = {"longitudinal": 2000.0, "lateral": 2000.0, "aligning": 200.0}  # of the usual values [N, N m]
EVEN = 1e-9  # relative difference of steps between values that is rounding
STILL = 1e-6  # end of a run that is asked for its beginning only


def rig(
    car: "Car",
    axle: Literal["front", "rear"],
    motion: Motion = "bump",
    *,
    values: Sequence[float] | None = None,
    ride: float = 0.0,
    wheel_radius: float | None = None,
    pitch: float = 0.0,
    phase: Phase = "parallel",
    load: float | None = None,
    point: Literal["contact", "centre"] = "contact",
) -> RigCurves:
    """Return the curves of an axle over a motion or a force, with the chassis held: kinematics and compliance.

    Motions are kinematic: joints are ideal, forces take no part. Forces are static: the axle is in equilibrium on its
    springs and bushings under constant wheel loads, with the wheels fixed to their carriers.

    Parameters
    ----------
    car : Car
        Car; tyres and brakes take no part.
    axle : {'front', 'rear'}
        Axle that moves.
    motion : {'bump', 'roll', 'steer', 'longitudinal', 'lateral', 'aligning'}, default 'bump'
        "bump" moves both wheels up, "roll" the left one up and the right one down, "steer" turns the pinion or
        Pitman arm with the wheel centres at their heights. "longitudinal" and "lateral" are forces of the road in the
        lowest points of the wheels, forward and to the left, "aligning" moments about the vertical, to the left.
    values : Sequence[float], optional
        Increasing values of the motion (k,) with 0 among them: travel [m] or angle [rad]. 25 from -60 to 60 mm unless
        given; those of "steer" reach the end of the steering, 1 rad at most. Forces are those of the left wheel
        [N, N m]: 9 up to 2 kN or 200 N m unless given.
    ride : float, default 0.0
        Travel of both wheels from design at which roll and steer take place [m].
    wheel_radius : float, optional
        Radius of the lowest point of the wheel [m]; the free radius of the tyre unless given, that under the load for
        forces.
    pitch : float, default 0.0
        Pitch of the chassis over the road [rad], nose down: the lowest point and the roll centre belong to the road.
        Not of forces, whose axes are those of the chassis.
    phase : {'parallel', 'opposite', 'left'}, default 'parallel'
        Forces on the right wheel: those of the left one, their opposites, or none. Of forces only.
    load : float, optional
        Load of each wheel [N], constant; the nominal one of the tyre unless given. Of forces only.
    point : {'contact', 'centre'}, default 'contact'
        Point of longitudinal forces: "contact" as of brakes, "centre" as of drive shafts. Of "longitudinal" only.

    Returns
    -------
    RigCurves
        Curves of both wheels.

    Raises
    ------
    ModelError
        For values that cannot be, and options that the motion does not take.
    MotionError
        Where the axle does not reach a value.

    Examples
    --------
    >>> curves = rtmbs.vehicle.rig(rtmbs.vehicle.read("sedan"), "front", "bump")  # doctest: +SKIP
    >>> curves.at(0.0, "toe")  # bump steer [rad/m]  # doctest: +SKIP
    """
    choices = (("axle", axle, ("front", "rear")), ("motion", motion, MOTIONS), ("phase", phase, tuple(RIGHT)))
    for name, value, known in (*choices, ("point", point, ("contact", "centre"))):
        if value not in known:
            raise ModelError(f"rig: {name} is {shown(value)}; it must be one of {', '.join(known)}")
    refuse_options(motion, phase, load, point)
    points = chosen_values(car, motion, values)
    start = number(ride, "rig: ride")
    tyre = car.tyres[f"{axle[0]}l"]
    carried = tyre.nominal_load if load is None else number(load, "rig: load")
    radius = tyre.free_radius - (carried / tyre.vertical_stiffness if motion in FORCES else 0.0)
    radius = radius if wheel_radius is None else number(wheel_radius, "rig: wheel_radius")
    angle = number(pitch, "rig: pitch")
    if motion in FORCES:
        if start or angle or not (carried > 0.0 and radius > 0.0):
            raise ModelError("rig: forces take no ride and no pitch, and load and wheel_radius must be above zero")
        parts = forced_runs(
            car, axle, motion, points, phase=phase, load=carried, radius=radius, at_centre=point == "centre"
        )
    else:
        parts = [half_run(car, axle, motion, sign, points, start) for sign in (-1.0, 1.0)]
    down = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    left, right = (curves_of(car, axle, side, motion, parts, radius * down) for side in "lr")
    sides = [car.axle(f"{axle[0]}{side}") for side in "lr"]
    arms = [lowest_point(side.spin_axis[None, :], np.zeros((1, 3)), radius * down)[0] for side in sides]
    halves = [float(side.wheel_centre[1] + arm[0, 1]) for side, arm in zip(sides, arms, strict=True)]
    width = halves[0] + halves[1]
    rise = -(left.rates["x"] * down[0] + left.rates["z"] * down[2])
    track = width + left.contact_y - right.contact_y
    both = car.axle(axle[0]).shared != ()
    sway = 0.5 * (left.rates["contact_y"] + right.rates["contact_y"]) if both else left.rates["contact_y"]
    height = 0.5 * track * sway / rise if motion == ("roll" if both else "bump") else None
    if height is not None and not both and sides[0] is not sides[1]:
        height = crossing(halves[0] + left.contact_y, right.contact_y - halves[1], sway / rise, right, down)
    return RigCurves(motion, axle, points, left, right, track, height, car.axle(axle[0]).live)


def crossing(y: Array, other: Array, slope: Array, right: WheelCurves, down: Array) -> Array:
    """Return the height at which the lines through the contacts of both wheels and their instant centres meet [m].

    ``y`` and ``other`` (k,) are the places of the contacts, left and right; ``slope`` is that of the left one sideways.
    """
    rise = -(right.rates["x"] * down[0] + right.rates["z"] * down[2])
    beside = right.rates["contact_y"] / rise
    middle = (y * slope - other * beside) / (slope - beside)
    return np.asarray((y - middle) * slope)


def chosen_values(car: "Car", motion: str, values: Numbers | None) -> Array:
    """Return the values of a motion, checked; the usual ones unless given."""
    end = min(car.data.steering.max_angle, 1.0) if motion == "steer" else ENDS.get(motion, 0.06)
    given = np.linspace(-end, end, 9 if motion in FORCES else 25) if values is None else values
    points = numbers(given, "rig: values", np.shape(given))
    if points.ndim != 1 or len(points) < 2 or np.any(np.diff(points) <= 0.0) or not np.any(points == 0.0):
        raise ModelError("rig: values must be increasing numbers with 0 among them")
    return points


def refuse_options(motion: str, phase: str, load: float | None, point: str) -> None:
    """Refuse options of forces for a motion that does not take them."""
    if motion not in FORCES and (phase != "parallel" or load is not None):
        name, value = ("phase", phase) if phase != "parallel" else ("load", load)
        raise ModelError(f"rig: {motion} takes no {name}, but it is {shown(value)}; give it for forces only")
    if motion != "longitudinal" and point != "contact":
        raise ModelError(
            f"rig: {motion} takes no point, but it is {shown(point)}; give it for longitudinal forces only"
        )


def half_run(
    car: "Car", axle: str, motion: str, sign: float, points: Array, ride: float, names: list[str] | None = None
) -> dict[str, Array]:
    """Return channels of the analysis at the points of one sign, 0 included once, in the order of ``points``.

    ``names`` are those of the curves unless given.
    """
    wanted = points[points > 0.0] if sign > 0.0 else -points[points <= 0.0][::-1]
    analysis = Analysis(held_model(car, axle, motion, sign, ride))
    names = channels(car, axle) if names is None else names
    spacing = np.diff(np.concatenate(([0.0], wanted[wanted > 0.0])))
    found: dict[str, list[Any]] = {}
    if len(spacing) and np.ptp(spacing) <= EVEN * spacing[0]:  # one run has them all
        result = analysis.run(0.0, float(wanted[-1]), float(spacing[0]))
        rows = [(result, round(value / spacing[0])) for value in wanted.tolist()]
    else:
        ends = [(value or STILL, -1 if value else 0) for value in wanted.tolist()]
        rows = [(analysis.run(0.0, end, end), row) for end, row in ends]
    for result, row in rows:
        for name in names:
            found.setdefault(name, []).append(result[name][row])
    order = slice(None) if sign > 0.0 else slice(None, None, -1)
    rates = {name for name in found if name.endswith("velocity")}
    return {
        name: np.array(values)[order] * (sign if name in rates else 1.0) for name, values in found.items()
    }  # velocities by the motion itself


def held_model(car: "Car", axle: str, motion: str, sign: float, ride: float) -> Any:
    """Return the car with its chassis held, no forces, and drivers for the wheels and the steering."""

    model = carrying(car.changed(steer=0.0, bushings=None))
    model.forces.clear()
    del model.joints["chassis_pose"], model.initials["chassis_pose"], model.drivers[DRIVER]
    car.data.steering.replace_constraints(model)
    model.add_joint("held", Fixed(), model.ground, CHASSIS, point=model.bodies[CHASSIS].position)
    joint, coordinate = ("rack", "displacement") if "rack" in model.joints else ("sector_shaft", "angle")
    steers = sign * car.data.steering.ratio if motion == "steer" else 0.0
    model.add_driver(DRIVER, ConstantRate(steers), joint=(joint, coordinate))
    for corner in car.tyres:
        moves = 0.0
        if corner[0] == axle[0] and motion != "steer":
            moves = -sign if motion == "roll" and corner[1] == "r" else sign
        wheel = f"{WHEEL}_{corner}"
        height = float(model.bodies[wheel].position[2]) + (ride if corner[0] == axle[0] else 0.0)
        model.add_driver(f"travel_{corner}", ConstantRate(moves, height), body=(wheel, "z"))
    return model


ANGLES = ("toe", "camber", "caster", "kingpin_inclination")
WORDS = {
    "x": "the wheel centre forward", "y": "the wheel centre to the left", "z": "the wheel centre up",
    "contact_x": "the lowest point of the wheel forward", "contact_y": "the lowest point of the wheel to the left",
    "brake_x": "the contact point forward, as a point of the wheel carrier",
    "spring": "the length of the spring", "shock": "the length of the shock",
}  # fmt: skip


OVER = {  # name of the signal of a motion
    "bump": "travel", "roll": "travel", "steer": "pinion_angle", "longitudinal": "force", "lateral": "force",
    "aligning": "moment",
}  # fmt: skip
PER = {  # unit of the gradients of a motion, and its size
    "bump": ("m", 1.0), "roll": ("m", 1.0), "steer": ("rad", 1.0), "longitudinal": ("kN", 1e3),
    "lateral": ("kN", 1e3), "aligning": ("kN m", 1e3),
}  # fmt: skip


def rig_report(car: "Car", axle: str, motion: Motion = "bump", curves: RigCurves | None = None) -> Report:
    """Return the report of an axle on the rig.

    Parameters
    ----------
    car : Car
        Car.
    axle : {'front', 'rear'}
        Axle.
    motion : {'bump', 'roll', 'steer', 'longitudinal', 'lateral', 'aligning'}, default 'bump'
        Motion or force of the rig.
    curves : RigCurves, optional
        Curves of ``rig``; made with its usual values unless given.

    Returns
    -------
    Report
        Gradients at design, or without force, as metrics, and the curves as signals, angles in degrees.
    """
    found = rig(car, axle, motion) if curves is None else curves  # type: ignore[arg-type]
    wheel, over = found.left, OVER[motion]
    signals = {over: found.values}
    shapes = {name: getattr(wheel, name) for name in ("toe", "camber", "x", "y", "contact_x", "contact_y")}
    shapes |= dict(wheel.kingpin) | dict(wheel.lengths)
    signals |= {name: np.degrees(values) if name in ANGLES else values for name, values in shapes.items()}
    signals["track"] = found.track
    titles = {
        "toe": "Toe (left positive)", "camber": "Camber (top to the right positive)",
        "contact_x": "Contact point forward", "contact_y": "Contact point to the left", "caster": "Caster",
        "kingpin_inclination": "Kingpin inclination",
        "scrub_radius": "Scrub radius", "trail": "Caster trail", "track": "Track",
    }  # fmt: skip
    plots = [Plot(title, (name,), over) for name, title in titles.items() if name in signals]
    if motion in ("bump", "roll"):
        for name in wheel.lengths:
            signals[f"motion_ratio_{name}"] = wheel.motion_ratio(name)
        plots.append(Plot("Motion ratio", tuple(f"motion_ratio_{name}" for name in wheel.lengths), over))
    if found.roll_centre_height is not None:
        signals["roll_centre_height"] = found.roll_centre_height
        plots.append(Plot("Height of the roll centre", ("roll_centre_height",), over))
    name = f"{axle.capitalize()} axle on the rig: {motion}, left wheel"
    notes = ("The chassis is held; values and gradients are those at design.",)
    if motion in FORCES:
        notes = ("The chassis is held under constant wheel loads; values and gradients are those without force.",)
    return Report(name, gradients(found, signals), signals, None, car.name, notes, tuple(plots))


def gradients(curves: RigCurves, signals: dict[str, np.ndarray]) -> dict[str, Metric]:
    """Return values and gradients at design.

    Parameters
    ----------
    curves : RigCurves
        Curves.
    signals : dict[str, ndarray]
        Signals of the report.

    Returns
    -------
    dict[str, Metric]
        Metrics by name.
    """
    k, (unit, size) = int(np.argmin(np.abs(curves.values))), PER[curves.motion]
    where = "without force" if curves.motion in FORCES else "at design"
    metrics = {}
    for name, rate in curves.left.rates.items():
        angle = name in ANGLES
        if name == "z" and curves.motion not in FORCES:
            continue
        if name in signals:
            value = round(float(signals[name][k]), 12) + 0.0
            metrics[name] = Metric(value, "deg" if angle else "m", where)
        slope = size * float(np.degrees(rate[k]) if angle else rate[k])
        what = WORDS.get(name, name.replace("_", " "))
        metrics[f"{name}_gradient"] = Metric(slope, f"{'deg' if angle else 'm'}/{unit}", f"derivative of {what}")
    for name in signals:
        if name.startswith("motion_ratio") or name == "roll_centre_height":
            what = "compression over wheel travel" if name.startswith("motion") else "above the road"
            metrics[name] = Metric(float(signals[name][k]), "1" if name.startswith("motion") else "m", what)
    return metrics


@dataclass(frozen=True)
class RigComparison:
    """Gradients of two designs on the rig side by side.

    Parameters
    ----------
    names : tuple[str, str]
        Names of both designs.
    gradients : dict[str, tuple[Metric, Metric]]
        Values and gradients of both designs by name.
    """

    names: tuple[str, str]
    gradients: dict[str, tuple[Metric, Metric]]

    def __getitem__(self, name: str) -> float:
        """Return the value of the second design less that of the first one."""
        first, second = self.gradients[name]
        return second.value - first.value

    def __str__(self) -> str:
        """Return a table of both designs and of their differences."""
        rows = [f"{'':28}{self.names[0][:14]:>16}{self.names[1][:14]:>16}{'difference':>16} unit"]
        for name, (first, second) in self.gradients.items():
            rows.append(f"{name:28}{first.value:16.6g}{second.value:16.6g}{self[name]:16.6g} {first.unit}")
        return "\n".join(rows)


def compare_on_rig(
    first: "Car", second: "Car", axle: str, motion: Motion = "bump", names: tuple[str, str] | None = None
) -> RigComparison:
    """Compare two cars on the rig by the values and gradients of their left wheels.

    Parameters
    ----------
    first : Car
        First design.
    second : Car
        Second design.
    axle : {'front', 'rear'}
        Axle.
    motion : {'bump', 'roll', 'steer', 'longitudinal', 'lateral', 'aligning'}, default 'bump'
        Motion or force of the rig.
    names : tuple[str, str], optional
        Names of the designs; those of the cars unless given.

    Returns
    -------
    RigComparison
        Table of what both have.

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan", variant="from_models")
    >>> x, y, z = car.data.front.hard_points["tie_rod.a"]
    >>> other = car.with_points("front", {"tie_rod.a": (x, y, z + 0.01)})
    >>> table = rtmbs.vehicle.compare_on_rig(car, other, "front", "bump", ("series", "raised"))
    >>> table["toe_gradient"] < -5.0  # degrees for each m
    True
    """
    reports = [rig_report(car, axle, motion).metrics for car in (first, second)]
    both = {name: (reports[0][name], reports[1][name]) for name in reports[0] if name in reports[1]}
    return RigComparison((first.name, second.name) if names is None else names, both)
