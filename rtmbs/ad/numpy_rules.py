"""Recording rules of NumPy's functions on traced arrays.

Operations of the tape are written as they are; other universal functions are composed of them. Sums and products with
the constants 0 and 1 are left out at once: matrices that are mostly zeros would fill the tape. Of the other functions
most move elements about, and some are composed of arithmetic.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rtmbs.ad import operations
from rtmbs.ad.traced import FUNCTIONS, REDUCTIONS, UNIVERSAL, OpenTape, TracedArray, steps

Rule = Callable[..., TracedArray]


def operation(name: str, boolean: bool = False) -> Rule:
    """Return the rule that writes one operation of the alphabet, element by element."""
    number = operations.NAMES.index(name)

    def rule(tape: OpenTape, *arguments: Any) -> TracedArray:
        return TracedArray(tape, tape.append(number, *(steps(tape, argument) for argument in arguments)), boolean)

    return rule


def unless(tape: OpenTape, op: int, a: Any, b: Any, skip: Any, result: Any) -> TracedArray:
    """Write ``op`` where ``skip`` is false; elsewhere take the step ``result``."""
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
    """Return the elements along ``axis`` (None: all) joined pairwise, halves first; ``start`` if there are none."""
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


def logical_and(tape: OpenTape, x: Any, y: Any) -> TracedArray:
    return TracedArray(tape, smaller(tape, condition(tape, x), condition(tape, y)).ids, boolean=True)


def logical_or(tape: OpenTape, x: Any, y: Any) -> TracedArray:
    return TracedArray(tape, greater(tape, condition(tape, x), condition(tape, y)).ids, boolean=True)


def logical_not(tape: OpenTape, x: Any) -> TracedArray:
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


def composed(function: Callable[..., Any]) -> Rule:
    """Return the rule of a function that is composed of others on traced arrays."""
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
        np.not_equal: lambda tape, x, y: logical_not(tape, equal(tape, x, y)),
        np.logical_and: logical_and,
        np.logical_or: logical_or,
        np.logical_not: logical_not,
        np.logical_xor: lambda tape, x, y: logical_not(tape, equal(tape, condition(tape, x), condition(tape, y))),
        np.bitwise_and: conditions_only(logical_and),
        np.bitwise_or: conditions_only(logical_or),
        np.bitwise_xor: conditions_only(lambda tape, x, y: logical_not(tape, equal(tape, x, y))),
        np.invert: conditions_only(logical_not),
        np.positive: composed(lambda x: x),
        np.conjugate: composed(lambda x: x),
        np.square: composed(lambda x: x * x),
        np.reciprocal: composed(lambda x: 1.0 / x),
        np.exp2: composed(lambda x: np.exp(x * np.log(2.0))),
        np.log2: composed(lambda x: np.log(x) * (1.0 / np.log(2.0))),
        np.log10: composed(lambda x: np.log(x) * (1.0 / np.log(10.0))),
        np.cbrt: composed(lambda x: np.sign(x) * np.abs(x) ** (1.0 / 3.0)),
        np.ceil: composed(lambda x: -np.floor(-x)),
        np.floor_divide: composed(lambda x, y: np.floor(x / y)),
        np.remainder: composed(lambda x, y: x - y * np.floor(x / y)),
        np.radians: composed(lambda x: x * (np.pi / 180.0)),
        np.deg2rad: composed(lambda x: x * (np.pi / 180.0)),
        np.degrees: composed(lambda x: x * (180.0 / np.pi)),
        np.rad2deg: composed(lambda x: x * (180.0 / np.pi)),
        np.copysign: composed(lambda x, y: np.where(y < 0.0, -np.abs(x), np.abs(x))),
        np.heaviside: composed(lambda x, y: np.where(x < 0.0, 0.0, np.where(x > 0.0, 1.0, y))),
        np.logaddexp: composed(logaddexp),
        np.vecdot: composed(lambda x, y: np.sum(x * y, axis=-1)),
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


def rearranged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of a function that moves the elements of its first argument about."""

    def rule(tape: OpenTape, x: Any, *arguments: Any, **options: Any) -> Any:
        moved = function(steps(tape, x), *arguments, **options)
        if isinstance(moved, list | tuple):
            return type(moved)(TracedArray(tape, part) for part in moved)
        return TracedArray(tape, moved, isinstance(x, TracedArray) and x.boolean)

    return rule


