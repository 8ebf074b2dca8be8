"""Code in the language of LLVM: tick counter, atomic counters, yield, and vectors of eight float64.

``cycle_counter`` reads the processor's tick counter. ``count_up`` and
``read`` work on a counter that threads share; compiler and processor keep the order of everything around them. Rows of
arrays (slots, 8) of float64 are vectors of the processor: every number takes the operations of the text in their order,
so results are those of one number at a time to the bit.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from rtmbs.jit import LANES


def _read_cycle_counter(typing_context: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(ir.IntType(64), ()))
        return builder.call(function, ())

    return types.int64(), codegen


if config.DISABLE_JIT:
    cycle_counter: Any = time.perf_counter_ns
else:
    cycle_counter = intrinsic(_read_cycle_counter)


ORDER = "seq_cst"
BYTES = 8


def place(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the address of the first number of an array."""
    return context.make_array(kind)(context, builder, array).data


@intrinsic
def count_up(typing: Any, counter: Any) -> Any:
    """Add one to ``counter`` (1,) int64 and return its old value."""

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
    """Yield the core to another thread, where the system has a call for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if not hasattr(os, "sched_yield"):
            return context.get_constant(types.int32, 0)
        kind = ir.FunctionType(ir.IntType(32), [])
        module = builder.module
        function = module.globals.get("sched_yield") or ir.Function(module, kind, "sched_yield")
        return builder.call(function, [])

    return types.int32(), generate


Array = Any  # numba types by value

DOUBLE, INDEX = ir.DoubleType(), ir.IntType(64)
VECTOR = ir.VectorType(DOUBLE, LANES)
ROOT = f"llvm.sqrt.v{LANES}f64"
ALIGNED = 8  # bytes


class Memory:
    """Rows of an array (slots, 8) while code is generated."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        self.builder, self.data = builder, place(context, builder, kind, array)

    def row(self, number: Any) -> Any:
        """Return the address of a row."""
        first = self.builder.gep(self.data, [self.builder.mul(number, INDEX(LANES))])
        return self.builder.bitcast(first, VECTOR.as_pointer())

    def read(self, number: Any) -> Any:
        """Return a row."""
        return self.builder.load(self.row(number), align=ALIGNED)

    def write(self, number: Any, value: Any) -> None:
        """Write a row."""
        self.builder.store(value, self.row(number), align=ALIGNED)


