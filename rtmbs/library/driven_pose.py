"""A body whose position and orientation are prescribed: six driven joints, with massless bodies between them.

rtmbs.library.drive_pose(model, "plate", position=(0.0, 0.0, rtmbs.Sine(0.1, 3.0)), angles=(yaw, 0.0, roll))
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.library.cardan import Quaternion, angles_of
from rtmbs.model import Body, ConstantRate, Driver, Input, Joint, Model, Prismatic, Revolute
from rtmbs.model.checks import rotation

Array = NDArray[np.float64]

SLIDES, TURNS = ("x", "y", "z"), ("yaw", "pitch", "roll")
AXIS_OF = {"x": 0, "y": 1, "z": 2, "yaw": 2, "pitch": 1, "roll": 0}  # column of the axes


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

    position : three profiles, of the displacement from the reference pose along ``axes`` [m]
    angles : three profiles, yaw, pitch and roll [rad]: R = Rz(yaw) Ry(pitch) Rx(roll) in ``axes``, from the reference
    quaternion : in place of angles, a function of t that returns the quaternion (w, x, y, z) of R with its first and
        second derivative; the pitch stays within 89 degrees
    axes : a rotation (3, 3) whose columns are the directions, or a quaternion; those of the world unless given
    parent : the body that the motion is relative to

    A profile is any of a driver: an ``rtmbs.Sine``, an ``rtmbs.Input``, a function that answers (f, fd, fdd), or a
    number. Joints are called "BODY x" to "BODY roll", drivers "drive BODY x" to "drive BODY roll". Forces of x, y, z
    [N] act along ``axes``; moments of yaw, pitch and roll [N m] about their joint axes. ``"BODY roll.reaction"`` is the
    whole wrench. The body must have no other joint to its parent. Raises ModelError.

        drivers = rtmbs.library.drive_pose(model, "plate", angles=(rtmbs.Sine(0.2, 3.0), 0.0, rtmbs.Input(0.0)))
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
