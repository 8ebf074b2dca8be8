"""What NumPy's universal functions write on the tape, one line each.

Operations of the alphabet are written as they are; the others are spelled with them. Sums and products with the
constants 0 and 1 are left out at once: matrices that are mostly zeros would fill the tape.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rtmbs.ad import operations
from rtmbs.ad.open_tape import OpenTape
from rtmbs.ad.traced import REDUCTIONS, UNIVERSAL, TracedArray, steps

Rule = Callable[..., TracedArray]


def operation(name: str, boolean: bool = False) -> Rule:
    """Return the rule that writes one operation of the alphabet, element by element."""
    number = operations.NAMES.index(name)

    def rule(tape: OpenTape, *arguments: Any) -> TracedArray:
        return TracedArray(tape, tape.append(number, *(steps(tape, argument) for argument in arguments)), boolean)

    return rule


def unless(tape: OpenTape, op: int, a: Any, b: Any, skip: Any, result: Any) -> TracedArray:
    """Write ``op`` where ``skip`` is false; elsewhere the answer is the step ``result``."""
    skip, result = np.asarray(skip), np.asarray(result)
    if not skip.any():
        return TracedArray(tape, tape.append(op, a, b))
    if skip.all():
        return TracedArray(tape, np.array(np.broadcast_to(result, np.broadcast(a, b).shape), np.int32))
    a, b, skip, result = np.broadcast_arrays(a, b, skip, result)
    ids = result.astype(np.int32)
    ids[~skip] = tape.append(op, a[~skip], b[~skip])
    return TracedArray(tape, ids)


def add(tape: OpenTape, x: Any, y: Any) -> TracedArray:
    a, b, zero = steps(tape, x), steps(tape, y), tape.constant(0.0)
    return unless(tape, operations.ADD, a, b, (a == zero) | (b == zero), np.where(a == zero, b, a))


def subtract(tape: OpenTape, x: Any, y: Any) -> TracedArray:
    a, b, zero = steps(tape, x), steps(tape, y), tape.constant(0.0)
    return unless(tape, operations.SUBTRACT, a, b, b == zero, a)


def multiply(tape: OpenTape, x: Any, y: Any) -> TracedArray:
    a, b, zero, one = steps(tape, x), steps(tape, y), tape.constant(0.0), tape.constant(1.0)
    nothing = (a == zero) | (b == zero)
    same = np.where(nothing, zero, np.where(a == one, b, a))
    return unless(tape, operations.MULTIPLY, a, b, nothing | (a == one) | (b == one), same)


def negative(tape: OpenTape, x: Any) -> TracedArray:
    a, zero = steps(tape, x), tape.constant(0.0)
    return unless(tape, operations.NEGATE, a, 0, a == zero, a)


def matmul(tape: OpenTape, x: Any, y: Any) -> TracedArray:
    a, b = TracedArray(tape, steps(tape, x)), TracedArray(tape, steps(tape, y))
    if b.ndim == 1:
        return total(tape, a * b, axis=-1)
    if a.ndim == 1:
        return total(tape, a[..., :, None] * b, axis=-2)
    return total(tape, a[..., :, :, None] * b[..., None, :, :], axis=-2)


def folded(tape: OpenTape, join: Any, x: Any, axis: Any, keepdims: bool, start: Any) -> TracedArray:
    """Return the elements along ``axis`` (None: all) joined pairwise, halves first; ``start`` stands for none."""
    ids = steps(tape, x)
    shape = ids.shape
    axes = tuple(range(ids.ndim)) if axis is None else tuple(np.atleast_1d(axis) % max(ids.ndim, 1))
    kept = tuple(k for k in range(ids.ndim) if k not in axes)
    count = math.prod(shape[k] for k in axes)
    rest = TracedArray(tape, ids.transpose((*axes, *kept)).reshape(count, *(shape[k] for k in kept)))
    while len(rest) > 1:
        half = len(rest) // 2
        pairs = join(rest[:half], rest[half : 2 * half])
        rest = TracedArray(tape, np.concatenate((pairs.ids, rest.ids[2 * half :])))
    if len(rest) == 0 and start is None:
        raise ValueError("zero-size array to a reduction without identity")
    result = rest[0] if len(rest) else TracedArray(tape, np.broadcast_to(tape.constant(start), rest.shape[1:]))
    if keepdims:
        result = result.reshape(tuple(1 if k in axes else size for k, size in enumerate(shape)))
    return result


def reduction(join: Any, empty: float | None) -> Rule:
    """Return the rule of a reduction such as ``sum``: pairs joined by ``join``."""

    def rule(
        tape: OpenTape, x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, **_: Any
    ) -> TracedArray:
        result = folded(tape, join, x, axis, bool(keepdims), empty)
        return result if initial is None or initial is np._NoValue else join(result, initial)

    return rule


total = reduction(np.add, 0.0)
product = reduction(np.multiply, 1.0)
largest = reduction(np.maximum, None)
smallest = reduction(np.minimum, None)
every = reduction(np.logical_and, 1.0)
some = reduction(np.logical_or, 0.0)


def running(join: Any) -> Rule:
    """Return the rule of a running sum or product."""

    def rule(tape: OpenTape, x: Any, axis: Any = 0, **_: Any) -> TracedArray:
        ids = np.moveaxis(np.atleast_1d(steps(tape, x)), axis, 0) if axis is not None else steps(tape, x).ravel()
        rows = [TracedArray(tape, ids[0])]
        for row in ids[1:]:
            rows.append(join(rows[-1], TracedArray(tape, row)))
        return TracedArray(tape, np.moveaxis(np.stack([row.ids for row in rows]), 0, axis or 0))

    return rule


truth = operation("TRUTH", boolean=True)
equal = operation("EQUAL", boolean=True)
select = operation("SELECT")
smaller, greater = operation("MINIMUM"), operation("MAXIMUM")


def condition(tape: OpenTape, x: Any) -> TracedArray:
    return x if isinstance(x, TracedArray) and x.boolean else truth(tape, x)


def both(tape: OpenTape, x: Any, y: Any) -> TracedArray:
    return TracedArray(tape, smaller(tape, condition(tape, x), condition(tape, y)).ids, boolean=True)


def either(tape: OpenTape, x: Any, y: Any) -> TracedArray:
    return TracedArray(tape, greater(tape, condition(tape, x), condition(tape, y)).ids, boolean=True)


def no(tape: OpenTape, x: Any) -> TracedArray:
    return equal(tape, x, 0.0)


def conditions_only(rule: Rule) -> Rule:
    """Return the rule of & | ^ ~ , which are for conditions."""

    def checked(tape: OpenTape, *arguments: Any) -> TracedArray:
        if not all(np.asarray(x).dtype == bool if not isinstance(x, TracedArray) else x.boolean for x in arguments):
            raise TypeError("& | ^ ~ join conditions; for numbers they have no meaning")
        return rule(tape, *arguments)

    return checked


def swapped(rule: Rule) -> Rule:
    return lambda tape, x, y: rule(tape, y, x)


def spelled(function: Callable[..., Any]) -> Rule:
    """Return the rule of a function that is spelled with others on traced arrays."""
    return lambda tape, *arguments: function(*(TracedArray(tape, steps(tape, x)) for x in arguments))


def logaddexp(x: TracedArray, y: TracedArray) -> Any:
    """Return log(e^x + e^y) by the larger one: each branch has the derivative of the whole, where they meet too."""
    return np.where(x > y, x + np.log1p(np.exp(y - x)), y + np.log1p(np.exp(x - y)))


CONDITIONS = ("LESS", "LESS_EQUAL", "EQUAL")

# What NumPy and the alphabet call by one name.
for name in operations.NAMES:
    if isinstance(getattr(np, name.lower(), None), np.ufunc):
        UNIVERSAL[getattr(np, name.lower())] = operation(name, boolean=name in CONDITIONS)

UNIVERSAL.update(
    {
        np.add: add,
        np.subtract: subtract,
        np.multiply: multiply,
        np.negative: negative,
        np.matmul: matmul,
        np.fabs: operation("ABS"),
        np.float_power: operation("POWER"),
        np.greater: swapped(operation("LESS", boolean=True)),
        np.greater_equal: swapped(operation("LESS_EQUAL", boolean=True)),
        np.not_equal: lambda tape, x, y: no(tape, equal(tape, x, y)),
        np.logical_and: both,
        np.logical_or: either,
        np.logical_not: no,
        np.logical_xor: lambda tape, x, y: no(tape, equal(tape, condition(tape, x), condition(tape, y))),
        np.bitwise_and: conditions_only(both),
        np.bitwise_or: conditions_only(either),
        np.bitwise_xor: conditions_only(lambda tape, x, y: no(tape, equal(tape, x, y))),
        np.invert: conditions_only(no),
        np.positive: spelled(lambda x: x),
        np.conjugate: spelled(lambda x: x),
        np.square: spelled(lambda x: x * x),
        np.reciprocal: spelled(lambda x: 1.0 / x),
        np.exp2: spelled(lambda x: np.exp(x * np.log(2.0))),
        np.log2: spelled(lambda x: np.log(x) * (1.0 / np.log(2.0))),
        np.log10: spelled(lambda x: np.log(x) * (1.0 / np.log(10.0))),
        np.cbrt: spelled(lambda x: np.sign(x) * np.abs(x) ** (1.0 / 3.0)),
        np.ceil: spelled(lambda x: -np.floor(-x)),
        np.floor_divide: spelled(lambda x, y: np.floor(x / y)),
        np.remainder: spelled(lambda x, y: x - y * np.floor(x / y)),
        np.radians: spelled(lambda x: x * (np.pi / 180.0)),
        np.deg2rad: spelled(lambda x: x * (np.pi / 180.0)),
        np.degrees: spelled(lambda x: x * (180.0 / np.pi)),
        np.rad2deg: spelled(lambda x: x * (180.0 / np.pi)),
        np.copysign: spelled(lambda x, y: np.where(y < 0.0, -np.abs(x), np.abs(x))),
        np.heaviside: spelled(lambda x, y: np.where(x < 0.0, 0.0, np.where(x > 0.0, 1.0, y))),
        np.logaddexp: spelled(logaddexp),
        np.vecdot: spelled(lambda x, y: np.sum(x * y, axis=-1)),
    }
)


def along_first(rule: Rule) -> Rule:
    """Return a reduction with the default of ``ufunc.reduce``: along the first axis."""
    return lambda tape, x, axis=0, **options: rule(tape, x, axis, **options)


def outer(join: Any) -> Rule:
    """Return the rule of ``ufunc.outer``: all pairs."""

    def rule(tape: OpenTape, x: Any, y: Any) -> TracedArray:
        a, b = steps(tape, x), steps(tape, y)
        return join(TracedArray(tape, a.reshape(*a.shape, *(1,) * b.ndim)), TracedArray(tape, b))

    return rule


REDUCTIONS.update({(join, "outer"): outer(join) for join in (np.add, np.subtract, np.multiply, np.divide)})
REDUCTIONS.update(
    {
        (np.add, "reduce"): along_first(total),
        (np.multiply, "reduce"): along_first(product),
        (np.maximum, "reduce"): along_first(largest),
        (np.minimum, "reduce"): along_first(smallest),
        (np.logical_and, "reduce"): along_first(every),
        (np.logical_or, "reduce"): along_first(some),
        (np.add, "accumulate"): running(np.add),
        (np.multiply, "accumulate"): running(np.multiply),
    }
)
