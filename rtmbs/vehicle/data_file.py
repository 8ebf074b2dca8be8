"""Reader of vehicle data files (JSON): a car of a file; every field is read, and an unknown one is an error.

Fields that repeat what follows from others (masses in sum, lengths at design, mirrored axes) are compared with it.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, replace
from dataclasses import fields as arguments_of
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.core.files import DamagedFile, from_json, whole
from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.model import Bushing, SpringDamper
from rtmbs.model.checks import Array, direction, number, numbers
from rtmbs.vehicle.axle import (
    CHASSIS,
    MIRROR,
    RACK,
    AntiRollBar,
    Axle,
    Connection,
    Damper,
    Part,
    Spring,
    Stops,
    Strut,
    part,
)
from rtmbs.vehicle.car import Car, CarData, check_driven
from rtmbs.vehicle.driveline import KINDS, Differential, differentials_of
from rtmbs.vehicle.magic_formula import MagicFormula
from rtmbs.vehicle.steering import PitmanArm, RackAndPinion, Steering
from rtmbs.vehicle.suspensions import DoubleWishbone, FiveLink, MacPherson, SolidAxle, TwistBeam
from rtmbs.vehicle.tyre import TMeasy, Tyre

LARGEST = 1e7  # bytes
ROUNDED = 2e-6  # digits of a file: what fields may differ by that say one thing
NOTES = frozenset(("note", "notes", "source", "checks", "topology", "remarks", "inertia_warnings", "law", "kind"))
SPINDLE = "spindle"  # what a file calls the part that turns with the wheel
PARTS = ("upright", "spindle", "beam", "arm")  # arguments of templates that are parts
LISTS = ("bodies", "joints", "force_elements")  # of an axle: elements with a name
# Fields of an axle that no side has for itself
BOTH = (
    "name", "type", "template", "anti_roll_bar", "bushings", "live", "steered", "beam", "upper_link", "panhard_rod",
    "torsion_stiffness", "torsion_damping", "degrees_of_freedom_per_side",
)  # fmt: skip
# Fields of the driveline, kept as they are in ``CarData.powertrain``
POWERTRAIN = (
    "brake", "drive", "conical_gear_ratio", "conical_note", "driveshaft_inertia", "differential_box_inertia",
    "forward_gear_ratios", "reverse_gear_ratio", "gear_note", "engine_full_throttle_rpm_Nm",
    "engine_zero_throttle_rpm_Nm",
)  # fmt: skip
SIDES = ("LEFT", "RIGHT", "SYMMETRIC")
TEMPLATES = {kind.__name__: kind for kind in (DoubleWishbone, MacPherson, FiveLink, SolidAxle, TwistBeam)}


class Fields:
    """The fields of one object of a file, each taken once; ``done`` refuses those that are left."""

    def __init__(self, given: Any, what: str) -> None:
        if not isinstance(given, Mapping):
            raise ModelError(f"{what} is {shown(given)}; it must be an object with fields")
        self.given, self.what, self.left = given, what, set(given) - NOTES

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def take(self, name: str, default: Any = ...) -> Any:
        """Return a field; ModelError for one that is missing."""
        self.left.discard(name)
        if name not in self.given and default is ...:
            raise ModelError(f"{self.what}: field {name!r} is missing; give it")
        return self.given.get(name, default)

    def number(self, name: str) -> float:
        """Return a field that is a number."""
        return number(self.take(name), f"{self.what}: {name}")

    def vector(self, name: str) -> Array:
        """Return a field of three numbers."""
        return numbers(self.take(name), f"{self.what}: {name}", (3,))

    def agree(self, name: str, wanted: Any) -> None:
        """Compare a field, if there is one, with what follows from others."""
        if name not in self.given:
            return
        given = self.take(name)
        if np.shape(given) != np.shape(wanted) or np.max(np.abs(np.subtract(given, wanted)), initial=0.0) > ROUNDED:
            raise ModelError(
                f"{self.what}: {name} is {shown(given)}, and {shown(np.asarray(wanted).tolist())} follows from other "
                "fields; it must be the same, or be left out"
            )

    def done(self) -> None:
        """Refuse fields that are left unread."""
        if self.left:
            known = sorted(set(self.given) - self.left)
            raise unknown_name(f"field of {self.what}", min(self.left), known)


def read(path: str | os.PathLike[str], *, variant: str | None = None, tyres: Any = "pac2002", **options: Any) -> Car:
    """Return the car of a vehicle data file.

    Parameters
    ----------
    path : str or path
        JSON file, or "sedan" or "hmmwv" for those of the package.
    variant : str, optional
        Variant in the file; the first unless given.
    tyres : Any, default "pac2002"
        "pac2002" or "tmeasy" for the tyre in the file, or tyres as ``Car`` takes them.
    **options : Any
        Options of ``Car``.

    Returns
    -------
    Car
        Model of the car.

    Raises
    ------
    ModelError
        For a damaged file, and for a field that is missing or wrong; the message names the file and the field.
    UnknownNameError
        For an unknown field, variant or option.

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan", variant="from_models")
    >>> car.driven
    ('fl', 'fr')
    """
    data = read_data(path, variant)
    if tyres in ("pac2002", "tmeasy"):
        tyres = tyre_in_file(data, tyres, variant)
    return Car(data, tyres, **options)


def tyre_in_file(data: CarData, model: str, variant: str | None) -> Tyre:
    """Return a tyre of a vehicle data file; one without coefficients of combined slip has the friction ellipse."""
    if model not in data.tyres:
        raise ModelError(f"car {data.name!r}: the file has no tyre {model!r}; give tyres=")
    given = data.tyres[model]
    if model == "pac2002":
        values = given["values"]
        coupled = any(values.get(name) for name in ("RBX1", "RBY1", "RCX1", "RCY1"))
        return MagicFormula(values, combined="formula" if coupled else "ellipse")
    chosen = given.get(variant) or given["from_json"]
    return TMeasy({name: value for name, value in chosen.items() if name not in ("source", "note")})


def data_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file, or of a file of the package when there is no such one: ``sedan``, ``hmmwv``."""
    found = Path(path)
    own = Path(str(resources.files("rtmbs.vehicle"))) / "data" / (found.name.removesuffix(".json") + ".json")
    return own if not found.exists() and found.name == str(path) and own.exists() else found


