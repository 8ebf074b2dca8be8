"""What NumPy's other functions do with traced arrays: most move elements about, some are spelled with arithmetic."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rtmbs.ad import elementwise
from rtmbs.ad.open_tape import OpenTape
from rtmbs.ad.traced import FUNCTIONS, TracedArray, steps

WAYS_OUT = {
    "array": "Build arrays with numpy.stack or numpy.concatenate.",
    "asarray": "Build arrays with numpy.stack or numpy.concatenate.",
    "solve": "Write the few unknowns out (Cramer's rule), or keep the solve outside of the recorded function.",
    "inv": "Write the inverse out, or keep it outside of the recorded function.",
    "sort": "Write numpy.minimum and numpy.maximum of pairs.",
    "isnan": "Bound the argument instead, so that no such value arises: numpy.where, numpy.maximum.",
    "isfinite": "Bound the argument instead, so that no such value arises: numpy.where, numpy.maximum.",
    "argmax": "Write numpy.maximum, or numpy.where on comparisons: which one is largest differs between evaluations.",
    "argmin": "Write numpy.minimum, or numpy.where on comparisons: which one is least differs between evaluations.",
    "interp": "Take rtmbs.library.force_laws.interpolated, or write the pieces with numpy.where.",
    "select": "Write numpy.where in numpy.where.",
    "piecewise": "Write numpy.where in numpy.where.",
    "nan_to_num": "Bound the argument instead, so that no such value arises: numpy.where, numpy.maximum.",
    "round": "Write numpy.floor(x + 0.5).",
    "fmin": "Write numpy.minimum.",
    "fmax": "Write numpy.maximum.",
}


def way_out(name: str) -> str:
    """Return the sentence that says what to write in place of the NumPy function ``name``."""
    known = (
        "Spell it with arithmetic and the functions that can be recorded (list: rtmbs.ad.traced.UNIVERSAL, FUNCTIONS)."
    )
    return WAYS_OUT.get(name, known)


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
    """Choose element by element; a traced condition is recorded and follows the values at each evaluation."""
    if len(branches) != 2:
        raise TypeError("numpy.where of a traced condition needs both branches: numpy.where(condition, a, b)")
    if isinstance(condition, TracedArray):
        return elementwise.select(tape, condition, *branches)
    return TracedArray(tape, np.where(condition, *(steps(tape, branch) for branch in branches)))


def clip(tape: OpenTape, x: Any, lower: Any = None, upper: Any = None, **limits: Any) -> Any:
    lower, upper = limits.get("min", lower), limits.get("max", upper)
    x = TracedArray(tape, steps(tape, x)) if lower is None else elementwise.greater(tape, x, lower)
    return x if upper is None else elementwise.smaller(tape, x, upper)


def dot(tape: OpenTape, x: Any, y: Any) -> TracedArray:
    a, b = TracedArray(tape, steps(tape, x)), TracedArray(tape, steps(tape, y))
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return elementwise.matmul(tape, a, b)
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
    return elementwise.matmul(tape, rows, columns).reshape(shape)


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
    return elementwise.total(tape, result, axis=tuple(range(len(output), len(order))))


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
        return np.sqrt(elementwise.total(tape, x * x, axis, keepdims))
    if ord == 1 and (x.ndim == 1 or isinstance(axis, int)):
        return elementwise.total(tape, np.abs(x), axis, keepdims)
    if ord == np.inf and (x.ndim == 1 or isinstance(axis, int)):
        return elementwise.largest(tape, np.abs(x), axis, keepdims)
    raise ValueError(f"the norm of order {ord} cannot be recorded; 2, 1 and infinity of vectors can")


def mean(tape: OpenTape, x: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    result = elementwise.total(tape, x, axis, keepdims)
    return result * (max(result.size, 1) / max(steps(tape, x).size, 1))


def trace(tape: OpenTape, x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, **_: Any) -> TracedArray:
    return elementwise.total(tape, TracedArray(tape, np.diagonal(steps(tape, x), offset, axis1, axis2)), axis=-1)


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
    """Return the rule of ``zeros_like`` and its kin, which knows shapes only."""

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
    np.sum: elementwise.total,
    np.prod: elementwise.product,
    np.max: elementwise.largest,
    np.min: elementwise.smallest,
    np.amax: elementwise.largest,
    np.amin: elementwise.smallest,
    np.all: elementwise.every,
    np.any: elementwise.some,
    np.cumsum: lambda tape, x, axis=None, **_: elementwise.running(np.add)(tape, x, axis),
    np.cumprod: lambda tape, x, axis=None, **_: elementwise.running(np.multiply)(tape, x, axis),
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
