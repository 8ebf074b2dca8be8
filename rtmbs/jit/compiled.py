"""Decorators of compiled kernels, and requests to the compiler: compile for types, load, listen.

How it is done stands in ``dispatch.py``; in ``plain.py`` when ``RTMBS_PLAIN_JIT=1``; or in ``prebuilt.py`` where a
library has the kernels of these sources.
"""

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from rtmbs.jit import PLAIN

PREBUILT: Any = None if PLAIN else importlib.import_module("rtmbs.jit.prebuilt")
if PREBUILT and PREBUILT.LIBRARY is None:
    PREBUILT = None
_way: Any = PREBUILT or importlib.import_module("rtmbs.jit.plain" if PLAIN else "rtmbs.jit.dispatch")


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` on first use, without the interpreter lock, and keep the result on disk.

    numba's memory runtime is off: arrays carry no reference counts inside kernels, which halves the time of small
    steps, and a kernel that would allocate (a slice assignment, a copy, an array expression) does not compile. So no
    step can allocate. Allocate in Python, pass the array in.
    """
    return _way.compiled(function)


def coarse_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel that other kernels call by address, in place of inlining its code.

    For what takes a microsecond and more, or is called from several places: its machine code is made once, and callers
    compile faster. The jump takes some nanoseconds.
    """
    return _way.compiled(function, coarse=True)


def coarse_inner_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A coarse kernel that only kernels call."""
    return _way.inner(function, coarse=True)


def lazy_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a coarse inner kernel at its first call; for kernels that few mechanisms need. It returns nothing.

    Callers compile without it, so most mechanisms are ready sooner. Call it where a table is not empty, from what every
    evaluation does: what is met late would be compiled in the middle of a run.
    """
    return _way.lazy(function)


def inner_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel for calls from kernels only: it has no Python wrapper, which saves compile time."""
    return _way.inner(function)


def inlined_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile an inner kernel whose machine code is inlined at every call.

    For what runs in the innermost loops: a call would read again where arrays are, which the caller's loop knows. Also
    for short loops over rows or coordinates. The optimiser vectorises these first, and then counts them as too large to
    inline. Every step makes dozens of such loops, and a small step feels the calls.
    """
    return _way.inner(function, forceinline=True)


def merged_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile an inner kernel that is inlined into its caller before type inference.

    For large kernels with one caller: each level of calls would optimise everything below it once more.
    """
    return _way.inner(function, inline="always")


def intrinsic_of(name: str) -> Any:
    """Return a name of ``intrinsic_code``, a function in the language of LLVM that kernels call."""
    if PREBUILT:
        return PREBUILT.intrinsic_of(name)
    return getattr(importlib.import_module("rtmbs.jit.intrinsic_code"), name)


def is_prebuilt() -> bool:
    """Return whether kernels come from a library that was made ahead."""
    return PREBUILT is not None


def compile_for(dispatcher: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Compile or load a kernel for arguments of exactly these types, without calling it."""
    _way.compile_for(dispatcher, arguments)


def entry_for(dispatcher: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of exactly these types; compiled or loaded when needed.

    A dispatcher looks up the type of every array of its arguments at every call, which takes a small step longer than
    the step. Whoever calls the entry itself answers for the types: C-contiguous arrays of the same dtypes and ranks.
    """
    return _way.entry_for(dispatcher, arguments)


def compile_lazy() -> None:
    """Compile or load the lazy kernels of all kernels in this process."""
    _way.compile_lazy()


def listening(begin: Callable[[str], None], end: Callable[[str], None]) -> AbstractContextManager[Any]:
    """Return a context that calls ``begin`` and ``end`` with the name of every kernel that is compiled."""
    return _way.listening(begin, end)
