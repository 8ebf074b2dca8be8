"""Constrained motion by any method of time: ``integrate(system, method, q, v, t_end, h)``.

Names are resolved on first use: reading this package loads neither scipy nor the rooms below.
"""

from typing import Any

import lazy_loader

from rtmbs.core.names import Register, lazily
from rtmbs.methods import PLACES, TABLES

OWN = {name: place for name, place in PLACES.items() if place[0].startswith("dae.")}  # those of this room
MODULES = {place.removeprefix("dae.") for place, _ in OWN.values()}
METHODS: Register[Any] = Register("method", "rtmbs", {**OWN, "penalty-trapezoidal": PLACES["penalty-trapezoidal"]})

__getattr__, __dir__, __all__ = lazily(
    __name__,
    lazy_loader.attach(
        __name__,
        submod_attrs={
            **{one: [kind for module, kind in OWN.values() if module == f"dae.{one}"] for one in MODULES},
            "contract": ["Counts", "GainWarning", "Integrator", "Method", "MotionError", "Orders", "Point"],
            "driver": ["Event", "PenaltyTrapezoidal", "integrate", "integration_steps", "resume"],
            "runge_kutta": ["HalfExplicit", "RungeKutta", *TABLES],
            "sundials": ["CVODE", "IDA", "ImplicitEquations", "run_bdf", "solve_implicit"],
        },
    ),
)
