"""Prescribed motion of joints: values, rates and accelerations at times, from functions, samples or a Result.

Rates of rotation dofs are the angular velocity in axes fixed in the body that the tree enters (METHODS 1.16), so a
recorded rate and its derivative in axes of b are their motion, whatever the parent does. The motion of a joint that
turns freely is given by orientations and positions, as its channels have them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, ModelError, shown
from rtmbs.model.body import GROUND
from rtmbs.model.profiles import ConstantRate, checked_profile
from rtmbs.numerics.rotations.quaternions import conjugate, normalised, product, rotations
from rtmbs.results.channel import TIME
from rtmbs.results.motion_channels import BodyMotion, RelativeMotion, cross, turned
from rtmbs.results.result import Result
from rtmbs.results.samples import DofMotion
from rtmbs.simulation.set_coordinate import no_coordinate, turning_joint
from rtmbs.system.system import JointInfo, System

Array = NDArray[np.float64]


class RelativeOrientation(NamedTuple):
    """Orientation of body b relative to body a over S samples."""

    R: Array  # (S, 3, 3) axes of b to axes of a
    w: Array  # (S, 3) angular velocity of b relative to a, axes of b [rad/s]
    wd: Array  # (S, 3) its derivative, axes of b [rad/s^2]


@dataclass(frozen=True)
class GivenMotion:
    """Motion of dofs at S times."""

    times: Array  # (S,) [s]
    values: dict[int, Array]  # (S, 3) by dof: value, rate, acceleration; values of rotations are zero
    names: dict[int, str]  # by dof: as messages and forces call it
    turns: dict[int, Array]  # (S, 3, 3) by reference: the rotations of joints that turn freely

    def turn(self, system: System, info: JointInfo, turn: RelativeOrientation) -> None:
        """Add the relative orientation of a joint."""
        R0, motion = turn_of_dofs(system, info, turn)
        self.turns[int(system.tables.dofs.reference[rotation_dofs(system, info)[0]])] = R0
        self.take(system, motion)

    def take(self, system: System, motion: Mapping[int, Array]) -> None:
        """Add the motion of dofs by their own names."""
        self.values.update(motion)
        self.names.update({dof: system.coordinate_names[dof] for dof in motion})


def prescribable_names(system: System) -> dict[str, int]:
    """Return the dof of every coordinate of a joint in the tree: JOINT.COORDINATE, and JOINT where it has one.

    The slide of a joint along a line, which turns freely too, is JOINT.slide_1.
    """
    found = {}
    for joint, info in system.joints.items():
        if not info.in_tree:
            continue
        for coordinate, dof in zip(info.coordinates, info.dofs, strict=False):
            found[f"{joint}.{coordinate}"] = dof
        if len(info.coordinates) == 1:
            found[joint] = info.dofs[0]
    for info in turning_joints(system).values():
        if not info.kind.free:
            found.update({system.coordinate_names[dof]: dof for dof in plain_dofs(system, info)})
    return found


def other_names(system: System, names: Sequence[str]) -> dict[str, str]:
    """Return the second name of each coordinate with two, with the one of ``names`` that it stands for."""
    known = prescribable_names(system)
    by_dof = {known[name]: name for name in names if name in known}
    return {other: by_dof[dof] for other, dof in known.items() if dof in by_dof and other != by_dof[dof]}


def given_motion(system: System, motion: Any, t: Any) -> GivenMotion:
    """Return the motion of every given dof. Raises UnknownNameError with the nearest names, InputError."""
    found = GivenMotion(checked_times(t), {}, {}, {})
    if motion is None:  # drivers say it all
        return found
    if not isinstance(motion, Mapping) or not motion:
        raise InputError(f"motion is {shown(motion)}; it must map joints to motions, or be a Result")
    known, parts, turns = prescribable_names(system), parts_of(system), {}
    for name, value in motion.items():
        if isinstance(name, str) and name in known:
            found.values[known[name]], found.names[known[name]] = values_of(name, value, found.times), name
        elif isinstance(name, str) and name in parts:
            if name.endswith(".orientation"):
                turns[parts[name].name] = turn_of(name, value, found.times)
                found.turn(system, parts[name], turns[parts[name].name])
        else:
            joint = turning_joint(system, name)
            how = remedy(system.joints[joint]) if joint else ""
            raise no_coordinate(system, name, [*known, *parts], remedy=how)
    for name in motion:
        if name in parts and name.endswith(".position"):
            place = place_of(name, motion[name], found.times)
            found.take(system, place_of_dofs(system, parts[name], place, turns.get(parts[name].name)))
    return found


def place_of(name: str, value: Any, times: Array) -> Array:
    """Return positions, velocities and accelerations (S, 3, 3) of three profiles, of samples (S, 3), or as given."""
    S = len(times)
    if isinstance(value, Sequence) and len(value) == 3 and any(callable(one) for one in value):
        still = [one if callable(one) else ConstantRate(0.0, start=one) for one in value]
        return np.stack([values_of(f"{name}[{k}]", one, times) for k, one in enumerate(still)], axis=2)
    try:
        found = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    sampled = found.shape == (S, 3) and len(times) >= LEAST
    if not sampled and found.shape != (S, 3, 3):
        raise InputError(
            f"motion of {name!r} is {shown(value)}; it must be three profiles, {S} positions (more than three), or an "
            f"array ({S}, 3, 3) of position, velocity and acceleration"
        )
    check_finite(name, found, times)
    return splined(times, found) if sampled else found


def checked_times(t: Any) -> Array:
    """Return times (S,) that increase. Raises InputError."""
    try:
        times = np.atleast_1d(np.asarray(t, np.float64))
    except (TypeError, ValueError):
        times = np.zeros(0)
    if times.ndim != 1 or not len(times) or not np.all(np.isfinite(times)) or np.any(np.diff(times) <= 0.0):
        raise InputError(f"t is {shown(t)}; it must be an array of increasing times [s]")
    return times


def values_of(name: str, value: Any, times: Array) -> Array:
    """Return values, rates and accelerations (S, 3): of a profile, an array (S, 3), or samples (S,) by a spline."""
    if callable(value):
        try:
            profile = checked_profile(value, f"motion of {name!r}")
            found = np.array([np.asarray(profile(float(t)), np.float64) for t in times])
        except ModelError as error:
            raise InputError(str(error)) from None
        if found.shape != (len(times), 3):
            raise InputError(f"motion of {name!r} must return (value, rate, acceleration) at a time")
    else:
        try:
            found = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            found = np.zeros(0)
        if found.shape == (len(times),) and len(times) > 3 and np.all(np.isfinite(found)):
            found = splined(times, found)
        if found.shape != (len(times), 3) and not (found.shape == (len(times),) and len(times) > 3):
            raise InputError(
                f"motion of {name!r} is {shown(value)}; it must be a profile, {len(times)} samples (more than three), "
                f"or an array ({len(times)}, 3) of values, rates and accelerations"
            )
    check_finite(name, found, times)
    return found


def check_finite(name: str, found: Array, times: Array) -> None:
    """Refuse a motion (S,) or (S, 3) that is not finite: InputError."""
    finite = np.isfinite(found).reshape(len(times), -1).all(axis=1)
    if not np.all(finite):
        raise InputError(
            f"motion of {name!r} is not finite at t = {times[np.argmin(finite)]:g} s; leave that time out, or fill the "
            "gap"
        )


def splined(times: Array, values: Array) -> Array:
    """Return samples (S,) with the rates and accelerations of the spline through them (S, 3), of degree five if it can.

    Accelerations of a cubic spline are of order two, and worst at the ends.
    """
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(times, values, k=5 if len(times) > 5 else 3)
    return np.stack((values, spline(times, 1), spline(times, 2)), axis=1)


FARTHEST = 0.5 * np.pi  # [rad]: turn between two samples beyond which derivatives say nothing
LEAST = 4  # samples that can be differentiated
UNIT = 1e-6  # what the length of a quaternion may miss


def turning_joints(system: System) -> dict[str, JointInfo]:
    """Return the joints of the tree that turn freely, by name."""
    return {name: info for name, info in system.joints.items() if info.in_tree and info.kind.turns_freely}


def rotation_dofs(system: System, info: JointInfo) -> tuple[int, int, int]:
    """Return the three rotation dofs of a joint that turns freely."""
    first = next(dof for dof in info.dofs if system.tables.dofs.reference[dof] >= 0)
    return first, first + 1, first + 2


def plain_dofs(system: System, info: JointInfo) -> list[int]:
    """Return the other dofs of a joint that turns freely, in the order of its type."""
    rotations = rotation_dofs(system, info)
    return [dof for dof in info.dofs if dof not in rotations]


def parts_of(system: System) -> dict[str, JointInfo]:
    """Return the joint of JOINT.orientation, and of JOINT.position where the joint is free."""
    found = {}
    for name, info in turning_joints(system).items():
        found[f"{name}.orientation"] = info
        if info.kind.free:
            found[f"{name}.position"] = info
    return found


def remedy(info: JointInfo) -> str:
    """Return the sentence about the ways to give the motion of a joint that turns freely."""
    also = f" and {info.name + '.position'!r} (three profiles, or samples)" if info.kind.free else ""
    return f"give {info.name + '.orientation'!r} (quaternions at the times, or a function of t){also}"


def turn_of(what: str, value: Any, times: Array) -> RelativeOrientation:
    """Return an orientation of samples (S, 4), of (S, 3, 4) with two derivatives, or of f(t). Raises InputError."""
    S = len(times)
    if callable(value):
        value = [value(float(t)) for t in times]
    try:
        found = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape == (S, 4) and S >= LEAST:
        return differentiated(what, found, times)
    if found.shape != (S, 3, 4):
        raise InputError(
            f"motion of {what!r} is {shown(value)}; it must be a function of t that returns the quaternion with two "
            f"derivatives, {S} quaternions (w, x, y, z) (more than three), or an array ({S}, 3, 4) with derivatives"
        )
    q, qd, qdd = (found[:, k] for k in range(3))
    check_quaternions(what, q, times)
    return RelativeOrientation(rotations(normalised(q)), *angular_velocity_and_acceleration(q, qd, qdd))


def differentiated(what: str, q: Array, times: Array) -> RelativeOrientation:
    """Return the orientation of quaternions (S, 4) by a spline of degree five, scaled to length one.

    With s the spline and q = s / |s|, conj(q) q' = w / 2 and the vector of conj(q) q'' = w' / 2, axes of b. The spline
    follows any constant turn before or after, for these are linear. Rates are of order five, accelerations of order
    four. Raises InputError.
    """
    from scipy.interpolate import make_interp_spline

    check_quaternions(what, q, times)
    q = normalised(q)
    along = np.einsum("sk,sk->s", q[1:], q[:-1])
    turns = 2.0 * np.arccos(np.minimum(np.abs(along), 1.0))
    if len(turns) and turns.max() > FARTHEST:
        k = int(np.argmax(turns))
        raise InputError(
            f"motion of {what!r} turns by {turns[k]:.3g} rad between t = {times[k]:g} s and t = {times[k + 1]:g} s; "
            "give more samples, a quarter turn apart at most, or derivatives too"
        )
    q = q * np.cumprod(np.concatenate(([1.0], np.where(along < 0.0, -1.0, 1.0))))[:, None]
    spline = make_interp_spline(times, q, k=5 if len(times) > 5 else 3)
    return RelativeOrientation(rotations(q), *angular_velocity_and_acceleration(q, spline(times, 1), spline(times, 2)))


def check_quaternions(what: str, q: Array, times: Array) -> None:
    """Refuse quaternions (S, 4) that are not finite, or not of length one. Raises InputError."""
    with np.errstate(over="ignore", invalid="ignore"):
        good = np.abs(np.linalg.norm(q, axis=1) - 1.0) <= UNIT
    if not np.all(good):
        k = int(np.argmin(good))
        raise InputError(
            f"motion of {what!r} is {shown(q[k].tolist())} at t = {times[k]:g} s; it must be a quaternion "
            "(w, x, y, z) of length one"
        )


def angular_velocity_and_acceleration(q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """Return w and w' (S, 3) in body axes of quaternions s (S, 4) with two derivatives; only s / |s| counts."""
    size = np.einsum("sk,sk->s", q, q)[:, None]
    growth = np.einsum("sk,sk->s", q, qd)[:, None]  # |s| |s|'
    back = conjugate(q)
    first, second = product(back, qd)[:, 1:] / size, product(back, qdd)[:, 1:] / size
    return 2.0 * first, 2.0 * (second - 2.0 * growth / size * first)