def read_data(path: str | os.PathLike[str], variant: str | None = None) -> CarData:
    """Return what a vehicle data file says. Raises ModelError, UnknownNameError with file and field."""
    what = f"vehicle file {shown(str(path))}"
    try:
        given = from_json(whole(data_path(path), LARGEST))
    except DamagedFile as error:
        raise ModelError(f"{what} {error}") from None
    file = Fields(given, what)
    file.take("name")
    file.take("conventions", None)
    file.take("anti_roll_bar_template", None)  # an example of an element, of no car
    variants, tyres, drive = file.take("variants"), file.take("tyres"), file.take("powertrain_and_brakes")
    file.done()
    variant = next(iter(variants)) if variant is None else variant
    if variant not in variants:
        raise unknown_name(f"variant of {what}", variant, variants)
    chosen = variants[variant]
    if "chassis" not in chosen:
        raise ModelError(f"{what}: variant {variant!r} holds differences to another one; take that")
    return car_data(Fields(chosen, f"{what}, variant {variant!r}"), tyres, drive, variant)


def car_data(car: Fields, tyres: Any, drive: Any, variant: str) -> CarData:
    """Return one variant."""
    chassis = Fields(car.take("chassis"), f"{car.what}: chassis")
    body = part(CHASSIS, chassis.take("mass"), chassis.take("com"), np.eye(3), chassis.what)
    moments, (xy, xz, yz) = chassis.vector("moments"), chassis.vector("products")
    inertia = np.diag(moments) + np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]])
    chassis.done()
    axles = {one.given.get("name"): one for one in (Fields(x, f"{car.what}: axle") for x in car.take("axles"))}
    if set(axles) != {"front", "rear"}:
        raise ModelError(f"{car.what}: axles are {', '.join(map(str, axles))}; it must be front and rear")
    front, rear = axle(axles["front"]), axle(axles["rear"])
    rim, tyre = (ring(Fields(car.take(name), f"{car.what}: {name}"), name) for name in ("wheel", "tyre_mass"))
    steering = steering_of(Fields(car.take("steering"), f"{car.what}: steering"))
    powertrain = Fields(drive, "powertrain_and_brakes")
    driven = powertrain.take("driven_axle")
    driven = driven[variant] if isinstance(driven, Mapping) else driven
    check_driven(driven, f"{powertrain.what}: driven_axle")
    brakes = powertrain.number("max_brake_torque")
    differentials = differentials_in(powertrain.take("differentials", {}), variant, powertrain.what)
    for name in POWERTRAIN:
        powertrain.take(name, None)
    powertrain.done()
    check_tyres(Fields(tyres, f"{car.what}: tyres"), tyre.mass)
    data = CarData(
        str(car.take("name")), Part(CHASSIS, body.mass, body.com, inertia),
        front, rear, steering, rim, tyre, tyres, driven, brakes, drive, differentials,
    )  # fmt: skip
    compare(car, data)
    car.done()
    return data


