"""The one decorator every compiled kernel wears.

Machine code is kept on disk by ``kernel_cache``, in the folder that ``cache_folder`` chooses: it is keyed by a hash of
every kernel source, because after an edit of a callee in another file the caller would run old code.
"""

from collections.abc import Callable
from typing import Any

import numba
from numba.core import config
from numba.core.registry import CPUDispatcher

import rtmbs.jit.record_type  # noqa: F401  records are known before the first kernel is typed
from rtmbs.jit.inner_library import InnerCompiler
from rtmbs.jit.kernel_cache import KernelCache


class InnerDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A kernel without a door to Python: an ordinary call would jump to address zero."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        raise TypeError(
            f"{name} is an inner kernel, called by compiled code only; call its py_func, or make it a @kernel"
        )


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` on first use, without the interpreter lock, and keep the result on disk.

    numba's memory runtime is off: arrays carry no reference counts inside kernels, which halves the time of small
    steps, and a kernel that would allocate (a slice assignment, a copy, an array expression) does not compile. So no
    step can allocate. Allocate in Python, pass the array in.
    """
    return compiled(function)


def inner_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that only kernels call: it has no door to Python and no machine code of its own."""
    return inner(function)


def inlined_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """An inner kernel whose machine code stands in place of every call.

    For what runs in the innermost loops: a call would read again where arrays are, which the caller's loop knows.
    """
    return inner(function, forceinline=True)


def merged_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """An inner kernel that is written into its caller before anything is compiled.

    For large kernels with one caller: each level of calls would optimise everything below it once more.
    """
    return inner(function, inline="always")


def inner(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile ``function`` for kernels alone; a call from Python is refused."""
    dispatcher = compiled(function, no_cpython_wrapper=True, pipeline_class=InnerCompiler, **options)
    if not config.DISABLE_JIT:
        dispatcher.__class__ = InnerDispatcher
    return dispatcher


def entry_for(dispatcher: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of exactly these types; compiled or loaded when needed.

    A dispatcher looks up the type of every array of its arguments at every call, which takes a small step longer than
    the step. Whoever calls the entry itself answers for the types: C-contiguous arrays of the same dtypes and ranks.
    """
    if not isinstance(dispatcher, CPUDispatcher):
        return dispatcher  # NUMBA_DISABLE_JIT
    types = tuple(numba.typeof(argument) for argument in arguments)
    dispatcher.compile(types)
    entry: Callable[..., Any] = dispatcher.overloads[types].entry_point
    return entry


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return ``function`` as a numba dispatcher that keeps its machine code on disk."""
    jit = numba.njit(nogil=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True, **options)
    dispatcher: Callable[..., Any] = jit(function)
    if isinstance(dispatcher, CPUDispatcher):
        dispatcher._cache = KernelCache(function)
    return dispatcher