def turn_of_dofs(system: System, info: JointInfo, turn: RelativeOrientation) -> tuple[Array, dict[int, Array]]:
    """Return the reference rotations (S, 3, 3) of a turn, and the motion (S, 3) of the rotation dofs.

    A tree that enters a from b sees the inverse: R^T, -R w and its derivative -R w'.
    """
    reference, dofs = info.frame_a @ info.frame_b.T, rotation_dofs(system, info)
    R, w, wd = turn
    if info.reversed:
        R0, w, wd = reference @ np.swapaxes(R, 1, 2), -turned(R, w), -turned(R, wd)
    else:
        R0 = reference.T @ R
    axis = system.tables.dofs.axis[list(dofs)]
    columns = np.stack((np.zeros_like(w), w @ axis.T, wd @ axis.T), axis=1)
    return R0, {dof: columns[:, :, k] for k, dof in enumerate(dofs)}


def place_of_dofs(system: System, info: JointInfo, place: Array, turn: RelativeOrientation | None) -> dict[int, Array]:
    """Return the motion (S, 3) of the slides of a floating joint; ``place`` (S, 3, 3): value, rate, acceleration.

    A tree that enters a from b sees -s, s = R^T x the way of b seen from its own axes: s' = R^T x' - w x s and
    s'' = R^T x'' - 2 w x s' - w x (w x s) - w' x s. Raises InputError for such a joint without its orientation.
    """
    if info.reversed:
        if turn is None:
            raise InputError(f"motion of {info.name + '.position'!r} needs {info.name + '.orientation'!r} too; give it")
        back = np.swapaxes(turn.R, 1, 2)
        s, x1, x2 = (turned(back, place[:, order] @ info.frame_a.T) for order in range(3))
        s1 = x1 - cross(turn.w, s)
        s2 = x2 - 2.0 * cross(turn.w, s1) - cross(turn.w, cross(turn.w, s)) - cross(turn.wd, s)
        place = -np.stack((s, s1, s2), axis=1) @ info.frame_b
    return {dof: place[:, :, k] for k, dof in enumerate(plain_dofs(system, info))}


