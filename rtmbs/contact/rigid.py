"""Rigid contacts: gaps that close by impacts with restitution, and then hold as constraints (METHODS 8.7).

A rigid contact is a constraint on its gap that is switched like a lock. Events find where a gap closes and where its
force would pull.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from rtmbs.contact.bearing import CONTACT, LOAD, Bearing
from rtmbs.contact.elements import Side, points_of, sides
from rtmbs.contact.friction import DryFriction, checked_friction
from rtmbs.contact.pairs import BRISTLE, Plane
from rtmbs.contact.switched import AXES, CLOSED, SLIP, CoordinateGap, Impacts, PointGap
from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, Numbers, number, perpendiculars
from rtmbs.model.constraints import Constraint
from rtmbs.model.description import Coordinate
from rtmbs.model.forces import Kinematics
from rtmbs.model.shapes import Bar, Box, Sphere, Surface

STROKE = 1e-4  # [m] of the bristle of a rigid contact under the weight of all bodies


@dataclass(frozen=True)
class PointFriction:
    """Law of the friction of a rigid contact that lasts, with a bristle; its limit follows the normal force."""

    radius: float
    friction: DryFriction
    bearing: Bearing
    settling_states: ClassVar[tuple[str, ...]] = BRISTLE[:2]
    nonnegative_inputs: ClassVar[tuple[str, ...]] = ("coefficient",)

    def __call__(self, t: float, kinematics: Kinematics, parameters: Any, states: Any) -> Any:
        """Return force and moment on b [N, N m], and the rates of two bristles [m/s]."""
        v, w, below = kinematics.v, kinematics.w, self.radius
        slides = (v[0] - below * w[1], v[1] + below * w[0])
        limit = parameters["coefficient"] * parameters[LOAD]
        (fx, fy), rates = self.friction([states[name] for name in BRISTLE[:2]], slides, limit)
        return (np.stack((fx, fy, 0.0 * fx)), np.stack((below * fy, -below * fx, 0.0 * fx))), np.stack(rates)


def checked_impacts(what: str, restitution: Numbers, friction: Numbers, rest_speed: Numbers) -> Impacts:
    """Return the checked law of impacts."""
    e, mu = number(restitution, f"{what}: restitution"), number(friction, f"{what}: friction")
    slow = number(rest_speed, f"{what}: rest_speed")
    if not 0.0 <= e <= 1.0:
        raise ModelError(f"{what}: restitution is {e:g}; it must be from 0 to 1")
    if mu < 0.0:
        raise ModelError(f"{what}: friction is {mu:g}; it must be zero or more")
    if slow <= 0.0:
        raise ModelError(f"{what}: rest_speed is {slow:g}; it must be above zero")
    return Impacts(e, mu, slow)


def add_rigid_contact(
    model: Any, name: str, a: Side, b: Side, restitution: Numbers, friction: Numbers, rest_speed: Numbers
) -> tuple[Constraint, ...]:
    """Add the constraints and frictions of a rigid contact; see ``Model.add_rigid_contact``."""
    what = f"rigid contact {name!r}"
    impacts = checked_impacts(what, restitution, friction, rest_speed)
    found = []
    for (one, of_one), (other, of_other) in product(sides(model, what, a), sides(model, what, b)):
        if one is other:
            raise ModelError(f"{what}: both sides are of {one.name!r}; contact needs two bodies")
        if isinstance(of_other, Plane):
            one, of_one, other, of_other = other, of_other, one, of_one
        if not isinstance(of_one, Plane) or not isinstance(of_other, Sphere | Bar | Box | Surface):
            raise ModelError(
                f"{what}: a {type(of_one).__name__} does not touch a {type(of_other).__name__}; one side must be a "
                "Plane, the other a Sphere, Bar, Box or convex Surface"
            )
        x, y = perpendiculars(of_one.normal)
        plane = (one, of_one.point, np.stack((x, y, of_one.normal), axis=1))
        points, radius = points_of(what, of_other)
        found += [(plane, (other, point, np.eye(3)), radius) for point in points]
    named = [(name if len(found) == 1 else f"{name}_{k}", *one) for k, one in enumerate(found, 1)]
    return tuple(add_point(model, *one, impacts) for one in named)


Place = tuple[Any, Array, Array]  # body, point and axes in body axes


def add_point(model: Any, name: str, a: Place, b: Place, radius: float, impacts: Impacts) -> Constraint:
    """Add markers, constraint and friction of one touching point."""
    ends = tuple(
        model.add_marker(f"{name}.{end}", body, point, frame=body if body is not model.ground else "world", axes=axes)
        for end, (body, point, axes) in (("a", a), ("b", b))
    )
    mu = impacts.friction
    given = {CLOSED: 1.0} | ({SLIP: 1.0, AXES: np.eye(3)} if mu else {})
    constraint: Constraint = model.add_constraint(name, PointGap(radius, impacts), between=ends, parameters=given)
    if mu:
        weight = sum(body.mass for body in model.bodies.values()) * (float(np.linalg.norm(model.gravity)) or 1.0)
        bristle = checked_friction(name, "stiffness", mu * weight / STROKE, 1e-3, 1.0, 1e-2)
        law = PointFriction(radius, bristle, Bearing(name, CONTACT, (0.0, 0.0, 0.0), 0.0, 0.0, 0.0))
        model.add_force(
            f"{name} friction", law, between=ends, parameters={"coefficient": mu, LOAD: 0.0},
            states=dict.fromkeys(BRISTLE[:2], 0.0), units=dict.fromkeys(BRISTLE[:2], "m"),
        )  # fmt: skip
    return constraint


def add_rigid_stop(
    model: Any, name: str, joint: Coordinate, lower: Numbers, upper: Numbers, restitution: Numbers, rest_speed: Numbers
) -> tuple[Constraint, ...]:
    """Add the constraints of rigid stops of a coordinate; see ``Model.add_rigid_stop``."""
    what = f"rigid stop {name!r}"
    impacts = checked_impacts(what, restitution, 0.0, rest_speed)
    ends = {
        key: number(value, f"{what}: {key}") for key, value in (("lower", lower), ("upper", upper)) if value is not None
    }
    if not ends:
        raise ModelError(f"{what} has no end; give lower=, upper= or both")
    if len(ends) == 2 and ends["lower"] >= ends["upper"]:
        raise ModelError(f"{what}: lower is {ends['lower']:g} and upper {ends['upper']:g}; lower must be below upper")
    return tuple(
        model.add_constraint(
            name if len(ends) == 1 else f"{name}_{key}",
            CoordinateGap(limit, 1.0 if key == "lower" else -1.0, impacts),
            joints=[joint],
            parameters={CLOSED: 1.0},
        )
        for key, limit in ends.items()
    )
