"""Counters that threads share in kernels: compiler and processor keep the order of everything around them."""

import os
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

ORDER = "seq_cst"
BYTES = 8


def place(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the address of the first number of an array."""
    return context.make_array(kind)(context, builder, array).data


@intrinsic
def count_up(typing: Any, counter: Any) -> Any:
    """Add one to ``counter`` (1,) int64 and return what it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = context.get_constant(types.int64, 1)
        return builder.atomic_rmw("add", place(context, builder, signature.args[0], arguments[0]), one, ORDER)

    return types.int64(counter), generate


@intrinsic
def read(typing: Any, counter: Any) -> Any:
    """Return ``counter`` (1,) int64 as it is now."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(place(context, builder, signature.args[0], arguments[0]), ORDER, BYTES)

    return types.int64(counter), generate


@intrinsic
def give_way(typing: Any) -> Any:
    """Let another thread have the core, where the system has a call for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if not hasattr(os, "sched_yield"):
            return context.get_constant(types.int32, 0)
        kind = ir.FunctionType(ir.IntType(32), [])
        module = builder.module
        function = module.globals.get("sched_yield") or ir.Function(module, kind, "sched_yield")
        return builder.call(function, [])

    return types.int32(), generate
