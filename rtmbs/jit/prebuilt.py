"""Kernels of a library that was made ahead: a wheel carries it, and a process loads it in place of numba.

A kernel is found by its name and the names of the types of its arguments. A name says no less than numba's type, so two
values of one name may run the same machine code. ``prebuilt_code.py`` finds the same names from numba's types. numba is
loaded when the library does not have a kernel. ``make wheel`` makes the library from the same kernels, and it holds for
exactly these sources. Kernels that only kernels call are known to numba alone.

    RTMBS_KERNELS=numba     the library is not used
    RTMBS_KERNELS=FOLDER    a library of another folder; the user's own word, taken as it is
"""

import ctypes
import hashlib
import importlib
import json
import os
import platform
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtmbs.jit.cache_folder import PACKAGE, sources_digest
from rtmbs.jit.deferred_kernel import Inner, Known
from rtmbs.jit.struct import Struct, kinds_of

_structs: dict[int, str] = {}  # by the signatures of structs


def type_name(value: Any) -> str:
    """Return the name of the type of an array, a struct, a tuple or a number; "" for a type that is not known here."""
    if isinstance(value, np.ndarray):
        return array_name(value.dtype, value.ndim, layout_of(value), value.flags.aligned, value.flags.writeable)
    if isinstance(value, Struct):
        if value.signature is None:
            return ""
        if value.signature not in _structs:
            _structs[value.signature] = struct_name(type(value), [type_name(part) for part in value])  # type: ignore[attr-defined]
        return _structs[value.signature]
    if isinstance(value, tuple):
        return tuple_name(type(value), [type_name(part) for part in value])
    return NUMBERS.get(type(value), "")


NUMBERS: dict[type, str] = {int: "i", np.int64: "i", float: "d", np.float64: "d", bool: "b", np.bool_: "b"}


def layout_of(array: Any) -> str:
    """Return numba's letter of the order of an array in memory."""
    if array.flags.c_contiguous:
        return "C"
    return "F" if array.flags.f_contiguous else "A"


def array_name(dtype: Any, rank: int, layout: str, aligned: bool, writeable: bool) -> str:
    """Return the name of the type of an array."""
    return f"A{rank}{np.dtype(dtype).str}{layout}{'' if aligned else 'u'}{'' if writeable else 'r'}"


def tuple_name(kind: type, parts: list[str]) -> str:
    """Return the name of the type of a tuple; a named one by its class."""
    name = "" if kind is tuple else f"{kind.__module__}.{kind.__qualname__}"
    return f"{name}({','.join(parts)})" if all(parts) else ""


def struct_name(kind: type, parts: list[str]) -> str:
    """Return the name of the type of a struct; its fields are in a digest, for there are hundreds."""
    digest = hashlib.sha256(",".join(parts).encode()).hexdigest()[:16]
    return f"S{kind.__module__}.{kind.__qualname__}.{digest}" if all(parts) else ""


FOLDER = PACKAGE / "jit" / "prebuilt_kernels"
TABLE = "kernels.json"
OTHERWISE = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")  # kernels are to be other ones
LEVELS = ("x86_64_v3-linux", "x86_64_v2-linux")  # the best first
Callback = Callable[[str], None]


class Library(NamedTuple):
    """A library with the kernels of these sources."""

    code: Any  # ctypes.PyDLL
    table: dict[str, dict[str, list[str]]]  # of kernels: symbol, kinds of arguments, kind of the result, by types

    def function(self, kernel: str, types: str) -> Callable[..., Any] | None:
        """Return the function of Python that calls a kernel, or None."""
        found = self.table.get(kernel, {}).get(types)
        if found is None:
            return None
        symbol, takes, gives = found
        address = ctypes.cast(getattr(self.code, symbol), ctypes.c_void_p)
        texts = (ctypes.c_char_p(takes.encode()), ctypes.c_char_p(gives.encode()))
        _kept.append(texts)
        called: Callable[..., Any] = self.code.rtmbs_function(address, *texts)
        return called


_kept: list[Any] = []  # texts that functions of a library read


