"""Kernels as dispatchers of numba: no memory runtime, a cache of our own, inner kernels without a door to Python."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numba
from numba import config

import rtmbs.jit.struct_type  # noqa: F401  structs are known before the first kernel is typed
from rtmbs.jit.kernel_cache import KernelCache
from rtmbs.jit.private import CPUDispatcher, event

COMPILE = "numba:compile"  # numba's event around every real compilation; a kernel from the cache raises none

Told = Callable[[str], None]


class InnerDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A kernel without a door to Python: an ordinary call would jump to address zero."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        raise TypeError(
            f"{name} is an inner kernel, called by compiled code only; call its py_func, or make it a @kernel"
        )


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return ``function`` as a numba dispatcher that keeps its machine code on disk."""
    jit = numba.njit(nogil=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True, **options)
    dispatcher: Callable[..., Any] = jit(function)
    if isinstance(dispatcher, CPUDispatcher):
        dispatcher._cache = KernelCache(function, called_from_python=not options.get("no_cpython_wrapper"))
    return dispatcher


def inner(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile ``function`` for kernels alone; a call from Python is refused."""
    dispatcher = compiled(function, no_cpython_wrapper=True, **options)
    if not config.DISABLE_JIT:
        dispatcher.__class__ = InnerDispatcher
    return dispatcher


def compile_for(dispatcher: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Compile or load a kernel for arguments of exactly these types."""
    if isinstance(dispatcher, CPUDispatcher):  # not with NUMBA_DISABLE_JIT
        dispatcher.compile(types_of(arguments))


def types_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return numba's types of arguments; of large structs that takes a millisecond."""
    return tuple(numba.typeof(argument) for argument in arguments)


def entry_for(dispatcher: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of exactly these types; compiled or loaded when needed."""
    if not isinstance(dispatcher, CPUDispatcher):
        return dispatcher  # NUMBA_DISABLE_JIT
    types = types_of(arguments)
    dispatcher.compile(types)
    entry: Callable[..., Any] = dispatcher.overloads[types].entry_point
    return entry


class Listener(event.Listener):  # type: ignore[misc]
    """Passes on the name of every kernel, before and after numba compiles it."""

    def __init__(self, begin: Told, end: Told) -> None:
        self.begin, self.end = begin, end

    def on_start(self, event: Any) -> None:
        """Before a kernel is compiled; kernels it calls follow inside."""
        self.begin(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        """After a kernel was compiled, and before it is saved."""
        self.end(event.data["dispatcher"].py_func.__name__)


def listening(begin: Told, end: Told) -> AbstractContextManager[Any]:
    """Return a context in which these are told the name of every kernel that numba compiles."""
    context: AbstractContextManager[Any] = event.install_listener(COMPILE, Listener(begin, end))
    return context
