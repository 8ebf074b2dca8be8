"""Tell the user that kernels are being compiled: they take seconds, once."""

import time
from collections.abc import Callable
from typing import Any

from numba.core import event

from rtmbs.jit.compiling import COMPILE
from rtmbs.viewer.link import Message


class CompileNotice(event.Listener):
    """Tells when a first kernel begins to compile, and by ``finished`` how long all of them took."""

    def __init__(self, tell: Callable[[Message], None]) -> None:
        self._tell = tell
        self._begun: float | None = None
        self._count = 0

    def on_start(self, event: Any) -> None:
        """Before a kernel is compiled; kernels it calls follow inside."""
        if self._begun is None:
            self._begun = time.perf_counter()
            self._tell(Message("busy", "compiling kernels; they are kept for the next time"))

    def on_end(self, event: Any) -> None:
        """After a kernel was compiled."""
        self._count += 1

    def finished(self) -> None:
        """Say how long it took, when anything was compiled since the last call."""
        if self._begun is not None:
            seconds = time.perf_counter() - self._begun
            self._tell(Message("info", f"{self._count} kernels compiled in {seconds:.1f} s"))
            self._begun, self._count = None, 0

    def listening(self) -> Any:
        """Return the context in which it listens."""
        return event.install_listener(COMPILE, self)
