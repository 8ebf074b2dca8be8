"""What rubs and stops in joints: dry friction, clutches, stops and backlash (METHODS 8.1, 8.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rtmbs.contact.bearing import LOAD, Bearing, make_bearing
from rtmbs.contact.friction import DryFriction, checked_friction
from rtmbs.contact.normal_force import NormalForce, checked_normal_force
from rtmbs.contact.pairs import BRISTLE
from rtmbs.errors import InputError, ModelError
from rtmbs.model.checks import Numbers, number
from rtmbs.model.description import Coordinate, ForceModel, ModelDescription
from rtmbs.model.forces import Force, JointKinematics, Kinematics
from rtmbs.model.joints import Cylindrical, Joint, Spherical

STROKE = 1e-3  # [rad or m] of the bristle of a joint at its limit, unless its stiffness is given
TURNING, SLIDING = "bristle_angle", "bristle_displacement"
OF_SLIDING = "limit", "coefficient"  # inputs of the force of sliding, zero or more


@dataclass(frozen=True)
class JointFriction:
    """Law of dry friction on a joint coordinate, with a bristle; the force of sliding is limit + coefficient load."""

    friction: DryFriction
    viscous: float  # [N s/m or N m s/rad]
    bearing: Bearing | None = None
    settling_states: ClassVar[tuple[str, ...]] = ("bristle",)
    nonnegative_inputs: ClassVar[tuple[str, ...]] = OF_SLIDING

    def __call__(self, t: float, kinematics: JointKinematics, parameters: Mapping[str, Any], states: Any) -> Any:
        """Return the force or torque along the coordinate [N or N m], and the rate of the bristle."""
        zd = kinematics.zd
        (force,), (rate,) = self.friction([states["bristle"]], [zd], sliding_limit(parameters))
        return force - self.viscous * zd, rate


@dataclass(frozen=True)
class PinFriction:
    """Law of a cylindrical joint: friction on the surface of its pin, against the slip along it and around it."""

    friction: DryFriction
    viscous: float  # [N s/m] on the surface
    bearing: Bearing
    settling_states: ClassVar[tuple[str, ...]] = (SLIDING, TURNING)
    nonnegative_inputs: ClassVar[tuple[str, ...]] = OF_SLIDING

    def __call__(self, t: float, kinematics: JointKinematics, parameters: Mapping[str, Any], states: Any) -> Any:
        """Return force and torque along displacement and angle [N, N m], and the rates of two bristles [m/s]."""
        r = self.bearing.radius
        slip = [kinematics.zd[0], r * kinematics.zd[1]]
        force, rates = self.friction([states[SLIDING], states[TURNING]], slip, sliding_limit(parameters))
        along, around = (f - self.viscous * v for f, v in zip(force, slip, strict=True))
        return np.stack((along, r * around)), np.stack(rates)


@dataclass(frozen=True)
class BallFriction:
    """Law of a spherical joint: a torque against the relative angular velocity."""

    friction: DryFriction
    viscous: float  # [N m s/rad]
    bearing: Bearing
    settling_states: ClassVar[tuple[str, ...]] = BRISTLE
    nonnegative_inputs: ClassVar[tuple[str, ...]] = OF_SLIDING

    def __call__(self, t: float, kinematics: Kinematics, parameters: Mapping[str, Any], states: Any) -> Any:
        """Return no force and the moment on b [N m], and the rates of three bristles [rad/s]."""
        w = [kinematics.w[k] for k in range(3)]
        torque, rates = self.friction([states[name] for name in BRISTLE], w, sliding_limit(parameters))
        moment = [one - self.viscous * v for one, v in zip(torque, w, strict=True)]
        return (np.zeros(3), np.stack(moment)), np.stack(rates)


@dataclass(frozen=True)
class ClutchFriction:
    """Law of a clutch between two coordinates, or of a brake on one: its limit follows the normal force, an input."""

    friction: DryFriction
    arm: float  # torque of sliding over normal force: coefficient, mean radius and faces [m]
    settling_states: ClassVar[tuple[str, ...]] = ("bristle",)

    def __call__(self, t: float, kinematics: JointKinematics, parameters: Mapping[str, Any], states: Any) -> Any:
        """Return the torques along the coordinates [N m], and the rate of the bristle [rad/s]."""
        zd = kinematics.zd
        slip = zd[0] - zd[1] if len(kinematics.names) == 2 else zd[0]
        limit = self.arm * np.maximum(parameters["normal_force"], 0.0)
        (torque,), (rate,) = self.friction([states["bristle"]], [slip], limit)
        return (np.stack((torque, -torque)) if len(kinematics.names) == 2 else torque), rate


def sliding_limit(parameters: Mapping[str, Any]) -> Any:
    """Return the force or torque of sliding [N or N m]."""
    limit = parameters["limit"]
    return limit + parameters["coefficient"] * parameters[LOAD] if LOAD in parameters else limit


def add_friction(
    model: ForceModel,
    name: str,
    joint: Coordinate,
    limit: Numbers,
    *,
    coefficient: Numbers,
    radius: Numbers,
    thrust_radius: Numbers,
    length: Numbers,
    stiffness: Numbers | None,
    damping_time: Numbers,
    static_ratio: Numbers,
    stribeck_speed: Numbers,
    viscous: Numbers,
) -> Force:
    """Add the law of dry friction of a joint; see ``Model.add_friction``."""
    what = f"friction {name!r}"
    most, slope = number(limit, f"{what}: limit"), number(viscous, f"{what}: viscous")
    mu = 0.0 if coefficient is None else number(coefficient, f"{what}: coefficient")
    for key, value in (("limit", most), ("viscous", slope), ("coefficient", mu)):
        if value < 0.0:
            raise ModelError(f"{what}: {key} is {value:g}; it must be zero or more")
    if coefficient is None and not all(one is None for one in (radius, thrust_radius, length)):
        raise ModelError(f"{what}: radius=, thrust_radius= and length= belong to coefficient=; give it as well")
    found = joint_of(model, what, joint)
    bearing = None if coefficient is None else make_bearing(what, found, radius, thrust_radius, length)
    stiff = usual_stiffness(what, model.lookup.model, most, mu, bearing) if stiffness is None else stiffness
    friction = checked_friction(what, "stiffness", stiff, damping_time, static_ratio, stribeck_speed)
    parameters = {"limit": most} | ({"coefficient": mu, LOAD: 0.0} if bearing else {})
    if bearing is not None and isinstance(found.type, Spherical):
        ends = (found.a, found.point_a, found.axes_a), (found.b, found.point_b, found.axes_b)
        first, second = (
            model.add_marker(f"{name}.{end}", body, point, body if body is not model.ground else "world", axes)
            for end, (body, point, axes) in zip("ab", ends, strict=True)
        )
        states, units = dict.fromkeys(BRISTLE, 0.0), dict.fromkeys(BRISTLE, "rad")
        law = BallFriction(friction, slope, bearing)
        return model.add_force(name, law, between=(first, second), parameters=parameters, states=states, units=units)
    if bearing is not None and isinstance(found.type, Cylindrical):
        pin, both = PinFriction(friction, slope, bearing), [(found, one) for one in found.type.coordinates]
        states, units = dict.fromkeys(pin.settling_states, 0.0), dict.fromkeys(pin.settling_states, "m")
        return model.add_force(name, pin, joints=both, parameters=parameters, states=states, units=units)
    _, place = model.lookup.coordinate(what, joint)
    unit = {"bristle": found.type.units()[place]}
    own = JointFriction(friction, slope, bearing)
    return model.add_force(name, own, joint=joint, parameters=parameters, states={"bristle": 0.0}, units=unit)


def joint_of(model: ForceModel, what: str, wanted: Coordinate) -> Joint:
    """Return the joint of a coordinate."""
    return model.lookup.joint(what, wanted[0] if isinstance(wanted, tuple) and len(wanted) == 2 else wanted)


def usual_stiffness(
    what: str, model: ModelDescription, limit: float, coefficient: float, bearing: Bearing | None
) -> float:
    """Return the stiffness of a bristle that slides after STROKE at its limit, the weight of all bodies as its load."""
    load = 0.0
    if bearing is not None:
        weight = sum(body.mass for body in model.bodies.values()) * float(np.linalg.norm(model.gravity))
        arm = bearing.radius if bearing.kind in ("Revolute", "Spherical") else 1.0
        load = coefficient * weight * arm
    if limit + load == 0.0:
        raise ModelError(f"{what}: limit is 0, which gives the bristle no stiffness; give stiffness=")
    return (limit + load) / STROKE


def add_clutch(
    model: ForceModel,
    name: str,
    first: Coordinate,
    second: Coordinate | None,
    *,
    coefficient: Numbers,
    radius: Numbers,
    faces: int,
    normal_force: Numbers,
    stiffness: Numbers,
    damping_time: Numbers,
    static_ratio: Numbers,
    stribeck_speed: Numbers,
) -> Force:
    """Add the law of a clutch or brake; see ``Model.add_clutch``."""
    what = f"clutch {name!r}"
    sizes = {"coefficient": coefficient, "radius": radius, "faces": faces}
    arm = 1.0
    for key, value in sizes.items():
        size = number(value, f"{what}: {key}")
        if size <= 0.0:
            raise ModelError(f"{what}: {key} is {size:g}; it must be above zero")
        arm *= size
    pressed = number(normal_force, f"{what}: normal_force")
    law = ClutchFriction(
        checked_friction(what, "stiffness", stiffness, damping_time, static_ratio, stribeck_speed), arm
    )
    joints: Sequence[Coordinate] = [first] if second is None else [first, second]
    return model.add_force(
        name,
        law,
        joints=joints,
        parameters={"normal_force": pressed},
        states={"bristle": 0.0},
        units={"bristle": "rad"},
    )


def refuse_bearings(bearings: Mapping[str, Any], what: str) -> None:
    """Refuse frictions that follow their joints where ``what`` solves for no loads of bearings: InputError."""
    if bearings:
        name = next(iter(bearings))
        raise InputError(
            f"{what} takes no friction that follows its joint, such as {name!r}: its load is no function of the state "
            "alone; give add_friction a limit= in place of coefficient=, or compare runs of a Simulation"
        )


@dataclass(frozen=True)
class Stop:
    """Law of a joint coordinate that is held above ``lower`` and below ``upper``; None leaves a side free."""

    lower: float | None
    upper: float | None
    normal: NormalForce
    ordered_inputs: ClassVar[tuple[tuple[str, str], ...]] = (("lower", "upper"),)

    def depth(self, z: Any, parameters: Mapping[str, float]) -> float:
        """Return how far the coordinate is beyond its limit [m or rad]."""
        below = parameters["lower"] - z[0] if self.lower is not None else 0.0
        return float(max(below, z[0] - parameters["upper"] if self.upper is not None else 0.0, 0.0))

    def __call__(self, t: float, kinematics: JointKinematics, parameters: Mapping[str, Any]) -> Any:
        """Return the force or torque along the coordinate [N or N m]."""
        force: Any = 0.0 * kinematics.z
        if self.lower is not None:
            force = force + self.normal(parameters["lower"] - kinematics.z, -kinematics.zd)
        if self.upper is not None:
            force = force - self.normal(kinematics.z - parameters["upper"], kinematics.zd)
        return force


def add_stop(
    model: ForceModel,
    name: str,
    joint: Coordinate,
    lower: Numbers | None,
    upper: Numbers | None,
    stiffness: Numbers,
    exponent: Numbers,
    dissipation: Numbers,
) -> Force:
    """Add the law of a stop; see ``Model.add_stop``."""
    what = f"stop {name!r}"
    ends = {
        key: number(value, f"{what}: {key}") for key, value in (("lower", lower), ("upper", upper)) if value is not None
    }
    if not ends:
        raise ModelError(f"{what} has no end; give lower=, upper= or both")
    if len(ends) == 2 and ends["lower"] >= ends["upper"]:
        raise ModelError(f"{what}: lower is {ends['lower']:g} and upper {ends['upper']:g}; lower must be below upper")
    law = Stop(ends.get("lower"), ends.get("upper"), checked_normal_force(what, stiffness, exponent, dissipation))
    return model.add_force(name, law, joint=joint, parameters=ends)


@dataclass(frozen=True)
class Backlash:
    """Law of two coordinates that teeth couple: free within half of the play, then a force of contact.

    The gap is e = z1 + ratio z2, as in a gear without play, whose e is zero.
    """

    ratio: float
    normal: NormalForce
    nonnegative_inputs: ClassVar[tuple[str, ...]] = ("play",)

    def depth(self, z: Any, parameters: Mapping[str, float]) -> float:
        """Return how far the teeth are beyond their play [m or rad]."""
        return float(max(abs(z[0] + self.ratio * z[1]) - 0.5 * parameters["play"], 0.0))

    def __call__(self, t: float, kinematics: JointKinematics, parameters: Mapping[str, Any]) -> Any:
        """Return the forces along both coordinates (2,) [N or N m]."""
        e = kinematics.z[0] + self.ratio * kinematics.z[1]
        rate = kinematics.zd[0] + self.ratio * kinematics.zd[1]
        half = 0.5 * parameters["play"]
        force = self.normal(-half - e, -rate) - self.normal(e - half, rate)
        return np.stack((force, self.ratio * force))


def add_backlash(
    model: ForceModel,
    name: str,
    first: Coordinate,
    second: Coordinate,
    ratio: Numbers,
    play: Numbers,
    stiffness: Numbers,
    exponent: Numbers,
    dissipation: Numbers,
) -> Force:
    """Add the law of a gear with backlash; see ``Model.add_backlash``."""
    what = f"backlash {name!r}"
    teeth, free = number(ratio, f"{what}: ratio"), number(play, f"{what}: play")
    if teeth == 0.0:
        raise ModelError(f"{what}: ratio is 0, which couples nothing; give another number")
    if free < 0.0:
        raise ModelError(f"{what}: play is {free:g}; it must be zero or more")
    law = Backlash(teeth, checked_normal_force(what, stiffness, exponent, dissipation))
    return model.add_force(name, law, joints=[first, second], parameters={"play": free})