def differentials_in(given: Any, variant: str, what: str) -> dict[str, Differential]:
    """Return the differentials of a file by place; an object of variants has those of each."""
    chosen = given[variant] if isinstance(given, Mapping) and variant in given else given
    return differentials_of({} if chosen is None else of_places(chosen, what), what)


def of_places(given: Any, what: str) -> dict[str, Differential]:
    """Return the differentials of an object of places."""
    places = Fields(given, f"{what}: differentials")
    return {place: differential(Fields(one, f"{places.what}: {place}")) for place, one in places.given.items()}


def differential(given: Fields) -> Differential:
    """Return one differential: its type with the arguments of ``Differential`` and of its ways to make one."""
    kind = given.take("type")
    makers: dict[Any, Callable[..., Differential]] = {
        "clutch": Differential.clutch,
        "torque_sensitive": Differential.torque_sensitive,
    }
    if kind not in (*KINDS, *makers):
        raise ModelError(f"{given.what}: type is {shown(kind)}; it must be one of {', '.join((*KINDS, *makers))}")
    maker = makers.get(kind, partial(Differential, kind))
    names = [name for name in inspect.signature(maker).parameters if name != "kind"]
    values = {name: given.number(name) for name in names if name in given}
    given.done()
    try:
        return maker(**values)
    except TypeError as error:
        raise ModelError(f"{given.what}: {error}; give the fields {', '.join(names)}") from None


def check_tyres(given: Fields, mass: float) -> None:
    """Refuse unknown fields of the tyres; their numbers are checked by the tyre that is chosen."""
    for name in ("pac2002", "tmeasy", "rigid"):
        if name not in given:
            continue
        tyre = Fields(given.take(name), f"{given.what}: {name}")
        if name == "pac2002":
            tyre.agree("mass", mass)
            for field in ("combined", "reference_friction", "values"):
                tyre.take(field, None)
            side = tyre.take("file_side", "LEFT")
            if side not in SIDES:
                raise ModelError(f"{tyre.what}: file_side is {shown(side)}; it must be one of {', '.join(SIDES)}")
        else:
            for field in ("from_json", "from_models") if name == "tmeasy" else ("radius", "width"):
                tyre.take(field, None)
        tyre.done()
    given.done()


