"""Branches of suspensions: a car is refused whose axle is assembled beyond a singular pose, or far from its design.

The joints of one side and the travel of its wheel are as many equations as its parts have freedoms. Their determinant
is zero where the axle is singular, so a motion from design that meets no singular pose keeps its sign. An axle with
more or less equations than freedoms is judged by the turns of its parts alone.
"""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, StartError, warn
from rtmbs.model import Rod
from rtmbs.model.body import reference_distance
from rtmbs.model.checks import Array
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.system import System
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.axle_joints import AxleJoints, Poses
from rtmbs.vehicle.rod_lengths import changed_rods

Car = Any  # rtmbs.vehicle.Car, which this file serves
FARTHEST = 1.2  # [rad] of a part against the chassis: steered wheels turn by 1 rad at most
SMALL = 0.3  # [rad] likewise with straight steering, by a rod of another length
REGULAR = 1e-9  # least of the largest singular value: below, a determinant has no sign
SIDES = {"fl": "front left", "fr": "front right", "rl": "rear left", "rr": "rear right"}


class Found(NamedTuple):
    """One side of an axle at a pose, both of an axle with a beam, or the steering."""

    place: str
    turns: dict[str, float]  # by body, against the chassis from design [rad]
    other: bool  # another branch than at design
    joints: dict[str, list[str]]  # hard points by body

    @property
    def worst(self) -> str:
        """Body with the largest turn."""
        return max(self.turns, key=self.turns.__getitem__)

    @property
    def wrong(self) -> str:
        """What is wrong with the pose; empty for one that belongs to the design."""
        turned = f"{self.worst} is turned by {self.turns[self.worst]:.3g} rad against the chassis"
        if self.other:
            return f"is on another branch than at design: {turned}"
        return f"is far from its design: {turned}" if self.turns[self.worst] > FARTHEST else ""


def check_assembly(car: Car, system: System) -> None:
    """Refuse a car that is assembled on another branch by rods of other lengths or steering beyond its end.

    It warns of large turns by such rods. A car as designed is closed at design, so it is not looked at.

    Parameters
    ----------
    car : Car
        Car.
    system : System
        Its compiled System.

    Raises
    ------
    ModelError
        For a car that cannot be assembled, or not on the branch of its design.
    """
    causes = [*(told_rod(name, rod) for name, rod in changed_rods(car)), *told_steering(car)]
    if not causes or CHASSIS not in car.bodies:
        return
    cause = f"{'; '.join(causes)}; correct this, or the hard points"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim = Simulation(system, h=car.options["h"] or 1e-3)
    except StartError as error:
        raise ModelError(f"car {car.name!r} cannot be assembled: {cause}") from error
    for found in sides_at(car, sim):
        if found.wrong:
            raise ModelError(f"car {car.name!r}: the {found.place} is assembled, but it {found.wrong}; {cause}")
        if found.turns[found.worst] > SMALL and car.steering_at(0.0) == 0.0:
            warn(
                f"car {car.name!r}: the assembly turns {found.worst} by {found.turns[found.worst]:.3g} rad against the "
                f"chassis; {cause}"
            )


def check_rest(car: Car, sim: Any) -> None:
    """Refuse a car at rest whose suspension is on another branch than at design, or far from it.

    Parameters
    ----------
    car : Car
        Car.
    sim : Simulation
        Simulation at rest.

    Raises
    ------
    ModelError
        For such a suspension; the message names the joints of the part that is turned most, with their hard points.
    """
    for found in sides_at(car, sim):
        if found.wrong:
            held = ", ".join(found.joints[found.worst])
            raise ModelError(
                f"car {car.name!r}: at rest the {found.place} {found.wrong}; correct the hard points {held}, or "
                "springs and loads"
            )


def sides_at(car: Car, sim: Any) -> Iterator[Found]:
    """Yield the steering and the sides of both axles at the pose of a Simulation."""
    turn = rotations(sim[f"{CHASSIS}.orientation"])
    place, frame = sim[f"{CHASSIS}.position"], np.asarray(car.bodies[CHASSIS].position)
    steering = car.data.steering
    names = [one.name for one in steering.parts]
    turned = {name: turn.T @ rotations(sim[f"{name}.orientation"]) for name in names}
    signs = [steering.determinant(one) for one in (turned, dict.fromkeys(names, np.eye(3)))]
    turns = {name: angle_of(R) for name, R in turned.items()}
    yield Found("steering", turns, signs[0] * signs[1] < 0.0, {name: ["of the steering"] for name in names})
    for axle in ("front", "rear"):
        for side in "l" if getattr(car.data, axle).shared else "lr":
            joints = AxleJoints(car, axle, (), side)
            poses, design = {}, {body: (at, np.eye(3)) for body, at in joints.design.items()}
            for body in joints.bodies:
                x, R = sim[f"{body}.position"], rotations(sim[f"{body}.orientation"])
                poses[body] = frame + turn.T @ (x - place), turn.T @ R
            turns = {body: angle_of(poses[body][1]) for body in joints.unknown}
            if turns:
                other = sign_of(joints, poses) * sign_of(joints, design) < 0.0
                yield Found(f"{SIDES[joints.corner]} suspension", turns, other, points_of(joints))


def points_of(joints: AxleJoints) -> dict[str, list[str]]:
    """Return the hard points of the joints of each part, by body."""
    axle, found = joints.axle, {}
    for corner in joints.corners:
        for part in (one.name for one in (*axle.parts, *axle.shared)):
            held = [one for one in (*axle.connections, *axle.central) if part in (one.a, one.b) and one.kind != "free"]
            names = [one.name if one.point_b is None else f"{one.name}.a, {one.name}.b" for one in held]
            found[axle.body(part, corner)] = names
    return found


def angle_of(R: Array) -> float:
    """Return the angle of a rotation [rad]."""
    return float(np.arctan2(np.linalg.norm(R - R.T) / np.sqrt(8.0), 0.5 * (np.trace(R) - 1.0)))


def sign_of(joints: AxleJoints, poses: Poses) -> float:
    """Return the sign of the determinant of the equations of an axle; 0 where there is none."""
    equations, _ = joints.equations(poses)
    if equations.shape[0] != equations.shape[1]:
        return 0.0
    sizes = np.linalg.svd(equations, compute_uv=False)
    return float(np.linalg.slogdet(equations)[0]) if sizes[-1] > REGULAR * sizes[0] else 0.0


def told_rod(name: str, rod: Rod) -> str:
    """Return the sentence of such a rod."""
    ends, apart = " and ".join(marker.name for marker in rod.between), reference_distance(*rod.between)
    return f"rod {name!r} is {rod.length:.6g} m long, and its ends {ends} are {apart:.6g} m apart at design"


def told_steering(car: Car) -> Iterator[str]:
    """Yield the sentence of steering beyond its end."""
    angle, most = car.steering_at(0.0), car.data.steering.max_angle
    if abs(angle) > most:
        yield f"steer is {angle:.4g} rad at the start, and the steering ends at {most:.4g} rad"
