"""A motion of joints that a Result has: recorded rates and accelerations, or derivatives of the samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.analysis.given_motion import GivenMotion, check_finite, settable_names, splined
from rtmbs.analysis.given_poses import (
    LEAST,
    Turn,
    check_quaternions,
    place_of_dofs,
    plain_dofs,
    turn_of,
    turning_joints,
)
from rtmbs.errors import InputError, shown
from rtmbs.model.body import GROUND
from rtmbs.results.motion import BodyMotion, RelativeMotion, cross
from rtmbs.results.resampled import DofMotion
from rtmbs.results.result import TIME, Result
from rtmbs.rotations.quaternions import normalised, rotations
from rtmbs.simulation.set_coordinate import no_coordinate, turning_joint
from rtmbs.system.system import JointInfo, System

Array = NDArray[np.float64]

MOTION = ("orientation", "position", "velocity", "acceleration", "angular_velocity", "angular_acceleration")


def of_result(system: System, result: Result, t: Any) -> GivenMotion:
    """Return the motion of all coordinates that a Result knows; ``t`` names the joints, or None for all."""
    times = np.asarray(result[TIME])
    found = GivenMotion(times, {}, {}, {})
    coordinates, joints = settable_names(system), turning_joints(system)
    wanted = set(coordinates.values())
    if t is not None:
        names = joints_named(system, t, [*coordinates, *joints])
        joints = {name: info for name, info in joints.items() if name in names}
        wanted = {coordinates[name] for name in names if name in coordinates}
    for name, dof in coordinates.items():
        if "." in name and name in result and dof in wanted and dof not in found.values:
            found.values[dof], found.names[dof] = recorded(result, name, ("_rate", "_acceleration")), name
            check_finite(name, found.values[dof], times)
    for info in joints.values():
        take_recorded(system, result, info, found)
    if not found.values:
        raise InputError(f"motion has no coordinate of {system.name!r}; it must be a Result of this mechanism")
    return found


def take_recorded(system: System, result: Result, info: JointInfo, found: GivenMotion) -> None:
    """Take in what a Result knows of a joint that turns freely; a slide along a line is measured between its bodies."""
    label = next((f"{own}.orientation" for own in (f"joint:{info.name}", info.name) if is_turn(result, own)), "")
    if label:
        own, turn = label.removesuffix(".orientation"), None
        if f"{own}.rate" in result and f"{own}.acceleration" in result:
            q = np.asarray(result[label])
            check_quaternions(label, q, found.times)
            turn = Turn(rotations(normalised(q)), result[f"{own}.rate"], result[f"{own}.acceleration"])
            check_finite(label, np.hstack(turn[1:]), found.times)
        else:
            turn = turn_of(label, result[label], found.times)
        found.turn(system, info, turn)
        if info.kind.free and f"{own}.position" in result:
            place = recorded(result, f"{own}.position", (".velocity", ".linear_acceleration"), own)
            check_finite(f"{own}.position", place, found.times)
            found.take(system, place_of_dofs(system, info, place, turn))
    if not info.kind.free and (slides := plain_dofs(system, info)) and bodies_known(result, info):
        relative = RelativeMotion(moved(result, info.a), moved(result, info.b), info.point_a, info.point_b)
        found.take(system, {slides[0]: np.stack(relative.slide(info.axes_a[info.dofs.index(slides[0])]), axis=1)})


def is_turn(result: Result, owner: str) -> bool:
    """Return whether a Result has the orientation of a joint of this name, not of a body."""
    return f"{owner}.orientation" in result and f"{owner}.angular_velocity" not in result


def recorded(result: Result, name: str, derivatives: tuple[str, str], owner: str | None = None) -> Array:
    """Return a channel (S, ...) with its rate and acceleration (S, 3, ...), by a spline where they are not recorded."""
    others = [f"{name if owner is None else owner}{one}" for one in derivatives]
    if all(one in result for one in others):
        return np.stack([result[one] for one in (name, *others)], axis=1)
    times = np.asarray(result[TIME])
    if len(times) < LEAST:
        raise InputError(f"motion has {name!r} without {' and '.join(map(repr, others))}; record these channels too")
    check_finite(name, np.asarray(result[name]), times)
    return splined(times, np.asarray(result[name]))


def bodies_known(result: Result, info: JointInfo) -> bool:
    """Return whether a Result has the motion of both bodies of a joint."""
    return all(f"{one}.{what}" in result for one in (info.a, info.b) if one != GROUND for what in MOTION)


def moved(result: Result, body: str) -> BodyMotion:
    """Return the recorded motion of a body, world axes about the world's origin."""
    nothing = np.zeros((len(result.t), 3))
    A = np.tile(np.eye(3), (len(result.t), 1, 1))
    r = v = a = omega = alpha = nothing
    if body != GROUND:
        r, v, a, omega, alpha = (np.asarray(result[f"{body}.{what}"]) for what in MOTION[1:])
        A = rotations(normalised(result[f"{body}.orientation"]))
    V = np.hstack((v - cross(omega, r), omega))
    acc = np.hstack((a - cross(alpha, r) - cross(omega, v), alpha))
    return BodyMotion(A, r, DofMotion(A, r, V, acc, nothing, nothing))


def joints_named(system: System, t: Any, known: Sequence[str]) -> Sequence[str]:
    """Return the names of coordinates and joints in the place of times; raises UnknownNameError, InputError."""
    if isinstance(t, str) or not isinstance(t, Sequence) or not all(isinstance(name, str) for name in t):
        raise InputError(
            f"t is {shown(t)} beside a Result, which has its own times; leave t out, or name the coordinates to follow"
        )
    for name in t:
        if name not in known:
            joint = turning_joint(system, name)
            raise no_coordinate(system, name, known, remedy=f"name the joint, {joint!r}")
    return t
