"""Stops of joint coordinates and backlash of gears: gaps that a force of contact closes (METHODS 8.1, 8.6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rtmbs.contact.normal_force import NormalForce, checked_normal_force
from rtmbs.errors import ModelError
from rtmbs.model.checks import Numbers, number
from rtmbs.model.description import Coordinate, ForceModel
from rtmbs.model.forces import Force, JointKinematics


@dataclass(frozen=True)
class Stop:
    """Law of a joint coordinate that is held above ``lower`` and below ``upper``; None leaves a side free."""

    lower: float | None
    upper: float | None
    normal: NormalForce

    def __call__(self, t: float, kinematics: JointKinematics, parameters: Mapping[str, Any]) -> Any:
        """Return the force or torque along the coordinate [N or N m]."""
        force: Any = 0.0 * kinematics.z
        if self.lower is not None:
            force = force + self.normal(parameters["lower"] - kinematics.z, -kinematics.zd)
        if self.upper is not None:
            force = force - self.normal(kinematics.z - parameters["upper"], kinematics.zd)
        return force


def add_stop(
    model: ForceModel,
    name: str,
    joint: Coordinate,
    lower: Numbers | None,
    upper: Numbers | None,
    stiffness: Numbers,
    exponent: Numbers,
    dissipation: Numbers,
) -> Force:
    """Add the law of a stop; see ``Model.add_stop``."""
    what = f"stop {name!r}"
    ends = {
        key: number(value, f"{what}: {key}") for key, value in (("lower", lower), ("upper", upper)) if value is not None
    }
    if not ends:
        raise ModelError(f"{what} has no end; give lower=, upper= or both")
    if len(ends) == 2 and ends["lower"] >= ends["upper"]:
        raise ModelError(f"{what}: lower is {ends['lower']:g} and upper {ends['upper']:g}; lower must be below upper")
    law = Stop(ends.get("lower"), ends.get("upper"), checked_normal_force(what, stiffness, exponent, dissipation))
    return model.add_force(name, law, joint=joint, parameters=ends)


@dataclass(frozen=True)
class Backlash:
    """Law of two coordinates that teeth couple: free within half of the play, then a force of contact.

    The gap is e = z1 + ratio z2, as in a gear without play, whose e is zero.
    """

    ratio: float
    normal: NormalForce
    nonnegative_inputs: ClassVar[tuple[str, ...]] = ("play",)

    def __call__(self, t: float, kinematics: JointKinematics, parameters: Mapping[str, Any]) -> Any:
        """Return the forces along both coordinates (2,) [N or N m]."""
        e = kinematics.z[0] + self.ratio * kinematics.z[1]
        rate = kinematics.zd[0] + self.ratio * kinematics.zd[1]
        half = 0.5 * parameters["play"]
        force = self.normal(-half - e, -rate) - self.normal(e - half, rate)
        return np.stack((force, self.ratio * force))


def add_backlash(
    model: ForceModel,
    name: str,
    first: Coordinate,
    second: Coordinate,
    ratio: Numbers,
    play: Numbers,
    stiffness: Numbers,
    exponent: Numbers,
    dissipation: Numbers,
) -> Force:
    """Add the law of a gear with backlash; see ``Model.add_backlash``."""
    what = f"backlash {name!r}"
    teeth, free = number(ratio, f"{what}: ratio"), number(play, f"{what}: play")
    if teeth == 0.0:
        raise ModelError(f"{what}: ratio is 0, which couples nothing; give another number")
    if free < 0.0:
        raise ModelError(f"{what}: play is {free:g}; it must be zero or more")
    law = Backlash(teeth, checked_normal_force(what, stiffness, exponent, dissipation))
    return model.add_force(name, law, joints=[first, second], parameters={"play": free})
