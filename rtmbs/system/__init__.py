"""From a model in words to the flat constant arrays that kernels take."""

from rtmbs.system.compile import compile
from rtmbs.system.system import BodyRecord, ClosureRecord, JointRecord, MarkerRecord, Signal, System
from rtmbs.system.tables import Tables

__all__ = ["BodyRecord", "ClosureRecord", "JointRecord", "MarkerRecord", "Signal", "System", "Tables", "compile"]
