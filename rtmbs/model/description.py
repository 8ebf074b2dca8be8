"""``ModelDescription``: the elements of a mechanism by name, which ``compile`` reads, and its characteristic length."""

from typing import Any

import numpy as np

from rtmbs.core.names import StrictAttributes
from rtmbs.core.notebook import folded_html, number_text, title_html
from rtmbs.errors import ModelError, with_count
from rtmbs.model.body import GROUND, Body, make_ground
from rtmbs.model.checks import Array, Numbers, name_of, number, numbers
from rtmbs.model.constraints import Constraint, Coupler, Driver
from rtmbs.model.contacts import KnifeEdge, RollingContact
from rtmbs.model.forces import Force
from rtmbs.model.import_report import ImportReport
from rtmbs.model.joint import Initial, Joint
from rtmbs.model.markers import Marker, Rod
from rtmbs.model.shapes import Looks, Shape

ROUNDING = 1e-9  # of a distance


class ModelDescription(StrictAttributes):
    """Elements of a mechanism by name, in the order that they were added; ``Model`` adds them.

    Parameters
    ----------
    name : str, default "model"
        Name of the mechanism.
    gravity : array_like, default (0.0, 0.0, -9.81)
        Gravity (3,) [m/s^2].
    h : float, optional
        Step that the mechanism needs [s]; the viewer takes it.
    """

    name: str
    gravity: Array  # (3,) world axes [m/s^2]
    h: float | None  # the step that the mechanism asks for, None where any usual one will do [s]
    bodies: dict[str, Body]
    joints: dict[str, Joint]
    markers: dict[str, Marker]
    rods: dict[str, Rod]
    couplers: dict[str, Coupler]
    constraints: dict[str, Constraint]
    contacts: dict[str, RollingContact | KnifeEdge]  # nonholonomic: wheels that roll, and knife edges
    contact_sets: dict[str, Any]  # of balls and planes that may all touch: ``contact.sets.ContactSet``
    forces: dict[str, Force]
    drivers: dict[str, Driver]
    initials: dict[str, Initial]
    looks: dict[str, Looks]  # of bodies in pictures
    contact_shapes: dict[str, tuple[Shape, ...]]  # by name of a body: shapes that touch and are not among its looks
    reaction_stiffness: dict[str, tuple[float, float]]  # [N/m, N m/rad] by name of a joint, rod, constraint, ...
    import_report: ImportReport | None  # of the file that the model was read from

    def __init__(self, name: str = "model", gravity: Numbers = (0.0, 0.0, -9.81), *, h: float | None = None) -> None:
        self.name = name_of("model", name)
        self.gravity = numbers(gravity, f"model {name!r}: gravity", (3,))
        self.h = None if h is None else number(h, f"model {name!r}: h")
        if self.h is not None and self.h <= 0.0:
            raise ModelError(f"model {name!r}: h is {self.h:g}; it must be positive")
        self.bodies = {GROUND: make_ground()}
        self.joints, self.markers, self.rods, self.couplers = {}, {}, {}, {}
        self.constraints, self.forces, self.drivers, self.initials, self.looks = {}, {}, {}, {}, {}
        self.contacts, self.reaction_stiffness, self.contact_shapes, self.contact_sets = {}, {}, {}, {}
        self.import_report = None

    def __repr__(self) -> str:
        bodies = len(self.bodies) - 1
        parts = {"joint": len(self.joints), "force": len(self.forces), "driver": len(self.drivers)}
        parts |= {"rod": len(self.rods), "coupler": len(self.couplers), "constraint": len(self.constraints)}
        parts |= {"nonholonomic constraint": len(self.contacts)}
        parts |= {"contact set": len(self.contact_sets)}
        counts = [(bodies, "body", "bodies"), *((count, kind, "") for kind, count in parts.items())]
        counts.append((len(self.markers), "marker", ""))
        said = ", ".join(with_count(*one) for one in counts if one[0])
        return f"Model({self.name!r}: {said or 'empty'})"

    def _repr_html_(self) -> str:
        """Return tables of all elements for notebooks."""
        return model_html(self)

    @property
    def ground(self) -> Body:
        """Body that does not move."""
        return self.bodies[GROUND]


# ---- tables for notebooks --------------------------------------------------------------------------------------------


