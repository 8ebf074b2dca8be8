"""Derivatives of any function f(x), R^n -> R^m, from sources that answer one contract; nothing about mechanics.

Every source is made once from ``f`` and ``n`` and answers ``value(x) -> (m,)`` and ``jacobian(x) -> (m, n)``.
Names are resolved on first use: reading this package loads neither numba nor autograd.
"""

import importlib
from typing import Any

HOMES = {
    "Autograd": "rtmbs.ad.autograd_source",
    "ComplexStep": "rtmbs.ad.complex_step",
    "DerivativeError": "rtmbs.ad.errors",
    "DerivativeMismatchError": "rtmbs.ad.errors",
    "Derivatives": "rtmbs.ad.function",
    "Evaluator": "rtmbs.ad.evaluator",
    "FiniteDifference": "rtmbs.ad.finite_difference",
    "Namespace": "rtmbs.ad.namespace",
    "Program": "rtmbs.ad.program",
    "SOURCES": "rtmbs.ad.sources",
    "SparseJacobian": "rtmbs.ad.jacobian",
    "Tape": "rtmbs.ad.tape",
    "TapeFileError": "rtmbs.ad.errors",
    "TapeSizeError": "rtmbs.ad.errors",
    "Trace": "rtmbs.ad.trace",
    "TraceError": "rtmbs.ad.errors",
    "Traced": "rtmbs.ad.trace",
    "UnsupportedFunctionError": "rtmbs.ad.errors",
    "check_derivatives": "rtmbs.ad.check",
    "derivatives": "rtmbs.ad.sources",
    "evaluate": "rtmbs.ad.program",
    "gradient_tape": "rtmbs.ad.adjoint",
    "joined": "rtmbs.ad.join",
    "lowered": "rtmbs.ad.lower",
    "memory_of": "rtmbs.ad.program",
    "recorder": "rtmbs.ad.namespace",
    "sparse_jacobian": "rtmbs.ad.jacobian",
    "tangent_tape": "rtmbs.ad.tangent",
    "warm_up": "rtmbs.ad.warmup",
}

__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'rtmbs.ad' has no attribute '{name}'", name=name, obj=None)
    value = getattr(importlib.import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
