"""Driveline and brakes: engine, gearbox, differentials, drive shafts, and the torques on wheels.

The engine has torque tables and turns with the mean speed of the driven wheels times the gear. Differentials are open,
locked or limited slip, on an axle and between two axles.

A drive shaft is a body that turns in the chassis about its y axis; a locked differential has one for both wheels. A
constant-velocity joint couples it to its wheel: the rotation from shaft to wheel has no part about the shaft,
R_xz - R_zx = 0. Its torque lies along the bisector of both axes. With the torque T about the shaft and the angle b
between both axes, T acts about the axis of the wheel too, and the secondary couple T tan(b / 2) across it. So the
reaction of T is on the chassis; about the axis of the wheel the carrier has none, across it the secondary couple.

The clutch of a limited-slip differential moves the torque X from the faster to the slower shaft, abs(X) <= L / 2 with
the locking torque L = preload + S abs(T), T the torque into the differential and S the locking factor of its sense.
Its bristle is that of the brakes, so a clutch that sticks holds without creep.

A bristle of Dahl's kind deflects by the angle z: dz/dt = g - |g| z / Z, with g = rate / sqrt(1 + (rate / rate_0)^2).
The torque of a brake is -T z / Z. It is a spring at rest, so nothing creeps, and -T against the rotation in motion.
The reaction of a drive torque without shafts is on the chassis, not on the wheel carrier.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.model import Force, Model, Revolute
from rtmbs.model.checks import Array, as_floats, direction, number
from rtmbs.model.description import Coordinate
from rtmbs.model.forces import JointKinematics, Kinematics
from rtmbs.vehicle.axle import CHASSIS, above_zero
from rtmbs.vehicle.tyre import magnitude

BRISTLE = 0.01  # [rad] Z: deflection at which friction is full
RATE = 1.0  # [rad/s] rate_0: the bristle bends no faster, which keeps its time constant at 10 ms


def friction_torque(torque: Any, kinematics: JointKinematics, bristle: Any) -> tuple[Any, Any]:
    """Return the torque on the wheel [N m] and the rate of the bristle [rad/s]."""
    rate = kinematics.zd
    g = rate / np.sqrt(1.0 + (rate / RATE) ** 2)
    share = bristle / BRISTLE
    return -torque * share, g - np.sqrt(g * g + 1e-20) * share


def brake_law(t: float, kinematics: JointKinematics, parameters: Any, states: Any) -> Any:
    """Return torque and rate of the bristle of a brake whose torque is an input."""
    return friction_torque(parameters["torque"], kinematics, states["bristle"])


def timed_brake(torque: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return the law of a brake whose torque [N m] is a function of time in plain NumPy."""

    def brake(t: float, kinematics: JointKinematics, parameters: Any, states: Any) -> Any:
        return friction_torque(torque(t), kinematics, states["bristle"])

    return brake


def add_brake(model: Model, name: str, hub: str, torque: float | Callable[[Any], Any] = 0.0) -> Force:
    """Add a brake to the joint ``hub`` of a wheel.

    Its state ``name.bristle`` [rad] is the deflection that holds the wheel.

    Parameters
    ----------
    model : Model
        Model that gets the force ``name``.
    name : str
        Name of the brake.
    hub : str
        Revolute joint between wheel carrier and wheel.
    torque : float or function, default 0.0
        Largest friction torque [N m], zero or more; the input ``name.torque`` changes it. Or a function of time
        in plain NumPy, as for a test.

    Returns
    -------
    Force
        Force on the joint; its torque is against the rotation of the wheel.

    Raises
    ------
    ModelError
        For a torque below zero.
    """
    if not callable(torque) and number(torque, f"brake {name!r}: torque") < 0.0:
        raise ModelError(f"brake {name!r}: torque is {torque:g}; it must be zero or more")
    law, parameters = (timed_brake(torque), None) if callable(torque) else (brake_law, {"torque": torque})
    return model.add_force(
        name, law, joint=hub, parameters=parameters, states={"bristle": 0.0}, units={"bristle": "rad"}
    )


