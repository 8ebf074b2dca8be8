"""Dispatchers of numba for kernels: no memory runtime, a cache of our own, inner kernels without a Python wrapper."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numba
from numba import config
from numba.types import unliteral

from rtmbs.jit.compilers import CoarseCompiler, CoarseLibrary, KernelCompiler, TextCompiler
from rtmbs.jit.deferred_kernel import Inner
from rtmbs.jit.kernel_cache import KernelCache
from rtmbs.jit.lazy_kernel import compile_all, lazy_template
from rtmbs.jit.private import CPUDispatcher, cpu_target, event
from rtmbs.jit.struct import kinds_of
from rtmbs.jit.struct_type import StructType  # structs are known before the first kernel is typed

COMPILE = "numba:compile"  # numba's event around every real compilation; a kernel from the cache raises none

Callback = Callable[[str], None]

KERNELS: dict[tuple[str, str], Any] = {}  # kernels that Python calls, by module and name


class Dispatcher(CPUDispatcher):  # type: ignore[misc]
    """Dispatcher that compiles once for a number type, and not for each literal number in a caller.

    The number reaches what becomes a part of a caller all the same, when the text is optimised. A coarse kernel is
    compiled for each: it has machine code of its own, in which a number such as a stride may count.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for the types of arguments, and return the template to the compiler of the caller."""
        if self._cache.kind is CoarseLibrary:
            return super().get_call_template(args, kws)
        plain = tuple(unliteral(argument) for argument in args)
        return super().get_call_template(plain, {name: unliteral(argument) for name, argument in kws.items()})

    def compile(self, sig: Any) -> Any:
        """Compile or load for types of arguments; a kernel that takes structs gets the short way of being called."""
        entry = super().compile(sig)
        if type(self) is Dispatcher and any(isinstance(argument, StructType) for argument in sig):
            self.entries: dict[Any, Callable[..., Any]] = {}
            self.__class__ = StructDispatcher
        return entry


class StructDispatcher(Dispatcher):
    """Dispatcher of a kernel that takes structs: numba would type every array in them at every call, in 50 us.

    It is called by the kinds of its arguments, which structs know.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kinds = kinds_of(args)
        entry = self.entries.get(kinds)
        if kwargs or None in kinds or len(args) != self.py_func.__code__.co_argcount:
            return super().__call__(*args, **kwargs)
        if entry is None:
            entry = entry_for(self, args)
        return entry(*args)


class InnerDispatcher(Dispatcher):
    """Dispatcher of a kernel without a Python wrapper: an ordinary call would jump to address zero."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        raise TypeError(
            f"{name} is an inner kernel, called by compiled code only; call its py_func, or make it a @kernel"
        )


def compiled(function: Callable[..., Any], coarse: bool = False, **options: Any) -> Callable[..., Any]:
    """Return ``function`` as a numba dispatcher that keeps its machine code on disk."""
    options.setdefault("pipeline_class", CoarseCompiler if coarse else KernelCompiler)
    jit = numba.njit(nogil=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True, **options)
    dispatcher: Callable[..., Any] = jit(function)
    if isinstance(dispatcher, CPUDispatcher):
        dispatcher.__class__ = Dispatcher
        dispatcher._cache = KernelCache(function, kind=options["pipeline_class"].library)
        if not options.get("no_cpython_wrapper"):
            KERNELS[function.__module__, function.__qualname__] = dispatcher
    return dispatcher


def inner(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile ``function`` for kernels alone; a call from Python is refused."""
    if config.DISABLE_JIT:
        return function
    return Inner(function, lambda: made_inner(function, **options))


def made_inner(function: Callable[..., Any], coarse: bool = False, **options: Any) -> Callable[..., Any]:
    """Return numba's dispatcher of a kernel that only kernels call."""
    compiler = CoarseCompiler if coarse else TextCompiler
    dispatcher = compiled(function, pipeline_class=compiler, no_cpython_wrapper=True, **options)
    dispatcher.__class__ = InnerDispatcher
    return dispatcher


def lazy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that is compiled when a kernel first calls it."""
    if config.DISABLE_JIT:
        return function
    return Inner(function, lambda: made_lazy(function))


def made_lazy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what numba takes for a lazy kernel."""
    return lazy_template(made_inner(function, coarse=True))


def compile_lazy() -> None:
    """Compile or load the lazy kernels of all kernels in this process."""
    compile_all()


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
    kinds = kinds_of(arguments)
    if isinstance(dispatcher, StructDispatcher) and kinds in dispatcher.entries:
        return dispatcher.entries[kinds]
    types = types_of(arguments)
    if types not in dispatcher.overloads:
        dispatcher.compile(types)
    entry: Callable[..., Any] = dispatcher.overloads[types].entry_point
    if isinstance(dispatcher, StructDispatcher) and None not in kinds:
        dispatcher.entries[kinds] = entry
    return entry


def type_in_text(known: Any) -> Any:
    """Return numba's type of a kernel or an intrinsic as a name in the text of a kernel."""
    typing = cpu_target.typing_context
    typing.refresh()  # an intrinsic may be new
    return typing.resolve_value_type(known)


class Listener(event.Listener):  # type: ignore[misc]
    """Listener of numba's events that passes on the name of every kernel, before and after it is compiled."""

    def __init__(self, begin: Callback, end: Callback) -> None:
        self.begin, self.end = begin, end

    def on_start(self, event: Any) -> None:
        """Before a kernel is compiled; kernels it calls follow inside."""
        self.begin(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        """After a kernel was compiled, and before it is saved."""
        self.end(event.data["dispatcher"].py_func.__name__)


def listening(begin: Callback, end: Callback) -> AbstractContextManager[Any]:
    """Return a context that calls ``begin`` and ``end`` with the name of every kernel that numba compiles."""
    context: AbstractContextManager[Any] = event.install_listener(COMPILE, Listener(begin, end))
    return context
