"""Closed loops by recursion over bodies, with multipliers of cut joints (METHODS 3): alone, on ranks, on threads.

``rtmbs.formulations.Recursive`` answers for accelerations; this room has motions that ranks or threads share. Names are
resolved on first use: reading this package loads neither numba nor mpi4py.
"""

import lazy_loader

from rtmbs.core.names import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__,
    lazy_loader.attach(
        __name__,
        submod_attrs={
            "partition": ["balanced_cuts"],
            "motion": [
                "Alone",
                "Exchange",
                "Ranks",
                "RecursionReport",
                "demand_same_system",
                "launch",
                "run",
                "world",
            ],
            "threads": ["run_threads"],
        },
    ),
)
