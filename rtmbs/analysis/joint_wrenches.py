"""Wrenches through joints, with the relative motion that they work along."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtmbs.analysis.given_poses import rotation_dofs
from rtmbs.results.channel import WRENCH
from rtmbs.results.motion import body_motion
from rtmbs.results.reactions import reaction_values
from rtmbs.results.resampled import Resampled
from rtmbs.system.system import System

Array = NDArray[np.float64]


def joint_wrench(resampled: Resampled, system: System, name: str) -> tuple[Array, Array]:
    """Return the reaction of a joint and the motion that it works along, each (S, 6), world axes.

    The motion is that of the second body relative to the first at the joint point of the second: [v, omega].
    """
    info = system.joints[name]
    bodies = system.bodies[info.a], system.bodies[info.b]
    ground = min(resampled.row(one.dof) for one in bodies)
    a, b = (body_motion(resampled, one, ground) for one in bodies)
    x = b.point(info.point_b)
    slide, turn = b.velocity(x) - a.velocity(x), b.omega - a.omega
    return reaction_values(resampled, system, name), np.hstack((slide, turn))


def free_parts(resampled: Resampled, system: System, name: str, dofs: Sequence[int]) -> dict[str, tuple[Array, Array]]:
    """Return force and rate (S,) of the parts of a wrench that drives of these dofs make, by JOINT.fx to JOINT.nz.

    A ball carries no moment but that of its drives, and a floating joint nothing but the wrench of its drives.
    """
    wrench, motion = joint_wrench(resampled, system, name)
    info = system.joints[name]
    turns = rotation_dofs(system, info)
    slides = [dof for dof in info.dofs if dof not in turns] if info.kind.free else []
    wanted = [k for k, dof in enumerate((*slides, *turns), 3 - len(slides)) if dof in dofs]
    return {f"{name}.{WRENCH[k]}": (wrench[:, k], motion[:, k]) for k in wanted}
