"""Drive torque on a wheel, by a shaft from the chassis: its reaction is on the chassis, not on the wheel carrier."""

from typing import Any

import numpy as np

from rtmbs.model import Force, Model
from rtmbs.model.laws import Kinematics

CHASSIS = "chassis"


def drive_law(t: float, kinematics: Kinematics, parameters: Any) -> Any:
    """Return no force and the torque about the spin axis of the wheel, the y axis of its marker."""
    axis = kinematics.R[:, 1]
    return 0.0 * axis, parameters["torque"] * axis


def add_drive(model: Model, name: str, wheel_marker: str) -> Force:
    """Add a drive torque to a wheel; the input ``name.torque`` [N m] is positive forward.

    Parameters
    ----------
    wheel_marker : at the wheel centre, with the spin axis, left, as its y axis, such as ``tyre_fl.centre``
    """
    marker = f"{name}.chassis"
    model.add_marker(marker, CHASSIS, np.zeros(3), frame=CHASSIS)
    return model.add_force(name, drive_law, between=(marker, wheel_marker), parameters={"torque": 0.0})
