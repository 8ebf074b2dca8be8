"""Recording of operations on traced arrays: an open tape, and the arrays and namespace that write to it.

An ``OpenTape`` has one row a step, appended in chunks of arrays. A ``TracedArray`` is an array of step numbers and
stands for a function's inputs. Arithmetic, NumPy's own functions and indexing work on it under their usual names (NEP
13 and 18): moving elements about moves numbers and records nothing, arithmetic writes steps on the tape. It has no
values, so nothing that needs one (``if``, ``float``, an array of floats to be written into) can go on. ``Namespace``
is NumPy with the constructors that NumPy itself would fill with objects.
"""

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from rtmbs.ad.operations import CONSTANT, INPUT
from rtmbs.errors import TapeSizeError, TraceError, UnsupportedFunctionError

Ids = NDArray[np.int32]

# Steps of one tape, of its derivatives and of the products in between: a gigabyte or two. Numbers of 32 bits, of
# which elimination takes one for a sign, would serve for 2**30.
LARGEST = 1 << 25
BITS, INTEGER = struct.Struct("=d"), struct.Struct("=Q")
FEW = 64  # constants that a dict finds sooner than sorted arrays


def too_large(steps: int) -> TapeSizeError:
    """Return the error for a tape of more than ``steps`` steps."""
    return TapeSizeError(
        f"the tape would take more than {steps:,} steps; record a part of the function, write its loops with fewer "
        "turns, or keep what does not depend on the inputs out of it"
    )


class OpenTape:
    """Steps in order of execution: operation and the numbers of its operands.

    A constant keeps in ``a`` its place in ``constants``; an input its place among the inputs. Nothing is simplified
    here. Raises TapeSizeError when more than ``limit`` steps are written.
    """

    def __init__(self, limit: int = LARGEST) -> None:
        self.limit = limit
        self.op: list[NDArray[np.uint8]] = []
        self.a: list[Ids] = []
        self.b: list[Ids] = []
        self.c: list[Ids] = []
        self.size = 0
        self.constants: list[float] = []
        self.closed = False
        self.decide: Callable[[Any], bool] | None = None  # answers bool(condition); None: no condition has a truth
        self.known: dict[bytes, int] = {}  # bits of a constant, so that 0.0, -0.0 and not-a-number stay themselves

    def append(self, op: int | NDArray[np.uint8], a: Any, b: Any = 0, c: Any = 0) -> Ids:
        """Write steps that take the steps a, b, c (arrays of one shape, or one step for all); return their numbers."""
        if self.closed:
            raise TraceError("the tape is closed: a traced value is used after trace_off()")
        shape = np.broadcast(a, b, c).shape
        count = math.prod(shape)
        if self.size + count > self.limit:
            raise too_large(self.limit)
        for column, new in zip((self.a, self.b, self.c), (a, b, c), strict=True):
            taken = np.empty(shape, dtype=np.int32)
            taken[...] = new
            column.append(taken.ravel())
        self.op.append(np.full(count, op, dtype=np.uint8) if np.ndim(op) == 0 else np.array(op, dtype=np.uint8))
        ids = np.arange(self.size, self.size + count, dtype=np.int32).reshape(shape)
        self.size += count
        return ids

    def inputs(self, count: int) -> Ids:
        """Write ``count`` inputs; their numbers come at the end."""
        return self.append(INPUT, np.zeros(count))

    def renumber_inputs(self, ids: Ids) -> None:
        """Number the inputs in the order of the steps ``ids``."""
        number = np.zeros(self.size, dtype=np.int32)
        number[ids] = np.arange(len(ids))
        first = 0
        for op, a in zip(self.op, self.a, strict=True):
            chosen = np.flatnonzero(op == INPUT)
            a[chosen] = number[first + chosen]
            first += len(op)

    def constant(self, values: Any) -> Ids:
        """Return the steps that hold ``values``, in their shape; every constant is written once."""
        if type(values) is float:  # every rule asks for 0.0 and 1.0
            return np.array(self.known.get(BITS.pack(values)) or self.one_constant(BITS.pack(values)), np.int32)
        values = np.asarray(values, dtype=np.float64)
        if values.size <= FEW:
            keys = [BITS.pack(value) for value in values.ravel().tolist()]
            known = {key: self.one_constant(key) for key in sorted(set(keys), key=INTEGER.unpack)}
            return np.array([known[key] for key in keys], np.int32).reshape(values.shape)
        distinct, place = np.unique(values.ravel().view(np.uint64), return_inverse=True)
        found = np.array([self.one_constant(bits.tobytes()) for bits in distinct], np.int32)
        return found[place].reshape(values.shape)

    def one_constant(self, key: bytes) -> int:
        """Return the step that holds the number with these bits; a new one is written."""
        if key not in self.known:
            self.constants.append(BITS.unpack(key)[0])
            self.known[key] = int(self.append(CONSTANT, len(self.constants) - 1)[()])
        return self.known[key]

    def columns(self) -> tuple[NDArray[np.uint8], Ids, Ids, Ids, NDArray[np.float64]]:
        """Return op, a, b, c and the constants as arrays."""
        none = np.zeros(0, dtype=np.int32)
        a, b, c = (np.concatenate((none, *column)) for column in (self.a, self.b, self.c))
        op = np.concatenate((np.zeros(0, dtype=np.uint8), *self.op))
        return op, a, b, c, np.array(self.constants, dtype=np.float64)


