"""Elastic ropes and belts over sheaves that turn, and round a ball or cylinder: laws of their spans (METHODS 8.9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.contact.friction import TINY, inner
from rtmbs.contact.normal_force import NormalForce, checked_normal_force
from rtmbs.contact.pairs import cross
from rtmbs.errors import ModelError, shown
from rtmbs.model.body import Body, Marker
from rtmbs.model.checks import Array, Numbers, number, perpendiculars
from rtmbs.model.forces import Force, Kinematics
from rtmbs.model.shapes import Cylinder, Sphere

WOUND_A, WOUND_B = "turn_a", "turn_b"  # states: the direction of a span as its ends see it, with all turns [rad]
SIDES = {"left": 1.0, "right": -1.0}
SHORTEST = 1e-6  # of the first length of a span: what is left of a span that is wound up has this length at least
LEVEL = 1e-6  # sine of the angle of the axes of two sheaves: beyond it a belt would run off


@dataclass(frozen=True, eq=False)
class Sheave:
    """Wheel of a body that a rope runs over, without slip.

    Parameters
    ----------
    marker : Marker or str
        Marker at the centre, its h axis along the axle. Its body turns with the wheel.
    radius : float
        Radius to the middle of the rope [m].
    turns : str, default "left"
        "left" for a rope that runs counter-clockwise round the h axis, from its first point to its last; or "right".

    Examples
    --------
    >>> wheel = rtmbs.contact.Sheave("axle", 0.1, "right")
    """

    marker: Marker | str
    radius: float
    turns: str = "left"


@dataclass(frozen=True)
class Span:
    """Straight part of a rope between two sheaves or points; circles with the signed radii of marker z axes."""

    radius_a: float  # [m] above zero where the rope runs counter-clockwise
    radius_b: float
    length: float  # of the span at the reference pose, without tension [m]
    stretch: NormalForce  # of the strain
    turn_a: float  # of the span at the reference pose, as each end sees it [rad]
    turn_b: float
    wound: float = 1.0  # length of the rope on a sheave over its length without tension

    def direction(self, r: Any) -> tuple[Any, Any, Any]:
        """Return the direction (2,) in the plane of the sheaves, the length there [m] and that of the centres [m]."""
        q = self.radius_b - self.radius_a
        d = np.sqrt(r[0] * r[0] + r[1] * r[1] + TINY**2)
        level = np.sqrt(np.maximum(d * d - q * q, TINY**2))
        return [(level * r[0] + q * r[1]) / d**2, (level * r[1] - q * r[0]) / d**2], level, d

    def __call__(self, t: float, kinematics: Kinematics, parameters: Any, states: Any = None) -> Any:
        """Return force and moment on b [N, N m], and the rates of the turns [rad/s]."""
        r, R, v, w = kinematics.r, kinematics.R, kinematics.v, kinematics.w
        e, level, d = self.direction(r)
        length = np.sqrt(level * level + r[2] * r[2])
        away = (r[0] * v[0] + r[1] * v[1]) / d  # rate of d
        turning = (r[0] * v[1] - r[1] * v[0]) / d**2 + (self.radius_b - self.radius_a) * away / (d * level)
        seen = [R[0, k] * e[0] + R[1, k] * e[1] for k in range(2)]  # the direction in axes of b
        natural, rates, flow = self.length, [], 0.0
        for radius, sign, name, first, (x, y), rate in (
            (self.radius_a, -1.0, WOUND_A, self.turn_a, e, turning),
            (self.radius_b, 1.0, WOUND_B, self.turn_b, seen, turning - w[2]),
        ):
            if radius:
                natural = natural + sign * radius / self.wound * (whole_turn(states[name], x, y) - first)
                flow = flow + sign * radius / self.wound * rate
                rates.append(rate)
        natural = np.maximum(natural, SHORTEST * self.length)
        grows = (d * away + r[2] * v[2]) / length - flow * length / natural  # rate of the strain, times the length
        pull = self.stretch((length - natural) / natural, grows / natural)
        force = [-pull * x / length for x in (level * e[0], level * e[1], r[2])]
        arm = [self.radius_b * e[1], -self.radius_b * e[0], 0.0]
        wrench = np.stack(force), np.stack(cross(arm, force))
        return (wrench, np.stack(rates)) if rates else wrench


def whole_turn(near: Any, x: Any, y: Any) -> Any:
    """Return the angle of (x, y) with the turns of an angle ``near`` it [rad]: it does not drift, as a sum would."""
    missed = near - np.arctan2(y, x)
    return near - np.arctan2(np.sin(missed), np.cos(missed))


@dataclass(frozen=True)
class Wrapped:
    """Rope from a point of body a round a ball or cylinder of body a to marker b, without friction (METHODS 8.9).

    Marker a stands in the middle of the shape, z along the axis of a cylinder.
    """

    start: tuple[float, float, float]  # in axes of a [m]
    radius: float
    axial: bool  # a cylinder
    length: float  # without tension [m]
    stretch: NormalForce

    def path(self, r: Any) -> tuple[Any, Any]:
        """Return the length to a point r (3,) [m] and its gradient (3,)."""
        across = 2 if self.axial else 3
        p = [self.start[k] + 0.0 * r[k] for k in range(3)]
        of_p, of_r = (np.sqrt(inner(x[:across], x[:across])) for x in (p, [r[0], r[1], r[2]]))
        q = [r[k] / of_r for k in range(across)]
        along = inner(p[:across], q)
        beside = [p[k] - along * q[k] for k in range(across)]
        size = np.sqrt(inner(beside, beside) + TINY**2)
        free_p, free_r = (np.sqrt(np.maximum(x * x - self.radius**2, TINY**2)) for x in (of_p, of_r))
        turns = np.arctan2(size, along) - np.arctan2(free_p, self.radius) - np.arctan2(free_r, self.radius)
        level = free_p + free_r + self.radius * turns
        slope = [(free_r * q[k] - self.radius * beside[k] / size) / of_r for k in range(across)]
        rise = r[2] - p[2] if self.axial else 0.0 * r[2]
        length = np.sqrt(level * level + rise * rise)
        bent = [level / length * one for one in slope] + ([rise / length] if self.axial else [])
        chord = [r[k] - p[k] for k in range(3)]
        straight = np.sqrt(inner(chord, chord) + TINY**2)
        touches = turns > 0.0
        gradient = [np.where(touches, one, k / straight) for one, k in zip(bent, chord, strict=True)]
        return np.where(touches, length, straight), gradient

    def __call__(self, t: float, kinematics: Kinematics, parameters: Any) -> Any:
        """Return force and moment on b [N, N m]."""
        length, gradient = self.path(kinematics.r)
        strain = (length - self.length) / self.length
        pull = self.stretch(strain, inner(gradient, kinematics.v) / self.length)
        return np.stack([-pull * one for one in gradient]), np.zeros(3)


def add_elastic_rope(
    model: Any, name: str, points: Sequence[Any], stiffness: Numbers, tension: Numbers, dissipation: Numbers,
    around: tuple[Body | str, Sphere | Cylinder] | None,
) -> tuple[Force, ...]:  # fmt: skip
    """Add the laws of the spans of an elastic rope; see ``Model.add_elastic_rope``."""
    what = f"elastic rope {name!r}"
    if isinstance(points, str) or not isinstance(points, Sequence) or len(points) < 2:
        raise ModelError(f"{what}: points is {shown(points)}; it must be a list of two markers or Sheaves, or more")
    stretch = checked_normal_force(what, stiffness, 1.0, dissipation)
    first = number(tension, f"{what}: tension")
    if first < 0.0:
        raise ModelError(f"{what}: tension is {first:g}; it must be zero or more, for a rope does not push")
    slack = 1.0 + first / stretch.stiffness
    if around is not None:
        return (add_wrapped(model, name, points, around, stretch, slack),)
    ends = [end_of(model, what, one) for one in points]
    names = [name] if len(ends) == 2 else [f"{name}_{k}" for k in range(1, len(ends))]
    return tuple(
        add_span(model, what, own, a, b, stretch, slack) for own, a, b in zip(names, ends, ends[1:], strict=False)
    )


def end_of(model: Any, what: str, given: Any) -> tuple[Marker, float]:
    """Return the marker of an end of a span, and the signed radius of its sheave [m]; 0 of a point."""
    if not isinstance(given, Sheave):
        return model.lookup.marker(what, given), 0.0
    radius = number(given.radius, f"{what}: radius")
    if radius <= 0.0:
        raise ModelError(f"{what}: radius is {radius:g}; it must be above zero")
    if given.turns not in SIDES:
        raise ModelError(f"{what}: turns is {shown(given.turns)}; it must be 'left' or 'right'")
    return model.lookup.marker(what, given.marker), radius * SIDES[given.turns]


def add_span(
    model: Any,
    what: str,
    name: str,
    a: tuple[Marker, float],
    b: tuple[Marker, float],
    stretch: NormalForce,
    slack: float,
) -> Force:
    """Add the law of one span; its frames have the axle of a sheave as z, and a point takes that of its neighbour."""
    (one, radius_a), (other, radius_b) = a, b
    if one.body is other.body:
        raise ModelError(
            f"{what}: markers {one.name!r} and {other.name!r} follow each other on body {one.body.name!r}; leave one "
            "out"
        )
    axles = [marker.body.orientation @ marker.axes[:, 2] for marker in (one, other)]
    z = axles[0] if radius_a else axles[1]
    if radius_a and radius_b:
        if np.linalg.norm(np.cross(axles[0], axles[1])) > LEVEL:
            raise ModelError(f"{what}: the axles of {one.name!r} and {other.name!r} are not parallel; they must be")
        radius_b *= float(np.sign(axles[0] @ axles[1]))
    x, y = perpendiculars(np.asarray(z))
    world = np.stack((x, y, z), axis=1)
    r = world.T @ (other.reference() - one.reference())
    if np.hypot(r[0], r[1]) <= abs(radius_b - radius_a):
        raise ModelError(f"{what}: {one.name!r} and {other.name!r} are nearer than a straight rope between them allows")
    plain = Span(radius_a, radius_b, 1.0, stretch, 0.0, 0.0)
    e, level, _ = plain.direction(r)
    turn = float(np.arctan2(e[1], e[0]))
    law = Span(radius_a, radius_b, float(np.hypot(level, r[2])) / slack, stretch, turn, turn, slack)
    ends = [placed(model, f"{name}.{end}", marker, world) for end, marker in (("a", one), ("b", other))]
    states = {key: turn for key, radius in ((WOUND_A, radius_a), (WOUND_B, radius_b)) if radius}
    force: Force = model.add_force(
        name, law, between=ends, states=states or None, units=dict.fromkeys(states, "rad") or None
    )
    return force


def placed(model: Any, name: str, marker: Marker, world: Array) -> Marker:
    """Add a marker at the place of another, its axes those of ``world`` (3, 3) at the reference pose."""
    body = marker.body
    found: Marker = model.add_marker(
        name, body, marker.point if body is not model.ground else marker.reference(),
        frame=body if body is not model.ground else "world", axes=body.orientation.T @ world,
    )  # fmt: skip
    return found


def add_wrapped(model: Any, name: str, points: Sequence[Any], around: Any, stretch: NormalForce, slack: float) -> Force:
    """Add the law of a rope round a ball or cylinder of the body of its first point."""
    what = f"elastic rope {name!r}"
    if not (isinstance(around, tuple) and len(around) == 2 and isinstance(around[1], Sphere | Cylinder)):
        raise ModelError(f"{what}: around is {shown(around)}; it must be (body, Sphere) or (body, Cylinder)")
    if len(points) != 2 or any(isinstance(one, Sheave) for one in points):
        raise ModelError(f"{what}: around= goes with two markers; it has {len(points)} points or a Sheave")
    body, shape = model.lookup.body(what, around[0]), around[1]
    start, end = (model.lookup.marker(what, one) for one in points)
    if start.body is not body:
        raise ModelError(
            f"{what}: the shape is on body {body.name!r} and the first point on {start.body.name!r}; they must be one"
        )
    z = shape.axis if isinstance(shape, Cylinder) else np.array((0.0, 0.0, 1.0))
    axes = np.stack((*perpendiculars(z), z), axis=1)
    frame = body if body is not model.ground else "world"
    p = axes.T @ (start.point - shape.center)
    r = axes.T @ (body.orientation.T @ (end.reference() - body.world(shape.center)))
    axial = isinstance(shape, Cylinder)
    for marker, x in ((start, p), (end, r)):
        if np.linalg.norm(x[: 2 if axial else 3]) < shape.radius:
            raise ModelError(f"{what}: marker {marker.name!r} lies inside the shape; it must be outside")
    middle = model.add_marker(f"{name}.a", body, shape.center, frame=frame, axes=axes)
    at = (float(p[0]), float(p[1]), float(p[2]))
    length = float(Wrapped(at, shape.radius, axial, 1.0, stretch).path(r)[0])
    force: Force = model.add_force(
        name, Wrapped(at, shape.radius, axial, length / slack, stretch), between=(middle, end)
    )
    return force


def capstan_coefficient(friction: Numbers, wrap: Numbers) -> float:
    """Return the coefficient of a friction on the axle of a sheave that lets it slip as a rope does on a drum.

    A rope slips on a drum where its tensions are as 1 to e^(mu phi), with the angle of wrap phi (Euler, Eytelwein). The
    axle bears F = |T_1 + T_2|, and the sheave feels R (T_2 - T_1). So T_2 - T_1 = c F with

        c = (e^(mu phi) - 1) / sqrt(e^(2 mu phi) + 1 - 2 e^(mu phi) cos phi)

    has the same ratio, and sticks for every smaller one.

    Parameters
    ----------
    friction : float
        Coefficient mu of rope and drum.
    wrap : float
        Angle of wrap phi [rad].

    Returns
    -------
    float
        Coefficient of ``Model.add_friction`` with the radius of the sheave.

    Raises
    ------
    ModelError
        For a coefficient below zero and an angle that is not above zero.

    Examples
    --------
    >>> round(rtmbs.contact.capstan_coefficient(0.3, np.pi), 4)  # half a turn: tanh(mu pi / 2)
    0.4391
    """
    mu, phi = number(friction, "friction"), number(wrap, "wrap")
    if mu < 0.0:
        raise ModelError(f"friction is {mu:g}; it must be zero or more")
    if phi <= 0.0:
        raise ModelError(f"wrap is {phi:g}; it must be above zero")
    ratio = float(np.exp(mu * phi))
    return (ratio - 1.0) / float(np.sqrt(ratio**2 + 1.0 - 2.0 * ratio * np.cos(phi)))