def drive_law(t: float, kinematics: Kinematics, parameters: Any) -> Any:
    """Return no force and the torque about the spin axis of the wheel, the y axis of its marker."""
    axis = kinematics.R[:, 1]
    return 0.0 * axis, parameters["torque"] * axis


def add_drive(model: Model, name: str, wheel_marker: str, reaction: str = CHASSIS) -> Force:
    """Add a drive torque to a wheel; the input ``name.torque`` [N m] is positive forward.

    The reaction is on the chassis, or on the beam of a live axle.

    Parameters
    ----------
    model : Model
        Model that gets the force ``name`` and the marker ``name.reaction``.
    name : str
        Name of the drive torque.
    wheel_marker : str
        Marker at the wheel centre with the spin axis, left, as its y axis, such as ``tyre_fl.centre``.
    reaction : str, default "chassis"
        Body that takes the reaction.

    Returns
    -------
    Force
        Force between that body and the wheel.
    """
    marker = f"{name}.reaction"
    model.add_marker(marker, reaction, np.zeros(3), frame=reaction)
    return model.add_force(name, drive_law, between=(marker, wheel_marker), parameters={"torque": 0.0})


KINDS = ("open", "locked", "limited_slip")
AXLES = ("front", "rear")
CENTRE = "centre"
DRIVE = "drive"  # name of the force of a driveline with differentials, and of its input


