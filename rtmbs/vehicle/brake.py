"""Friction brake of a wheel: a torque against the rotation that also holds the wheel still.

A bristle of Dahl's kind deflects by the angle z: dz/dt = g - |g| z / Z, with g = rate / sqrt(1 + (rate / rate_0)^2).
The torque is -T z / Z. It is a spring at rest, so nothing creeps, and -T against the rotation in motion.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rtmbs.model import Force, Model
from rtmbs.model.laws import JointKinematics

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

    Parameters
    ----------
    torque : largest friction torque [N m], zero or more; the input ``name.torque`` changes it. Or a function of time
        in plain NumPy, as for a test.

    Returns
    -------
    Force : its state ``name.bristle`` [rad] is the deflection that holds the wheel
    """
    law, parameters = (timed_brake(torque), None) if callable(torque) else (brake_law, {"torque": torque})
    return model.add_force(
        name, law, joint=hub, parameters=parameters, states={"bristle": 0.0}, units={"bristle": "rad"}
    )