def model_html(model: ModelDescription) -> str:
    """Return the elements of a model, kind by kind."""
    bodies = [
        (one.name, number_text(one.mass), number_text(one.position))
        for one in model.bodies.values()
        if one.name != GROUND
    ]
    joints = [(one.name, type(one.type).__name__, one.a.name, one.b.name) for one in model.joints.values()]
    forces = [(one.name, type(one.law).__name__, attachment(one)) for one in model.forces.values()]
    motions = [
        *((one.name, "driver", one.target) for one in model.drivers.values()),
        *((one.name, "rod", " and ".join(end.name for end in one.between)) for one in model.rods.values()),
        *((one.name, one.kind, ", ".join(one.coordinates)) for one in model.couplers.values()),
        *((one.name, "constraint", "") for one in model.constraints.values()),
        *((one.name, *described(one)) for one in model.contacts.values()),
    ]
    markers = [(one.name, one.body.name, number_text(one.point)) for one in model.markers.values()]
    return "\n".join(
        [
            title_html(repr(model)),
            folded_html("bodies", ("body", "mass [kg]", "reference position [m]"), bodies),
            folded_html("joints", ("joint", "type", "body a", "body b"), joints),
            folded_html("forces", ("force", "law", "acts on"), forces),
            folded_html("drivers, rods, couplers and constraints", ("element", "kind", "acts on"), motions),
            folded_html("markers", ("marker", "body", "point in body axes [m]"), markers),
        ]
    )


def described(contact: RollingContact | KnifeEdge) -> tuple[str, str]:
    """Return the kind of a nonholonomic constraint and what it acts on."""
    if isinstance(contact, RollingContact):
        return "rolling", f"{contact.wheel.name} on {contact.plane.name}"
    return "knife edge", f"{contact.blade.name} on {contact.base.name}"


def attachment(force: Force) -> str:
    """Return the names of the elements that a force acts on."""
    if force.between is not None:
        return " and ".join(marker.name for marker in force.between)
    if force.body is not None:
        return force.body.name
    pairs = (force.joint,) if force.joint is not None else force.joints or ()
    return ", ".join(f"{joint.name}.{joint.type.coordinates[k]}" for joint, k in pairs) or "all coordinates of the tree"


# ---- characteristic length: the factor between angles and lengths where the two are compared -------------------------


def characteristic_length(model: ModelDescription) -> float:
    """Return the largest distance between the joint points of one moving body [m].

    When no body has two: the largest distance from a joint point to a mass centre; then the largest radius of gyration;
    then 1.
    """
    points = joint_points(model)
    widest = max((spread(places) for places in points.values()), default=0.0)
    if widest > 0.0:
        return widest
    bodies = model.bodies
    arms = [float(np.linalg.norm(place - bodies[name].center_of_mass)) for name in points for place in points[name]]
    if max(arms, default=0.0) > 0.0:
        return max(arms)
    heavy = [body for body in bodies.values() if body.mass > 0.0]
    radii = [float(np.sqrt(np.max(np.diag(body.inertia)) / body.mass)) for body in heavy]
    return max(radii, default=0.0) or 1.0


def joint_points(model: ModelDescription) -> dict[str, list[Array]]:
    """Return the points of joints and rods on every moving body, in its axes [m]."""
    points: dict[str, list[Array]] = {name: [] for name in model.bodies}
    for joint in model.joints.values():
        points[joint.a.name].append(joint.point_a)
        points[joint.b.name].append(joint.point_b)
    for rod in model.rods.values():
        for marker in rod.between:
            points[marker.body.name].append(marker.point)
    for contact in model.contacts.values():
        marker = contact.wheel if isinstance(contact, RollingContact) else contact.blade
        points[marker.body.name].append(marker.point)
    del points[model.ground.name]
    return points


def spread(places: list[Array]) -> float:
    """Return the largest distance between any two points.

    Two points are no further apart than their radii about the middle together, so most pairs are never looked at.
    """
    if len(places) < 2:
        return 0.0
    if len(places) == 2:
        square = (places[1] - places[0]) ** 2
        return float(np.sqrt(square[0] + square[1] + square[2]))
    cloud = np.unique(np.array(places), axis=0)
    radius = np.linalg.norm(cloud - cloud.mean(axis=0), axis=1)
    outer = np.argsort(-radius, kind="stable")
    cloud, radius, widest = cloud[outer], radius[outer], 0.0
    for k, point in enumerate(cloud):
        if 2.0 * radius[k] < widest * (1.0 - ROUNDING):
            break
        widest = max(widest, float(np.max(np.linalg.norm(cloud[k:] - point, axis=1))))
    return widest