def joined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of a function that puts a sequence of arrays together."""

    def rule(tape: OpenTape, parts: Any, *arguments: Any, **options: Any) -> TracedArray:
        boolean = all(isinstance(part, TracedArray) and part.boolean for part in parts)
        return TracedArray(tape, function([steps(tape, part) for part in parts], *arguments, **options), boolean)

    return rule


def where(tape: OpenTape, condition: Any, *branches: Any) -> TracedArray:
    """Select element by element; a traced condition is recorded and follows the values at each evaluation."""
    if len(branches) != 2:
        raise TypeError("numpy.where of a traced condition needs both branches: numpy.where(condition, a, b)")
    if isinstance(condition, TracedArray):
        return select(tape, condition, *branches)
    return TracedArray(tape, np.where(condition, *(steps(tape, branch) for branch in branches)))


def clip(tape: OpenTape, x: Any, lower: Any = None, upper: Any = None, **limits: Any) -> Any:
    lower, upper = limits.get("min", lower), limits.get("max", upper)
    x = TracedArray(tape, steps(tape, x)) if lower is None else greater(tape, x, lower)
    return x if upper is None else smaller(tape, x, upper)


def dot(tape: OpenTape, x: Any, y: Any) -> TracedArray:
    a, b = TracedArray(tape, steps(tape, x)), TracedArray(tape, steps(tape, y))
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(tape, a, b)
    return tensordot(tape, a, b, ((-1,), (-2 if b.ndim > 1 else -1,)))


def tensordot(tape: OpenTape, x: Any, y: Any, axes: Any = 2) -> TracedArray:
    a, b = steps(tape, x), steps(tape, y)
    if isinstance(axes, int):
        axes = (range(a.ndim - axes, a.ndim), range(axes))
    left, right = (tuple(np.atleast_1d(part) % n) for part, n in zip(axes, (a.ndim, b.ndim), strict=True))
    a = np.moveaxis(a, left, range(a.ndim - len(left), a.ndim))
    b = np.moveaxis(b, right, range(len(right)))
    shape = a.shape[: a.ndim - len(left)] + b.shape[len(right) :]
    size = int(np.prod(b.shape[: len(right)], dtype=np.int64))
    rows, columns = TracedArray(tape, a.reshape(-1, size)), TracedArray(tape, b.reshape(size, -1))
    return matmul(tape, rows, columns).reshape(shape)


def einsum(tape: OpenTape, subscripts: str, *operands: Any, **_: Any) -> TracedArray:
    """Multiply and sum by letters; all products of all letters are formed, ``...`` is not known."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    letters = sorted(set(inputs) - {","})
    if not arrow:
        output = "".join(letter for letter in letters if inputs.count(letter) == 1)
    order = output + "".join(letter for letter in letters if letter not in output)
    result: Any = 1.0
    for term, operand in zip(terms, operands, strict=True):
        ids = steps(tape, operand)
        for letter in set(term):
            while term.count(letter) > 1:  # a repeated letter is a diagonal
                first, second = term.index(letter), term.rindex(letter)
                ids = np.diagonal(ids, 0, first, second)
                term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
        ids = ids.transpose([term.index(letter) for letter in order if letter in term])
        at = tuple(slice(None) if letter in term else None for letter in order)
        result = result * TracedArray(tape, ids[at])
    return total(tape, result, axis=tuple(range(len(output), len(order))))