@dataclass(frozen=True)
class Differential:
    """Differential of an axle, or the centre differential between two axles.

    Parameters
    ----------
    kind : {'open', 'locked', 'limited_slip'}, default 'open'
        "open" gives both outputs their share of the torque, "locked" one speed, "limited_slip" has a clutch between
        both outputs.
    preload : float, default 0.0
        Locking torque without torque into the differential [N m]: the largest difference of the output torques.
    drive : float, default 0.0
        Locking factor under driving torque: growth of the locking torque over the torque into the differential.
    coast : float, default 0.0
        Locking factor under braking torque of the engine.
    front_share : float, default 0.5
        Share of the front axle in the torque, of a centre differential only.
    inertia : float, default 0.0
        Inertia of the case about its axis [kg m^2]; it turns with the mean speed of both outputs.

    Raises
    ------
    ModelError
        For an unknown kind and for numbers out of range.

    Examples
    --------
    >>> one = rtmbs.vehicle.Differential("limited_slip", preload=60.0, drive=0.4, coast=0.2)
    >>> float(one.locking_torque(500.0))
    260.0
    """

    kind: str = "open"
    preload: float = 0.0
    drive: float = 0.0
    coast: float = 0.0
    front_share: float = 0.5
    inertia: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ModelError(f"differential: kind is {shown(self.kind)}; it must be one of {', '.join(KINDS)}")
        for name in ("preload", "drive", "coast", "inertia"):
            if not number(getattr(self, name), f"differential: {name}") >= 0.0:
                raise ModelError(f"differential: {name} is {getattr(self, name):g}; it must be zero or more")
        if not 0.0 < number(self.front_share, "differential: front_share") < 1.0:
            raise ModelError(f"differential: front_share is {self.front_share:g}; it must be between 0 and 1")
        slips = self.kind == "limited_slip"
        if slips and not self.preload + self.drive + self.coast > 0.0:
            raise ModelError("differential: limited_slip needs preload, drive or coast above zero")
        if not slips and self.preload + self.drive + self.coast > 0.0:
            raise ModelError(
                f"differential: {self.kind} has no preload, drive or coast; it must be limited_slip for them"
            )

    @classmethod
    def clutch(
        cls,
        *,
        preload: float,
        drive_angle: float,
        coast_angle: float,
        friction: float,
        faces: int,
        clutch_radius: float,
        ramp_radius: float,
        inertia: float = 0.0,
    ) -> "Differential":
        """Return a limited-slip differential with clutch packs that ramps press.

        The pins push the pressure rings apart with T / (ramp_radius tan(angle)). Each of both packs takes
        friction faces clutch_radius times that, and their difference is S = 2 friction faces clutch_radius /
        (ramp_radius tan(angle)).

        Parameters
        ----------
        preload : float
            Locking torque of the springs [N m].
        drive_angle : float
            Angle between ramp and axis under driving torque [rad]; a small one locks more.
        coast_angle : float
            Angle under braking torque [rad]; pi / 2 does not lock.
        friction : float
            Coefficient of friction of the plates.
        faces : int
            Number of rubbing faces on each side.
        clutch_radius : float
            Mean radius of the plates [m].
        ramp_radius : float
            Radius at which the pins press on the ramps [m].
        inertia : float, default 0.0
            Inertia of the case [kg m^2].

        Returns
        -------
        Differential
            Limited-slip differential with the locking factors of the ramps.

        Raises
        ------
        ModelError
            For angles that are not between 0 and pi / 2 and sizes that are not positive.

        Examples
        --------
        >>> one = rtmbs.vehicle.Differential.clutch(
        ...     preload=50.0, drive_angle=0.7854, coast_angle=1.0472, friction=0.1, faces=6, clutch_radius=0.06,
        ...     ramp_radius=0.045,
        ... )
        >>> round(one.drive, 3)
        1.6
        """
        sizes = {"friction": friction, "faces": faces, "clutch_radius": clutch_radius, "ramp_radius": ramp_radius}
        for name, value in sizes.items():
            if not number(value, f"differential: {name}") > 0.0:
                raise ModelError(f"differential: {name} is {value:g}; it must be above zero")
        factors = []
        for name, angle in (("drive_angle", drive_angle), ("coast_angle", coast_angle)):
            if not 0.0 < number(angle, f"differential: {name}") <= 0.5 * np.pi:
                raise ModelError(f"differential: {name} is {angle:g}; it must be between 0 and pi / 2")
            factors.append(max(0.0, 2.0 * friction * faces * clutch_radius / (ramp_radius * float(np.tan(angle)))))
        return cls("limited_slip", preload, drive=factors[0], coast=factors[1], inertia=inertia)

    @classmethod
    def torque_sensitive(cls, bias_ratio: float, *, preload: float = 0.0, inertia: float = 0.0) -> "Differential":
        """Return a torque-sensitive differential, whose larger output torque is at most ``bias_ratio`` the smaller one.

        With T1 + T2 = T and T1 = b T2 the difference is S T, S = (b - 1) / (b + 1), in both senses of the torque.

        Parameters
        ----------
        bias_ratio : float
            Torque bias ratio, above 1.
        preload : float, default 0.0
            Locking torque without torque [N m].
        inertia : float, default 0.0
            Inertia of the case [kg m^2].

        Returns
        -------
        Differential
            Limited-slip differential.

        Raises
        ------
        ModelError
            For a ratio that is not above 1.

        Examples
        --------
        >>> rtmbs.vehicle.Differential.torque_sensitive(3.0).drive
        0.5
        """
        if not number(bias_ratio, "differential: bias_ratio") > 1.0:
            raise ModelError(f"differential: bias_ratio is {bias_ratio:g}; it must be above 1")
        factor = (bias_ratio - 1.0) / (bias_ratio + 1.0)
        return cls("limited_slip", preload, factor, factor, inertia=inertia)

    @property
    def slips(self) -> bool:
        """True of a limited-slip differential."""
        return self.kind == "limited_slip"

    def locking_torque(self, torque: Any) -> Any:
        """Return the largest difference of the output torques.

        Parameters
        ----------
        torque : float
            Torque into the differential [N m], positive when it drives forward.

        Returns
        -------
        float
            Locking torque [N m].
        """
        factor = np.where(torque.real > 0.0, self.drive, self.coast) if self.drive != self.coast else self.drive
        return self.preload + factor * magnitude(torque)


