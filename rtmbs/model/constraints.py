"""Constraints besides joints: of positions, couplers, drivers, and nonholonomic ones.

Constraints written in plain NumPy, couplers of joint coordinates such as gears, and drivers by functions of time.

A constraint is ``function(t, pose, parameters)``. It sees the time, the pose of what it joins and its parameters by
name, and returns what must be zero; rates and accelerations follow from its derivatives. A Simulation follows drivers
of joint coordinates and distances; a kinematic analysis follows all four kinds. A rope of constant length
over points of several bodies is a coupler of massless telescopes.

Nonholonomic constraints: wheels that roll on planes without slip, and knife edges.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.body import Body, Marker
from rtmbs.model.checks import Array, Numbers, number, numbers, unit_vector
from rtmbs.model.forces import Law, make_law
from rtmbs.model.joints import Joint, Prismatic, Spherical, Universal
from rtmbs.model.profiles import Profile, checked_profile

# Coordinates of a body in the world, with units: its origin, and the angles of R = Rz(yaw) Ry(pitch) Rx(roll), where R
# turns body axes into world axes.
BODY_COORDINATES = {"x": "m", "y": "m", "z": "m", "yaw": "rad", "pitch": "rad", "roll": "rad"}
PLACES = ("x", "y", "z")  # first coordinates of a floating joint
MARKER_AXES = ("f", "g", "h")  # columns of ``Marker.axes``


@dataclass(frozen=True, eq=False)
class Driver:
    """Motion of a joint coordinate, distance, body coordinate or angle as a function of time; one of the four.

    ``Model.add_driver`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the driver.
    profile : Profile
        Function of time that the coordinate follows [rad or m].
    joint : tuple[Joint, int], optional
        Joint and number of its coordinate.
    between : tuple[Marker, Marker], optional
        Markers of a distance.
    body : tuple[Body, str], optional
        Body and one of its coordinates x, y, z [m], yaw, pitch, roll [rad].
    axes : tuple[tuple[Marker, int], tuple[Marker, int]], optional
        Two axes of an angle: markers and columns of their ``axes``.
    """

    name: str
    profile: Profile
    joint: tuple[Joint, int] | None = None  # the joint and the number of its coordinate
    between: tuple[Marker, Marker] | None = None  # their distance
    body: tuple[Body, str] | None = None  # the body and one of BODY_COORDINATES
    axes: tuple[tuple[Marker, int], tuple[Marker, int]] | None = None  # the angle of two axes, columns of ``axes``

    @property
    def dynamic(self) -> bool:
        """True when a Simulation can follow the driver: one of a joint coordinate or a distance."""
        return self.joint is not None or self.between is not None

    @property
    def target(self) -> str:
        """Name of the driven quantity in words."""
        if self.joint:
            joint, k = self.joint
            return f"{joint.name}.{(joint.type.coordinates or PLACES)[k]}"
        if self.between:
            return f"the distance of {self.between[0].name} and {self.between[1].name}"
        if self.body:
            return f"{self.body[0].name}.{self.body[1]}"
        assert self.axes is not None
        first, second = (f"{marker.name}.{MARKER_AXES[k]}" for marker, k in self.axes)
        return f"the angle of {first} and {second}"


# ---- constraints written in plain NumPy, and couplers ---------------------------------------------------------------


MOST = 6  # equations of a constraint between two frames


class Pose(NamedTuple):
    """Pose of marker b relative to marker a, in axes of marker a."""

    r: Any  # (3,) from a to b [m]
    R: Any  # (3, 3) axes of b to axes of a


class JointPose(NamedTuple):
    """Joint coordinates, in the order of ``joints=``."""

    z: Any  # (k,) [rad, m]
    names: tuple[str, ...]  # of the coordinates, ``crank.angle``


ConstraintFunction = Callable[[Any, Any, Mapping[str, Any]], Any]


@dataclass(frozen=True, eq=False)
class Constraint:
    """Constraint equations between two frames or on joint coordinates: a function that is zero.

    ``Model.add_constraint`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the constraint.
    law : Law
        Function ``(t, pose, parameters)`` and the defaults of its parameters.
    equations : int or None
        Number of equations that the user gave; None for as many as the function returns.
    between : tuple[Marker, Marker], optional
        Frames of the constraint.
    joints : tuple[tuple[Joint, int], ...], optional
        Joint coordinates of the constraint: joints and numbers of their coordinates.
    """

    name: str
    law: Law  # the function and the defaults of its parameters
    equations: int | None  # as many as the user said; None: as many as the function returns
    between: tuple[Marker, Marker] | None = None
    joints: tuple[tuple[Joint, int], ...] = ()


def make_constraint(
    name: str,
    function: Any,
    parameters: Mapping[str, Any] | None,
    equations: Any,
    between: tuple[Marker, Marker] | None,
    joints: tuple[tuple[Joint, int], ...],
) -> Constraint:
    """Return a checked constraint."""
    what = f"constraint {name!r}"
    if not callable(function) or isinstance(function, type):
        raise ModelError(
            f"{what}: {shown(function)} is not a function; write one as function(t, pose, parameters) that returns "
            "what must be zero"
        )
    law = make_law(what, function, parameters, True, "function(t, pose, parameters)")
    most = MOST if between else len(joints)
    whole = isinstance(equations, int | np.integer) and not isinstance(equations, bool)
    if equations is not None and not (whole and 1 <= equations <= most):
        raise ModelError(f"{what}: equations is {shown(equations)}; it must be a whole number from 1 to {most}")
    return Constraint(name, law, None if equations is None else int(equations), between, joints)


LARGEST_SPREAD = 1e9  # of the largest factor over the smallest: beyond that one coordinate is lost in rounding


@dataclass(frozen=True, eq=False)
class Coupler:
    """One linear equation: the sum of factor times coordinate is ``offset``, a number or a function of time.

    ``Model.add_coupler``, ``add_gear`` and the like make and check it.

    Parameters
    ----------
    name : str
        Name of the coupler.
    kind : str
        Kind of the coupler: coupler, gear, rack and pinion, screw or differential.
    terms : tuple[tuple[Joint, int, float], ...]
        Terms of the sum: joint, number of its coordinate and factor.
    offset : float or Profile
        Right side of the equation, a number or a function of time.
    number : float
        Number that the user gave: ratio, radius [m] or pitch [m a turn]; 0 for a coupler, which has several.
    """

    name: str
    kind: str  # coupler, gear, rack and pinion, screw, differential
    terms: tuple[tuple[Joint, int, float], ...]  # joint, number of its coordinate, factor
    offset: float | Profile
    number: float  # what the user gave: ratio, radius [m] or pitch [m a turn]; 0 for a coupler, which has several

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates in the order of the terms."""
        return tuple(f"{joint.name}.{joint.type.coordinates[k]}" for joint, k, _ in self.terms)

    @property
    def factors(self) -> tuple[float, ...]:
        """Factors of the coordinates in the order of the terms."""
        return tuple(factor for _, _, factor in self.terms)

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the coordinates in the order of the terms, rad or m."""
        return tuple(joint.type.units()[k] for joint, k, _ in self.terms)


def make_coupler(
    name: str, kind: str, terms: list[tuple[tuple[Joint, int], Any]], offset: Any, factor: str, given: float
) -> Coupler:
    """Return a checked coupler; ``factor`` is the user's word for the numbers, ``given`` is the one given."""
    what = f"{kind} {name!r}"
    found: list[tuple[Joint, int, float]] = []
    for (joint, k), wanted in terms:
        coordinate = f"{joint.name}.{joint.type.coordinates[k]}"
        value = number(wanted, f"{what}: {factor} of {coordinate}")
        if value == 0.0:
            raise ModelError(f"{what}: {factor} of {coordinate} is zero, which couples nothing; give another number")
        if any(other is joint and l == k for other, l, _ in found):
            raise ModelError(f"{what}: names {coordinate} twice; give every coordinate once")
        found.append((joint, k, value))
    if len(found) < 2:
        raise ModelError(f"{what}: couples {len(found)} coordinate; it takes two or more (one alone takes a driver)")
    sizes = np.abs([value for *_, value in found])
    if not sizes.max() <= LARGEST_SPREAD * sizes.min():
        raise ModelError(
            f"{what}: {factor}s from {sizes.min():g} to {sizes.max():g} are more than {LARGEST_SPREAD:g} apart; "
            "the smallest would couple nothing"
        )
    known = checked_profile(offset, what) if callable(offset) else number(offset, f"{what}: offset")
    return Coupler(name, kind, tuple(found), known, given)