def cross(tape: OpenTape, x: Any, y: Any, axis: int = -1) -> TracedArray:
    a, b = (TracedArray(tape, np.moveaxis(steps(tape, v), axis, -1)) for v in (x, y))
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError("the cross product is for vectors of three components")
    (a1, a2, a3), (b1, b2, b3) = ((v[..., 0], v[..., 1], v[..., 2]) for v in (a, b))
    components = (a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1)
    return TracedArray(tape, np.moveaxis(np.stack([part.ids for part in components], axis=-1), -1, axis))


def norm(tape: OpenTape, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the norm of vectors: 2, 1, infinity; of matrices Frobenius only."""
    x = TracedArray(tape, steps(tape, x))
    if ord in (None, 2, "fro") and not (ord == 2 and axis is None and x.ndim != 1):
        return np.sqrt(total(tape, x * x, axis, keepdims))
    if ord == 1 and (x.ndim == 1 or isinstance(axis, int)):
        return total(tape, np.abs(x), axis, keepdims)
    if ord == np.inf and (x.ndim == 1 or isinstance(axis, int)):
        return largest(tape, np.abs(x), axis, keepdims)
    raise ValueError(f"the norm of order {ord} cannot be recorded; 2, 1 and infinity of vectors can")


def mean(tape: OpenTape, x: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    result = total(tape, x, axis, keepdims)
    return result * (max(result.size, 1) / max(steps(tape, x).size, 1))


def trace(tape: OpenTape, x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, **_: Any) -> TracedArray:
    return total(tape, TracedArray(tape, np.diagonal(steps(tape, x), offset, axis1, axis2)), axis=-1)


def triangle(keep: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of ``triu`` and ``tril``."""
    return lambda tape, x, k=0: where(tape, keep(np.ones(steps(tape, x).shape, dtype=bool), k), x, 0.0)


def diag(tape: OpenTape, x: Any, k: int = 0) -> TracedArray:
    ids = steps(tape, x)
    if ids.ndim != 1:
        return TracedArray(tape, np.diagonal(ids, k, -2, -1))
    spread = np.diag(np.arange(1, len(ids) + 1), k)  # place of the element, from one; zero: none
    return TracedArray(tape, np.concatenate((np.atleast_1d(tape.constant(0.0)), ids))[spread])


def filled(value: float) -> Callable[..., Any]:
    """Return the rule of ``zeros_like`` and similar, which read shapes only."""

    def rule(tape: OpenTape, x: Any, *_: Any, **__: Any) -> TracedArray:
        return TracedArray(tape, np.full(steps(tape, x).shape, tape.constant(value)))

    return rule


def full_like(tape: OpenTape, x: Any, value: Any, **_: Any) -> TracedArray:
    return TracedArray(tape, np.broadcast_to(steps(tape, value), np.shape(x)).copy())


def pad(tape: OpenTape, x: Any, width: Any, mode: Any = "constant", constant_values: float = 0.0) -> TracedArray:
    if mode != "constant":
        return TracedArray(tape, np.pad(steps(tape, x), width, mode))
    return TracedArray(tape, np.pad(steps(tape, x), width, constant_values=int(tape.constant(constant_values)[()])))


def broadcast_arrays(tape: OpenTape, *arrays: Any) -> tuple[TracedArray, ...]:
    return tuple(TracedArray(tape, ids) for ids in np.broadcast_arrays(*(steps(tape, x) for x in arrays)))


def polyval(tape: OpenTape, coefficients: Any, x: Any) -> Any:
    result: Any = 0.0
    for coefficient in TracedArray(tape, steps(tape, coefficients)):
        result = result * TracedArray(tape, steps(tape, x)) + coefficient
    return result


def diff(tape: OpenTape, x: Any, n: int = 1, axis: int = -1) -> TracedArray:
    x = TracedArray(tape, np.moveaxis(steps(tape, x), axis, 0))
    for _ in range(n):
        x = x[1:] - x[:-1]
    return TracedArray(tape, np.moveaxis(x.ids, 0, axis))


MOVING: tuple[Any, ...] = (
    *(np.reshape, np.ravel, np.transpose, np.moveaxis, np.swapaxes, np.rollaxis, np.squeeze, np.expand_dims, np.copy),
    *(np.broadcast_to, np.tile, np.repeat, np.roll, np.flip, np.fliplr, np.flipud, np.rot90, np.take, np.diagonal),
    *(np.take_along_axis, np.delete, np.split, np.array_split, np.hsplit, np.vsplit, np.atleast_1d, np.atleast_2d),
    *(np.atleast_3d, np.matrix_transpose, np.linalg.matrix_transpose, np.linalg.diagonal, np.permute_dims),
    *(np.unstack, np.resize, np.compress, np.real),
)
JOINING: tuple[Any, ...] = (np.stack, np.concatenate, np.hstack, np.vstack, np.dstack, np.column_stack)

FUNCTIONS.update({function: rearranged(function) for function in MOVING})
FUNCTIONS.update({function: joined(function) for function in JOINING})
OTHERS: dict[Any, Callable[..., Any]] = {
    np.append: lambda tape, x, y, axis=None: TracedArray(tape, np.append(steps(tape, x), steps(tape, y), axis)),
    np.block: lambda tape, rows: TracedArray(tape, np.block(nested(tape, rows))),
    np.where: where,
    np.clip: clip,
    np.dot: dot,
    np.tensordot: tensordot,
    np.einsum: einsum,
    np.cross: cross,
    np.trace: trace,
    np.linalg.cross: cross,
    np.linalg.norm: norm,
    np.linalg.tensordot: tensordot,
    np.linalg.trace: trace,
    np.mean: mean,
    np.triu: triangle(np.triu),
    np.tril: triangle(np.tril),
    np.diag: diag,
    np.zeros_like: filled(0.0),
    np.empty_like: filled(0.0),
    np.ones_like: filled(1.0),
    np.full_like: full_like,
    np.pad: pad,
    np.broadcast_arrays: broadcast_arrays,
    np.polyval: polyval,
    np.diff: diff,
    np.sum: total,
    np.prod: product,
    np.max: largest,
    np.min: smallest,
    np.amax: largest,
    np.amin: smallest,
    np.all: every,
    np.any: some,
    np.cumsum: lambda tape, x, axis=None, **_: running(np.add)(tape, x, axis),
    np.cumprod: lambda tape, x, axis=None, **_: running(np.multiply)(tape, x, axis),
    np.vdot: lambda tape, x, y: dot(tape, np.ravel(steps_of(tape, x)), np.ravel(steps_of(tape, y))),
    np.inner: lambda tape, x, y: tensordot(tape, x, y, ((-1,), (-1,))) if np.ndim(x) and np.ndim(y) else x * y,
    np.outer: lambda tape, x, y: np.ravel(steps_of(tape, x))[:, None] * np.ravel(steps_of(tape, y)),
    np.linalg.outer: lambda tape, x, y: steps_of(tape, x)[:, None] * steps_of(tape, y),
    np.imag: filled(0.0),
    np.shape: lambda tape, x: x.shape,
    np.ndim: lambda tape, x: x.ndim,
    np.size: lambda tape, x, axis=None: x.size if axis is None else x.shape[axis],
    np.iscomplexobj: lambda tape, x: False,
    np.isrealobj: lambda tape, x: True,
}

FUNCTIONS.update(OTHERS)


def steps_of(tape: OpenTape, x: Any) -> TracedArray:
    """Return x, traced or not, as a traced array."""
    return TracedArray(tape, steps(tape, x))


def nested(tape: OpenTape, parts: Any) -> Any:
    """Return nested lists of arrays as nested lists of step numbers."""
    return [nested(tape, part) for part in parts] if isinstance(parts, list) else steps(tape, parts)
