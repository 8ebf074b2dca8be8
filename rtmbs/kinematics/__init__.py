"""Kinematics: driven mechanisms, also with fewer equations than unknowns, in seven coordinates a body."""

from rtmbs.core.names import publish
from rtmbs.errors import MotionError
from rtmbs.kinematics.analysis import Analysis, Counters, KinematicReport
from rtmbs.kinematics.assembly import AssemblyReport, ConstraintRank
from rtmbs.kinematics.continuation import SingularPose
from rtmbs.kinematics.element_equations import Gear, JointCoordinate, PointDriver, PointOnCurve, RackAndPinion, Screw
from rtmbs.kinematics.path_solver import eliminate, least_norm

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
