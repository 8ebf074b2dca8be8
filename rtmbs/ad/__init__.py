"""Derivatives of any function f(x), R^n -> R^m, from sources that answer one contract; nothing about mechanics.

Every source is made once from ``f`` and ``n`` and answers ``value(x) -> (m,)`` and ``jacobian(x) -> (m, n)``.
Names are resolved on first use: reading this package loads neither numba nor autograd.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "adjoint": ["gradient_tape"],
        "autograd_source": ["Autograd"],
        "check": ["check_derivatives"],
        "complex_step": ["ComplexStep"],
        "errors": [
            "DerivativeError",
            "DerivativeMismatchError",
            "TapeFileError",
            "TapeSizeError",
            "TraceError",
            "UnsupportedFunctionError",
        ],
        "evaluator": ["Evaluator"],
        "finite_difference": ["FiniteDifference"],
        "forks": ["record_branches"],
        "function": ["Derivatives"],
        "jacobian": ["SparseJacobian", "sparse_jacobian"],
        "join": ["joined"],
        "lower": ["lowered"],
        "namespace": ["Namespace", "recorder"],
        "program": ["Program", "evaluate", "memory_of"],
        "sources": ["SOURCES", "derivatives"],
        "tangent": ["tangent_tape"],
        "tape": ["Tape"],
        "trace": ["Trace", "Traced"],
        "warmup": ["warm_up"],
    },
)