# What NumPy's universal and other functions do to traced arrays; filled by elementwise.py and functions.py.
UNIVERSAL: dict[Any, Callable[..., Any]] = {}
REDUCTIONS: dict[Any, Callable[..., Any]] = {}
FUNCTIONS: dict[Any, Callable[..., Any]] = {}

NO_TRUTH = (
    "a traced value has no truth value while it is recorded: an `if`, `while`, `and`, `or`, `not`, `min()` or `max()` "
    "on it would freeze one branch into the tape. Write numpy.where(condition, a, b), numpy.minimum, numpy.maximum, "
    "numpy.abs, or & | ~ for conditions: these follow the values at each evaluation"
)
NO_NUMBER = (
    "a traced value has no number while it is recorded: {0} is not possible. Use numpy functions (numpy.sin, not "
    "math.sin), and build arrays with numpy.stack or numpy.concatenate, not by writing into an array of floats"
)


class TracedArray(NDArrayOperatorsMixin):
    """An array of steps of one tape: ``ids`` in any shape, ``boolean`` when they are conditions."""

    __slots__ = ("boolean", "ids", "tape")

    def __init__(self, tape: OpenTape, ids: Any, boolean: bool = False) -> None:
        self.tape = tape
        self.ids: Ids = np.asarray(ids, dtype=np.int32)
        self.boolean = boolean

    # ---- what an array can say about itself

    @property
    def shape(self) -> tuple[int, ...]:
        return self.ids.shape

    @property
    def ndim(self) -> int:
        return self.ids.ndim

    @property
    def size(self) -> int:
        return self.ids.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(bool if self.boolean else float)

    @property
    def T(self) -> "TracedArray":
        return self.like(self.ids.T)

    @property
    def mT(self) -> "TracedArray":
        return self.like(self.ids.mT)

    @property
    def real(self) -> "TracedArray":
        return self

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator["TracedArray"]:
        return (self.like(row) for row in self.ids)

    def __repr__(self) -> str:
        return f"TracedArray({'steps ' + str(self.ids.tolist()) if self.size <= 8 else self.shape})"

    def __hash__(self) -> int:
        return id(self)

    # ---- elements move, nothing is recorded

    def like(self, ids: Any) -> "TracedArray":
        """Return other steps of the same tape and kind."""
        return TracedArray(self.tape, ids, self.boolean)

    def __getitem__(self, index: Any) -> "TracedArray":
        return self.like(self.ids[plain_index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.ids[plain_index(index)] = steps(self.tape, value)

    def reshape(self, *shape: Any, **options: Any) -> "TracedArray":
        return self.like(self.ids.reshape(*shape, **options))

    def transpose(self, *axes: Any) -> "TracedArray":
        return self.like(self.ids.transpose(*axes))

    def swapaxes(self, first: int, second: int) -> "TracedArray":
        return self.like(self.ids.swapaxes(first, second))

    def squeeze(self, axis: Any = None) -> "TracedArray":
        return self.like(self.ids.squeeze(axis))

    def ravel(self) -> "TracedArray":
        return self.like(self.ids.ravel())

    def flatten(self) -> "TracedArray":
        return self.like(self.ids.flatten())

    def copy(self) -> "TracedArray":
        return self.like(self.ids.copy())

    def take(self, indices: Any, axis: Any = None) -> "TracedArray":
        return self.like(self.ids.take(plain_index(indices), axis))

    def repeat(self, repeats: Any, axis: Any = None) -> "TracedArray":
        return self.like(self.ids.repeat(repeats, axis))

    def diagonal(self, *arguments: int) -> "TracedArray":
        return self.like(self.ids.diagonal(*arguments))

    def astype(self, dtype: Any, **options: Any) -> "TracedArray":
        if np.dtype(dtype).kind != "f":
            refuse_number(f"astype({np.dtype(dtype).name})")
        return TracedArray(self.tape, self.ids)

    # ---- arithmetic, by NumPy's own names

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        rule = UNIVERSAL.get(ufunc) if method == "__call__" else REDUCTIONS.get((ufunc, method))
        if rule is None and getattr(np, ufunc.__name__, None) is not ufunc:
            refuse_number(f"a call of {ufunc.__name__}, which is not NumPy's,")
        if rule is None or options.get("where", True) is not True:
            refuse_function(ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}")
        out = options.pop("out", None)
        options = {name: value for name, value in options.items() if name not in ("where", "dtype", "casting", "order")}
        result = rule(self.tape, *inputs, **options)
        return result if out is None else write_out(result, out[0])

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        rule = FUNCTIONS.get(function)
        if rule is None:
            refuse_function(f"{function.__module__.removeprefix('numpy.')}.{function.__name__}".removeprefix("numpy."))
        if options.pop("out", None) is not None:
            refuse_number(f"{function.__name__}(out=...)")
        return rule(self.tape, *arguments, **options)

    def __getattr__(self, name: str) -> Any:
        """Return sin, sum, dot, ...: methods of arrays, which NumPy also calls on elements of an object array."""
        function = None if name.startswith("_") else getattr(np, name, None)
        if callable(function) and (function in UNIVERSAL or function in FUNCTIONS):
            return lambda *arguments, **options: function(self, *arguments, **options)
        raise AttributeError(f"a traced array has no attribute {name!r}", name=name, obj=self)

    # ---- what a traced value cannot do

    def __bool__(self) -> bool:
        if self.tape.decide is None or self.size != 1:
            raise TraceError(NO_TRUTH)
        return self.tape.decide(self)

    def __float__(self) -> float:
        return float(self.truth_or("float()"))

    def __complex__(self) -> NoReturn:
        refuse_number("complex()")

    def __int__(self) -> int:
        return int(self.truth_or("int()"))

    def __index__(self) -> int:
        return int(self.truth_or("its use as an index"))

    def truth_or(self, what: str) -> bool:
        """Return the truth of a condition that is used as a number; refuse other values."""
        if not self.boolean or self.tape.decide is None:
            refuse_number(what)
        return bool(self)

    def item(self, *_: Any) -> NoReturn:
        refuse_number("item()")


REPLACEMENTS = {
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


def replacement_hint(name: str) -> str:
    """Return the hint for a NumPy function ``name`` that cannot be recorded."""
    known = (
        "Spell it with arithmetic and the functions that can be recorded (list: rtmbs.ad.traced.UNIVERSAL, FUNCTIONS)."
    )
    return REPLACEMENTS.get(name, known)


def refuse_number(what: str) -> NoReturn:
    """Raise the error for an attempt to take the number out of a traced value."""
    raise TraceError(NO_NUMBER.format(what))


def refuse_function(name: str) -> NoReturn:
    """Raise the error for a function of NumPy that has no rule."""
    raise UnsupportedFunctionError(f"numpy.{name} cannot be recorded. {replacement_hint(name.split('.')[-1])}")


def plain_index(index: Any) -> Any:
    """Return ``index`` when no part of it is traced."""
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        if isinstance(part, TracedArray):
            if part.boolean:
                raise TraceError("a traced condition cannot choose elements: write numpy.where(condition, a, b)")
            refuse_number("its use as an index")
    return index


def write_out(result: TracedArray, out: Any) -> Any:
    """Write a result to the target of ``out=`` or of an in-place operator.

    A single value is not written over: NumPy's scalars cannot be changed, so other names of it keep what they have.
    """
    if not isinstance(out, TracedArray):
        refuse_number("writing a traced value into an array of floats (`+=`, out=)")
    if out.ndim == 0:
        return result
    out.ids[...] = result.ids
    return out


def steps(tape: OpenTape, value: Any) -> Ids:
    """Return the step numbers of traced values, numbers, and sequences or object arrays of both."""
    if isinstance(value, TracedArray):
        if value.tape is not tape:
            raise TraceError("two traced values belong to two tapes; a tape cannot take values of another one")
        return value.ids
    if isinstance(value, list | tuple):
        return np.stack(np.broadcast_arrays(*(steps(tape, part) for part in value))) if value else np.zeros(0, np.int32)
    array = np.asarray(value)
    if array.dtype == object:
        flat = [int(steps(tape, part)[()]) for part in array.ravel()]
        return np.array(flat, dtype=np.int32).reshape(array.shape)
    if array.dtype.kind not in "fiub":
        raise TraceError(f"a tape holds real numbers; it cannot take {array.dtype.name} values")
    return tape.constant(array)


class Namespace:
    """NumPy's names; ``hooks`` are further ones, such as a sum that is better recorded as a recursion."""

    def __init__(self, **hooks: Any) -> None:
        self.__dict__.update(hooks)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def array(self, values: Any, **options: Any) -> Any:
        """Return numbers and traced values, nested in lists, as one array."""
        tape = tape_in(values)
        return np.array(values, **options) if tape is None else TracedArray(tape, steps(tape, values).copy())

    def asarray(self, values: Any, **options: Any) -> Any:
        """Return numbers and traced values, nested in lists, as one array."""
        return values if isinstance(values, TracedArray) else self.array(values, **options)


recorder = Namespace()


def tape_in(values: Any) -> OpenTape | None:
    """Return the tape of the first traced value in nested sequences."""
    if isinstance(values, TracedArray):
        return values.tape
    if isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.dtype == object):
        return next((tape for tape in map(tape_in, values) if tape is not None), None)
    return None
