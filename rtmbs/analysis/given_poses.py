"""The motion of a joint that turns freely: orientations and positions as channels have them, as motion of its dofs.

Rates of rotation dofs are the angular velocity in axes fixed in the body that the tree enters (METHODS 1.16), so a
recorded rate and its derivative in axes of b are their motion, whatever the parent does.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.results.motion import cross, turned
from rtmbs.rotations.quaternions import conjugate, normalised, product, rotations
from rtmbs.system.system import JointInfo, System

Array = NDArray[np.float64]

FARTHEST = 0.5 * np.pi  # [rad]: turn between two samples beyond which derivatives say nothing
LEAST = 4  # samples that can be differentiated
UNIT = 1e-6  # what the length of a quaternion may miss


class Turn(NamedTuple):
    """Orientation of body b seen from body a over S samples."""

    R: Array  # (S, 3, 3) axes of b to axes of a
    w: Array  # (S, 3) angular velocity of b relative to a, axes of b [rad/s]
    wd: Array  # (S, 3) its derivative, axes of b [rad/s^2]


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
    """Return the sentence that says how the motion of a joint that turns freely is given."""
    also = f" and {info.name + '.position'!r} (three profiles, or samples)" if info.kind.free else ""
    return f"give {info.name + '.orientation'!r} (quaternions at the times, or a function of t){also}"


def turn_of(what: str, value: Any, times: Array) -> Turn:
    """Return a turn: of samples (S, 4), of (S, 3, 4) with two derivatives, or of a function of t. Raises InputError."""
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
    return Turn(rotations(normalised(q)), *angular(q, qd, qdd))


def differentiated(what: str, q: Array, times: Array) -> Turn:
    """Return the turn of quaternions (S, 4) by the spline of degree five through them, scaled to length one.

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
    return Turn(rotations(q), *angular(q, spline(times, 1), spline(times, 2)))


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


def angular(q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """Return w and w' (S, 3) in turning axes of quaternions s (S, 4) with two derivatives; only s / |s| counts."""
    size = np.einsum("sk,sk->s", q, q)[:, None]
    growth = np.einsum("sk,sk->s", q, qd)[:, None]  # |s| |s|'
    back = conjugate(q)
    first, second = product(back, qd)[:, 1:] / size, product(back, qdd)[:, 1:] / size
    return 2.0 * first, 2.0 * (second - 2.0 * growth / size * first)


def turn_of_dofs(system: System, info: JointInfo, turn: Turn) -> tuple[Array, dict[int, Array]]:
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


def place_of_dofs(system: System, info: JointInfo, place: Array, turn: Turn | None) -> dict[int, Array]:
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
