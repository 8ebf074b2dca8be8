"""Compiled kernels on disk, one file for each kernel and types of arguments; a damaged file counts as missing.

numba's own cache falls back to ``__pycache__`` when its folder cannot be written. There it looks only at the file of
the kernel itself: after an edit, or an upgrade, a caller would run the old code of what it calls. So this one takes its
place in every dispatcher. It answers the few questions that a dispatcher asks, and belongs to one folder, whose name
stands for all sources. A file is written beside its place and moved there, so that processes may share the folder.

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
from pathlib import Path
from typing import Any, NamedTuple

from rtmbs.jit.cache_folder import PLACE, make_private_folder, print_note
from rtmbs.jit.compilers import SOURCES, CoarseLibrary, KernelLibrary, TextLibrary
from rtmbs.jit.lazy_kernel import KernelSlot, register_slots
from rtmbs.jit.private import CompileResult, dumps

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
