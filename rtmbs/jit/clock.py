"""A clock that compiled code can read: the processor's tick counter, and how many ticks make a second."""

import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

from rtmbs.jit.compiled import kernel


def _read_cycle_counter(typing_context: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(ir.IntType(64), ()))
        return builder.call(function, ())

    return types.int64(), codegen


if config.DISABLE_JIT:
    cycle_counter: Any = time.perf_counter_ns
else:
    cycle_counter = intrinsic(_read_cycle_counter)


@kernel
def ticks():
    """Return the tick counter."""
    return cycle_counter()


_rate: list[float] = []


def seconds_per_tick() -> float:
    """Return the length of a tick, measured once over 2 ms against the wall clock."""
    if not _rate:
        ticks()  # compiled or loaded before the clock runs
        start, first = time.perf_counter(), ticks()
        while time.perf_counter() - start < 2e-3:
            pass
        _rate.append((time.perf_counter() - start) / max(ticks() - first, 1))
    return _rate[0]
