"""Constrained motion by any method of time: ``integrate(system, method, q, v, t_end, h)``, one file a method.

Names are resolved on first use: reading this package loads neither scipy nor the rooms below.
"""

import lazy_loader

from rtmbs.dae.registry import PLACES
from rtmbs.limits.keywords import lazily

TABLES = ("DORMAND_PRINCE", "EULER", "GILL", "HEUN", "KUTTA", "RK4", "THREE_EIGHTHS")  # of Runge-Kutta methods

__getattr__, __dir__, __all__ = lazily(
    __name__,
    lazy_loader.attach(
        __name__,
        submod_attrs={
            **{module: [kind] for module, kind in PLACES.values()},
            "contract": ["Counts", "Method", "Orders", "Point"],
            "driver": ["integrate"],
            "errors": ["GainWarning", "MotionError"],
            "registry": ["METHODS"],
            "runge_kutta": ["RungeKutta", "Tableau", "TABLEAUX", *TABLES],
        },
    ),
)
