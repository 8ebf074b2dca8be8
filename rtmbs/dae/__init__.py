"""Constrained motion by any method of time: ``integrate(system, method, q, v, t_end, h)``, one file a method.

Names are resolved on first use: reading this package loads neither scipy nor the rooms below.
"""

import importlib
from typing import Any

from rtmbs.dae.registry import PLACES

TABLES = ("DORMAND_PRINCE", "EULER", "GILL", "HEUN", "KUTTA", "RK4", "TABLEAUX", "THREE_EIGHTHS", "Tableau")
HOMES = {
    **{kind: f"rtmbs.dae.{module}" for module, kind in PLACES.values()},
    **dict.fromkeys(TABLES, "rtmbs.dae.tableaux"),
    "Counts": "rtmbs.dae.contract",
    "GainWarning": "rtmbs.dae.errors",
    "METHODS": "rtmbs.dae.registry",
    "Method": "rtmbs.dae.contract",
    "MotionError": "rtmbs.dae.errors",
    "Orders": "rtmbs.dae.contract",
    "Point": "rtmbs.dae.contract",
    "Trajectory": "rtmbs.dae.trajectory",
    "integrate": "rtmbs.dae.driver",
}

__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'rtmbs.dae' has no attribute '{name}'", name=name, obj=None)
    value = getattr(importlib.import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
