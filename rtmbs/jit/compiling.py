"""Say that kernels are being compiled: one line, a progress bar on a terminal, and nothing when the cache has them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event
from tqdm import tqdm

from rtmbs.jit.cache_folder import PLACE, kernel_sources

COMPILE = "numba:compile"  # numba's event around every real compilation; a kernel from the cache raises none

ONE_RUN, EVERYTHING = 0.8, 1.4  # types that a kernel is compiled for on average: real arrays, complex ones too


class Compilations(event.Listener):  # type: ignore[misc]
    """Counts compilations; the first one prints the line and opens the bar."""

    def __init__(self, signatures: float) -> None:
        self.expected = round(signatures * kernel_count())
        self.count = 0
        self.bar: Any = None

    def begin(self, kernel: str) -> None:
        """A kernel is being compiled."""
        if self.bar is None:
            print(f"compiling kernels{', the first time only' if PLACE.folder else ''}; {PLACE}", file=sys.stderr)
            self.bar = tqdm(total=self.expected, desc="compiling", unit="kernel", disable=None, leave=False)
        self.bar.set_postfix_str(kernel)

    def end(self) -> None:
        """A kernel was compiled."""
        self.count += 1
        self.bar.update()

    def on_start(self, event: Any) -> None:
        """Before a kernel is compiled; kernels it calls follow inside."""
        self.begin(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        """After a kernel was compiled."""
        self.end()

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.close()


_active: list[Compilations] = []


@contextmanager
def announced(signatures: float = ONE_RUN) -> Iterator[Compilations]:
    """Announce whatever is compiled inside; the bar expects so many ``signatures`` a kernel. The outermost speaks."""
    if _active:
        yield _active[0]
        return
    compilations = Compilations(signatures)
    with event.install_listener(COMPILE, compilations):
        _active.append(compilations)
        try:
            yield compilations
        finally:
            _active.clear()
            compilations.close()


def kernel_count() -> int:
    """Return how many kernels the sources hold; some compile for several types, some not at all."""
    return sum(path.read_text(encoding="utf-8").count("kernel\ndef ") for path in kernel_sources())
