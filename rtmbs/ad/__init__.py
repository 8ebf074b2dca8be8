"""Derivatives of functions f(x), R^n -> R^m, from interchangeable sources; nothing about mechanics.

Every source is made once from ``f`` and ``n`` and answers ``value(x) -> (m,)`` and ``jacobian(x) -> (m, n)``.
Names are resolved on first use: reading this package loads neither numba nor autograd.
"""

import lazy_loader

from rtmbs.errors import (
    DerivativeError,
    DerivativeMismatchError,
    TapeFileError,
    TapeSizeError,
    TraceError,
    UnsupportedFunctionError,
)

__getattr__, __dir__, attached = lazy_loader.attach(
    __name__,
    submod_attrs={
        "derivative_tapes": ["SparseJacobian", "gradient_tape", "sparse_jacobian", "tangent_tape"],
        "evaluator": ["Evaluator"],
        "function_sources": ["Autograd", "ComplexStep", "Derivatives", "FiniteDifference"],
        "program": ["Program", "evaluate", "lowered", "memory_of"],
        "simd_programs": [
            "LANES",
            "LaneProgram",
            "Member",
            "SeatProgram",
            "evaluate_lanes",
            "lane_memory",
            "lane_program",
            "no_lanes",
            "no_seats",
            "seat_memory",
            "seat_program",
        ],
        "sources": ["SOURCES", "check_derivatives", "derivatives"],
        "tape": ["Tape", "has_switches", "joined", "outputs_vary", "part_of", "switching_tape"],
        "trace": ["Trace", "Traced", "record_branches", "warm_up"],
        "traced": ["Namespace", "recorder"],
    },
)
__all__ = [
    *attached,
    "DerivativeError",
    "DerivativeMismatchError",
    "TapeFileError",
    "TapeSizeError",
    "TraceError",
    "UnsupportedFunctionError",
]
