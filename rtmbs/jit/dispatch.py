"""Dispatchers of numba for kernels: no memory runtime, a cache of our own, inner kernels without a Python wrapper.

numba's own cache falls back to ``__pycache__`` when its folder cannot be written. There it looks only at the file of
the kernel itself: after an edit, or an upgrade, a caller would run the old code of what it calls. So ours takes its
place in every dispatcher. It answers the few questions that a dispatcher asks, and belongs to one folder, whose name
stands for all sources. It has one file for each kernel and types of arguments; a damaged one counts as missing. A file
is written beside its place and moved there, so that processes may share the folder.

A file holds machine code, which is ready at once, and text in the language of LLVM, for compilations of callers. numba
makes its compiler ready for every kernel that it loads, and parses the bitcode of it and of all that it calls. A
process that finds its kernels on disk compiles nothing: without both it starts earlier and takes less memory.
"""

import hashlib
import os
import pickle
import uuid
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba import config
from numba.types import unliteral

from rtmbs.jit.cache_folder import PLACE, make_private_folder, print_note
from rtmbs.jit.compilers import (
    SOURCES,
    CoarseCompiler,
    CoarseLibrary,
    KernelCompiler,
    KernelLibrary,
    TextCompiler,
    TextLibrary,
)
from rtmbs.jit.deferred_kernel import Inner
from rtmbs.jit.lazy_kernel import KernelSlot, compile_all, lazy_template, register_slots
from rtmbs.jit.private import CompileResult, CPUDispatcher, cpu_target, dumps, event
from rtmbs.jit.struct import kinds_of
from rtmbs.jit.struct_type import StructType  # structs are known before the first kernel is typed

HEAD = b"rtmbs kernel 1\n"
SUM = 4  # bytes of the checksum that follows
_full: list[OSError] = []  # the first error of a write: no other is tried
_coarse: dict[Path, Any] = {}  # the coarse kernels of this process by their files


class KernelCache:
    """Cache of one dispatcher, with the methods of numba's ``_Cache``."""

    def __init__(
        self,
        function: Callable[..., Any],
        folder: Path | None = PLACE.folder,
        kind: type[KernelLibrary] = KernelLibrary,
    ) -> None:
        self.folder = folder
        self.kind = kind
        self.stamp = stamp_of(function.__code__.co_filename)
        self.name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")

    @property
    def cache_path(self) -> str | None:
        """Folder of the files; None when kernels are not kept."""
        return None if self.folder is None else str(self.folder)

    def load_overload(self, types: Any, target: Any) -> Any:
        """Return the compiled kernel for these types of arguments, or None."""
        if self.folder is None or self.stamp is None:
            return None
        try:
            return loaded(self.path(types, target), target, self.kind)
        except OSError:
            return None
        except Exception:  # noqa: BLE001 - whatever a damaged file raises: the kernel is compiled, and written anew
            return None

    def save_overload(self, types: Any, compiled: Any) -> None:
        """Write a compiled kernel; a full disk is reported once, and nothing more is written."""
        compiled.library.symbol = compiled.fndesc.llvm_func_name
        if self.folder is None or self.stamp is None or _full or not is_cacheable(compiled):
            return
        path = self.path(types, compiled.target_context)
        try:
            write(path, wrapped(dumps(tuple(serialised(compiled)))))
        except OSError as error:
            _full.append(error)
            print_note(f"{self.folder} cannot be written ({error.strerror}); kernels compiled from now on are not kept")
        else:
            remember(path, compiled)

    def path(self, types: Any, target: Any) -> Path:
        """Return the file for these types on this processor."""
        assert self.folder is not None
        key = repr((types, target.codegen().magic_tuple(), self.stamp))
        return self.folder / f"{self.name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.nbc"

    def flush(self) -> None:
        """Do nothing: changed sources have a folder of their own."""

    enable = disable = flush


def stamp_of(file: str) -> str | None:
    """Return a stamp of a kernel's file: empty inside the package, whose folder stands for it; None without a file."""
    if file in SOURCES:
        return ""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return None