def differentials_of(given: Any, what: str) -> dict[str, Differential]:
    """Return checked differentials by place, "front", "rear" and "centre"; words such as "locked" are kinds."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ModelError(f"{what}: differentials is {shown(given)}; it must map front, rear, centre to differentials")
    found = {}
    for place, one in given.items():
        if place not in (*AXLES, CENTRE):
            raise unknown_name("place of a differential", place, (*AXLES, CENTRE))
        made = Differential(one) if isinstance(one, str) else one
        if not isinstance(made, Differential):
            raise ModelError(f"{what}: differential {place!r} is {shown(one)}; it must be a Differential or its kind")
        if place != CENTRE and made.front_share != 0.5:
            raise ModelError(f"{what}: differential {place!r} has a front_share; it must be that of the centre")
        found[place] = made
    axles = [place for place in AXLES if place in found]
    if CENTRE in found and len(axles) < 2:
        raise ModelError(f"{what}: a centre differential is between two driven axles; give front and rear")
    if len(axles) == 2:
        found.setdefault(CENTRE, Differential())
    return found


class DrivelineLaw:
    """Torques on the drive shafts of one input torque, through all differentials.

    Parameters
    ----------
    differentials : Mapping[str, Differential]
        Differentials by place.
    columns : Sequence[Sequence[int]]
        Places of the joints of each axle, front first: of its left and right shaft, or of one shaft for both.
    """

    def __init__(self, differentials: Mapping[str, Differential], columns: Sequence[Sequence[int]]) -> None:
        self.differentials, self.columns = dict(differentials), columns
        self.axles = [place for place in AXLES if place in differentials]
        self.clutches = [place for place, one in self.differentials.items() if one.slips]

    def __call__(self, t: float, kinematics: JointKinematics, parameters: Any, states: Any = None) -> Any:
        """Return the torques on the shafts [N m], with the rates of the bristles behind them where there are any."""
        torque, changes = parameters["torque"], {}
        shares, rates = [torque], [[kinematics.zd[k] for k in own] for own in self.columns]
        if len(self.axles) == 2:
            front = self.differentials[CENTRE].front_share
            apart = sum(rates[0]) / len(rates[0]) - sum(rates[1]) / len(rates[1])
            moved, change = self.moved(CENTRE, torque, apart, states)
            shares, changes[CENTRE] = [front * torque + moved, (1.0 - front) * torque - moved], change
        outputs = []
        for place, share, own in zip(self.axles, shares, rates, strict=True):
            if len(own) == 1:
                outputs.append(share)
                continue
            moved, changes[place] = self.moved(place, share, own[0] - own[1], states)
            outputs += [0.5 * share + moved, 0.5 * share - moved]
        torques = np.stack(outputs)
        return (torques, np.stack([changes[place] for place in self.clutches])) if self.clutches else torques

    def moved(self, place: str, torque: Any, apart: Any, states: Any) -> tuple[Any, Any]:
        """Return the torque that a clutch gives to the first output [N m], and the rate of its bristle [rad/s].

        Parameters
        ----------
        place : str
            Place of the differential.
        torque : float
            Torque into the differential [N m].
        apart : float
            Rate of the first output relative to the second one [rad/s].
        states : Mapping or None
            Bristles by place [rad].

        Returns
        -------
        tuple
            Torque and rate; zeros of a differential without clutch.
        """
        one = self.differentials[place]
        if not one.slips:
            return 0.0 * torque, None
        return friction_torque(0.5 * one.locking_torque(torque), JointKinematics(apart, apart, ()), states[place])


def add_differentials(
    model: Model, name: str, shafts: Mapping[str, Sequence[str]], differentials: Mapping[str, Differential]
) -> Force:
    """Add the torques of a driveline to joints of drive shafts; the input ``name.torque`` [N m] is their sum.

    Parameters
    ----------
    model : Model
        Model that gets the force ``name``, couplers of locked differentials, and bodies of cases with an inertia.
    name : str
        Name of the force. Its states ``name.rear`` and so on are the bristles of clutches [rad].
    shafts : Mapping[str, Sequence[str]]
        Revolute joints of the left and the right shaft by axle, "front" or "rear", about parallel axes in one body; or
        the joint of one shaft for both wheels.
    differentials : Mapping[str, Differential]
        Differentials by place: one of each axle, and "centre" where there are two.

    Returns
    -------
    Force
        Force on the joints of all shafts.

    Raises
    ------
    ModelError
        For differentials that do not belong to the shafts.

    Examples
    --------
    >>> model = rtmbs.Model("axle")
    >>> for side in ("left", "right"):
    ...     body = model.add_body(side, mass=1.0, inertia=(1.0, 1.0, 1.0))
    ...     joint = model.add_joint(f"shaft_{side}", rtmbs.Revolute((0, 1, 0)), "ground", side)
    >>> rtmbs.vehicle.add_differentials(
    ...     model, "drive", {"rear": ("shaft_left", "shaft_right")}, {"rear": rtmbs.vehicle.Differential("locked")}
    ... ).name
    'drive'
    """
    known = differentials_of(differentials, f"driveline {name!r}")
    axles = [place for place in AXLES if place in known]
    if set(shafts) != set(axles):
        raise ModelError(f"driveline {name!r}: shafts are of {', '.join(shafts)}; give a differential of each axle")
    means: dict[str, dict[Coordinate, float]] = {
        place: {joint: 1.0 / len(shafts[place]) for joint in shafts[place]} for place in axles
    }
    for place in axles:
        if len(shafts[place]) == 2 and known[place].kind == "locked":
            left, right = shafts[place]
            model.add_coupler(f"locked_{place}", {left: 1.0, right: -1.0})
        if known[place].inertia > 0.0:
            add_case(model, place, means[place], known[place].inertia)
    if CENTRE in known and known[CENTRE].kind == "locked":
        back = {joint: -share for joint, share in means["rear"].items()}
        model.add_coupler(f"locked_{CENTRE}", means["front"] | back)
    joints = [joint for place in axles for joint in shafts[place]]
    first = np.cumsum([0, *(len(shafts[place]) for place in axles)]).tolist()
    law = DrivelineLaw(known, [range(*pair) for pair in pairwise(first)])
    states = dict.fromkeys(law.clutches, 0.0) or None
    units = dict.fromkeys(law.clutches, "rad") or None
    return model.add_force(name, law, joints=joints, parameters={"torque": 0.0}, states=states, units=units)


def add_case(model: Model, place: str, mean: Mapping[Coordinate, float], inertia: float) -> None:
    """Add the case of a differential: a body that turns with the ``mean`` of the joints of the shafts."""
    shaft, _ = model.lookup.coordinate(f"differential {place!r}", next(iter(mean)))
    assert isinstance(shaft.type, Revolute)
    axis = direction(shaft.type.axis, f"differential {place!r}: axis")
    case, joint = f"differential_{place}", f"case_{place}"
    made = model.add_body(case, mass=0.0, position=shaft.b.position)
    model.bodies[case] = replace(made, inertia=rotor(inertia, axis))
    model.add_joint(joint, Revolute(tuple(axis)), shaft.a, case, point=shaft.b.position)
    turns: dict[Coordinate, float] = {joint: -1.0, **mean}
    model.add_coupler(f"mean_{place}", turns)


def rotor(inertia: float, axis: Array) -> Array:
    """Return the read-only inertia (3, 3) of something that only turns about an axis [kg m^2]."""
    found = np.asarray(inertia * np.outer(axis, axis))
    found.flags.writeable = False
    return found


def no_twist(t: float, pose: Any, parameters: Any) -> Any:
    """Return the constraint of a constant-velocity joint between the y axes of two markers."""
    return pose.R[0, 2] - pose.R[2, 0]


def add_drive_shaft(model: Model, name: str, place: Array, inertia: float, holder: str = CHASSIS) -> None:
    """Add a drive shaft that turns in a body about the y axis at design, at ``place`` (3,), world axes."""
    if not inertia > 0.0:
        raise ModelError(
            f"drive shaft {name!r}: its inertia is {inertia:g}; it must be above zero: give shaft_inertia of the axle"
        )
    axis = np.array([0.0, 1.0, 0.0])
    made = model.add_body(name, mass=0.0, position=place)
    model.bodies[name] = replace(made, inertia=rotor(inertia, axis))
    model.add_joint(name, Revolute(tuple(axis)), holder, name, point=place)


def add_velocity_joint(model: Model, name: str, shaft: str, wheel: str, centre: Array, axis: Array) -> None:
    """Couple a drive shaft and a wheel by a constant-velocity joint, one equation.

    ``centre`` is the wheel centre and ``axis`` the spin axis, left, at the reference pose, world axes.
    """
    left = np.array([0.0, 1.0, 0.0])
    cross, cosine = np.cross(left, axis), float(np.dot(left, axis))
    skew = np.array([[0.0, -cross[2], cross[1]], [cross[2], 0.0, -cross[0]], [-cross[1], cross[0], 0.0]])
    turn = np.eye(3) + skew + skew @ skew / (1.0 + cosine)  # the shortest rotation of the shaft's axis to the wheel's
    ends = f"{name}.shaft", f"{name}.wheel"
    model.add_marker(ends[0], shaft, centre)
    model.add_marker(ends[1], wheel, centre, axes=turn)
    model.add_constraint(name, no_twist, between=ends, equations=1)


RPM = np.pi / 30.0  # [rad/s]
IDLE = 1000.0 * RPM  # [rad/s] below it a slipping clutch lets the engine turn at this speed
UP, DOWN = 4000.0 * RPM, 1500.0 * RPM  # [rad/s] engine speeds at which gears change
CREEPS = 1.0  # [rad/s] of a wheel, below which the drag of the engine fades


@dataclass(frozen=True)
class Driveline:
    """Engine, gearbox and open differential of one driven axle.

    Inertias of the engine and of the gears are left out: they would add to those of the wheels.

    Parameters
    ----------
    full : array_like
        Full-throttle torque: rows of engine speed [rad/s] and torque [N m] (k, 2), increasing speeds.
    closed : array_like
        Torque of the closed throttle (k, 2), likewise; negative values brake.
    ratios : array_like
        Engine speed over wheel speed in each forward gear, from the first gear on (k,).
    max_brake_torque : float
        Largest brake torque of a wheel [N m].
    front_brakes : float, default 0.5
        Share of the front axle in the brake torque.

    Raises
    ------
    ModelError
        For tables that are no rows of two numbers with increasing speeds, and for ratios that are not positive.
    """

    full: Array
    closed: Array
    ratios: Array
    max_brake_torque: float
    front_brakes: float = 0.5
    _full: tuple[list[float], list[float]] = field(init=False, repr=False, compare=False)
    _closed: tuple[list[float], list[float]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("full", "closed"):
            table = as_floats(getattr(self, name))
            if table.ndim != 2 or table.shape[1] != 2 or np.any(np.diff(table[:, 0]) <= 0.0):
                raise ModelError(f"driveline: {name} must be rows of engine speed and torque with increasing speeds")
            object.__setattr__(self, name, table)
            object.__setattr__(self, f"_{name}", tuple(table.T.tolist()))  # plain numbers, for every step of a driver
        ratios = as_floats(self.ratios)
        if ratios.ndim != 1 or not len(ratios) or np.any(ratios <= 0.0):
            raise ModelError("driveline: ratios must be numbers above zero")
        object.__setattr__(self, "ratios", ratios)
        share = number(self.front_brakes, "driveline: front_brakes")
        if not 0.0 <= share <= 1.0:
            raise ModelError(f"driveline: front_brakes is {share:g}; it must be between 0 and 1")

    @classmethod
    def of_file(cls, fields: Mapping[str, Any], max_brake_torque: float) -> "Driveline":
        """Return the driveline of a vehicle data file.

        Parameters
        ----------
        fields : Mapping[str, Any]
            ``CarData.powertrain``.
        max_brake_torque : float
            Largest brake torque of a wheel [N m].

        Returns
        -------
        Driveline
            Driveline with the tables of the file; one with 200 kW where the file has none.
        """
        if "engine_full_throttle_rpm_Nm" not in fields:
            return cls.of_power(2e5, max_brake_torque)
        full, closed = (as_floats(fields[f"engine_{name}_throttle_rpm_Nm"]) for name in ("full", "zero"))
        gears = as_floats(fields["forward_gear_ratios"]) * number(fields["conical_gear_ratio"], "conical_gear_ratio")
        scale = np.array([RPM, 1.0])
        return cls(full * scale, closed * scale, 1.0 / gears, max_brake_torque)

    @classmethod
    def of_power(cls, power: float, max_brake_torque: float = 3000.0) -> "Driveline":
        """Return a driveline with one gear: constant power above 30 rad/s of the wheels, constant torque below.

        Parameters
        ----------
        power : float
            Power [W].
        max_brake_torque : float, default 3000.0
            Largest brake torque of a wheel [N m].

        Returns
        -------
        Driveline
            Driveline without engine drag.

        Raises
        ------
        ModelError
            For a power or a brake torque that is not above zero.
        """
        above_zero(power, "driveline: power")
        w = np.concatenate(([0.0], np.geomspace(30.0, 1000.0, 40)))
        full = np.stack((w, power / np.maximum(w, 30.0)), axis=1)
        closed = np.stack((w[[0, -1]], np.zeros(2)), axis=1)
        given = np.isfinite(max_brake_torque)
        brakes = above_zero(max_brake_torque, "driveline: max_brake_torque") if given else 3000.0
        return cls(full, closed, np.ones(1), brakes)

    def engine_speed(self, wheels: float, gear: int) -> float:
        """Return the engine speed [rad/s].

        Parameters
        ----------
        wheels : float
            Mean speed of the driven wheels [rad/s].
        gear : int
            Gear, from 1.

        Returns
        -------
        float
            Engine speed [rad/s]; a slipping clutch keeps it at 1000 rpm and above in drivelines with gears.
        """
        turned = abs(wheels) * float(self.ratios[gear - 1])
        return turned if len(self.ratios) == 1 else max(turned, IDLE)

    def torque(self, throttle: float, wheels: float, gear: int) -> float:
        """Return the torque on both driven wheels together.

        Parameters
        ----------
        throttle : float
            Throttle from 0 to 1: the share between the torques of closed and of full throttle.
        wheels : float
            Mean speed of the driven wheels [rad/s], positive forward.
        gear : int
            Gear, from 1.

        Returns
        -------
        float
            Torque [N m], positive forward; zero beyond the highest speed of the full-throttle table.
        """
        low, high = self.limits(wheels, gear)
        return low + min(max(throttle, 0.0), 1.0) * (high - low)

    def limits(self, wheels: float, gear: int) -> tuple[float, float]:
        """Return the torques on both driven wheels together of closed and of full throttle.

        Parameters
        ----------
        wheels : float
            Mean speed of the driven wheels [rad/s], positive forward.
        gear : int
            Gear, from 1.

        Returns
        -------
        tuple[float, float]
            Torques of closed and of full throttle [N m].
        """
        speed, ratio = self.engine_speed(wheels, gear), float(self.ratios[gear - 1])
        drag = interpolated(speed, *self._closed)
        full = interpolated(speed, *self._full) if speed <= self._full[0][-1] else 0.0
        return ratio * drag * min(max(wheels / CREEPS, 0.0), 1.0), ratio * full

    def shifted(self, wheels: float, gear: int) -> int:
        """Return the next gear: one up above 4000 rpm, one down below 1500 rpm where that does not shift back.

        Parameters
        ----------
        wheels : float
            Mean speed of the driven wheels [rad/s].
        gear : int
            Present gear, from 1.

        Returns
        -------
        int
            Gear, from 1.
        """
        turned = abs(wheels) * self.ratios
        if gear < len(turned) and turned[gear - 1] > UP:
            return gear + 1
        if gear > 1 and turned[gear - 1] < DOWN and turned[gear - 2] < 0.9 * UP:
            return gear - 1
        return gear

    def gear_at(self, wheels: float) -> int:
        """Return the highest gear with at least 1500 rpm, the first one when there is none.

        Parameters
        ----------
        wheels : float
            Mean speed of the driven wheels [rad/s].

        Returns
        -------
        int
            Gear, from 1.
        """
        high = np.flatnonzero(abs(wheels) * self.ratios >= DOWN)
        return int(high[-1]) + 1 if len(high) else 1


def interpolated(x: float, at: list[float], values: list[float]) -> float:
    """Return the value of a table between its points, that of its ends beyond; sums are those of ``np.interp``."""
    k = bisect_right(at, x) - 1
    if k < 0 or k >= len(at) - 1:
        return values[max(k, 0)]
    slope = (values[k + 1] - values[k]) / (at[k + 1] - at[k])
    return slope * (x - at[k]) + values[k]