MOTION = ("orientation", "position", "velocity", "acceleration", "angular_velocity", "angular_acceleration")


def of_result(system: System, result: Result, t: Any) -> GivenMotion:
    """Return the motion of all coordinates in a Result; ``t`` names the joints, or None for all."""
    times = np.asarray(result[TIME])
    found = GivenMotion(times, {}, {}, {})
    coordinates, joints = prescribable_names(system), turning_joints(system)
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
    """Add the motion of a freely turning joint from a Result; a slide along a line is measured between bodies."""
    label = next((f"{own}.orientation" for own in (f"joint:{info.name}", info.name) if is_turn(result, own)), "")
    if label:
        own, turn = label.removesuffix(".orientation"), None
        if f"{own}.rate" in result and f"{own}.acceleration" in result:
            q = np.asarray(result[label])
            check_quaternions(label, q, found.times)
            turn = RelativeOrientation(rotations(normalised(q)), result[f"{own}.rate"], result[f"{own}.acceleration"])
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
    """Return the names of coordinates and joints given in place of times; raises UnknownNameError, InputError."""
    if isinstance(t, str) or not isinstance(t, Sequence) or not all(isinstance(name, str) for name in t):
        raise InputError(
            f"t is {shown(t)} beside a Result, which has its own times; leave t out, or name the coordinates to follow"
        )
    for name in t:
        if name not in known:
            joint = turning_joint(system, name)
            raise no_coordinate(system, name, known, remedy=f"name the joint, {joint!r}")
    return t