def is_cacheable(compiled: Any) -> bool:
    """Return whether machine code may be kept: no addresses of this process, no calls of what is not kept."""
    library = compiled.library
    return not compiled.lifted and not library.has_dynamic_globals and all(callee.file for callee in library.needs)


def loaded(path: Path, target: Any, kind: type[KernelLibrary]) -> Any:
    """Return the kernel of a file, after the coarse kernels that it calls; these are loaded once a process."""
    if path in _coarse:
        return _coarse[path]
    kept = CachedKernel(*pickle.loads(unwrapped(path.read_bytes())))
    callees = [callee(path.with_name(file), symbol, target) for file, symbol in kept.needs]
    result = deserialised(target, kept, kind, callees)
    result.library.symbol = result.fndesc.llvm_func_name
    remember(path, result)
    return result


def callee(path: Path, symbol: str, target: Any) -> CoarseLibrary:
    """Return the library of a coarse kernel; without its function, LLVM would end the process of the caller."""
    library: CoarseLibrary = loaded(path, target, CoarseLibrary).library
    if library.symbol != symbol:
        raise ValueError(f"{path} has another function than its caller knows")
    return library


def remember(path: Path, result: Any) -> None:
    """Register the file of a coarse kernel that this process has loaded."""
    if isinstance(result.library, CoarseLibrary):
        result.library.file = path.name
        _coarse[path] = result


def wrapped(data: bytes) -> bytes:
    """Return data with a checksum: machine code with a wrong bit would run."""
    return HEAD + zlib.crc32(data).to_bytes(SUM, "little") + data


def unwrapped(data: bytes) -> memoryview:
    """Return the data behind a checksum; raise ValueError when a byte is missing or wrong."""
    body = memoryview(data)[len(HEAD) + SUM :]
    if not data.startswith(HEAD) or data[len(HEAD) : len(HEAD) + SUM] != zlib.crc32(body).to_bytes(SUM, "little"):
        raise ValueError("a damaged file")
    return body


def write(path: Path, data: bytes) -> None:
    """Write a file beside its place and move it there; remove it when the write fails."""
    make_private_folder(path.parent)
    beside = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
    try:
        beside.write_bytes(data)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


Need = tuple[str, str]  # the file of a coarse kernel and the name of its function


class CachedKernel(NamedTuple):
    """Content of a file of the cache."""

    needs: tuple[Need, ...]  # to be loaded before
    slots: tuple[tuple[Any, ...], ...]  # of lazy kernels, to be known before
    parts: tuple[Any, ...]  # what numba keeps of a compiled kernel; machine code comes first, if there is any
    text: bytes  # bitcode for callers, if they take it


def serialised(compiled: Any) -> CachedKernel:
    """Return the content of a file for a compiled kernel."""
    library = compiled.library
    needs = tuple((callee.file, callee.symbol) for callee in library.needs)
    slots = tuple(tuple(slot) for slot in library.slots.values())
    return CachedKernel(needs, slots, compiled._reduce(), library.text_for_callers())


def deserialised(target: Any, kept: CachedKernel, kind: type[KernelLibrary], callees: list[CoarseLibrary]) -> Any:
    """Return the compiled kernel of a file's content; the coarse kernels that it calls are loaded."""
    slots = [KernelSlot(*slot) for slot in kept.slots]
    register_slots(slots)
    result = text_only(target, kept.parts) if kind is TextLibrary else CompileResult._rebuild(target, *kept.parts)
    library = result.library
    library.__class__, library.needs, library.text = kind, dict.fromkeys(callees), kept.text
    library.slots = {slot.name: slot for slot in slots}
    return result


def text_only(target: Any, parts: tuple[Any, ...]) -> Any:
    """Return a kernel without machine code: as ``CompileResult._rebuild`` without its first part."""
    _, description, environment, signature, objectmode, lifted, annotation, reload_init, environments = parts
    target.refresh()  # whoever loads an inner kernel is compiling
    library = TextLibrary(target.codegen(), description.qualname)
    library._finalized = True
    return CompileResult(
        typing_context=target.typing_context,
        target_context=target,
        entry_point=target.get_executable(library, description, environment),
        typing_error=None,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        fndesc=description,
        library=library,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=environments,
    )


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
