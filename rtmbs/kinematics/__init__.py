"""Kinematics: driven mechanisms, also with fewer equations than unknowns, in seven coordinates a body."""

from rtmbs.kinematics.analysis import Analysis
from rtmbs.kinematics.assembly import Assembly
from rtmbs.kinematics.elements import Gear, JointCoordinate, PointOnCurve, RackAndPinion, Screw
from rtmbs.kinematics.elimination import eliminate, least_norm
from rtmbs.kinematics.errors import MotionError
from rtmbs.kinematics.motion import Counters, Motion
from rtmbs.kinematics.rank import Mobility
from rtmbs.kinematics.singular import SingularPose
from rtmbs.limits.keywords import publish

__all__ = [
    "Analysis",
    "Assembly",
    "Counters",
    "Gear",
    "JointCoordinate",
    "Mobility",
    "Motion",
    "MotionError",
    "PointOnCurve",
    "RackAndPinion",
    "Screw",
    "SingularPose",
    "eliminate",
    "least_norm",
]

publish(globals(), __all__)