def compare(car: Fields, data: CarData) -> None:
    """Compare sums and sizes of a file with what follows from its parts."""
    both = [axle.side(f"-{side}") for axle in (data.front, data.rear) for side in "lr"]
    parts = [one for side in both for one in spun(side)] + [*data.front.shared, *data.rear.shared]
    total = data.chassis.mass + sum(one.mass for one in (*data.steering.parts, *parts))
    car.agree("total_mass", total + 4.0 * (data.rim.mass + data.tyre.mass))
    if "design" in car:
        design = Fields(car.take("design"), f"{car.what}: design")
        front, rear = data.front.wheel_centre, data.rear.wheel_centre
        design.agree("wheel_centre_front_left", front)
        design.agree("wheel_centre_rear_left", rear)
        tracks = [axle.wheel_centre[1] + axle.side("-r").wheel_centre[1] for axle in (data.front, data.rear)]
        design.agree("track_front", tracks[0])
        design.agree("track_rear", tracks[1])
        design.agree("wheelbase", front[0] - rear[0])
        design.done()
    if "rotating_assembly" in car:
        sums = Fields(car.take("rotating_assembly"), f"{car.what}: rotating_assembly")
        found = [
            np.diag(data.rim.inertia + data.tyre.inertia + (0.0 if one.spindle is None else one.spindle.inertia))
            for one in (data.front, data.rear)
        ]
        spindle = 0.0 if data.front.spindle is None else data.front.spindle.mass
        sums.agree("mass", data.rim.mass + data.tyre.mass + spindle)
        sums.agree("moments_front", found[0])
        sums.agree("moments_rear", found[1])
        shafts = (data.front.shaft_inertia, data.rear.shaft_inertia)
        sums.agree("spin_inertia_with_axle_shaft", [found[0][1] + shafts[0], found[1][1] + shafts[1]])
        sums.done()


def spun(axle: Axle) -> Iterable[Part]:
    """Return parts and spindle of one side."""
    return axle.parts if axle.spindle is None else (*axle.parts, axle.spindle)


def ring(given: Fields, name: str) -> Part:
    """Return rim or tyre: mass and moments about the wheel centre."""
    found = part(name, given.take("mass"), (0.0, 0.0, 0.0), given.take("moments"), given.what)
    given.done()
    return found


def axle(given: Fields) -> Axle:
    """Return one axle: a template with its arguments as fields, or bodies and joints, and its right side."""
    right = given.take("right", None)
    left = both_sides(given)
    return left if right is None else with_right_side(left, given, right)


def both_sides(given: Fields) -> Axle:
    """Return an axle whose right side mirrors the left one."""
    name = given.take("name")
    if "template" in given:
        return from_template(given, f"{given.what} {name!r}")
    kind = given.take("type")
    if kind not in ("double_wishbone", "multi_link"):
        raise ModelError(f"{given.what}: type is {shown(kind)}; it must be one of double_wishbone, multi_link")
    given.take("origin_of_the_subsystem_in_chassis_frame", None)
    parts = [side_part(Fields(one, f"{given.what} {name!r}: body")) for one in given.take("bodies")]
    bearing: Connection | None = None
    connections = []
    for one in given.take("joints"):
        found = connection(Fields(one, f"{given.what} {name!r}: joint"))
        if SPINDLE in (found.a, found.b):
            bearing = found
        else:
            connections.append(found)
    if bearing is None:
        raise ModelError(f"{given.what} {name!r}: no joint of the {SPINDLE}; give a wheel bearing")
    struts = [strut(Fields(one, f"{given.what} {name!r}: force element")) for one in given.take("force_elements")]
    shaft = Fields(given.take("axle_shaft", {"inertia": 0.0}), f"{given.what} {name!r}: axle_shaft")
    inertia = shaft.number("inertia")
    shaft.done()
    bar = given.take("anti_roll_bar", None)
    bushings = bushings_in(given, f"{given.what} {name!r}", connections)
    given.agree("degrees_of_freedom_per_side", freedoms(parts, [*connections, bearing]))
    given.done()
    spindle = next((one for one in parts if one.name == SPINDLE), None)
    assert bearing.axis is not None
    return Axle(
        kind,
        tuple(one for one in parts if one.name != SPINDLE),
        tuple(connections),
        tuple(struts),
        bearing.point,
        spindle,
        bearing.axis,
        bearing.a if bearing.b == SPINDLE else bearing.b,
        inertia,
        None if bar is None else anti_roll_bar(Fields(bar, f"{given.what} {name!r}: anti_roll_bar")),
        bushings,
    )


