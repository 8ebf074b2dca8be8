"""Kernels through numba's public names alone: structs cross by value, nothing is kept on disk, nothing is announced."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numba

Told = Callable[[str], None]


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return ``function`` as a numba dispatcher; options only save time, so they are left out."""
    dispatcher: Callable[..., Any] = numba.njit(nogil=True, error_model="numpy")(function)
    return dispatcher


inner = rarely = compiled


def compile_for(dispatcher: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Leave it to the first call: what is compiled ahead would be compiled for this process only."""


def compile_rare() -> None:
    """Leave it to the first call."""


def entry_for(dispatcher: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the dispatcher itself."""
    return dispatcher


def listening(begin: Told, end: Told) -> AbstractContextManager[Any]:
    """Return a context in which nobody is told anything: the events of numba are not public."""
    return nullcontext()
