"""Initial coordinates, rates and reference rotations from ``set_initial`` and drivers."""

from typing import NamedTuple

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import rotation_of_quaternion
from rtmbs.model.constraints import Driver
from rtmbs.model.description import ModelDescription
from rtmbs.model.joint import Initial, Joint
from rtmbs.system.dof_layout import DofLayout
from rtmbs.system.input_slots import sample
from rtmbs.system.system import Array, Mask

CONFLICT = 1e-9  # of the typical size: what a pinned value may miss a driver by


class InitialMotion(NamedTuple):
    """Initial values of all coordinates, as far as they were set."""

    z0: Array  # (n,)
    zd0: Array  # (n,)
    R0: Array  # (nr, 3, 3)
    pinned_z: Mask  # (n,)
    pinned_zd: Mask  # (n,)
    weights: Array  # (n,)


def build_initial_motion(model: ModelDescription, layout: DofLayout, axis: Array, typical: Array) -> InitialMotion:
    """Return the initial values; drivers give way to pinned values unless these contradict them.

    axis (n, 3) as in ``Dofs``: those of rotation dofs say along which axes of the body their rates are.
    """
    n = len(layout.dofs)
    none = np.zeros(n, np.bool_)
    rotations = np.tile(np.eye(3), (layout.references, 1, 1))
    start = InitialMotion(np.zeros(n), np.zeros(n), rotations, none.copy(), none.copy(), np.ones(n))
    drivers = [driver for driver in model.drivers.values() if driver.joint]
    for driver in drivers:
        dof, motion = driven_dof(driver, layout), sample(f"driver {driver.name!r}", driver.profile, 3)
        start.z0[dof], start.zd0[dof] = motion[0], motion[1]
    for initial in model.initials.values():
        apply_initial(initial, layout, axis, start)
    for driver in drivers:
        check_conflict(driver, driven_dof(driver, layout), start, typical)
    return start


def driven_dof(driver: Driver, layout: DofLayout) -> int:
    assert driver.joint
    return layout.joint_dofs[driver.joint[0].name][driver.joint[1]]


def apply_initial(initial: Initial, layout: DofLayout, axis: Array, start: InitialMotion) -> None:
    """Write the values of one joint into the start."""
    joint = initial.joint
    dofs = list(layout.joint_dofs[joint.name])
    start.weights[dofs] = initial.weight
    start.pinned_z[dofs] = initial.pin and initial.position is not None
    start.pinned_zd[dofs] = initial.pin and initial.rate is not None
    if joint.type.start == "coordinates":
        if initial.position is not None:
            start.z0[dofs] = initial.position
        if initial.rate is not None:
            start.zd0[dofs] = initial.rate
        return
    position = np.zeros(3) if initial.position is None or joint.type.start != "pose" else initial.position[:3]
    reference = joint.axes_a @ joint.axes_b.T
    turn = reference if initial.position is None else rotation_of_quaternion(initial.position[-4:])
    rate = np.zeros(6) if initial.rate is None else np.concatenate([np.zeros(6), initial.rate])[-6:]
    backwards = layout.reversed[joint.name]
    if backwards:
        position, rate = inverse_motion(joint, position, turn, rate)
    rotation = dofs[-3:]
    start.R0[int(layout.dofs[rotation[0]].reference)] = reference @ turn.T if backwards else reference.T @ turn
    start.zd0[rotation] = axis[rotation] @ rate[3:]
    if joint.type.start == "pose":
        start.z0[dofs[:3]], start.zd0[dofs[:3]] = position, rate[:3]


def inverse_motion(joint: Joint, position: Array, turn: Array, rate: Array) -> tuple[Array, Array]:
    """Return position and rate of a relative to b from those of b relative to a.

    position (3,) in joint axes; turn (3, 3) body b to a; rate (6,) [velocity in joint axes, angular velocity in the
    axes of the moving body]. With q the distance in axes of a, that of b to a is -turn^T q, and turn' = turn omega~.
    """
    omega = rate[3:]
    seen = turn.T @ (joint.axes_a @ position)
    speed = turn.T @ (joint.axes_a @ rate[:3]) - np.cross(omega, seen)
    return -joint.axes_b.T @ seen, np.concatenate([-joint.axes_b.T @ speed, -turn @ omega])


def check_conflict(driver: Driver, dof: int, start: InitialMotion, typical: Array) -> None:
    """Refuse a pinned value that a driver contradicts at t = 0."""
    assert driver.joint
    motion = sample(f"driver {driver.name!r}", driver.profile, 3)
    for pinned, value, wanted, what in (
        (start.pinned_z[dof], start.z0[dof], motion[0], "position"),
        (start.pinned_zd[dof], start.zd0[dof], motion[1], "rate"),
    ):
        if pinned and abs(value - wanted) > CONFLICT * max(typical[dof], abs(wanted)):
            raise ModelError(
                f"driver {driver.name!r} starts {driver.target} with the {what} {wanted:.9g}, "
                f"but its initial {what} is pinned to {value:.9g}; make them equal, or leave it to the driver"
            )
