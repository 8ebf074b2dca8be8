"""A kernel from disk: its machine code at once, its bitcode when somebody compiles a caller.

numba makes its compiler ready for every kernel that it loads, and parses the bitcode of it and of all that it calls. A
process that finds its kernels on disk compiles nothing: without both it starts earlier and takes less memory.
"""

from functools import cached_property
from typing import Any

from llvmlite.binding import parse_assembly, parse_bitcode

from rtmbs.jit.private import CompileResult, JITCodeLibrary

OBJECT = "object"  # numba's word for a library that is kept as machine code


class KeptLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A library that parses its bitcode when a caller is linked with it."""

    bitcode = b""

    @cached_property
    def _shared_module(self) -> Any:
        return parse_bitcode(self.bitcode)


def whole(target: Any, parts: tuple[Any, ...]) -> Any:
    """Return a compiled kernel of what numba keeps of it."""
    target.refresh()  # whoever loads an inner kernel is compiling
    return CompileResult._rebuild(target, *parts)


def ready(target: Any, parts: tuple[Any, ...]) -> Any:
    """Return a compiled kernel with a door to Python, ready to be called."""
    (name, kind, data), description, *others = parts
    if kind != OBJECT:
        return whole(target, parts)
    machine_code, bitcode = data
    door = f'define void @"{description.llvm_cpython_wrapper_name}"() {{ ret void }}'
    doors = parse_assembly(door).as_bitcode()  # all that numba asks the bitcode for: which functions there are
    result = CompileResult._rebuild(target, (name, kind, (machine_code, doors)), description, *others)
    library = result.library
    library.__class__, library.bitcode = KeptLibrary, bitcode
    del library._shared_module  # from now on it is the whole one
    return result
