"""Compilation of a model into the flat constant arrays that kernels take."""

from rtmbs.system.compile import compile
from rtmbs.system.system import BodyInfo, ClosureInfo, JointInfo, MarkerInfo, Signal, System
from rtmbs.system.tables import Tables

__all__ = ["BodyInfo", "ClosureInfo", "JointInfo", "MarkerInfo", "Signal", "System", "Tables", "compile"]
