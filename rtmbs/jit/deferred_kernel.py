"""Kernels that only kernels call, and intrinsics: numba's objects of them are made when numba first compiles a caller.

A process that finds its kernels on disk, or in a library, compiles none. It needs none of the hundreds of dispatchers
of inner kernels, each of which takes a tenth of a millisecond.
"""

import importlib
from collections.abc import Callable
from functools import cached_property
from typing import Any

_known: dict[str, Any] = {}  # kernels and intrinsics by module and name


def named(module: str, name: str) -> Any:
    """Return the kernel of a name."""
    importlib.import_module(module)
    return _known[name]


class Known:
    """Something that numba compiles when it is needed, and that compiled code calls."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name, self.make = name, make
        _known.setdefault(name, self)

    @cached_property
    def numba(self) -> Any:
        """What numba takes: a dispatcher, or an intrinsic."""
        return self.make()

    @cached_property
    def _numba_type_(self) -> Any:
        """The type by which numba knows the name in the text of a kernel."""
        return importlib.import_module("rtmbs.jit.dispatch").type_in_text(self.numba)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it as numba does; a kernel that only kernels call is refused."""
        return self.numba(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle it by its name."""
        return named, (self.__module__, self.name)

    def __getattr__(self, name: str) -> Any:
        """Return what numba's object has: options, machine code."""
        if name.startswith("__") or name == "numba":
            raise AttributeError(name)
        return getattr(self.numba, name)


class Inner(Known):
    """Kernel that only kernels call."""

    def __init__(self, function: Callable[..., Any], make: Callable[[], Any]) -> None:
        super().__init__(f"{function.__module__}.{function.__qualname__}", make)
        self.py_func, self.__name__, self.__qualname__ = function, function.__name__, function.__qualname__
        self.__doc__, self.__module__ = function.__doc__, function.__module__
