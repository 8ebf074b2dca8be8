"""Tell the user that kernels are being compiled: they take seconds, once."""

import time
from collections.abc import Callable
from typing import Any

from rtmbs.jit.compiled import listening
from rtmbs.viewer.connection import Message

EVERY = 0.2  # [s] between two sentences about the progress


class CompileNotice:
    """Tells when a first kernel begins to compile, how many are done, and by ``finished`` how long all of them took."""

    def __init__(self, tell: Callable[[Message], None]) -> None:
        self._tell = tell
        self._begun: float | None = None
        self._count, self._told = 0, 0.0

    def begin(self, kernel: str) -> None:
        """Before a kernel is compiled; kernels it calls follow inside."""
        if self._begun is None:
            self._begun = time.perf_counter()
            self._tell(Message("busy", "compiling kernels; they are kept for the next time"))

    def end(self, kernel: str) -> None:
        """After a kernel was compiled."""
        self._count += 1
        now = time.perf_counter()
        if self._begun is not None and now - self._told > EVERY:
            self._told = now
            self._tell(Message("progress", f"compiling kernels: {self._count} in {now - self._begun:.0f} s"))

    def finished(self) -> None:
        """Say how long it took, when anything was compiled since the last call."""
        if self._begun is not None:
            seconds = time.perf_counter() - self._begun
            self._tell(Message("info", f"{self._count} kernels compiled in {seconds:.1f} s"))
            self._begun, self._count = None, 0

    def listening(self) -> Any:
        """Return the context in which it listens."""
        return listening(self.begin, self.end)
