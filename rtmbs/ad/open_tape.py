"""Open tape: operations recorded while a function runs, one row a step, appended in chunks of arrays."""

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.errors import TapeSizeError, TraceError
from rtmbs.ad.operations import CONSTANT, INPUT

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
