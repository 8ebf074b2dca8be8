"""A body whose position and orientation are prescribed: six driven joints, with massless bodies between them.

Angles are yaw, pitch and roll, given as profiles or found from a quaternion that is a function of time.

rtmbs.library.drive_pose(model, "plate", position=(0.0, 0.0, rtmbs.Sine(0.1, 3.0)), angles=(yaw, 0.0, roll))
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, ModelError, shown, unknown_name
from rtmbs.model import Body, ConstantRate, Driver, Input, Joint, Model, Prismatic, Revolute
from rtmbs.model.checks import rotation, rotation_of_quaternion
from rtmbs.numerics.rotations.quaternions import conjugate, product

Array = NDArray[np.float64]

SLIDES, TURNS = ("x", "y", "z"), ("yaw", "pitch", "roll")
AXIS_OF = {"x": 0, "y": 1, "z": 2, "yaw": 2, "pitch": 1, "roll": 0}  # column of the axes
Quaternion = Callable[[float], tuple[Any, Any, Any]]

STEEPEST = 0.9998  # sine of the pitch: yaw and roll are one turn beyond
NEXT, TURNED, LEAST = 0.05, 0.5, 1e-6  # [s], [rad], [s]: how far apart angles are compared to count whole turns


def drive_pose(
    model: Model,
    body: Body | str,
    *,
    position: Sequence[Any] = (0.0, 0.0, 0.0),
    angles: Sequence[Any] | None = None,
    quaternion: Quaternion | None = None,
    axes: Any = None,
    parent: Body | str = "ground",
) -> dict[str, Driver]:
    """Prescribe where the origin of a body goes, and how the body turns there; return its six drivers by name.

    A profile is any of a driver: an ``rtmbs.Sine``, an ``rtmbs.Input``, a function that answers (f, fd, fdd), or a
    number. Joints are called "BODY x" to "BODY roll", drivers "drive BODY x" to "drive BODY roll". Forces of x, y, z
    [N] act along ``axes``; moments of yaw, pitch and roll [N m] about their joint axes. ``"BODY roll.reaction"`` is the
    whole wrench. The body must have no other joint to its parent.

    Parameters
    ----------
    model : Model
        Model that the joints and drivers are added to.
    body : Body or str
        Body to move, or its name.
    position : Sequence[object], default (0.0, 0.0, 0.0)
        Three profiles, of the displacement from the reference pose along ``axes`` [m].
    angles : Sequence[object], optional
        Three profiles, yaw, pitch and roll [rad]: R = Rz(yaw) Ry(pitch) Rx(roll) in ``axes``, from the reference.
    quaternion : Quaternion, optional
        In place of angles, a function of t that returns the quaternion (w, x, y, z) of R with its first and second
        derivative; the pitch stays within 89 degrees.
    axes : object, optional
        A rotation (3, 3) whose columns are the directions, or a quaternion; those of the world unless given.
    parent : Body or str, default "ground"
        The body that the motion is relative to.

    Returns
    -------
    dict[str, Driver]
        The six drivers, by x, y, z, yaw, pitch, roll.

    Raises
    ------
    ModelError
        For both ``angles`` and ``quaternion``, a wrong count of profiles, or a body with another joint to its parent.
    UnknownNameError
        For an unknown name; the nearest ones are listed.

    Examples
    --------
    >>> drivers = rtmbs.library.drive_pose(model, "plate", angles=(rtmbs.Sine(0.2, 3.0), 0.0, rtmbs.Input(0.0)))
    """
    name = getattr(body, "name", body)
    if not (isinstance(name, str) and name in model.bodies):
        raise unknown_name("body", name, model.bodies)
    moved = model.bodies[name]
    what = f"pose of body {moved.name!r}"
    if angles is not None and quaternion is not None:
        raise ModelError(f"{what}: give angles= or quaternion=, one of the two")
    if quaternion is not None and not callable(quaternion):
        raise ModelError(f"{what}: quaternion is {shown(quaternion)}; it must be a function of t")
    turns = three(angles, f"{what}: angles") if quaternion is None else angles_of(quaternion, what)
    profiles = dict(zip(SLIDES + TURNS, (*three(position, f"{what}: position"), *turns), strict=True))
    basis = np.eye(3) if axes is None else rotation(axes, f"{what}: axes")
    joints = carry(model, moved, parent, basis)
    return {one: model.add_driver(f"drive {joint.name}", profiles[one], joint=joint) for one, joint in joints.items()}


def three(profiles: Sequence[Any] | None, what: str) -> tuple[Any, ...]:
    """Return three profiles, numbers made constant ones; ModelError for another count."""
    if profiles is None:
        profiles = (0.0, 0.0, 0.0)
    if isinstance(profiles, str) or not isinstance(profiles, Sequence | np.ndarray) or len(profiles) != 3:
        raise ModelError(f"{what} is {shown(profiles)}; it must be three profiles, numbers among them")
    return tuple(
        one if callable(one) or isinstance(one, Input) else ConstantRate(rate=0.0, start=one) for one in profiles
    )


def carry(model: Model, body: Body, parent: Body | str, basis: Array) -> dict[str, Joint]:
    """Add the six joints from the parent to the body, and the massless bodies between them."""
    last, joints, point = parent, {}, np.array(body.position)
    for name, axis in AXIS_OF.items():
        kind, along = Prismatic if name in SLIDES else Revolute, basis[:, axis]
        here = f"{body.name} {name}"
        if name == TURNS[-1]:
            after: Body = body
        else:
            after = model.add_body(f"{here} carrier", mass=0.0, inertia=(0.0, 0.0, 0.0), position=point)
        joints[name] = model.add_joint(here, kind(axis=along), last, after, point=point)
        last = after
    return joints


def angles_of(quaternion: Quaternion, what: str) -> tuple["Angle", ...]:
    """Return profiles of yaw, pitch and roll of a quaternion, whole turns counted."""
    at = lru_cache(maxsize=512)(lambda t: cardan(quaternion, t, what))
    return tuple(Angle(at, k) for k in range(3))


class Angle:
    """One angle of a turn: the value, its rate and its acceleration; continuous through whole turns from t = 0."""

    jumps = ()

    def __init__(self, at: Callable[[float], Array], k: int) -> None:
        self.at, self.k = at, k
        self.known = {sign: [(0.0, float(at(0.0)[0, k]))] for sign in (1.0, -1.0)}  # (|t|, angle), by the sign of t

    def __call__(self, t: float) -> tuple[float, float, float]:
        f, fd, fdd = (float(one) for one in self.at(float(t))[:, self.k])
        return self.continued(f, float(t)), fd, fdd

    def continued(self, f: float, t: float) -> float:
        """Return an angle with the whole turns that it has made since t = 0."""
        sign = math.copysign(1.0, t)
        nodes = self.known[sign]
        while nodes[-1][0] < abs(t):
            place, value = nodes[-1]
            rate = abs(float(self.at(sign * place)[1, self.k]))
            after = place + max(min(NEXT, TURNED / max(rate, 1e-300)), LEAST)
            nodes.append((after, nearest(float(self.at(sign * after)[0, self.k]), value)))
        return nearest(f, nodes[bisect_right(nodes, abs(t), key=lambda node: node[0]) - 1][1])


def nearest(angle: float, other: float) -> float:
    """Return an angle plus whole turns, the nearest to another."""
    return angle + 2.0 * math.pi * round((other - angle) / (2.0 * math.pi))


def cardan(quaternion: Quaternion, t: float, what: str) -> Array:
    """Return yaw, pitch and roll with rates and accelerations (3, 3) of a quaternion with its two derivatives."""
    try:
        q, qd, qdd = np.asarray(quaternion(t), np.float64).reshape(3, 4)
    except (TypeError, ValueError):
        raise ModelError(
            f"{what}: quaternion must return (q, qd, qdd) at t = {t:g}, four numbers each, not {shown(quaternion(t))}"
        ) from None
    n = float(q @ q)
    if not (math.isfinite(n) and n > 0.0):
        raise ModelError(f"{what}: quaternion is {shown(q.tolist())} at t = {t:g}; no rotation is (1, 0, 0, 0)")
    R = rotation_of_quaternion(q / math.sqrt(n))
    back = conjugate(q)
    w = 2.0 * product(qd, back)[1:] / n
    alpha = 2.0 * product(qdd, back)[1:] / n - w * 2.0 * float(q @ qd) / n
    if abs(R[2, 0]) > STEEPEST:
        raise InputError(
            f"{what}: the pitch is {math.degrees(math.asin(-np.clip(R[2, 0], -1, 1))):.4g} degrees at t = {t:g} s, "
            "where yaw and roll are one turn; give axes= turned so that the pitch stays small"
        )
    yaw, pitch, roll = math.atan2(R[1, 0], R[0, 0]), math.asin(-R[2, 0]), math.atan2(R[2, 1], R[2, 2])
    first, second = np.array((0.0, 0.0, 1.0)), np.array((-math.sin(yaw), math.cos(yaw), 0.0))
    third = R[:, 0]
    J = np.column_stack((first, second, third))
    rates = np.linalg.solve(J, w)
    carried = rates[0] * first + rates[1] * second
    moved = rates[1] * np.cross(rates[0] * first, second) + rates[2] * np.cross(carried, third)
    return np.array(((yaw, pitch, roll), rates, np.linalg.solve(J, alpha - moved)))