def with_right_side(left: Axle, given: Fields, right: Any) -> Axle:
    """Return an axle with the fields of its right side that differ, in the mirror image, and with its points."""
    own = Fields(right, f"{given.what} {given.given['name']!r}: right")
    points = own.take("points") if set(own.given) <= {"points"} else own.take("points", {})
    if shared := sorted(own.left & set(BOTH)):
        raise ModelError(f"{own.what}: {shared[0]} belongs to both sides; give it outside of right")
    if own.left:
        fields = {name: value for name, value in given.given.items() if name not in ("right", "bushings")}
        changed = {name: merged(name, fields.get(name), own.given[name], own.what) for name in own.left}
        left = replace(left, right=both_sides(Fields(fields | changed, f"{given.what}: right side of")))
    return left.with_points(Fields(points, f"{own.what}: points").given, "right") if points else left


def merged(name: str, old: Any, new: Any, what: str) -> Any:
    """Return a field of the right side; of bodies, joints and force elements those that are named again change."""
    if name not in LISTS or not isinstance(old, list):
        return new
    if not isinstance(new, list):
        raise ModelError(f"{what}: {name} is {shown(new)}; it must be a list of those that differ, each with its name")
    found = {str(one.get("name")): one for one in old}
    for one in new:
        element = Fields(one, f"{what}: one of {name}")
        known = str(element.take("name"))
        if known not in found:
            raise unknown_name(f"element of {what}: {name}", known, found)
        found[known] = {**found[known], **one}
    return list(found.values())


def from_template(given: Fields, what: str) -> Axle:
    """Return the axle of a suspension template whose arguments are the fields."""
    kind = given.take("template")
    if kind not in TEMPLATES:
        raise unknown_name(f"template of {what}", str(kind), TEMPLATES)
    known = arguments_of(TEMPLATES[kind])
    for name in given.left:
        if name not in {one.name for one in known} | {"bushings"}:
            raise unknown_name(f"field of {what}", name, [one.name for one in known])
    values: dict[str, Any] = {}
    for one in known:
        if one.name in given or (one.default is MISSING and one.default_factory is MISSING):
            values[one.name] = template_value(one.name, given.take(one.name), f"{what}: {one.name}")
    made = TEMPLATES[kind](**values).axle()
    return replace(made, bushings=bushings_in(given, what, (*made.connections, *made.central)))


def template_value(name: str, given: Any, what: str) -> Any:
    """Return an argument of a suspension template; the template checks numbers and points."""
    if name in ("spring", "damper"):
        laws = Fields(given, what)
        found = spring_law(laws) if name == "spring" else damper_law(laws)
        laws.done()
        return found
    if name == "anti_roll_bar":
        return anti_roll_bar(Fields(given, what))
    if name in PARTS:
        own = Fields(given, what)
        made = part(name, own.take("mass"), own.take("com"), own.take("inertia"), what)
        own.done()
        return made
    return given


def bushings_in(given: Fields, what: str, joints: Iterable[Connection]) -> dict[str, Bushing | SpringDamper]:
    """Return the bushings of an axle by joint."""
    named = Fields(given.take("bushings", {}), f"{what}: bushings").given
    return {name: bushing(Fields(one, f"{what}: bushing {name!r}"), name, joints) for name, one in named.items()}


def bushing(given: Fields, name: str, joints: Iterable[Connection]) -> Bushing | SpringDamper:
    """Return the bushing of a joint, or the elastic law of a rod."""
    known = {one.name: one for one in joints}
    if name not in known:
        raise unknown_name(f"joint of {given.what}", name, known)
    stiffness, damping = given.take("stiffness"), given.take("damping", 0.0)
    given.done()
    if known[name].kind == "distance":
        return SpringDamper(stiffness, damping).checked(given.what)
    return Bushing(stiffness, damping).checked(given.what)


def freedoms(parts: list[Part], connections: list[Connection]) -> int:
    """Return the freedoms of one side: six for each part less the equations of its joints."""
    equations = {"revolute": 5, "spherical": 3, "universal": 4, "distance": 1, "line": 2, "free": 0}
    return 6 * len(parts) - sum(equations[one.kind] for one in connections)


