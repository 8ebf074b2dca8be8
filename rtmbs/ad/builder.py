"""Construction of a tape step by step: common subexpressions are shared, constants folded.

Equal steps are found by a hash table (value numbering), constants are folded, zeros and ones vanish, signs move
outwards: (-a) b = -(a b), a + (-b) = a - b. Everything here runs compiled, on a ``Builder``, whose arrays are larger
than what is in use. Kernels do not allocate, and do not look either: who calls ``emit`` or ``emit_power`` asks ``room``
for ``PER_EMIT`` or ``PER_POWER`` steps before each call. These are counted from the calls of ``step``, each of which
writes to one free place, whether the step turns out to be new or not.

A rule brings an operation into its normal form: another operation and arguments, and whether the sign is turned. The
form ``SAME`` is the first argument itself.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64

from rtmbs.ad import operations as o
from rtmbs.ad.operations import evaluate_binary, evaluate_unary
from rtmbs.ad.traced import LARGEST, too_large
from rtmbs.jit.compiled import kernel

Array = Any
Int = Any  # int64: numbers from arrays are narrower, and a kernel compiles once for every width it meets
ZERO, ONE = int64(0), int64(1)  # the first two steps of every builder are these constants
NONE = int64(0)  # in the place of an argument that is not there
SAME = -1
LARGEST_POWER = 64  # whole exponents up to here are spelled with products

# Most calls of ``step`` in one ``emit``: a quotient by a constant has two constants (the inverse, a product of
# factors), the operation and its sign. ``emit_select`` and ``constant`` have one.
PER_EMIT = 4
# In one ``emit_power``: a product and a square for every bit of the exponent, and the quotient of a negative one.
PER_POWER = (2 * LARGEST_POWER.bit_length() + 1) * PER_EMIT


class Builder(NamedTuple):
    """Tape under construction."""

    code: Array  # (capacity, 4) int32: operation and three steps; an input keeps its number in the place of the first
    value: Array  # (capacity,) float64 of constants
    bits: Array  # (capacity,) int64, the same memory
    table: Array  # (power of two,) int32 steps by hash, -1 where free
    size: Array  # (1,) int64: steps in use


def new_builder(capacity: int) -> Builder:
    """Return a builder that holds zero and one, with room for ``capacity`` steps."""
    value = np.zeros(capacity)
    table = np.full(1 << int(2 * capacity).bit_length(), -1, dtype=np.int32)
    builder = Builder(np.zeros((capacity, 4), dtype=np.int32), value, value.view(np.int64), table, np.array([2]))
    builder.value[ONE] = 1.0
    rehash(builder)
    return builder


def grown(builder: Builder) -> Builder:
    """Return the same builder with twice the room; raises TapeSizeError beyond ``LARGEST`` steps."""
    if len(builder.code) >= LARGEST:
        raise too_large(LARGEST)
    larger = new_builder(2 * len(builder.code))
    larger.code[: len(builder.code)] = builder.code
    larger.value[: len(builder.code)] = builder.value
    larger.size[:] = builder.size
    larger.table[:] = -1
    rehash(larger)
    return larger


@kernel
def room(B: Builder, steps: Int) -> bool:
    """Return whether so many steps can be written. The table, more than twice as long, always has a free place."""
    return bool(B.size[0] + steps <= len(B.code))


@kernel
def find(B: Builder, op: Int, a: Int, b: Int, c: Int, bits: Int) -> Int:
    """Return the step with this operation and arguments (a constant: these bits), or -1 - its place in the table."""
    h = op * 97 + a * 268435399 + b * 179424673 + c * 122949823 + (bits & 0xFFFFFFFF) * 15485863 + (bits >> 32)
    h ^= h >> 17
    h = (h & 0xFFFFFFFF) * 73244475
    k = (h ^ (h >> 16)) & (len(B.table) - 1)
    while B.table[k] >= 0:
        i = B.table[k]
        if B.code[i, 0] == op and B.code[i, 1] == a and B.code[i, 2] == b and B.code[i, 3] == c and B.bits[i] == bits:
            return int64(i)
        k = (k + 1) & (len(B.table) - 1)
    return -1 - k


@kernel
def rehash(B: Builder) -> None:
    """Enter all steps into an empty table."""
    for i in range(B.size[0]):
        op, a, b, c = B.code[i]
        B.table[-1 - find(B, int64(op), int64(a), int64(b), int64(c), int64(B.bits[i]))] = i


@kernel
def step(B: Builder, op: Int, a: Int, b: Int, c: Int, value: float) -> Int:
    """Return the step with this operation and these arguments, or this value; it is written unless it is there.

    Either way one place has to be free: the value is put there to have its bits compared.
    """
    new = B.size[0]
    B.value[new] = value
    i = find(B, op, a, b, c, int64(B.bits[new]))
    if i >= 0:
        return i
    B.code[new, 0], B.code[new, 1], B.code[new, 2], B.code[new, 3] = op, a, b, c
    B.table[-1 - i] = new
    B.size[0] = new + 1
    return int64(new)


@kernel
def constant(B: Builder, value: float) -> Int:
    """Return the step that holds a constant; there is one zero."""
    return ZERO if value == 0.0 else step(B, o.CONSTANT, NONE, NONE, NONE, value)


@kernel
def negate(B: Builder, a: Int) -> Int:
    """Return -a."""
    op = B.code[a, 0]
    if op == o.CONSTANT:
        return constant(B, -B.value[a])
    if op == o.NEGATE:
        return int64(B.code[a, 1])
    if op == o.SUBTRACT:
        return step(B, o.SUBTRACT, int64(B.code[a, 2]), int64(B.code[a, 1]), NONE, 0.0)
    return step(B, o.NEGATE, a, NONE, NONE, 0.0)


@kernel
def normal_sum(B: Builder, op: Int, a: Int, b: Int) -> tuple[Int, Int, Int, Any]:
    """Return the normal form of a + b or a - b: zeros vanish, signs join the operation."""
    minus_a, minus_b = B.code[a, 0] == o.NEGATE, (B.code[b, 0] == o.NEGATE) != (op == o.SUBTRACT)
    a = int64(B.code[a, 1]) if minus_a else a
    b = int64(B.code[b, 1]) if B.code[b, 0] == o.NEGATE else b
    if a == ZERO:
        return SAME, b, NONE, minus_b
    if b == ZERO:
        return SAME, a, NONE, minus_a
    if minus_a == minus_b:
        return o.ADD, min(a, b), max(a, b), minus_a
    if a == b:
        return SAME, ZERO, NONE, False
    return (o.SUBTRACT, b, a, False) if minus_a else (o.SUBTRACT, a, b, False)


@kernel
def normal_product(B: Builder, op: Int, a: Int, b: Int) -> tuple[Int, Int, Int, Any]:
    """Return the normal form of a b, guarded or not: signs move outwards, constants are positive and in front.

    A guarded product keeps its guard beside a constant that is not finite: the other factor may be an exact zero.
    """
    minus = (B.code[a, 0] == o.NEGATE) != (B.code[b, 0] == o.NEGATE)
    a = int64(B.code[a, 1]) if B.code[a, 0] == o.NEGATE else a
    b = int64(B.code[b, 1]) if B.code[b, 0] == o.NEGATE else b
    if B.code[b, 0] == o.CONSTANT:
        a, b = b, a
    if B.code[a, 0] != o.CONSTANT or (op == o.GUARDED and not np.isfinite(B.value[a])):
        return op, min(a, b), max(a, b), minus
    factor = B.value[a]
    if B.code[b, 0] == o.MULTIPLY and B.code[B.code[b, 1], 0] == o.CONSTANT:
        factor, b = factor * B.value[B.code[b, 1]], int64(B.code[b, 2])
    minus = minus != (factor < 0.0)
    if factor == 0.0:
        return SAME, ZERO, NONE, False
    if abs(factor) == 1.0:
        return SAME, b, NONE, minus
    return o.MULTIPLY, constant(B, abs(factor)), b, minus


@kernel
def normal_quotient(B: Builder, a: Int, b: Int) -> tuple[Int, Int, Int, Any]:
    """Return the normal form of a / b: signs move outwards, a constant divisor becomes a factor."""
    if B.code[b, 0] == o.CONSTANT and b != ZERO:
        return normal_product(B, o.MULTIPLY, constant(B, 1.0 / B.value[b]), a)
    minus = (B.code[a, 0] == o.NEGATE) != (B.code[b, 0] == o.NEGATE)
    a = int64(B.code[a, 1]) if B.code[a, 0] == o.NEGATE else a
    b = int64(B.code[b, 1]) if B.code[b, 0] == o.NEGATE else b
    if a == ZERO:
        return SAME, ZERO, NONE, False
    if a == b:
        return SAME, ONE, NONE, minus
    return o.DIVIDE, a, b, minus


@kernel
def normal_unary(B: Builder, op: Int, a: Int) -> tuple[Int, Int, Int, Any]:
    """Return the normal form of a unary operation: even functions drop the sign, odd ones pass it on."""
    inner = B.code[a, 0]
    if op == o.TRUTH and (inner == o.TRUTH or inner == o.LESS or inner == o.LESS_EQUAL or inner == o.EQUAL):
        return SAME, a, NONE, False
    if op == o.NEGATE:
        return SAME, a, NONE, True
    if inner == o.NEGATE:
        if op == o.COS or op == o.COSH or op == o.ABS:
            return op, int64(B.code[a, 1]), NONE, False
        if op == o.SIN or op == o.TAN or op == o.SINH or op == o.TANH or op == o.ARCSIN or op == o.ARCTAN:
            return op, int64(B.code[a, 1]), NONE, True
    return op, a, NONE, False


@kernel
def normal_form(B: Builder, op: Int, a: Int, b: Int) -> tuple[Int, Int, Int, Any]:
    """Return operation, arguments and sign of an operation on one or two arguments that are not all constants."""
    if op == o.ADD or op == o.SUBTRACT:
        return normal_sum(B, op, a, b)
    if op == o.MULTIPLY or op == o.GUARDED:
        return normal_product(B, op, a, b)
    if op == o.DIVIDE:
        return normal_quotient(B, a, b)
    if op <= o.TRUTH:
        return normal_unary(B, op, a)
    if a == b and (op == o.MINIMUM or op == o.MAXIMUM):
        return SAME, a, NONE, False
    return op, a, b, False


@kernel
def emit(B: Builder, op: Int, a: Int, b: Int) -> Int:
    """Return the step for an operation on one or two arguments, in its simplest form; takes room for ``PER_EMIT``."""
    if B.code[a, 0] == o.CONSTANT and (op <= o.TRUTH or B.code[b, 0] == o.CONSTANT):
        if op <= o.TRUTH:
            return constant(B, evaluate_unary(op, B.value[a]))
        return constant(B, evaluate_binary(op, B.value[a], B.value[b]))
    op, a, b, minus = normal_form(B, op, a, b)
    if op != SAME:
        a = step(B, op, a, b, NONE, 0.0)
    return negate(B, a) if minus else a


@kernel
def emit_select(B: Builder, a: Int, b: Int, c: Int) -> Int:
    """Return the step for: b where a holds, c elsewhere."""
    if B.code[a, 0] == o.CONSTANT:
        return b if a != ZERO else c
    return b if b == c else step(B, o.SELECT, a, b, c, 0.0)


@kernel
def emit_power(B: Builder, a: Int, exponent: float) -> Int:
    """Return a to a constant power: whole and half exponents become products and roots; takes ``PER_POWER``."""
    size = abs(exponent)
    if size != 0.5 and (size != np.floor(size) or size > LARGEST_POWER):
        return step(B, o.POWER, a, constant(B, exponent), NONE, 0.0)
    result = emit(B, o.SQRT, a, NONE) if size == 0.5 else ONE
    left, square = int64(size), a
    while left > 0:
        if left % 2 == 1:
            result = emit(B, o.MULTIPLY, result, square)
        left //= 2
        if left > 0:
            square = emit(B, o.MULTIPLY, square, square)
    return result if exponent >= 0.0 else emit(B, o.DIVIDE, ONE, result)