def of_rows(operation: Callable[[Any, Any, Any], Any]) -> Any:
    """Return the intrinsic that writes row r = ``operation`` (builder, row a, row b)."""

    def rows(typing: Any, memory: Any, r: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            own = Memory(context, builder, signature.args[0], arguments[0])
            r, a, b = (context.cast(builder, arguments[k], signature.args[k], types.int64) for k in (1, 2, 3))
            own.write(r, operation(builder, own.read(a), own.read(b)))
            return context.get_dummy_value()

        return types.void(memory, r, a, b), generate

    return rows


def arithmetic(name: str) -> Callable[[Any, Any, Any], Any]:
    """Return the rule of one instruction of LLVM."""
    return lambda builder, x, y: getattr(builder, name)(x, y)


def every(number: float) -> Any:
    """Return a row of one number."""
    return ir.Constant(VECTOR, [number] * LANES)


def guarded(builder: Any, x: Any, y: Any) -> Any:
    """Return the product, where an exact zero wins over infinity and not-a-number."""
    null = builder.or_(builder.fcmp_ordered("==", x, every(0.0)), builder.fcmp_ordered("==", y, every(0.0)))
    return builder.select(null, every(0.0), builder.fmul(x, y))


def chosen(test: str) -> Callable[[Any, Any, Any], Any]:
    """Return the rule of minimum ("<=") or maximum (">="), with the bits of numpy's: what is no number wins."""

    def of(builder: Any, x: Any, y: Any) -> Any:
        known = builder.select(builder.fcmp_ordered(test, x, y), x, y)
        return builder.select(builder.fcmp_unordered("uno", x, x), x,
                              builder.select(builder.fcmp_unordered("uno", y, y), y, known))  # fmt: skip

    return of


def true_where(test: str) -> Callable[[Any, Any, Any], Any]:
    """Return the rule that writes 1 where a comparison holds, else 0."""
    return lambda builder, x, y: builder.select(builder.fcmp_ordered(test, x, y), every(1.0), every(0.0))


def root_rows_of(typing: Any, memory: Any, r: Any, a: Any) -> Any:
    """Write row r = the square root of row a."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        own = Memory(context, builder, signature.args[0], arguments[0])
        r, a = (context.cast(builder, arguments[k], signature.args[k], types.int64) for k in (1, 2))
        module, kind = builder.module, ir.FunctionType(VECTOR, [VECTOR])
        root = module.globals.get(ROOT) or ir.Function(module, kind, ROOT)
        own.write(r, builder.call(root, [own.read(a)]))
        return context.get_dummy_value()

    return types.void(memory, r, a), generate


def sum_rows(typing: Any, memory: Any, code: Any, k: Any, added: Any, subtracted: Any) -> Any:
    """Write row code[k]: the sum of products of pairs of rows, whose numbers follow; the first ones are added."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        own, codes = (Memory(context, builder, signature.args[i], arguments[i]) for i in (0, 1))
        k, added, subtracted = (context.cast(builder, arguments[i], signature.args[i], types.int64) for i in (2, 3, 4))

        def number(at: Any) -> Any:
            return builder.zext(builder.load(builder.gep(codes.data, [at])), INDEX)

        # ``ad.program.run_sums`` adds two products without a zero before them: minus zero changes no sum
        two = builder.and_(
            builder.icmp_signed("==", builder.add(added, subtracted), INDEX(2)),
            builder.icmp_signed(">", added, INDEX(0)),
        )
        none, plus = ir.Constant(VECTOR, [-0.0] * LANES), ir.Constant(VECTOR, [0.0] * LANES)
        total: Any = builder.select(two, none, plus)
        at = builder.add(k, INDEX(1))
        for count, onto in ((added, builder.fadd), (subtracted, builder.fsub)):
            total, at = pairs(builder, own, number, (total, at, count), onto)
        own.write(number(k), total)
        return context.get_dummy_value()

    return types.void(memory, code, k, added, subtracted), generate


def pairs(builder: Any, own: Memory, number: Callable[[Any], Any], begin: Any, onto: Any) -> tuple[Any, Any]:
    """Generate the loop that adds ``count`` products to a total; return the total and the place behind the pairs."""
    total, at, count = begin
    before = builder.block
    head, body, behind = (builder.append_basic_block(name) for name in ("pairs", "pair", "total"))
    builder.branch(head)
    builder.position_at_end(head)
    place, left, held = (builder.phi(kind) for kind in (INDEX, INDEX, VECTOR))
    builder.cbranch(builder.icmp_signed(">", left, INDEX(0)), body, behind)
    builder.position_at_end(body)
    product = builder.fmul(own.read(number(place)), own.read(number(builder.add(place, INDEX(1)))))
    then = builder.add(place, INDEX(2)), builder.sub(left, INDEX(1)), onto(held, product)
    builder.branch(head)
    for phi, first, next_one in zip((place, left, held), (at, count, total), then, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(next_one, body)
    builder.position_at_end(behind)
    return held, place


if config.DISABLE_JIT:

    def add_rows(memory: Array, r: int, a: int, b: int) -> None:
        """Write row r = row a + row b."""
        memory[r] = memory[a] + memory[b]

    def subtract_rows(memory: Array, r: int, a: int, b: int) -> None:
        """Write row r = row a - row b."""
        memory[r] = memory[a] - memory[b]

    def multiply_rows(memory: Array, r: int, a: int, b: int) -> None:
        """Write row r = row a times row b."""
        memory[r] = memory[a] * memory[b]

    def divide_rows(memory: Array, r: int, a: int, b: int) -> None:
        """Write row r = row a over row b."""
        memory[r] = memory[a] / memory[b]

    def guard_rows(memory: Array, r: int, a: int, b: int) -> None:
        """Write row r as ``guarded`` says."""
        null = (memory[a] == 0.0) | (memory[b] == 0.0)
        memory[r] = np.where(null, 0.0, memory[a] * memory[b])

    def least_rows(memory: Array, r: int, a: int, b: int) -> None:
        """Write row r = the smaller of row a and row b."""
        memory[r] = np.minimum(memory[a], memory[b])

    def most_rows(memory: Array, r: int, a: int, b: int) -> None:
        """Write row r = the larger of row a and row b."""
        memory[r] = np.maximum(memory[a], memory[b])

    def less_rows(memory: Array, r: int, a: int, b: int) -> None:
        """Write 1 to row r where row a is below row b, else 0."""
        memory[r] = memory[a] < memory[b]

    def at_most_rows(memory: Array, r: int, a: int, b: int) -> None:
        """Write 1 to row r where row a is at most row b, else 0."""
        memory[r] = memory[a] <= memory[b]

    def equal_rows(memory: Array, r: int, a: int, b: int) -> None:
        """Write 1 to row r where row a is row b, else 0."""
        memory[r] = memory[a] == memory[b]

    def root_rows(memory: Array, r: int, a: int) -> None:
        """Write row r = the square root of row a."""
        memory[r] = np.sqrt(memory[a])

    def add_products(memory: Array, code: Array, k: int, added: int, subtracted: int) -> None:
        """Write the sum of products of pairs of rows, as ``sum_rows`` says."""
        first, second = code[k + 1 : k + 1 + 2 * (added + subtracted)].reshape(-1, 2).T
        total = -0.0 if added + subtracted == 2 and added > 0 else 0.0
        for j, product in enumerate(memory[first] * memory[second]):
            total = total + product if j < added else total - product
        memory[code[k]] = total

else:
    names = ("fadd", "fsub", "fmul", "fdiv")
    add_rows, subtract_rows, multiply_rows, divide_rows = (intrinsic(of_rows(arithmetic(name))) for name in names)
    guard_rows = intrinsic(of_rows(guarded))
    least_rows, most_rows = (intrinsic(of_rows(chosen(test))) for test in ("<=", ">="))
    less_rows, at_most_rows, equal_rows = (intrinsic(of_rows(true_where(test))) for test in ("<", "<=", "=="))
    root_rows = intrinsic(root_rows_of)
    add_products = intrinsic(sum_rows)
