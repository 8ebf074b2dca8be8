"""Kinematics: driven mechanisms, also with fewer equations than unknowns, in seven coordinates a body."""

from rtmbs.core.names import publish
from rtmbs.errors import MotionError
from rtmbs.kinematics.analysis import Analysis
from rtmbs.kinematics.assembly import AssemblyReport
from rtmbs.kinematics.continuation import SingularPose
from rtmbs.kinematics.element_equations import Gear, JointCoordinate, PointDriver, PointOnCurve, RackAndPinion, Screw
from rtmbs.kinematics.mobility import ConstraintRank
from rtmbs.kinematics.path_solver import eliminate, least_norm
from rtmbs.kinematics.result import Counters, KinematicReport

__all__ = [
    "Analysis",
    "AssemblyReport",
    "ConstraintRank",
    "Counters",
    "Gear",
    "JointCoordinate",
    "KinematicReport",
    "MotionError",
    "PointDriver",
    "PointOnCurve",
    "RackAndPinion",
    "Screw",
    "SingularPose",
    "eliminate",
    "least_norm",
]

publish(globals(), __all__)
