"""Torques on a wheel: a friction brake that also holds it still, and the drive torque of a shaft from the chassis.

A bristle of Dahl's kind deflects by the angle z: dz/dt = g - |g| z / Z, with g = rate / sqrt(1 + (rate / rate_0)^2).
The torque of the brake is -T z / Z. It is a spring at rest, so nothing creeps, and -T against the rotation in motion.
The reaction of a drive torque is on the chassis, not on the wheel carrier.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rtmbs.model import Force, Model
from rtmbs.model.forces import JointKinematics, Kinematics
from rtmbs.vehicle.anti_roll_bar import CHASSIS

BRISTLE = 0.01  # [rad] Z: deflection at which friction is full
RATE = 1.0  # [rad/s] rate_0: the bristle bends no faster, which keeps its time constant at 10 ms


def friction_torque(torque: Any, kinematics: JointKinematics, bristle: Any) -> tuple[Any, Any]:
    """Return the torque on the wheel [N m] and the rate of the bristle [rad/s]."""
    rate = kinematics.zd
    g = rate / np.sqrt(1.0 + (rate / RATE) ** 2)
    share = bristle / BRISTLE
    return -torque * share, g - np.sqrt(g * g + 1e-20) * share


def brake_law(t: float, kinematics: JointKinematics, parameters: Any, states: Any) -> Any:
    """Return torque and rate of the bristle of a brake whose torque is an input."""
    return friction_torque(parameters["torque"], kinematics, states["bristle"])


def timed_brake(torque: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return the law of a brake whose torque [N m] is a function of time in plain NumPy."""

    def brake(t: float, kinematics: JointKinematics, parameters: Any, states: Any) -> Any:
        return friction_torque(torque(t), kinematics, states["bristle"])

    return brake


def add_brake(model: Model, name: str, hub: str, torque: float | Callable[[Any], Any] = 0.0) -> Force:
    """Add a brake to the joint ``hub`` of a wheel.

    Its state ``name.bristle`` [rad] is the deflection that holds the wheel.

    Parameters
    ----------
    model : Model
        Model that gets the force ``name``.
    name : str
        Name of the brake.
    hub : str
        Revolute joint between wheel carrier and wheel.
    torque : float or function, default 0.0
        Largest friction torque [N m], zero or more; the input ``name.torque`` changes it. Or a function of time
        in plain NumPy, as for a test.

    Returns
    -------
    Force
        Force on the joint; its torque is against the rotation of the wheel.
    """
    law, parameters = (timed_brake(torque), None) if callable(torque) else (brake_law, {"torque": torque})
    return model.add_force(
        name, law, joint=hub, parameters=parameters, states={"bristle": 0.0}, units={"bristle": "rad"}
    )


def drive_law(t: float, kinematics: Kinematics, parameters: Any) -> Any:
    """Return no force and the torque about the spin axis of the wheel, the y axis of its marker."""
    axis = kinematics.R[:, 1]
    return 0.0 * axis, parameters["torque"] * axis


def add_drive(model: Model, name: str, wheel_marker: str, reaction: str = CHASSIS) -> Force:
    """Add a drive torque to a wheel; the input ``name.torque`` [N m] is positive forward.

    The reaction is on the chassis, or on the beam of a live axle.

    Parameters
    ----------
    model : Model
        Model that gets the force ``name`` and the marker ``name.reaction``.
    name : str
        Name of the drive torque.
    wheel_marker : str
        Marker at the wheel centre with the spin axis, left, as its y axis, such as ``tyre_fl.centre``.
    reaction : str, default "chassis"
        Body that takes the reaction.

    Returns
    -------
    Force
        Force between that body and the wheel.
    """
    marker = f"{name}.reaction"
    model.add_marker(marker, reaction, np.zeros(3), frame=reaction)
    return model.add_force(name, drive_law, between=(marker, wheel_marker), parameters={"torque": 0.0})