def side_part(given: Fields) -> Part:
    """Return a part of the left side; axes and tensors of the right side must mirror it."""
    name = str(given.take("name"))
    given.what = f"{given.what} {name!r}"
    com, moments = given.vector("com_left"), given.vector("moments")
    axes = numbers(given.take("moment_axes_left", np.eye(3).tolist()), f"{given.what}: moment_axes_left", (3, 3))
    inertia = axes.T @ np.diag(moments) @ axes
    given.agree("com_right", MIRROR * com)
    given.agree("inertia_chassis_axes_left", inertia)
    given.agree("inertia_chassis_axes_right", inertia * np.outer(MIRROR, MIRROR))
    if "moment_axes_right" in given:
        right = numbers(given.take("moment_axes_right"), f"{given.what}: moment_axes_right", (3, 3))
        given.agree("inertia_chassis_axes_right", right.T @ np.diag(moments) @ right)
    mass = given.take("mass")
    given.done()
    return part(name, mass, com, inertia, given.what)


def connection(given: Fields) -> Connection:
    """Return a joint of the left side."""
    name, kind = str(given.take("name")), given.take("type")
    given.what = f"{given.what} {name!r}"
    a, b = str(given.take("body_a")), str(given.take("body_b"))
    axis = axis_b = point_b = None
    if kind == "distance":
        point, point_b = given.vector("point_a_left"), given.vector("point_b_left")
        given.agree("length", float(np.linalg.norm(point_b - point)))
    else:
        point = given.vector("point_left")
    if kind == "revolute":
        axis = sides(given, "axis")
        if "points_on_axis_left" in given:
            ends = Fields(given.take("points_on_axis_left"), f"{given.what}: points_on_axis_left")
            front, back = ends.vector("front"), ends.vector("back")
            ends.done()
            given.agree("axis_left", direction(front - back, f"{given.what}: axis"))
            given.agree("point_left", 0.5 * (front + back))
    elif kind == "universal":
        axis, axis_b = sides(given, "axis_on_chassis"), sides(given, "axis_on_link")
    elif kind not in ("spherical", "distance"):
        raise ModelError(f"{given.what}: type is {shown(kind)}; it must be revolute, spherical, universal or distance")
    given.done()
    return Connection(name, kind, a, b, point, axis, axis_b, point_b)


def sides(given: Fields, name: str) -> Array:
    """Return the axis of the left side; that of the right side is its mirror image, in either sense."""
    axis = direction(given.take(f"{name}_left"), f"{given.what}: {name}_left")
    mirrored = MIRROR * axis
    if f"{name}_right" in given and np.dot(given.vector(f"{name}_right"), mirrored) < 0.0:
        mirrored = -mirrored
    given.agree(f"{name}_right", mirrored)
    return axis


def strut(given: Fields) -> Strut:
    """Return a spring or a damper of the left side."""
    name = str(given.take("name"))
    given.what = f"{given.what} {name!r}"
    a, b = str(given.take("body_a")), str(given.take("body_b"))
    point_a, point_b = given.vector("point_a_left"), given.vector("point_b_left")
    given.agree("design_length", float(np.linalg.norm(point_b - point_a)))
    law = damper_law(given) if "damping" in given else spring_law(given)
    given.done()
    return Strut(name, a, b, point_a, point_b, law)


def damper_law(given: Fields) -> Damper:
    """Return the law of a damper: a damping, or a table of rates and forces."""
    return Damper(given.number("damping")) if "damping" in given else Damper(table=given.take("table"))


def spring_law(given: Fields) -> Spring:
    """Return the law of a spring: free length, preload, stiffness or table, and stops."""
    stiffness = given.number("stiffness") if "stiffness" in given else None
    table = None if stiffness is not None else given.take("table")
    stops = None
    if given.take("stops", None) is not None:
        said = Fields(given.take("stops"), f"{given.what}: stops")
        stops = Stops(said.number("min_length"), said.number("max_length"), said.take("bump"), said.take("rebound"))
        said.done()
    preload = number(given.take("preload", 0.0), f"{given.what}: preload")
    return Spring(given.number("free_length"), preload, stiffness, table, stops)


