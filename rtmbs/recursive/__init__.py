"""Closed loops by recursion over bodies, with multipliers of cut joints (METHODS 3): alone, on ranks, on threads.

``rtmbs.formulations.Recursive`` answers for accelerations; this room has motions that ranks or threads share. Names are
resolved on first use: reading this package loads neither numba nor mpi4py.
"""

import importlib
from typing import Any

HOMES = {
    "Alone": "rtmbs.recursive.motion",
    "Exchange": "rtmbs.recursive.motion",
    "Motion": "rtmbs.recursive.motion",
    "Ranks": "rtmbs.recursive.ranks",
    "balanced_cuts": "rtmbs.recursive.cuts",
    "demand_alike": "rtmbs.recursive.ranks",
    "launch": "rtmbs.recursive.ranks",
    "run": "rtmbs.recursive.motion",
    "run_threads": "rtmbs.recursive.threads",
    "world": "rtmbs.recursive.ranks",
}

__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'rtmbs.recursive' has no attribute '{name}'", name=name, obj=None)
    value = getattr(importlib.import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
