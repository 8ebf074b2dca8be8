"""Kernels by numba's public names alone: structs cross by value, nothing is kept on disk, nothing is announced."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numba
from numba.extending import register_jitable

Callback = Callable[[str], None]


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return ``function`` as a numba dispatcher; options only save time, so they are left out."""
    dispatcher: Callable[..., Any] = numba.njit(nogil=True, error_model="numpy")(function)
    return dispatcher


def inner(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Let kernels compile ``function`` where they call it; Python calls it as it stands.

    A door to Python for each of them would take half of the time of compiling.
    """
    written_in = {"inline": options["inline"]} if "inline" in options else {}
    known: Callable[..., Any] = register_jitable(nogil=True, error_model="numpy", **written_in)(function)
    return known


lazy = inner


def compile_for(dispatcher: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Do nothing: what is compiled ahead would be compiled for this process only."""


def compile_lazy() -> None:
    """Do nothing: kernels are compiled at their first call."""


def entry_for(dispatcher: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the dispatcher itself."""
    return dispatcher


def listening(begin: Callback, end: Callback) -> AbstractContextManager[Any]:
    """Return an empty context: the events of numba are not public."""
    return nullcontext()
