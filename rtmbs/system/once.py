"""What follows from a System alone, worked out once: many simulations of one System share it."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from rtmbs.system.system import System

T = TypeVar("T")


def once_per_system(function: Callable[[System], T]) -> Callable[[System], T]:
    """Keep what ``function`` returns for as long as there is the System, which never changes.

    Nobody may change what it returns, and it must not refer to the System, which would then stay for good.
    """
    kept: WeakKeyDictionary[System, T] = WeakKeyDictionary()

    @wraps(function)
    def asked(system: System) -> T:
        if (found := kept.get(system)) is None:
            found = kept[system] = function(system)
        return found

    return asked
