"""Random cars of the campaign ``random_cars`` and their mirror images: every template, tyre, steering and option.

A mirror image has the reflected chassis, steering and central joints. The left and right side change places.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.campaigns.suspension_branches import BEAM, LINKS, STRUT_TOWER
from rtmbs.vehicle import (
    AntiRollBar,
    BrushTyre,
    Damper,
    DoubleWishbone,
    FialaTyre,
    FiveLink,
    GridRoad,
    MacPherson,
    PitmanArm,
    SolidAxle,
    Spring,
    Trailer,
    TwistBeam,
    read,
)
from rtmbs.vehicle.axle import CHASSIS, RACK, Axle, Part
from rtmbs.vehicle.car import Car

Array = NDArray[np.float64]
MIRROR = np.array((1.0, -1.0, 1.0))
WISHBONES = {
    "wheel_centre": (1.388, 0.7979, 0.1301),
    "upper_front": (1.288, 0.47, 0.355), "upper_back": (1.138, 0.51, 0.36), "upper_ball": (1.348, 0.695, 0.355),
    "lower_front": (1.588, 0.42, -0.02), "lower_back": (1.188, 0.47, -0.015), "lower_ball": (1.388, 0.77, -0.07),
    "tie_rod_inner": (1.188, 0.42, 0.13), "tie_rod_outer": (1.238, 0.77, 0.13),
    "strut_chassis": (1.348, 0.52, 0.48), "strut_arm": (1.388, 0.62, -0.02),
}  # fmt: skip
FOUR_LINKS = {
    "wheel_centre": (-1.388, 0.76, 0.125), "strut_chassis": (-1.35, 0.5, 0.5), "strut_axle": (-1.388, 0.5, 0.15),
    "links": (((-0.9, 0.5, 0.0), (-1.38, 0.6, 0.02)), ((-0.95, 0.5, 0.2), (-1.38, 0.15, 0.26))),
}  # fmt: skip
TWIST = {
    "wheel_centre": (-1.388, 0.76, 0.125), "strut_chassis": (-1.3, 0.55, 0.5), "strut_axle": (-1.3, 0.55, 0.05),
    "hinge_outer": (-0.95, 0.65, 0.17), "hinge_inner": (-0.99, 0.4, 0.16), "torsion_stiffness": 6000.0,
}  # fmt: skip
FRONT = {"DoubleWishbone": (DoubleWishbone, WISHBONES), "MacPherson": (MacPherson, STRUT_TOWER)}
REAR = {
    "FiveLink": (FiveLink, LINKS), "SolidAxle": (SolidAxle, FOUR_LINKS), "Panhard": (SolidAxle, BEAM),
    "TwistBeam": (TwistBeam, TWIST),
}  # fmt: skip


class Design(NamedTuple):
    """A random car, its mirror image, and its name in messages."""

    car: Car
    mirrored: Car
    told: str
    load: dict[str, float]  # carried off the centre: mass and place
    road: GridRoad | None
    other_road: GridRoad | None  # its mirror image


def random_design(rng: np.random.Generator) -> Design:
    """Return a car with random templates, hard points, masses, tyres and options. Raises RtmbsError."""
    base = str(rng.choice(("sedan from_json", "sedan from_models", "hmmwv from_json"), p=(0.35, 0.4, 0.25)))
    name, variant = base.split()
    options = random_options(rng, name)
    tyres, tyre_name = random_tyres(rng)
    car = read(name, variant=variant, tyres=tyres, **options)
    told = [base, tyre_name, *(f"{key}" for key, value in options.items() if value not in (None, 0.0, False))]
    share = car.data.chassis.mass / 1500.0
    axles: dict[str, Axle] = {}
    for place, known in (("front", FRONT), ("rear", REAR)):
        axle = getattr(car.data, place)
        if rng.random() < 0.6:
            kind = str(rng.choice(list(known)))
            axle = template(rng, known[kind], axle.wheel_centre, share, place == "front")
            told.append(kind)
        elif place == "rear" and rng.random() < 0.5:
            axle = steered(axle)
            told.append("rear steering")
        axles[place] = moved(rng, axle)
    data = car.data._replace(**axles, chassis=random_chassis(rng, car.data.chassis))
    car, other = (Car(one, tyres, **options) for one in (data, mirror_image(data)))
    if rng.random() < 0.3:
        told.append("adjusted rods")
        adjust(rng, car, other)
    if options["bushings"] is not None and rng.random() < 0.5:
        told.append("bushings")
    load = {key: float(rng.uniform(*ends)) for key, ends in LOADS.items()}
    roads = random_roads(rng) if options["uneven"] else (None, None)
    return Design(car, other, ", ".join(told), load, *roads)


LOADS = {"mass": (1.0, 150.0), "x": (-2.0, 0.5), "y": (-0.5, 0.5), "z": (0.0, 1.0)}  # [kg], [m]


def random_options(rng: np.random.Generator, name: str) -> dict[str, Any]:
    """Return options of a car."""
    found: dict[str, Any] = {
        "transient": bool(rng.integers(2)), "impossible_inertia": "nearest", "uneven": bool(rng.random() < 0.25),
        "slope": float(rng.choice((0.0, 0.05, -0.08), p=(0.7, 0.15, 0.15))), "bushings": rng.choice((True, None)),
    }  # fmt: skip
    found["bushings"] = True if found["bushings"] else None
    if rng.random() < 0.3:
        kinds = ("open", "locked")
        places = [("front",), ("rear",), ("front", "rear", "centre")][rng.integers(3)]
        found["differentials"] = {place: str(rng.choice(kinds)) for place in places}
    if name == "sedan" and rng.random() < 0.15:
        found["trailer"] = Trailer(
            hitch=(-2.3, 0.0, 0.05), mass=rng.uniform(200.0, 800.0), com=(-2.3, 0.0, 0.3),
            inertia=(200.0, 900.0, 950.0), wheel_centre=(-2.5, 0.8, -0.1), stiffness=4e4, damping=3e3,
        )  # fmt: skip
    return found


def random_tyres(rng: np.random.Generator) -> tuple[Any, str]:
    """Return tyres and their name; now and then other ones behind than in front."""
    both = [one_tyre(rng) for _ in range(2)]
    if rng.random() < 0.2:
        return tuple(tyre for tyre, _ in both), " and ".join(name for _, name in both)
    return both[0]


def one_tyre(rng: np.random.Generator) -> tuple[Any, str]:
    """Return a tyre and its name."""
    kind = str(rng.choice(("pac2002", "tmeasy", "brush", "fiala")))
    common = {
        "free_radius": 0.344, "vertical_stiffness": rng.uniform(1.5e5, 3e5), "friction": rng.uniform(0.6, 1.2),
        "vertical_damping": rng.uniform(100.0, 2000.0),
    }  # fmt: skip
    if kind == "brush":
        return BrushTyre(tread_stiffness=rng.uniform(1e7, 4e7), **common), kind
    if kind == "fiala":
        slide = common["friction"] * rng.uniform(0.7, 1.0)
        return FialaTyre(width=0.2, slip_stiffness=rng.uniform(5e4, 2e5), cornering_stiffness=rng.uniform(3e4, 1e5),
                         sliding_friction=slide, rolling_resistance=1e-3, **common), kind  # fmt: skip
    return read("sedan", variant="from_models", tyres=kind).tyres["fl"], kind


def template(rng: np.random.Generator, known: tuple[Any, Any], centre: Array, share: float, front: bool) -> Axle:
    """Return the axle of a template, moved to a wheel centre, with springs for the weight of the car."""
    kind, points = known
    shift = centre - np.asarray(points["wheel_centre"])
    values = {key: shifted(value, shift) for key, value in points.items()}
    laws = {"spring": Spring(free_length=0.55, stiffness=9e4 * share), "damper": Damper(4e3 * share)}
    if front:
        values["steered"] = True
    if kind is DoubleWishbone and rng.random() < 0.5:
        values["anti_roll_bar"] = AntiRollBar(origin=centre + np.array((0.2, -centre[1], -0.1)), half_width=0.45,
                                              arm=-0.2, drop=0.05, stiffness=rng.uniform(500.0, 3000.0))  # fmt: skip
    if kind is SolidAxle:
        values["live"] = bool(rng.integers(2))
    values["shaft_inertia"] = rng.uniform(0.2, 0.6)
    angles = {"toe": rng.uniform(-0.01, 0.01), "camber": rng.uniform(-0.03, 0.03)}
    return kind(**values, **laws, **angles).axle()


def shifted(value: Any, shift: Array) -> Any:
    """Return points moved by a shift; a number stays."""
    if np.ndim(value) == 0:
        return value
    return np.asarray(value, float) + shift if np.shape(value) == (3,) else tuple(shifted(one, shift) for one in value)


def steered(axle: Axle) -> Axle:
    """Return an axle whose tie rod hangs on the rack: both axles steer."""
    joints = tuple(
        replace(one, a=RACK) if one.name == "tie_rod" and one.a == CHASSIS else one for one in axle.connections
    )
    return replace(axle, connections=joints)


def moved(rng: np.random.Generator, axle: Axle) -> Axle:
    """Return an axle with hard points moved by 1 to 20 mm, now and then by 150 mm."""
    size = 0.15 if rng.random() < 0.07 else 10.0 ** rng.uniform(-3.0, -1.7)
    points = {name: value + rng.uniform(-size, size, 3) for name, value in axle.hard_points.items()}
    return axle.with_points(points | {"wheel_centre": axle.wheel_centre})


def random_chassis(rng: np.random.Generator, body: Part) -> Part:
    """Return a chassis with another mass, centre and turned axes of inertia."""
    factor, turn = rng.uniform(0.7, 1.4), rng.normal(0.0, 0.05, 3)
    x, y, z = turn
    R = np.linalg.qr(np.eye(3) + np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]))[0]
    com = body.com + rng.uniform(-1.0, 1.0, 3) * (0.15, 0.05, 0.15)
    return replace(body, mass=factor * body.mass, com=com, inertia=factor * R @ body.inertia @ R.T)


def mirror_image(data: Any) -> Any:
    """Return the data of the mirror image of a car."""
    axles = {
        place: replace(axle, central=tuple(one.mirrored() for one in axle.central),
                       shared=tuple(one.mirrored() for one in axle.shared))
        for place, axle in (("front", data.front), ("rear", data.rear))
    }  # fmt: skip
    steering = data.steering
    if isinstance(steering, PitmanArm):
        turned = ("shaft_point", "shaft_axis", "joint_point", "axis_on_link", "idler_point", "idler_end")
        points = {name: MIRROR * getattr(steering, name) for name in turned}
        steering = replace(steering, link=steering.link.mirrored(), arm=steering.arm.mirrored(), **points)
    else:
        steering = replace(steering, rack=steering.rack.mirrored(), point=MIRROR * steering.point)
    return data._replace(chassis=data.chassis.mirrored(), steering=steering, **axles)


def adjust(rng: np.random.Generator, car: Car, other: Car) -> None:
    """Make some rods of a car and of its mirror image longer or shorter by up to 2 mm."""
    for name in sorted(car.rods):
        image = f"{name[:-1]}{'r' if name[-1] == 'l' else 'l'}" if name[-2:] in ("fl", "fr", "rl", "rr") else name
        change = rng.uniform(-2e-3, 2e-3) * (rng.random() < 0.3)
        for model, rod in ((car, name), (other, image)):
            model.rods[rod] = replace(model.rods[rod], length=model.rods[rod].length + change)


def random_roads(rng: np.random.Generator) -> tuple[GridRoad, GridRoad]:
    """Return a road with smooth bumps and its mirror image; friction differs by place."""
    x, y = np.linspace(-5.0, 25.0, 61), np.linspace(-4.0, 4.0, 17)
    z = rng.uniform(-0.005, 0.005, (len(x), len(y))) * (x[:, None] > 3.0)
    slope = rng.uniform(-0.05, 0.05)

    def friction(side: float) -> Any:
        return lambda u, v: 0.8 + slope * np.tanh(side * v)

    return GridRoad(x, y, z, friction(1.0)), GridRoad(x, y, z[:, ::-1], friction(-1.0))


def carrying_luggage(car: Car, load: dict[str, float], side: float) -> Car:
    """Return a car with its load, mirrored for a ``side`` of -1."""
    place = np.array(car.bodies["chassis"].position) + np.array((load["x"], side * load["y"], load["z"]))
    car.add_body("luggage", mass=load["mass"], inertia=(1.0, 1.0, 1.0), position=place)
    car.add_joint("straps", rtmbs.Fixed(), "chassis", "luggage", point=place)
    return car
