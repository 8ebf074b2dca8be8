"""Contact of bodies as force laws: one for each touching pair, or a set of balls and planes (METHODS 8.10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from rtmbs.contact.convex import PatchPoint, convex_pair, point_inputs
from rtmbs.contact.friction import DryFriction, checked_friction
from rtmbs.contact.normal_force import NormalForce, checked_normal_force
from rtmbs.contact.pairs import (
    BRISTLE,
    BallOnBox,
    BallOnPlane,
    Ellipsoid,
    EllipsoidOnPlane,
    Plane,
    RimOnPlane,
    Segments,
)
from rtmbs.contact.profile import BallOnProfile, Profile
from rtmbs.errors import ModelError, shown
from rtmbs.model.body import Body
from rtmbs.model.checks import Array, Numbers, number, perpendiculars, rotation
from rtmbs.model.description import ForceModel
from rtmbs.model.forces import Force
from rtmbs.model.shapes import Bar, Box, Cylinder, Shape, Sphere, Surface

Side = Body | str | tuple[Body | str, Shape | Plane]
MOST_POINTS = 256  # corners of one convex surface
USUAL_DEPTH, TANGENTIAL = 1e-4, 0.8  # [m]; tangential over normal stiffness of a contact (Mindlin 1949, nu = 1/3)
HERTZ = 1.5
POINT = 1e-6  # [m] radius of a ball that is a point, and not drawn
USUAL_PAIRS = 6  # near pairs a ball: a dense heap of equal balls has three that touch


class Contact(NamedTuple):
    """Contact of two bodies.

    Parameters
    ----------
    name : str
        Name of the contact.
    forces : tuple[Force, ...]
        One force a touching pair: ``name`` when there is one, else ``name_1``, ``name_2``, ...
    """

    name: str
    forces: tuple[Force, ...]


class Pair(NamedTuple):
    """Places (body, point, axes) in body axes of two markers, and the law between them."""

    a: tuple[Body, Array, Array]
    b: tuple[Body, Array, Array]
    law: Any
    bristles: int  # states of the law


def add_contact(
    model: ForceModel,
    name: str,
    a: Side,
    b: Side,
    *,
    stiffness: Numbers,
    exponent: Numbers | None,
    dissipation: Numbers,
    friction: Numbers,
    tangential_stiffness: Numbers | None,
    damping_time: Numbers,
    static_ratio: Numbers,
    stribeck_speed: Numbers,
) -> Contact:
    """Add the laws of a contact; see ``Model.add_contact``."""
    what = f"contact {name!r}"
    mu = number(friction, f"{what}: friction")
    if mu < 0.0:
        raise ModelError(f"{what}: friction is {mu:g}; it must be zero or more")
    first, second = sides(model, what, a), sides(model, what, b)
    pairs: list[Pair] = []
    for (one, of_one), (other, of_other) in product(first, second):
        if one is other:
            raise ModelError(f"{what}: both sides are of {one.name!r}; contact needs two bodies")
        if comes_first(of_other, of_one):
            one, of_one, other, of_other = other, of_other, one, of_one
        usual = HERTZ if isinstance(of_one, Sphere | Bar) or isinstance(of_other, Sphere | Bar) else 1.0
        normal = checked_normal_force(what, stiffness, usual if exponent is None else exponent, dissipation)
        bristle = None
        if mu > 0.0:
            stiff = normal.slope(USUAL_DEPTH) * TANGENTIAL if tangential_stiffness is None else tangential_stiffness
            bristle = checked_friction(what, "tangential_stiffness", stiff, damping_time, static_ratio, stribeck_speed)
        pairs += touching(what, name, (one, of_one), (other, of_other), normal, bristle)
    named = [(name if len(pairs) == 1 else f"{name}_{k}", pair) for k, pair in enumerate(pairs, 1)]
    return Contact(name, tuple(add_pair(model, own, pair, mu) for own, pair in named))


def comes_first(shape: Any, other: Any) -> bool:
    """Return whether the law of two shapes has ``shape`` first, in whatever order they are given."""
    if isinstance(other, Sphere) and isinstance(shape, Box | Profile):
        return True
    return isinstance(shape, Plane) or (isinstance(shape, Profile) and not isinstance(other, Plane))


def add_pair(model: ForceModel, name: str, pair: Pair, friction: float) -> Force:
    """Add the markers and the force of one touching pair."""
    first, second = (
        model.add_marker(f"{name}.{end}", body, point, frame=body if body is not model.ground else "world", axes=axes)
        for end, (body, point, axes) in (("a", pair.a), ("b", pair.b))
    )
    bristles = BRISTLE[: pair.bristles] if friction > 0.0 else ()
    given = ({"friction": friction} if bristles else {}) | (
        point_inputs(pair.law) if isinstance(pair.law, PatchPoint) else {}
    )
    return model.add_force(
        name,
        pair.law,
        between=(first, second),
        parameters=given or None,
        states=dict.fromkeys(bristles, 0.0) if bristles else None,
        units=dict.fromkeys(bristles, "m") if bristles else None,
    )


def sides(model: ForceModel, what: str, given: Side) -> list[tuple[Body, Any]]:
    """Return the bodies and shapes of one side of a contact."""
    if isinstance(given, tuple):
        if len(given) != 2:
            raise ModelError(f"{what}: a side is {shown(given)}; give a body, or (body, shape)")
        body = model.lookup.body(what, given[0])
        shapes: Sequence[Any] = (given[1],)
    else:
        body = model.lookup.body(what, given)
        looks = model.lookup.model.looks.get(body.name)
        shapes = looks.shapes if looks else ()
        if not shapes:
            raise ModelError(
                f"{what}: body {body.name!r} has no shape; give add_body a shape=, or ({body.name!r}, shape)"
            )
    for shape in shapes:
        if not isinstance(shape, Plane | Profile | Ellipsoid | Cylinder | Sphere | Bar | Box | Surface):
            raise ModelError(
                f"{what}: {shown(shape)} of {body.name!r} does not touch; shapes of contacts are rtmbs.contact.Plane, "
                "Profile and Ellipsoid, Sphere, Bar, Box, Cylinder, and Surface or Mesh as a convex body"
            )
    if isinstance(given, tuple) and (drawn := shape_in_pictures(shapes[0])) is not None:
        known = model.lookup.model.contact_shapes
        known[body.name] = (*known.get(body.name, ()), drawn)
    return [(body, shape) for shape in shapes]


def shape_in_pictures(shape: Any) -> Shape | None:
    """Return how a shape of a contact is drawn beside the looks of its body; None where nothing is to be seen."""
    if isinstance(shape, Ellipsoid):
        from scipy.spatial import ConvexHull  # scipy.spatial takes long to load

        turns, rises = (part.ravel() for part in np.meshgrid(np.linspace(0, 2 * np.pi, 24), np.linspace(-1, 1, 13)))
        ball = np.stack((np.cos(turns) * np.cos(0.5 * np.pi * rises), np.sin(turns) * np.cos(0.5 * np.pi * rises),
                         np.sin(0.5 * np.pi * rises)), axis=1)  # fmt: skip
        points = np.unique(ball.round(12), axis=0)
        hull = ConvexHull(points)
        faces = [
            simplex if np.cross(*(points[simplex[1:]] - points[simplex[0]])) @ plane[:3] > 0.0 else simplex[::-1]
            for simplex, plane in zip(hull.simplices, hull.equations, strict=True)
        ]
        return Surface(shape.center + (points * shape.half_axes) @ shape.axes.T, np.array(faces))
    if isinstance(shape, Sphere) and shape.radius < POINT:
        return None
    return shape if isinstance(shape, Shape) else None


def touching(
    what: str, name: str, a: tuple[Body, Any], b: tuple[Body, Any], normal: NormalForce, friction: DryFriction | None
) -> list[Pair]:
    """Return the pairs of points of two shapes of contact ``name``, planes and boxes as the first."""
    (one, of_one), (other, of_other) = a, b
    if isinstance(of_one, Plane) and not isinstance(of_other, Plane | Profile):
        x, y = perpendiculars(of_one.normal)
        plane = (one, of_one.point, np.stack((x, y, of_one.normal), axis=1))
        if isinstance(of_other, Cylinder | Ellipsoid):
            return [Pair(plane, (other, *place), law, 3) for place, law in round_on_plane(of_other, normal, friction)]
        points, radius = points_of(what, of_other)
        law = BallOnPlane(radius, normal, friction)
        return [Pair(plane, (other, point, np.eye(3)), law, 2) for point in points]
    if isinstance(of_one, Profile) and isinstance(of_other, Sphere):
        outline = (one, of_one.center, of_one.axes)
        law_of_profile = BallOnProfile(of_other.radius, tuple(of_one.pieces), normal, friction)
        return [Pair(outline, (other, of_other.center, np.eye(3)), law_of_profile, 3)]
    if isinstance(of_one, Box) and isinstance(of_other, Sphere):
        half = tuple((0.5 * of_one.size).tolist())
        law_of_box = BallOnBox(of_other.radius, half, normal, friction)
        return [Pair((one, of_one.center, of_one.axes), (other, of_other.center, np.eye(3)), law_of_box, 3)]
    if isinstance(of_one, Sphere | Bar) and isinstance(of_other, Sphere | Bar):
        (point_a, axes_a, half_a), (point_b, axes_b, half_b) = segment(of_one), segment(of_other)
        law_of_bars = Segments((half_a, half_b), (of_one.radius, of_other.radius), normal, friction)
        return [Pair((one, point_a, axes_a), (other, point_b, axes_b), law_of_bars, 3)]
    if not isinstance(of_one, Plane | Profile) and not isinstance(of_other, Plane | Profile):
        place_a, place_b, laws = convex_pair(what, name, a, b, normal, friction)
        return [Pair(place_a, place_b, law, 3) for law in laws]
    raise ModelError(
        f"{what}: a {type(of_one).__name__} does not touch a {type(of_other).__name__}; pairs are a Plane or a convex "
        "shape with a Sphere, Bar, Box, Cylinder, Ellipsoid or convex Surface, and a Profile with a Sphere"
    )


def round_on_plane(
    shape: "Cylinder | Ellipsoid", normal: NormalForce, friction: DryFriction | None
) -> list[tuple[tuple[Array, Array], Any]]:
    """Return places (point, axes) and laws of the rims of a cylinder, or of an ellipsoid, on a plane."""
    if isinstance(shape, Ellipsoid):
        a, b, c = (float(one) for one in shape.half_axes)
        return [((shape.center, shape.axes), EllipsoidOnPlane((a, b, c), normal, friction))]
    x, y = perpendiculars(shape.axis)
    axes, rim = np.stack((x, y, shape.axis), axis=1), RimOnPlane(shape.radius, normal, friction)
    ends = (shape.center + half * shape.length * shape.axis for half in (-0.5, 0.5))
    return [((end, axes), rim) for end in ends]


def points_of(what: str, shape: Any) -> tuple[Sequence[Array], float]:
    """Return the points (3,) of a convex shape that may touch a plane, and the radius about them [m]."""
    if isinstance(shape, Sphere):
        return (shape.center,), shape.radius
    if isinstance(shape, Bar):
        return (shape.start, shape.end), shape.radius
    if isinstance(shape, Box):
        corners = np.array(list(product((-0.5, 0.5), repeat=3))) * shape.size
        return list(shape.center + corners @ shape.axes.T), 0.0
    from scipy.spatial import ConvexHull, QhullError  # scipy.spatial takes long to load

    try:
        corners = shape.vertices[ConvexHull(shape.vertices).vertices]
    except QhullError:
        raise ModelError(f"{what}: the surface is flat; a convex body needs four corners outside one plane") from None
    if len(corners) > MOST_POINTS:
        raise ModelError(
            f"{what}: the convex hull of the surface has {len(corners)} corners; at most {MOST_POINTS} may touch; "
            "simplify it"
        )
    return list(corners), 0.0


def segment(shape: Sphere | Bar) -> tuple[Array, Array, float]:
    """Return middle (3,), axes (3, 3) with z along it and half length of a ball or bar, in body axes [m]."""
    if isinstance(shape, Sphere):
        return shape.center, np.eye(3), 0.0
    along = shape.end - shape.start
    length = float(np.linalg.norm(along))
    z = along / length
    x, y = perpendiculars(z)
    return 0.5 * (shape.start + shape.end), np.asarray(rotation(np.stack((x, y, z), axis=1), "Bar")), 0.5 * length


@dataclass(frozen=True, eq=False)
class ContactSet:
    """Balls and planes of which all pairs may touch; ``Model.add_contacts`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the set.
    planes : tuple
        Pairs (body, plane).
    balls : tuple
        Pairs (body, sphere).
    normal : NormalForce
        Law of the normal force of every pair.
    friction : DryFriction or None
        Its dry friction.
    coefficient : float
        Coefficient of friction at the start.
    most : int
        Most pairs that may be near at one time.
    """

    name: str
    planes: tuple[tuple[Body, Plane], ...]
    balls: tuple[tuple[Body, Sphere], ...]
    normal: NormalForce
    friction: DryFriction | None
    coefficient: float
    most: int


def make_contact_set(
    model: ForceModel,
    name: str,
    given: Sequence[Side],
    *,
    stiffness: Numbers,
    exponent: Numbers,
    dissipation: Numbers,
    friction: Numbers,
    tangential_stiffness: Numbers | None,
    damping_time: Numbers,
    static_ratio: Numbers,
    stribeck_speed: Numbers,
    most: int | None,
) -> ContactSet:
    """Return a checked contact set; see ``Model.add_contacts``."""
    what = f"contacts {name!r}"
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ModelError(f"{what}: members are {shown(given)}; give a list of bodies, or of (body, shape)")
    found = [one for member in given for one in sides(model, what, member)]
    planes = tuple((body, shape) for body, shape in found if isinstance(shape, Plane))
    balls = tuple((body, shape) for body, shape in found if isinstance(shape, Sphere))
    other = next(((body, shape) for body, shape in found if not isinstance(shape, Plane | Sphere)), None)
    if other is not None:
        raise ModelError(
            f"{what}: {type(other[1]).__name__} of {other[0].name!r} is no member; members are Sphere and "
            "rtmbs.contact.Plane; add_contact takes a pair of other shapes"
        )
    if len({body for body, _ in found}) < 2 or not balls:
        raise ModelError(f"{what}: nothing can touch; give balls of two bodies, or balls and a plane of another body")
    mu = number(friction, f"{what}: friction")
    if mu < 0.0:
        raise ModelError(f"{what}: friction is {mu:g}; it must be zero or more")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise ModelError(f"{what}: most is {shown(most)}; it must be a whole number, 1 or more")
    normal = checked_normal_force(what, stiffness, HERTZ if exponent is None else exponent, dissipation)
    bristle = None
    if mu > 0.0:
        stiff: Any = normal.slope(USUAL_DEPTH) * TANGENTIAL if tangential_stiffness is None else tangential_stiffness
        bristle = checked_friction(what, "tangential_stiffness", stiff, damping_time, static_ratio, stribeck_speed)
    possible = len(balls) * (len(balls) - 1) // 2 + len(balls) * len(planes)
    room = min(possible, USUAL_PAIRS * len(balls)) if most is None else min(most, possible)
    return ContactSet(name, planes, balls, normal, bristle, mu, room)
