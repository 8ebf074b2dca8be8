"""Structs of arrays that kernels take by address: one number crosses from Python, whatever the struct holds.

A ``NamedTuple`` of arrays that numba takes by value is unpacked when it crosses from Python, and every call between
kernels hands over each array with its shape and strides: hundreds of arguments, which cost more to compile than what
the kernels do. A *struct* is laid out once in memory, as a flat list of words of eight bytes, and kernels get the
address. ``struct_type`` says to numba how to read it. For Python it stays the named tuple that it is.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.jit.mode import PLAIN

T = TypeVar("T", bound=type)
Words = NDArray[np.int64]


class Once:
    """A property worked out when first asked for; without the lock of ``cached_property``: sessions are threads."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __get__(self, instance: Any, owner: type) -> Any:
        """Work the value out and keep it; of two threads at once the first to finish is believed by both."""
        if instance is None:
            return self
        return instance.__dict__.setdefault(self.function.__name__, self.function(instance))


class Struct:
    """What ``@struct`` adds to a NamedTuple: its words, laid out when a kernel first asks for the address.

    Fields are arrays, structs and numbers. The tuple cannot change, and arrays stay where they are, so the words hold.
    """

    @Once
    def words(self) -> Words:
        """The struct in memory (words,): see ``words_of``."""
        return np.concatenate([words_of(value) for value in self])  # type: ignore[attr-defined]

    @Once
    def address(self) -> int:
        """Where the words are: all that a kernel is given."""
        return int(self.words.ctypes.data)

    def __getstate__(self) -> None:
        """Copies and pickles lay out words of their own: these tell where the arrays of this struct are."""


def words_of(value: Any) -> Words:
    """Return an array as its address, its number of items, shape and strides; a number as one word."""
    if isinstance(value, np.ndarray):
        return np.array((value.ctypes.data, value.size, *value.shape, *value.strides), np.int64)
    if isinstance(value, Struct):
        return value.words
    if isinstance(value, float):
        return np.array([value], np.float64).view(np.int64)
    return np.array([value], np.int64)


def struct(cls: T) -> T:
    """Make a NamedTuple a struct; instances, fields and ``_replace`` stay as they were.

    With ``RTMBS_PLAIN_JIT=1`` it stays a named tuple, which numba takes by value.
    """
    if PLAIN:
        return cls
    body = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, (Struct, cls), body)  # type: ignore[return-value]