def ratios_given(what: str, ratios: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of coordinates and ratios, from a dictionary or as they are."""
    pairs = list(ratios.items()) if isinstance(ratios, Mapping) else ratios
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    ):
        raise ModelError(
            f"{what}: ratios is {shown(ratios)}; it must be a dictionary of coordinates and numbers, "
            "such as {'crank': 1.0, 'wheel': -2.0}"
        )
    return list(pairs)


FLAT = 1e-9  # of the length of a rope: points that leave a line by less span no plane


def lay_rope(model: Any, name: str, points: Sequence[Marker], length: Numbers) -> Coupler:
    """Add the telescopes between neighbouring points, and return the coupler that keeps the sum of their lengths."""
    what = f"rope {name!r}"
    if len(points) < 3:
        raise ModelError(f"{what}: points has {len(points)} markers; it takes 3 or more (two are a rod)")
    ends = [marker.reference() for marker in points]
    spans = np.diff(ends, axis=0)
    sizes = np.linalg.norm(spans, axis=1)
    for first, second, size in zip(points, points[1:], sizes, strict=False):
        if first.body is second.body:
            raise ModelError(
                f"{what}: markers {first.name!r} and {second.name!r} follow each other on body {first.body.name!r}; "
                "leave one out, and take off the length between them"
            )
        if size <= FLAT * sizes.sum():
            raise ModelError(
                f"{what}: markers {first.name!r} and {second.name!r} coincide at the reference pose; their distance "
                "must be above zero there"
            )
    total = float(sizes.sum()) if length is None else number(length, f"{what}: length")
    if total <= 0.0:
        raise ModelError(f"{what}: length is {shown(length)}; it must be above zero")
    normal = normal_of(spans)
    slides = [telescope(model, f"{name} {k + 1}", points[k : k + 2], spans[k], normal) for k in range(len(spans))]
    coupler: Coupler = model.add_coupler(name, [(slide, 1.0) for slide in slides], total - float(sizes.sum()))
    return coupler


def normal_of(spans: Array) -> Array:
    """Return the normal of the plane that spans (k, 3) lie in, or nearly; any normal of a straight rope."""
    return np.asarray(np.linalg.svd(spans)[2][-1])


def telescope(model: Any, name: str, ends: Sequence[Marker], span: Array, normal: Array) -> str:
    """Add two massless bodies that slide in each other from one marker to the next; return the joint of the slide.

    The first axis of the universal joint is the normal of the rope, so that no motion in its plane is singular.
    """
    along = span / np.linalg.norm(span)
    first = normal - (normal @ along) * along
    first /= np.linalg.norm(first)
    places = [marker.reference() for marker in ends]
    sleeve, bar = (model.add_body(f"{name} {part}", mass=0.0, position=places[0]) for part in ("sleeve", "bar"))
    turn = Universal(axis_a=first, axis_b=np.cross(along, first))
    model.add_joint(f"{name} swivel", turn, ends[0].body, sleeve, point=places[0])
    model.add_joint(f"{name} slide", Prismatic(axis=along), sleeve, bar, point=places[0])
    model.add_joint(f"{name} eye", Spherical(), bar, ends[1].body, point=places[1], cut=True)
    return f"{name} slide"


@dataclass(frozen=True, eq=False)
class RollingContact:
    """Wheel, disc or sphere that rolls on a plane without slip.

    ``Model.add_rolling`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the contact.
    plane : Marker
        Marker of the plane: a point of the plane, and the normal towards the wheel as h axis.
    wheel : Marker
        Marker of the wheel: its centre, and its axis as h axis.
    radius : float
        Radius of the wheel [m].
    crown : float
        Radius of its rounded tread [m]: 0 of a thin disc, ``radius`` of a sphere.
    """

    name: str
    plane: Marker
    wheel: Marker
    radius: float  # [m]
    crown: float  # [m]

    @property
    def normal(self) -> Array:
        """Normal (3,) of the plane in axes of the body that carries it."""
        return np.asarray(self.plane.axes[:, 2])

    @property
    def axle(self) -> Array:
        """Axis (3,) of the wheel in axes of its body."""
        return np.asarray(self.wheel.axes[:, 2])


@dataclass(frozen=True, eq=False)
class KnifeEdge:
    """Blade, skate or wheel whose point does not move sideways.

    ``Model.add_knife_edge`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the knife edge.
    blade : Marker
        Marker of the point.
    base : Body
        Body that the sideways velocity is measured against.
    direction : ndarray
        Sideways direction (3,), a unit vector in axes of ``blade``.
    """

    name: str
    blade: Marker
    base: Body
    direction: Array  # (3,)

    @property
    def sideways(self) -> Array:
        """Sideways direction (3,) in axes of the body of ``blade``."""
        return np.asarray(self.blade.axes @ self.direction)


def make_rolling(name: str, wheel: Marker, plane: Marker, radius: Numbers, crown: Numbers) -> RollingContact:
    """Return a checked rolling contact."""
    what = f"rolling {name!r}"
    outer, rounded = number(radius, f"{what}: radius"), number(crown, f"{what}: crown")
    if wheel.body is plane.body:
        raise ModelError(f"{what}: wheel and plane are both on body {wheel.body.name!r}; they must be on two bodies")
    if outer <= 0.0:
        raise ModelError(f"{what}: radius is {outer:g}; it must be above zero")
    if not 0.0 <= rounded <= outer:
        raise ModelError(f"{what}: crown is {rounded:g}; it must be from 0 (a thin disc) to the radius (a sphere)")
    made = RollingContact(name, plane, wheel, outer, rounded)
    normal, axle = plane.body.orientation @ made.normal, wheel.body.orientation @ made.axle
    if rounded < outer and np.linalg.norm(np.cross(normal, axle)) < FLAT:
        raise ModelError(
            f"{what}: the wheel lies flat on the plane at the reference pose; turn the h axis of marker "
            f"{wheel.name!r}, the wheel's axis, away from the normal of the plane"
        )
    return made


def make_knife_edge(name: str, blade: Marker, base: Body, direction: Numbers) -> KnifeEdge:
    """Return a checked knife edge; ``direction`` is in axes of the marker."""
    what = f"knife edge {name!r}"
    if blade.body is base:
        raise ModelError(f"{what}: marker {blade.name!r} is on body {base.name!r} itself; name another body")
    sideways = numbers(direction, f"{what}: direction", (3,))
    if not np.any(sideways):
        raise ModelError(f"{what}: direction is zero; it must be a vector")
    return KnifeEdge(name, blade, base, unit_vector(sideways))
