"""Pauses of the garbage collector, which several parts and threads of a process ask for at the same time."""

import gc
import sys
from collections.abc import Callable
from threading import RLock
from typing import Self

_changing = RLock()  # a rest may end where another one is thrown away
_lasting: set[int] = set()
_before = {"enabled": True}  # whether the collector was on before the first rest


class CollectorRest:
    """A rest of the garbage collector, from ``begin`` to ``end``; a rest that is thrown away ends too.

    The collector is off as long as any rest lasts. With the last one it is as it was before the first.
    """

    def begin(self) -> None:
        """Begin, or go on."""
        with _changing:
            if not _lasting:
                _before["enabled"] = gc.isenabled()
            _lasting.add(id(self))
            gc.disable()

    def end(self) -> None:
        """End, if it lasts."""
        with _changing:
            if id(self) in _lasting:
                _lasting.discard(id(self))
                if not _lasting and _before["enabled"]:
                    gc.enable()

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not finalizing():  # else names of this module may be gone
            self.end()


def keep_resting() -> None:
    """Switch the collector off again where other code switched it on within a rest."""
    with _changing:
        if _lasting:
            gc.disable()
