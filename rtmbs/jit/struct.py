"""Structs of arrays that kernels take by address: one number crosses from Python, whatever the struct holds.

A ``NamedTuple`` of arrays that numba takes by value is unpacked when it crosses from Python, and every call between
kernels hands over each array with its shape and strides: hundreds of arguments, which cost more to compile than what
the kernels do. A *struct* is laid out once in memory, as a flat list of words of eight bytes, and kernels get the
address. ``struct_type`` says to numba how to read it. For Python it stays the named tuple that it is.
"""

from collections.abc import Callable, Hashable, Iterable
from ctypes import addressof, c_char
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.jit import PLAIN

T = TypeVar("T", bound=type)
Words = NDArray[np.int64]

LAYOUT = 0x503  # bits of ``flags.num`` that a type hangs on: C, Fortran, aligned, writeable
NUMBERS = frozenset((int, float, bool, np.int64, np.float64, np.bool_))

memory_of = c_char.from_buffer
NOTHING = np.zeros(1)  # where arrays without numbers are
NOWHERE = int(NOTHING.ctypes.data)

_kinds: dict[Hashable, int] = {}  # one number for each class with arrays of these types
_next = count()


class LazyProperty:
    """Property computed at its first use, without the lock of ``cached_property``, for sessions are threads."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __get__(self, instance: Any, owner: type) -> Any:
        """Compute the value and keep it; of two threads at once, the first to finish wins."""
        if instance is None:
            return self
        return instance.__dict__.setdefault(self.function.__name__, self.function(instance))


class Struct:
    """Base class that ``@struct`` adds to a NamedTuple: its memory layout, computed when a kernel first needs it.

    Fields are arrays, structs and numbers. The tuple cannot change, and arrays stay where they are, so the words hold.
    """

    @LazyProperty
    def words(self) -> Words:
        """The struct in memory (words,): see ``words_of``."""
        return np.array(self.listed, np.int64)

    @LazyProperty
    def listed(self) -> list[int]:
        """The words as a list, for the struct around this one."""
        words: list[int] = []
        for value in self:  # type: ignore[attr-defined]
            kind = type(value)
            if kind is np.ndarray:  # as in ``words_of``: hundreds of calls a Simulation
                size = value.size
                try:  # a quarter of the time of ``__array_interface__``, for what can be written to and has no gaps
                    place = addressof(memory_of(value)) if size else NOWHERE
                except (TypeError, ValueError):
                    place = value.__array_interface__["data"][0]
                words += (place, size, *value.shape, *value.strides)
            elif kind is int:
                words.append(value)
            elif isinstance(value, Struct):
                words += value.listed
            else:
                words += words_of(value)
        return words

    @LazyProperty
    def signature(self) -> int | None:
        """A number that structs of one class share when the types of their fields are the same: see ``kind_of``."""
        kinds = kinds_of(self)  # type: ignore[arg-type]
        return None if None in kinds else _kinds.setdefault((type(self), kinds), next(_next))

    @LazyProperty
    def address(self) -> int:
        """Address of the words: all that a kernel is given."""
        return int(self.words.ctypes.data)

    def __getstate__(self) -> None:
        """Return nothing: copies and pickles compute a layout of their own, for this one holds addresses."""


def kind_of(value: Any) -> Any:
    """Return a key of the type of an array, a tuple or a number; None for a type that is not known here.

    It says no less than numba's type, and takes a hundredth of the time.
    """
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & LAYOUT
    if isinstance(value, Struct):
        return value.signature
    if isinstance(value, tuple):
        parts = tuple(map(kind_of, value))
        return None if None in parts else (kind, parts)
    return kind if kind in NUMBERS else None


def kinds_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the ``kind_of`` of each value, of arrays, structs and numbers without a further call."""
    kinds: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            kinds.append((value.dtype, value.ndim, value.flags.num & LAYOUT))
        elif kind in NUMBERS:
            kinds.append(kind)
        else:
            kinds.append(value.signature if isinstance(value, Struct) else kind_of(value))
    return tuple(kinds)


def words_of(value: Any) -> list[int]:
    """Return an array as [address, size, *shape, *strides], a number as one word."""
    if isinstance(value, np.ndarray):
        address, _ = value.__array_interface__["data"]  # ``ctypes.data`` imports a module every time
        return [address, value.size, *value.shape, *value.strides]
    if isinstance(value, Struct):
        return list(value.listed)
    return [int(np.float64(value).view(np.int64)) if isinstance(value, float) else int(value)]


def struct(cls: T) -> T:
    """Turn a NamedTuple into a struct; instances, fields and ``_replace`` stay as they were.

    With ``RTMBS_PLAIN_JIT=1`` it stays a named tuple, which numba takes by value.
    """
    if PLAIN:
        return cls
    body = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, (Struct, cls), body)  # type: ignore[return-value]