def library() -> Library | None:
    """Return the library of ``RTMBS_KERNELS``, or of the wheel; None without one for these sources and this machine."""
    chosen = os.environ.get("RTMBS_KERNELS", "")
    otherwise = any(os.environ.get(name, "0") not in ("", "0") for name in OTHERWISE)
    if chosen == "numba" or otherwise or sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    folder = Path(chosen) if chosen else FOLDER
    try:
        table = json.loads((folder / TABLE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if table["sources"] != sources_digest():
        return None
    return next(filter(None, (opened(folder / f"{level}.so", table) for level in LEVELS)), None)


def opened(path: Path, table: Any) -> Library | None:
    """Return the library of a file, or None where it cannot run, or is not the one that the table was made with."""
    try:
        if zlib.crc32(path.read_bytes()) != table["checksums"][path.name]:
            return None
        code = ctypes.PyDLL(str(path))
    except (OSError, KeyError):
        return None
    code.rtmbs_function.restype = ctypes.py_object
    return Library(code, table["kernels"]) if code.rtmbs_runs_here() else None


LIBRARY = library()


# ---- kernels ---------------------------------------------------------------------------------------------------------


class Kernel(Inner):
    """Kernel that Python calls: of the library, or else by numba."""

    def __init__(self, function: Callable[..., Any], make: Callable[[], Any]) -> None:
        super().__init__(function, make)
        self.functions: dict[Any, Callable[..., Any]] = {}  # by the kinds of arguments

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the machine code for these types of arguments."""
        if kwargs:
            return self.numba(*args, **kwargs)
        kinds = kinds_of(args)
        function = self.functions.get(kinds)
        return function(*args) if function else self.function(args)(*args)

    def function(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the machine code for arguments of exactly these types."""
        kinds = kinds_of(arguments)
        if kinds in self.functions:
            return self.functions[kinds]
        types = ",".join(map(type_name, arguments))
        function = LIBRARY.function(self.name, types) if LIBRARY else None
        if function is None:
            function = numba_way().entry_for(self.numba, arguments)
        if None not in kinds:
            self.functions[kinds] = function
        return function


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Return a kernel that Python calls."""
    return Kernel(function, lambda: numba_way().compiled(function, **options))


def inner(function: Callable[..., Any], **options: Any) -> Any:
    """Return a kernel that only kernels call."""
    return Inner(function, lambda: numba_way().made_inner(function, **options))


def lazy(function: Callable[..., Any]) -> Any:
    """Return a kernel that only kernels call, and that numba compiles at its first call."""
    return Inner(function, lambda: numba_way().made_lazy(function))


def intrinsic_of(name: str) -> Any:
    """Return an intrinsic of ``intrinsic_code``, which numba alone knows."""
    return Known(
        f"rtmbs.jit.intrinsics.{name}", lambda: getattr(importlib.import_module("rtmbs.jit.intrinsic_code"), name)
    )


def compile_for(kernel: Any, arguments: tuple[Any, ...]) -> None:
    """Find a kernel in the library, or compile or load it, for arguments of exactly these types."""
    kernel.function(arguments)


def entry_for(kernel: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of exactly these types."""
    function: Callable[..., Any] = kernel.function(arguments)
    return function


# ---- numba, when it is needed ----------------------------------------------------------------------------------------

_listeners: list[tuple[ExitStack, Callback, Callback]] = []  # contexts that are open
_loaded: list[Any] = []


def numba_way() -> Any:
    """Return ``rtmbs.jit.dispatch``; open contexts begin to listen when it is loaded."""
    if not _loaded:
        _loaded.append(importlib.import_module("rtmbs.jit.dispatch"))
        for stack, begin, end in _listeners:
            stack.enter_context(_loaded[0].listening(begin, end))
    return _loaded[0]


def compile_lazy() -> None:
    """Compile or load the lazy kernels of kernels that numba compiled in this process."""
    if _loaded:
        _loaded[0].compile_lazy()


@contextmanager
def heard(begin: Callback, end: Callback) -> Iterator[None]:
    """Call ``begin`` and ``end`` with the name of every kernel that numba compiles, from when it is loaded."""
    with ExitStack() as stack:
        entry = (stack, begin, end)
        _listeners.append(entry)
        if _loaded:
            stack.enter_context(_loaded[0].listening(begin, end))
        try:
            yield
        finally:
            _listeners.remove(entry)


def listening(begin: Callback, end: Callback) -> AbstractContextManager[Any]:
    """Return a context that calls ``begin`` and ``end`` with the name of every kernel that numba compiles."""
    return heard(begin, end)
