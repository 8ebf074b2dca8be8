"""Friction brake of a wheel: a torque against the rotation that also holds the wheel still.

A bristle of Dahl's kind deflects by the angle z: dz/dt = g - |g| z / Z, with g = rate / sqrt(1 + (rate / rate_0)^2).
The torque is -T z / Z. It is a spring at rest, so nothing creeps, and -T against the rotation in motion.
"""

from typing import Any

import numpy as np

from rtmbs.model import Force, Model
from rtmbs.model.laws import JointKinematics

BRISTLE = 0.01  # [rad] Z: deflection at which friction is full
RATE = 1.0  # [rad/s] rate_0: the bristle bends no faster, which keeps its time constant at 10 ms


def brake_law(t: float, kinematics: JointKinematics, parameters: Any, states: Any) -> Any:
    """Return the torque [N m] and the rate of the bristle [rad/s]."""
    rate, z = kinematics.zd, states["bristle"]
    g = rate / np.sqrt(1.0 + (rate / RATE) ** 2)
    share = z / BRISTLE
    return -parameters["torque"] * share, g - np.sqrt(g * g + 1e-20) * share


def add_brake(model: Model, name: str, hub: str, torque: float = 0.0) -> Force:
    """Add a brake to the joint ``hub`` of a wheel.

    Parameters
    ----------
    torque : largest friction torque [N m], zero or more; the input ``name.torque`` changes it

    Returns
    -------
    Force : its state ``name.bristle`` [rad] is the deflection that holds the wheel
    """
    return model.add_force(
        name, brake_law, joint=hub, parameters={"torque": torque}, states={"bristle": 0.0}, units={"bristle": "rad"}
    )
