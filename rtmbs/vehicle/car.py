"""A whole car as an ordinary Model, in ISO 8855 axes: x forward, y left, z up; positive pitch is nose down."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown, unknown_name, warn
from rtmbs.model import Bushing, Fixed, Floating, Input, Line, Model, Prismatic, Revolute, Spherical, Universal
from rtmbs.model.body import inertia_matrix
from rtmbs.model.checks import Array, Numbers, number, switch
from rtmbs.model.joints import JointType
from rtmbs.vehicle.axle import (
    CHASSIS,
    MIRROR,
    WHEEL,
    Axle,
    Connection,
    Part,
    Strut,
    add_anti_roll_bar,
    check_distances,
    square_to,
)
from rtmbs.vehicle.axle_joints import Bushings, add_bushing, add_free_parts, bushings_of, keep_rods
from rtmbs.vehicle.driveline import (
    AXLES,
    CENTRE,
    DRIVE,
    Differential,
    add_brake,
    add_differentials,
    add_drive,
    add_drive_shaft,
    add_velocity_joint,
    differentials_of,
)
from rtmbs.vehicle.magic_formula import MagicFormula
from rtmbs.vehicle.steering import DRIVER, Steering, steering_profile
from rtmbs.vehicle.trailer import Trailer, add_trailer
from rtmbs.vehicle.tyre import CarryingTyre, Tyre
from rtmbs.vehicle.tyre_force import add_tyre

if TYPE_CHECKING:
    from rtmbs.system.system import System
    from rtmbs.vehicle.rest import Rest
    from rtmbs.vehicle.roads import Road

CORNERS = ("fl", "fr", "rl", "rr")  # front left, front right, rear left, rear right
ROAD = "road"  # marker of the road: its z axis is the normal
Impossible = Literal["keep", "nearest", "error"]
BREAKS = "breaks the triangle inequality"


class CarData(NamedTuple):
    """Data of a car: chassis, axles, steering, wheels and driveline.

    ``read`` takes them from a vehicle data file.

    Parameters
    ----------
    name : str
        Name of the car.
    chassis : Part
        Chassis, with its centre of mass in the chassis frame.
    front : Axle
        Front axle.
    rear : Axle
        Rear axle.
    steering : RackAndPinion or PitmanArm
        Steering of the front axle.
    rim : Part
        Rim of each wheel; its centre of mass is relative to the wheel centre.
    tyre : Part
        Mass of each tyre, likewise.
    tyres : Mapping[str, Any]
        Parameters of the tyres by model, "pac2002" and "tmeasy".
    driven : str
        Driven axle: "front", "rear" or "all".
    max_brake_torque : float
        Largest brake torque of a wheel [N m].
    powertrain : Mapping[str, Any]
        Fields of the driveline as they stand in the file.
    differentials : Mapping[str, Differential], default {}
        Differentials by place, "front", "rear" and "centre"; none for open ones without drive shafts of their own.
    """

    name: str
    chassis: Part
    front: Axle
    rear: Axle
    steering: Steering
    rim: Part  # centre of mass at the wheel centre
    tyre: Part
    tyres: Mapping[str, Any]  # parameters by model
    driven: str  # axle: "front", "rear" or "all"
    max_brake_torque: float  # of a wheel [N m]
    powertrain: Mapping[str, Any]
    differentials: Mapping[str, Differential] = MappingProxyType({})

    @classmethod
    def of_parts(
        cls, name: str, chassis: Any, front: Any, rear: Any, steering: Any, rim: Any, tyre_mass: Any, driven: str
    ) -> "CarData":
        """Return the data of a car that is given in parts.

        Parameters
        ----------
        name : str
            Name of the car.
        chassis : Part
            Chassis.
        front : Axle or template
            Front axle, or a suspension such as DoubleWishbone.
        rear : Axle or template
            Rear axle, likewise.
        steering : RackAndPinion or PitmanArm
            Steering of the front axle.
        rim : Part or None
            Rim of each wheel; None for one of 10 kg.
        tyre_mass : Part or None
            Mass of each tyre; None for one of 10 kg.
        driven : str
            Driven axle: "front", "rear" or "all".

        Returns
        -------
        CarData
            Data without parameters of tyres and without a limit of the brake torque.

        Raises
        ------
        ModelError
            For a part that is missing, an axle that is none, and another driven axle.
        """
        given = {"chassis": chassis, "front": front, "rear": rear, "steering": steering}
        if missing := [key for key, value in given.items() if value is None]:
            raise ModelError(f"car {name!r}: {', '.join(missing)} is missing; give each part, or data=")
        for key, value in {"chassis": chassis, "rim": rim, "tyre_mass": tyre_mass}.items():
            if not isinstance(value, Part | None):
                raise ModelError(f"car {name!r}: {key} is {shown(value)}; it must be a Part")
        if not isinstance(steering, Steering):
            raise ModelError(f"car {name!r}: steering is {shown(steering)}; it must be a RackAndPinion or a PitmanArm")
        check_driven(driven, f"car {name!r}: driven")
        hub = np.zeros(3)
        rim = Part("rim", 10.0, hub, np.diag((0.2, 0.35, 0.2))) if rim is None else rim
        tyre = Part("tyre", 10.0, hub, np.diag((0.4, 0.6, 0.4))) if tyre_mass is None else tyre_mass
        body = replace(chassis, name=CHASSIS)
        return cls(name, body, axle_of(front), axle_of(rear), steering, rim, tyre, {}, driven, np.inf, {})


def axle_of(given: Any) -> Axle:
    """Return an axle, or that of a suspension template; of a pair the second is the right side by its mirror image."""
    if isinstance(given, tuple) and len(given) == 2:
        left, right = map(axle_of, given)
        return replace(left, right=right)
    found = given if isinstance(given, Axle) else getattr(given, "axle", lambda: given)()
    if not isinstance(found, Axle):
        raise ModelError(f"car: {shown(given)} is no axle; it must be an Axle or a template such as DoubleWishbone")
    return found


def check_driven(driven: Any, what: str) -> None:
    """Refuse another driven axle than front, rear or all."""
    if driven not in ("front", "rear", "all"):
        raise ModelError(f"{what} is {shown(driven)}; it must be one of front, rear, all")


def check_axles(data: CarData) -> None:
    """Refuse axles far from the chassis frame and a front axle behind the rear one; warn of steering without wheels."""
    what = f"car {data.name!r}"
    for place in ("front", "rear"):
        for corner in ("-l", "-r"):
            check_distances(getattr(data, place).side(corner), f"{what}, {place} axle")
    front, rear = (float(axle.wheel_centre[0]) for axle in (data.front, data.rear))
    if not front > rear:
        raise ModelError(
            f"{what}: the front wheel centre is at x = {front:g} m, the rear one at {rear:g} m; the front one must be "
            "ahead"
        )
    if not (data.front.steered or data.rear.steered):
        warn(f"{what}: no axle hangs on the steering, so it steers nothing; give one steered=True")


def check_corners(options: Mapping[str, Any], what: str) -> None:
    """Refuse posts and brakes by other names than those of corners and axles."""
    posts, brakes = options["posts"], options["brakes"]
    if posts is not None and not isinstance(posts, bool | Mapping):
        raise ModelError(f"{what}: posts is {shown(posts)}; it must be True or profiles by corner")
    for corner in posts if isinstance(posts, Mapping) else ():
        if corner not in CORNERS:
            raise unknown_name("corner of a post", corner, CORNERS)
    if isinstance(brakes, Mapping) and set(brakes) != {"f", "r"}:
        raise ModelError(f"{what}: brakes has {', '.join(map(str, brakes))}; it must have f and r")


class Car(Model):
    """Model of a whole car: chassis, two axles, steering, wheels, tyres and brakes.

    The axes are those of ISO 8855: x forward, y left, z up; positive pitch is nose down. Everything that a Model offers
    can be added.

    * The bodies are ``chassis``, ``upright_fl``, ``wheel_fl`` and so on.
    * The joints of the wheels are ``hub_fl`` and so on, the springs ``spring_fl``, the tyres ``tyre_fl``.
    * The brakes are ``brake_fl`` with the inputs ``brake_fl.torque`` [N m].
    * The drive torques of the driven wheels are ``drive_rl`` with the inputs ``drive_rl.torque`` [N m].
    * The driver of the steering is ``steering``.

    Parameters
    ----------
    data : CarData, optional
        Chassis, axles, steering and wheels; ``read`` makes it of a file. Or give the parts below.
    tyres : Tyre, path or pair of them
        Tyre or the path of a ``.tir`` file for all wheels, or two of them, front and rear. A Magic Formula tyre
        counts as one of the left side, and the right side has its mirror image.
    name : str, default "car"
        Name of the Model.
    chassis : Part, optional
        Chassis.
    front : Axle or template, optional
        Front axle, or a suspension template such as DoubleWishbone; with ``data`` it replaces its axle. Or a pair: the
        left side, and the right one by its mirror image.
    rear : Axle or template, optional
        Rear axle, likewise.
    steering : RackAndPinion or PitmanArm, optional
        Steering of the front axle.
    rim : Part, optional
        Part that turns with each wheel, about the wheel centre.
    tyre_mass : Part, optional
        Mass of a tyre, about the wheel centre.
    driven : {'front', 'rear', 'all'}, default 'rear'
        Driven axle of a car that is given in parts.
    **options : Any
        Keyword arguments of this list:

        * steer: angle of the pinion or Pitman arm [rad], positive left, a number or a profile; None makes it the input
          ``steering``.
        * friction: factor of the road on the friction of the tyres; inputs ``tyre_fl.friction`` and so on.
        * transient, slip_point: options of the tyres, see ``add_tyre``.
        * brakes: torque of each brake [N m], a number or a function of time; None leaves the brakes out; a dictionary
          with the keys "f" and "r" has one for the front and one for the rear.
        * spin: the wheels turn; without, they are fixed to their carriers, as for equilibria.
        * uneven: each tyre has an own plane of the road, the input ``tyre_fl.plane``, see ``RoadUnderWheels``.
        * differentials: Differential or its kind by place, "front", "rear" and "centre": the axles that are given are
          driven, through drive shafts in the chassis or in a live axle, by the one input ``drive.torque``; those of the
          data, or none.
        * bushings: True takes the bushings of the data in place of joints, None ideal joints everywhere. Or by axle,
          "front" and "rear", and joint: a Bushing, or a SpringDamper of a rod, see ``car.data.front.connections``.
        * posts: True lets each wheel stand on a post of its own, whose height is the input ``post_fl`` and so on [m].
          Or profiles by corner that answer (f, fd, fdd) at t.
        * trailer: Trailer behind the car; its wheels are ``wheel_tl`` and ``wheel_tr``.
        * slope: rise over run of the road; the weight pulls the car back.
        * gravity: acceleration of gravity [m/s^2].
        * impossible_inertia: treatment of inertias that no body has: "keep" with a warning that names them, "nearest"
          takes the nearest possible one, "error" refuses them.
        * h: step that the car asks for [s].

    Raises
    ------
    UnknownNameError
        For an option that is not in the list.
    ModelError
        For tyres or a part that is missing, for values that cannot be, and for hard points far from the car.

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan")
    >>> car.rest().wheel_loads  # doctest: +SKIP
    """

    data: CarData
    options: dict[str, Any]
    tyres: dict[str, Tyre]
    differentials: dict[str, Differential]

    def __init__(
        self,
        data: CarData | None = None,
        tyres: Any = None,
        *,
        name: str = "car",
        chassis: Part | None = None,
        front: Any = None,
        rear: Any = None,
        steering: Steering | None = None,
        rim: Part | None = None,
        tyre_mass: Part | None = None,
        driven: Literal["front", "rear", "all"] = "rear",
        **options: Any,
    ) -> None:
        known: dict[str, Any] = {
            "steer": None, "friction": 1.0, "transient": True, "spin": True, "impossible_inertia": "keep",
            "gravity": 9.81, "slope": 0.0, "h": None, "brakes": 0.0, "slip_point": "contact",
            "uneven": False, "differentials": None, "bushings": True,
            "posts": None, "trailer": None,
        }  # fmt: skip
        for option in options:
            if option not in known:
                raise unknown_name("option of a car", option, known)
        if data is None:
            data = CarData.of_parts(name, chassis, front, rear, steering, rim, tyre_mass, driven)
        elif front is not None or rear is not None:
            front, rear = data.front if front is None else front, data.rear if rear is None else rear
            data = data._replace(front=axle_of(front), rear=axle_of(rear))
        if tyres is None:
            raise ModelError(f"car {data.name!r}: tyres is missing; give a Tyre or the path of a .tir file")
        check_axles(data)
        self.data, self.options = data, known | options
        slope = number(self.options["slope"], f"car {data.name!r}: slope")
        down = number(self.options["gravity"], f"car {data.name!r}: gravity")
        check_corners(self.options, f"car {data.name!r}")
        for option in ("spin", "uneven"):
            switch(self.options[option], f"car {data.name!r}: {option}")
        if self.options["steer"] is not None and not callable(self.options["steer"]):
            number(self.options["steer"], f"car {data.name!r}: steer")
        gravity = (-down * np.sin(np.arctan(slope)), 0.0, -down * np.cos(np.arctan(slope)))
        super().__init__(data.name, gravity, h=self.options["h"])
        given = self.options["differentials"]
        given = default_differentials(data) if given is None else given
        self.differentials = differentials_of(given, f"car {data.name!r}")
        self.tyres = tyres_of(tyres, data.name)
        build(self)

    def changed(self, **options: Any) -> "Car":
        """Return the same car with other options; elements that were added to the Model are not in it.

        Rods whose length was changed in ``rods`` keep it.

        Parameters
        ----------
        **options : Any
            Options of ``Car`` to replace, such as ``steer=0.1`` [rad].

        Returns
        -------
        Car
            New car.
        """
        return keep_rods(self, Car(self.data, self.tyres, **(self.options | options)))

    def with_points(
        self, axle: Literal["front", "rear"], points: Mapping[str, Numbers], side: Literal["left", "right"] = "left"
    ) -> "Car":
        """Return the car with other hard points of an axle; the right side mirrors the left one until it is given some.

        ``car.data.front.hard_points`` lists them. Rods whose length was changed in ``rods`` keep it, also where their
        own ends move. All others take the distance of their ends.

        Parameters
        ----------
        axle : {'front', 'rear'}
            Axle of the points.
        points : Mapping[str, array_like]
            Points (3,) by name, chassis frame at design [m].
        side : {'left', 'right'}, default 'left'
            Side of the points; y is negative on the right one.

        Returns
        -------
        Car
            New car with the same options; elements that were added to the Model are not in it.

        Raises
        ------
        ModelError
            For another axle, and for a point that is not three finite numbers.
        UnknownNameError
            For a name that is no hard point.
        """
        if axle not in ("front", "rear"):
            raise ModelError(f"car {self.name!r}: axle is {shown(axle)}; it must be one of front, rear")
        moved = getattr(self.data, axle).with_points(points, side)
        return keep_rods(self, Car(self.data._replace(**{axle: moved}), self.tyres, **self.options))

    def compile(self) -> "System":
        """Return the flat arrays that simulations run on.

        Returns
        -------
        System
            System of constant arrays.

        Raises
        ------
        ModelError
            For a car that rods of other lengths than at design assemble on another branch, or not at all.
        """
        from rtmbs.vehicle.axle_joints import check_assembly

        system = super().compile()
        check_assembly(self, system)
        return system

    def steering_at(self, t: float) -> float:
        """Return the angle of the pinion or Pitman arm at a time, zero for steering that is an input.

        Parameters
        ----------
        t : float
            Time [s].

        Returns
        -------
        float
            Angle [rad], positive to the left.
        """
        steer = self.options["steer"]
        return 0.0 if steer is None else float(steer(t)[0]) if callable(steer) else float(steer)

    def axle(self, corner: str) -> Axle:
        """Return the axle of a corner.

        Parameters
        ----------
        corner : str
            Corner such as "fl", or the axle "f" or "r".

        Returns
        -------
        Axle
            Front or rear axle; that of a right corner is its mirror image.
        """
        return (self.data.front if corner[0] == "f" else self.data.rear).side(corner)

    def spin_axis(self, corner: str) -> Array:
        """Return the spin axis of a wheel at design, pointing left.

        Parameters
        ----------
        corner : str
            Corner: "fl", "fr", "rl" or "rr".

        Returns
        -------
        ndarray
            Unit vector (3,), chassis axes.
        """
        axis = self.axle(corner).spin_axis
        return axis * np.array([-1.0, 1.0, -1.0]) if corner[1] == "r" else axis

    @property
    def trailer_tyre(self) -> Tyre:
        """Tyre of the trailer, of the left side; one that only carries beside such tyres of the car."""
        trailer, own = self.options["trailer"], self.tyres["rl"]
        if not isinstance(trailer, Trailer):
            raise ModelError(f"car {self.name!r}: trailer is {shown(trailer)}; it must be a Trailer")
        if trailer.tyre is None:
            return own
        return own.of(trailer.tyre) if isinstance(own, CarryingTyre) else trailer.tyre

    def bushings(self, corner: str) -> Bushings:
        """Return the bushings of a corner that replace its joints, by joint.

        Parameters
        ----------
        corner : str
            Corner such as "fl", or the axle "f" or "r".

        Returns
        -------
        Mapping[str, Bushing or SpringDamper]
            Laws by the names of joints, of the left side.
        """
        place = "front" if corner[0] == "f" else "rear"
        return bushings_of(self.options["bushings"], place, self.axle(corner), f"car {self.name!r}")

    @property
    def driven(self) -> tuple[str, ...]:
        """Corners that are driven, such as ("rl", "rr")."""
        letters = [place[0] for place in AXLES if place in self.differentials] or [self.data.driven[0]]
        return tuple(corner for corner in CORNERS if corner[0] in letters)

    def drive_inputs(self, torque: float) -> dict[str, float]:
        """Return the inputs of the driveline for a torque on all driven wheels together.

        Parameters
        ----------
        torque : float
            Torque [N m], positive forward.

        Returns
        -------
        dict[str, float]
            Values by input: half of the torque of each driven wheel, or ``drive.torque`` of a car with differentials.

        Examples
        --------
        >>> rtmbs.vehicle.read("sedan", variant="from_models").drive_inputs(300.0)
        {'drive_fl.torque': 150.0, 'drive_fr.torque': 150.0}
        """
        if self.differentials:
            return {f"{DRIVE}.torque": torque}
        return {f"drive_{corner}.torque": torque / len(self.driven) for corner in self.driven}

    def rest(self, pinned: bool = False) -> "Rest":
        """Return the equilibrium of the car on the road, without side forces of tyres.

        Parameters
        ----------
        pinned : bool, default False
            Hold the mean of both contact points of each axle against sideways motion in the modes, as rolling tyres do
            when it is slow.

        Returns
        -------
        Rest
            Wheel loads, pitch, heights and modes.

        Raises
        ------
        NoEquilibrium
            For a car that does not stand.
        ModelError
            For a suspension that is at rest on another branch than at design, or far from it.
        """
        from rtmbs.vehicle.rest import rest

        return rest(self, pinned)

    def at_speed(self, speed: Numbers, rest: "Rest | None" = None, road: "Road | None" = None) -> "Car":
        """Return the car in its pose of rest, driving straight on with a ``speed`` and rolling wheels.

        Parameters
        ----------
        speed : float
            Speed along x [m/s].
        rest : Rest, optional
            Equilibrium from an earlier ``rest()``, which saves its search.
        road : Road, optional
            Road that the car begins on: it stands on the plane nearest to the heights under its four wheels. The height
            is 0 unless given.

        Returns
        -------
        Car
            New car with initial values of all joints.
        """
        from rtmbs.vehicle.rest import at_speed

        V = number(speed, f"car {self.name!r}: speed")
        return at_speed(self, V, self.rest() if rest is None else rest, road)


def default_differentials(data: CarData) -> Mapping[str, Any] | None:
    """Return the differentials of the data; open ones for a car whose data drive all wheels without a word of them."""
    if data.differentials or data.driven != "all":
        return data.differentials or None
    return {"front": "open", "rear": "open", "centre": "open"}


def tyres_of(tyres: Any, name: str) -> dict[str, Tyre]:
    """Return the tyre of each corner."""
    if isinstance(tyres, Mapping):
        if missing := [corner for corner in CORNERS if corner not in tyres]:
            raise ModelError(f"car {name!r}: tyres of {', '.join(missing)} are missing; give one for each corner")
        return dict(tyres)
    pair = tyres if isinstance(tyres, tuple | list) else (tyres, tyres)
    if len(pair) != 2:
        raise ModelError(f"car {name!r}: {len(pair)} tyres; it must be one, or two for front and rear")
    found = {}
    for axle, tyre in zip("fr", pair, strict=True):
        one = tyre if isinstance(tyre, Tyre) else MagicFormula(tyre)
        found[f"{axle}l"], found[f"{axle}r"] = one, one.other_side() if isinstance(one, MagicFormula) else one
    return found


# ---------------------------------------------------------------------------------------------------------- building


def build(car: Car) -> None:
    """Add all elements of a car to its Model, at design, with the tyres near the road."""
    data = car.data
    height = design_height(car)
    car.add_marker(ROAD, car.ground, (0.0, 0.0, 0.0))
    frame = np.array([0.0, 0.0, height])
    shapes: dict[str, list[str]] = {}
    add_part(car, CHASSIS, [data.chassis], frame, shapes)
    car.add_joint("chassis_pose", Floating(), car.ground, CHASSIS, point=frame)
    car.set_initial("chassis_pose", (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), (0.0,) * 6)
    for one in data.steering.parts:
        add_part(car, one.name, [one], frame, shapes)
    joint = data.steering.add(car)
    car.add_driver(DRIVER, steering_profile(data.steering, car.options["steer"]), joint=joint)
    posts = car.options["posts"]
    if posts:
        add_posts(car, {} if posts is True else posts)
    for letter in "fr":
        add_shared_parts(car, letter, frame, shapes)
    for corner in CORNERS:
        add_corner(car, corner, frame, shapes)
    trailer = car.options["trailer"]
    if trailer is not None:
        add_trailer(car, trailer, frame, car.trailer_tyre, car.options, ROAD)
    if car.differentials and car.options["spin"]:
        add_driveline(car, frame)
    for letter in "fr":
        bar = car.axle(letter).anti_roll_bar
        if bar is not None:
            ends = [car.axle(letter).body(bar.part, f"{letter}{side}") for side in "lr"]
            add_anti_roll_bar(car, letter, bar, frame, ends)
        if car.axle(letter).twist is not None:
            add_twist_spring(car, letter, frame)
    name_impossible(car, shapes)


def design_height(car: Car) -> float:
    """Return a height of the chassis frame at which the lowest tyre carries its share at design [m]."""
    found = []
    for corner in CORNERS:
        tyre, centre = car.tyres[corner], car.axle(corner).wheel_centre
        found.append(tyre.free_radius - tyre.nominal_load / tyre.vertical_stiffness - float(centre[2]))
    return max(found)


def add_shared_parts(car: Car, letter: str, frame: Array, shapes: dict[str, list[str]]) -> None:
    """Add what axle "f" or "r" has once: parts of both sides, and their joints and rods."""
    axle, bushed = car.axle(letter), car.bushings(letter)
    for one in axle.shared:
        add_part(car, axle.body(one.name, letter), [one], frame, shapes)
    for joint in axle.central:
        if joint.name in bushed:
            ends = axle.body(joint.a, letter), axle.body(joint.b, letter)
            add_bushing(car, f"{joint.name}_{letter}", ends, joint, bushed[joint.name], False)
        else:
            add_connection(car, letter, joint, frame)


def add_corner(car: Car, corner: str, frame: Array, shapes: dict[str, list[str]]) -> None:
    """Add one corner: parts, wheel, joints, rods, struts, tyre and brake."""
    axle, right, data = car.axle(corner), corner[1] == "r", car.data
    centre = MIRROR * axle.wheel_centre if right else axle.wheel_centre
    for one in axle.parts:
        add_part(car, f"{one.name}_{corner}", [one.mirrored() if right else one], frame, shapes)
    spindle = [] if axle.spindle is None else [axle.spindle.mirrored() if right else axle.spindle]
    turning = [*spindle, *(replace(one, com=centre + one.com) for one in (data.rim, data.tyre))]
    spin_axis = car.spin_axis(corner)
    own_shaft = bool(car.differentials) and corner in car.driven  # a body of its own
    turns = car.options["spin"] and not own_shaft
    shaft = axle.shaft_inertia * np.outer(spin_axis, spin_axis) if turns else 0.0
    wheel, carrier, hub = f"{WHEEL}_{corner}", axle.body(axle.wheel_carrier, corner), f"hub_{corner}"
    add_part(car, wheel, turning, frame, shapes, shaft)
    bearing = Revolute(tuple(spin_axis)) if car.options["spin"] else Fixed()
    car.add_joint(hub, bearing, carrier, wheel, point=frame + centre)
    bushed = car.bushings(corner)
    add_free_parts(car, corner, axle, bushed)
    for joint in axle.connections:
        if joint.name in bushed:
            ends = axle.body(joint.a, corner), axle.body(joint.b, corner)
            add_bushing(car, f"{joint.name}_{corner}", ends, joint, bushed[joint.name], right)
        else:
            add_connection(car, corner, joint.mirrored() if right else joint, frame)
    for strut in axle.struts:
        add_strut(car, corner, strut.mirrored() if right else strut, frame)
    add_tyre(
        car, f"tyre_{corner}", car.tyres[corner], wheel, centre=frame + centre, axis=spin_axis,
        road=f"post_{corner}.top" if car.options["posts"] else ROAD,
        friction=car.options["friction"], transient=car.options["transient"], slip_point=car.options["slip_point"],
        uneven=car.options["uneven"],
    )  # fmt: skip
    if not car.options["spin"]:
        return
    brakes = car.options["brakes"]
    torque = brakes[corner[0]] if isinstance(brakes, Mapping) else brakes
    if torque is not None:
        add_brake(car, f"brake_{corner}", hub, torque)
    if corner in car.driven and not own_shaft:
        add_drive(car, f"drive_{corner}", f"tyre_{corner}.centre", carrier if axle.live else CHASSIS)


def add_posts(car: Car, profiles: Mapping[str, Any]) -> None:
    """Add a post under each wheel with a driver of its height."""
    for corner in CORNERS:
        name, centre = f"post_{corner}", car.axle(corner).wheel_centre
        place = centre * np.array([1.0, -1.0 if corner[1] == "r" else 1.0, 0.0])
        car.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=place)
        car.add_joint(f"{name}_slide", Prismatic((0.0, 0.0, 1.0)), car.ground, name, point=place)
        car.add_marker(f"{name}.top", name, place)
        car.add_driver(name, profiles.get(corner, Input((0.0, 0.0, 0.0))), joint=(f"{name}_slide", "displacement"))


def add_driveline(car: Car, frame: Array) -> None:
    """Add drive shafts with their joints, differentials and the drive torque of a car."""
    shafts: dict[str, list[str]] = {}
    for place in car.differentials:
        if place == CENTRE:
            continue
        axle, locked = car.axle(place), car.differentials[place].kind == "locked"
        corners = [f"{place[0]}{side}" for side in "lr"]
        shafts[place] = [f"shaft_{place}"] if locked else [f"shaft_{corner}" for corner in corners]
        for k, name in enumerate(shafts[place]):
            across = 0.0 if locked else 0.5 - k
            middle = frame + axle.wheel_centre * np.array([1.0, across, 1.0])
            holder = axle.body(axle.wheel_carrier, corners[k]) if axle.live else CHASSIS
            add_drive_shaft(car, name, middle, axle.shaft_inertia * (2.0 if locked else 1.0), holder)
        for corner in corners:
            centre, axis = car.markers[f"tyre_{corner}.centre"], car.spin_axis(corner)
            shaft = f"shaft_{place}" if locked else f"shaft_{corner}"
            add_velocity_joint(car, f"velocity_joint_{corner}", shaft, f"{WHEEL}_{corner}", centre.reference(), axis)
    add_differentials(car, DRIVE, shafts, car.differentials)


def add_twist_spring(car: Car, letter: str, frame: Array) -> None:
    """Add the torsion spring between both sides of axle "f" or "r"."""
    axle = car.axle(letter)
    spring, ends = axle.twist, (f"twist_{letter}.a", f"twist_{letter}.b")
    assert spring is not None
    for end, side in zip(ends, "lr", strict=True):
        car.add_marker(end, axle.body(spring.part, f"{letter}{side}"), frame + spring.point)
    turn = (0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    stiffness, damping = (tuple(value * one for one in turn) for value in (spring.stiffness, spring.damping))
    car.add_force(f"twist_{letter}", Bushing(stiffness=stiffness, damping=damping), between=ends)


def add_connection(car: Car, corner: str, joint: Connection, frame: Array) -> None:
    """Add a joint or a rod of one corner."""
    name, (a, b) = f"{joint.name}_{corner}", (car.axle(corner).body(one, corner) for one in (joint.a, joint.b))
    if joint.kind == "distance":
        assert joint.point_b is not None
        ends = (f"{name}.a", f"{name}.b")
        car.add_marker(ends[0], a, frame + joint.point)
        car.add_marker(ends[1], b, frame + joint.point_b)
        car.add_rod(name, ends)
        return
    car.add_joint(name, joint_type(joint), a, b, point=frame + joint.point)


def joint_type(joint: Connection) -> JointType:
    """Return the joint type of a connection but a rod."""
    if joint.axis is None:
        return Floating() if joint.kind == "free" else Spherical()
    if joint.axis_b is None:
        return Line(tuple(joint.axis)) if joint.kind == "line" else Revolute(tuple(joint.axis))
    return Universal(tuple(joint.axis), square_to(joint.axis_b, joint.axis))


def add_strut(car: Car, corner: str, strut: Strut, frame: Array) -> None:
    """Add a spring or a damper of one corner."""
    name, (a, b) = f"{strut.name}_{corner}", (car.axle(corner).body(one, corner) for one in (strut.a, strut.b))
    ends = (f"{name}.a", f"{name}.b")
    car.add_marker(ends[0], a, frame + strut.point_a)
    car.add_marker(ends[1], b, frame + strut.point_b)
    car.add_force(name, strut.law.law(), between=ends)


def add_part(
    car: Car, name: str, parts: list[Part], frame: Array, shapes: dict[str, list[str]], rotor: Any = 0.0
) -> None:
    """Add one body of rigid parts. The body frame of the chassis is the chassis frame, that of others their centre.

    ``rotor`` is an inertia of something that turns inside without moving along, such as a drive shaft.
    """
    mass = sum(one.mass for one in parts)
    com = sum(one.mass * one.com for one in parts) / mass if mass else parts[0].com
    inertia = np.zeros((3, 3))
    for one in parts:
        r = one.com - com
        inertia += one.inertia + one.mass * (np.dot(r, r) * np.eye(3) - np.outer(r, r))
        sort_out(car, name, one, shapes)
    inertia = possible(car, name, inertia)
    origin = frame if name == CHASSIS else frame + com
    point = com if name == CHASSIS else np.zeros(3)
    body = car.add_body(name, mass=mass, center_of_mass=point, position=origin)
    # an inertia of published data, or with a rotor, may be none of a rigid body: it goes around the check
    car.bodies[name] = replace(body, inertia=frozen(inertia + rotor))


def frozen(matrix: Array) -> Array:
    """Return a read-only symmetric matrix."""
    found = np.array(0.5 * (matrix + matrix.T))
    found.flags.writeable = False
    return found


def broken(inertia: Array) -> str:
    """Return in what an inertia fails; empty for one that a body can have."""
    try:
        inertia_matrix(inertia, "inertia")
    except ModelError as error:
        return str(error)
    return ""


def sort_out(car: Car, name: str, part: Part, shapes: dict[str, list[str]]) -> None:
    """Note an impossible inertia of a part."""
    if said := broken(part.inertia):
        if BREAKS not in said:
            raise ModelError(f"body {name!r}, part {part.name!r} has an inertia that cannot be: {said}")
        shapes.setdefault(part.name, []).append(name)


def possible(car: Car, name: str, inertia: Array) -> Array:
    """Return an inertia, or the nearest possible one when the user asks for it."""
    if car.options["impossible_inertia"] != "nearest" or not broken(inertia):
        return inertia
    return nearest_possible(inertia)


def nearest_possible(inertia: Array) -> Array:
    """Return the inertia nearest in the sense of squares whose principal values obey the triangle inequality."""
    values, axes = np.linalg.eigh(inertia)
    over = max(values[2] - values[0] - values[1], 0.0) / 3.0
    values = values + over * np.array([1.0, 1.0, -1.0])
    return np.asarray(axes @ np.diag(values) @ axes.T)


def name_impossible(car: Car, shapes: dict[str, list[str]]) -> None:
    """Warn of impossible inertias, or refuse them."""
    choice = car.options["impossible_inertia"]
    if choice not in ("keep", "nearest", "error"):
        raise ModelError(f"car: impossible_inertia is {shown(choice)}; it must be one of keep, nearest, error")
    if not shapes or choice == "nearest":
        return
    listed = ", ".join(f"{part} ({', '.join(bodies)})" for part, bodies in shapes.items())
    said = f"car {car.name!r}: the inertia of {listed} {BREAKS}"
    if choice == "error":
        raise ModelError(f"{said}; correct it, or give impossible_inertia='nearest' or 'keep'")
    warn(f"{said} and is taken as it is; impossible_inertia='nearest' takes the nearest possible one")
