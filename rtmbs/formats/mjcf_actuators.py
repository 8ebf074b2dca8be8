"""Actuators of MJCF as forces with the input NAME.ctrl: force = gain ctrl + bias, along gear times the coordinates.

gain = g0 + g1 length + g2 rate, bias = b0 + b1 length + b2 rate; length = gear times the coordinate, or the sum over
the joints of a fixed tendon. A position actuator has the gain kp and the bias -kp length - kv rate.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rtmbs.formats.assembly import ModelAssembly
from rtmbs.formats.mjcf_equalities import SINGLE, tendon_joints
from rtmbs.formats.mjcf_model import MuJoCoModel
from rtmbs.model import Model

JOINT, JOINT_IN_PARENT, TENDON = 0, 1, 3  # mjtTrn
PLAIN = 0  # mjtDyn NONE, mjtGain FIXED, mjtBias NONE
AFFINE = 1  # mjtGain, mjtBias


def add_actuators(assembly: ModelAssembly, names: MuJoCoModel, model: Model, controls: Any) -> None:
    """Add the actuators that act on joints or fixed tendons, with ``controls`` (nu,) at the start; note others."""
    compiled = names.model
    for k in range(compiled.nu):
        name = compiled.actuator(k).name or f"actuator_{k + 1}"
        factors = moment(compiled, k)
        note_inertia(assembly, compiled, k, name)
        if "actuation" in names.off or compiled.opt.disableactuator >> int(compiled.actuator_group[k]) & 1:
            assembly.note(f"actuator {name!r}", "is switched off by a flag or its group, and is left out")
            continue
        laws = int(compiled.actuator_gaintype[k]), int(compiled.actuator_biastype[k])
        if told := left_out(factors, int(compiled.actuator_dyntype[k]), laws):
            assembly.note(f"actuator {name!r}", f"{told}, and is left out")
            continue
        if compiled.actuator_ctrllimited[k] or compiled.actuator_forcelimited[k]:
            assembly.note(f"actuator {name!r}", "has limits of control or force, which are not applied")
        numbers = {
            "gain": np.array(compiled.actuator_gainprm[k, :3]) * (1.0, laws[0], laws[0]),
            "bias": np.array(compiled.actuator_biasprm[k, :3]) * laws[1],
            "moment": np.array(list(factors.values())),
            "ctrl": float(controls[k]),
        }
        joints = [names.joints[j] for j in factors]
        model.add_force(assembly.free_name(name, model.forces), actuator_force, joints=joints, parameters=numbers)


def left_out(factors: dict[int, float], state: int, laws: tuple[int, int]) -> str:
    """Return why an actuator has no force here; empty where it has one."""
    if not factors:
        return "acts on no slide, hinge or fixed tendon of these"
    if state != PLAIN:
        return "has a state (dyntype)"
    return "has a gain or a bias of another kind than fixed and affine" if max(laws) > AFFINE else ""


def rotor_and_damper(compiled: Any, j: int) -> tuple[float, float]:
    """Return inertia and damping that actuators add to a slide or a hinge, gear squared times those of the actuator."""
    rows = [k for k in range(compiled.nu) if on_joint(compiled, k) and int(compiled.actuator_trnid[k, 0]) == j]
    armature, damping = (
        sum(float(compiled.actuator_gear[k, 0]) ** 2 * number_of(compiled, key, k) for k in rows)
        for key in ("armature", "damping")
    )
    return armature, damping


def note_inertia(assembly: ModelAssembly, compiled: Any, k: int, name: str) -> None:
    """Note inertia and damping of an actuator that does not act on one slide or hinge."""
    if not on_joint(compiled, k) and any(number_of(compiled, key, k) for key in ("armature", "damping")):
        assembly.note(f"actuator {name!r}", "has an inertia or damping, which only a slide or a hinge takes")


def on_joint(compiled: Any, k: int) -> bool:
    """True for an actuator of one slide or hinge."""
    kind = int(compiled.actuator_trntype[k])
    return kind in (JOINT, JOINT_IN_PARENT) and int(compiled.jnt_type[int(compiled.actuator_trnid[k, 0])]) in SINGLE


def number_of(compiled: Any, key: str, k: int) -> float:
    """Return a number of an actuator that older versions of MuJoCo have not, 0 there."""
    column = getattr(compiled, f"actuator_{key}", None)
    return 0.0 if column is None else float(column[k])


def moment(compiled: Any, k: int) -> dict[int, float]:
    """Return gear times the factor of each joint that an actuator acts on; none where it acts on something else."""
    kind, target, gear = (
        int(compiled.actuator_trntype[k]), int(compiled.actuator_trnid[k, 0]), float(compiled.actuator_gear[k, 0]),
    )  # fmt: skip
    if kind in (JOINT, JOINT_IN_PARENT):
        found = {target: gear}
    elif kind == TENDON:
        found = {j: gear * factor for j, factor in tendon_joints(compiled, target).items()}
    else:
        return {}
    return found if all(int(compiled.jnt_type[j]) in SINGLE for j in found) else {}


def actuator_force(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the generalised forces of an actuator on its joints."""
    moment, gain, bias = parameters["moment"], parameters["gain"], parameters["bias"]
    length, rate = moment @ kinematics.z, moment @ kinematics.zd
    force = (gain[0] + gain[1] * length + gain[2] * rate) * parameters["ctrl"]
    return moment * (force + bias[0] + bias[1] * length + bias[2] * rate)
