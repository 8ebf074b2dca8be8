"""The engine of this very process: for functions that no other process can import, and for a debugger."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rtmbs.sweeps.engine import Crew


class Here(Executor):
    """Calls a function when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Return a future that is done. KeyboardInterrupt passes through."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Serial:
    """One run after the other, in this process: ``rtmbs.sweep(..., engine=rtmbs.Serial())``."""

    remedy = ""

    @contextmanager
    def open(self, alone: bool = False) -> Iterator[Crew]:
        yield Crew(Here(), 1)

    def died(self, error: BaseException) -> bool:
        return False
