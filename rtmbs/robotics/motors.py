"""Motors on joint coordinates: torque, velocity and position motors with limit, gear and rotor.

The shaft turns gear_ratio times as fast as the coordinate. The law gives the torque of the shaft, cut at the limit; the
joint has gear_ratio times as much. The rotor adds gear_ratio^2 rotor_inertia to the coordinate and nothing else: its
gyroscopic moments are left out.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from rtmbs.errors import InputError, shown
from rtmbs.integrators.checks import is_number
from rtmbs.model.body import GROUND
from rtmbs.model.forces import Force
from rtmbs.model.joints import Revolute
from rtmbs.model.model import Model

MotorKind = Literal["torque", "velocity", "position"]
KINDS = ("torque", "velocity", "position")


def add_motor(
    model: Model,
    name: str,
    joint: Any,
    kind: MotorKind = "torque",
    *,
    stiffness: float = 0.0,
    damping: float = 0.0,
    torque_limit: float = np.inf,
    gear_ratio: float = 1.0,
    rotor_inertia: float = 0.0,
) -> Force:
    """Add a motor to a joint coordinate of a Model, with the input ``NAME.target``.

    Parameters
    ----------
    model : Model
        Mechanism.
    name : str
        Name of the force; ``NAME_rotor`` is its rotor.
    joint : str or Joint or tuple
        Joint with one coordinate, or (joint, coordinate).
    kind : {"torque", "velocity", "position"}, default "torque"
        Meaning of the target: torque of the shaft [N m], rate of the coordinate [rad/s or m/s], or the coordinate
        [rad or m].
    stiffness : float, default 0.0
        Shaft torque per error of the coordinate of a position motor [N m/rad or N m/m].
    damping : float, default 0.0
        Shaft torque per rate (position) or error of the rate (velocity) [N m s/rad or N m s/m].
    torque_limit : float, default inf
        Largest shaft torque to both sides [N m].
    gear_ratio : float, default 1.0
        Rate of the shaft over that of the coordinate [1 or rad/m]; negative where they turn against each other.
    rotor_inertia : float, default 0.0
        Inertia of what turns with the shaft [kg m^2].

    Returns
    -------
    Force
        The new force.

    Raises
    ------
    InputError
        For a kind of another name and for numbers out of range.
    ModelError
        For a name that is taken or a joint that has no such coordinate.

    Examples
    --------
    >>> model = rtmbs.library.build("pendulum")
    >>> motor = rtmbs.add_motor(model, "drive", "pivot", "position", stiffness=40.0, damping=4.0, torque_limit=2.0)
    >>> sim = rtmbs.Simulation(model.compile(), h=1e-3)
    >>> sim.inputs["drive.target"] = 0.5
    """
    if kind not in KINDS:
        raise InputError(f"motor {name!r}: kind is {shown(kind)}; it must be one of {', '.join(KINDS)}")
    given = {"stiffness": stiffness, "damping": damping, "rotor_inertia": rotor_inertia}
    for what, value in given.items():
        if not (is_number(value) and value >= 0.0):
            raise InputError(f"motor {name!r}: {what} is {shown(value)}; it must be a number, zero or more")
    if not (is_number(gear_ratio) and gear_ratio != 0.0):
        raise InputError(f"motor {name!r}: gear_ratio is {shown(gear_ratio)}; it must be a number other than zero")
    if not (torque_limit == np.inf or (is_number(torque_limit) and torque_limit > 0.0)):
        raise InputError(f"motor {name!r}: torque_limit is {shown(torque_limit)}; it must be a number above zero")
    numbers: dict[str, float] = {"target": 0.0, "gear_ratio": float(gear_ratio)}
    if kind != "torque":
        numbers["damping"] = float(damping)
    if kind == "position":
        numbers["stiffness"] = float(stiffness)
    if torque_limit != np.inf:
        numbers["torque_limit"] = float(torque_limit)
    force = model.add_force(name, LAWS[kind, torque_limit != np.inf], joint=joint, parameters=numbers)
    if rotor_inertia:
        add_rotor(model, f"{name}_rotor", force, float(gear_ratio), float(rotor_inertia))
    return force


def add_rotor(model: Model, name: str, force: Force, ratio: float, inertia: float) -> None:
    """Add a massless rotor to ground, coupled to the coordinate of a motor: rotor - ratio coordinate = 0."""
    assert force.joint is not None
    joint, place = force.joint
    model.add_body(name, mass=0.0, inertia=(inertia, inertia, inertia))
    model.add_joint(name, Revolute((0.0, 0.0, 1.0)), GROUND, name)
    model.add_coupler(f"{name}_gear", {name: 1.0, (joint.name, joint.type.coordinates[place]): -ratio})


def torque(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a torque motor."""
    return parameters["gear_ratio"] * parameters["target"]


def limited_torque(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a torque motor with a limit."""
    return parameters["gear_ratio"] * cut(parameters["target"], parameters["torque_limit"])


def velocity(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a velocity motor."""
    return parameters["gear_ratio"] * of_velocity(kinematics, parameters)


def limited_velocity(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a velocity motor with a limit."""
    return parameters["gear_ratio"] * cut(of_velocity(kinematics, parameters), parameters["torque_limit"])


def position(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a position motor."""
    return parameters["gear_ratio"] * of_position(kinematics, parameters)


def limited_position(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a position motor with a limit."""
    return parameters["gear_ratio"] * cut(of_position(kinematics, parameters), parameters["torque_limit"])


def of_velocity(kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the wanted shaft torque of a velocity motor."""
    return parameters["damping"] * (parameters["target"] - kinematics.zd)


def of_position(kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the wanted shaft torque of a position motor."""
    return parameters["stiffness"] * (parameters["target"] - kinematics.z) - parameters["damping"] * kinematics.zd


def cut(value: Any, limit: Any) -> Any:
    """Return a value between the limits to both sides."""
    return np.minimum(np.maximum(value, -limit), limit)


LAWS = {
    ("torque", False): torque, ("torque", True): limited_torque,
    ("velocity", False): velocity, ("velocity", True): limited_velocity,
    ("position", False): position, ("position", True): limited_position,
}  # fmt: skip