def anti_roll_bar(given: Fields) -> AntiRollBar:
    """Return an anti-roll bar, in the names of the template."""
    numbers_of = ("L", "W", "H", "torsion_stiffness", "torsion_damping", "arm_mass")
    width, arm, drop, stiffness, damping, mass = (given.number(name) for name in numbers_of)
    origin, (xx, yy, zz) = given.vector("origin"), given.vector("arm_moments")
    found = AntiRollBar(
        origin, width, arm, drop, stiffness, damping, mass, (xx, yy, zz), str(given.take("part", "lower_arm"))
    )
    given.done()
    return found


def steering_of(given: Fields) -> Steering:
    """Return rack and pinion or Pitman arm."""
    kind = given.take("type")
    joints = {one.get("name", one.get("type")): one for one in given.take("joints")}
    if kind == "rack and pinion":
        (rack,) = (steering_part(Fields(one, f"{given.what}: body")) for one in given.take("bodies"))
        slide = Fields(joints.get("prismatic"), f"{given.what}: joint of the rack")
        for name in ("type", "body_a", "body_b"):
            slide.take(name)
        slide.agree("axis", (0.0, 1.0, 0.0))
        point = slide.vector("point")
        slide.done()
        radius, angle = given.number("pinion_radius"), given.number("max_pinion_angle")
        given.agree("max_rack_travel", radius * angle)
        given.done()
        return RackAndPinion(rack, point, radius, angle)
    if kind == "Pitman arm":
        return pitman_arm(given, joints)
    raise ModelError(f"{given.what}: type is {shown(kind)}; it must be 'rack and pinion' or 'Pitman arm'")


def pitman_arm(given: Fields, joints: Mapping[str, Any]) -> PitmanArm:
    """Return a Pitman arm with relay rod and idler."""
    axes = numbers(given.take("frame_axes_in_chassis"), f"{given.what}: frame_axes_in_chassis", (3, 3))
    given.take("frame_rotation", None)
    given.take("tie_rod_note", None)
    bodies = [steering_part(Fields(one, f"{given.what}: body"), axes) for one in given.take("bodies")]
    parts = {one.name: one for one in bodies}
    shaft, universal, idler = (Fields(joints.get(name), f"{given.what}: joint {name!r}") for name in joints)
    for one in (shaft, universal, idler):
        for name in ("name", "type", "body_a", "body_b"):
            one.take(name)
    axis = direction(shaft.take("axis"), f"{given.what}: axis of the sector shaft")
    universal.agree("axis_on_arm", axis)
    idler.agree("axis", axis)
    arm, end = idler.vector("point_revolute"), idler.vector("point_spherical")
    idler.agree("length", float(np.linalg.norm(end - arm)))
    found = PitmanArm(
        parts[RACK], parts["pitman_arm"], shaft.vector("point"), axis, universal.vector("point"),
        direction(universal.take("axis_on_link"), f"{given.what}: axis_on_link"), arm, end, shaft.number("max_angle"),
    )  # fmt: skip
    for one in (shaft, universal, idler, given):
        one.done()
    return found


def steering_part(given: Fields, axes: Array | None = None) -> Part:
    """Return a part of the steering; its moments are along chassis axes, or along those of the steering frame."""
    name, mass, com, moments = str(given.take("name")), given.take("mass"), given.vector("com"), given.vector("moments")
    frame = given.take("axes")
    if frame == "steering frame" and axes is not None:
        inertia = axes.T @ np.diag(moments) @ axes
    elif frame == CHASSIS:
        inertia = np.diag(moments)
    else:
        raise ModelError(f"{given.what} {name!r}: axes is {shown(frame)}; it must be 'chassis' or 'steering frame'")
    given.agree("inertia_chassis_axes", inertia)
    given.done()
    return part(name, mass, com, inertia, f"{given.what} {name!r}")
