"""Progress of compilation: one line, a progress bar on a terminal, and nothing when all kernels are in the cache."""

import functools
import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from tqdm import tqdm

from rtmbs.jit.cache_folder import kernel_sources, place_of_process
from rtmbs.jit.compiled import listening

ONE_RUN, EVERYTHING = 0.8, 1.4  # types that a kernel is compiled for on average: real arrays, complex ones too


EVERY = 20.0  # [s] between lines of progress where there is no terminal for a bar


class Compilations:
    """Counter of compilations; the first one prints the line, once a process, and opens the bar.

    Without a terminal a line of progress follows now and then: a law or a step may compile for minutes.
    """

    said = False  # the line was printed in this process

    def __init__(self, signatures: float) -> None:
        self.signatures, self.expected = signatures, 0  # how many there may be is counted when one begins
        self.count = 0
        self.bar: Any = None
        self.last = 0.0  # when a line was printed [s]
        self.opening = Lock()  # a thread may count the kernels of workers
        self.collecting = False  # the garbage collector is to be started again

    def begin(self, kernel: str) -> None:
        """Note that a kernel is being compiled; kernels that it calls follow inside."""
        with self.opening:
            if self.bar is None:
                self.open()
        self.bar.set_postfix_str(kernel)
        if self.bar.disable and time.monotonic() - self.last > EVERY:
            self.last = time.monotonic()
            print(f"compiled {self.count} of about {self.expected} kernels, now {kernel}", file=sys.stderr)

    def open(self) -> None:
        """Print the line and open the bar. The garbage collector is off: it takes an eighth of a compilation."""
        self.expected = round(self.signatures * kernel_count())
        if not Compilations.said:
            place = place_of_process()
            print(f"compiling kernels{', the first time only' if place.folder else ''}; {place}", file=sys.stderr)
        Compilations.said, self.last = True, time.monotonic()
        self.bar = tqdm(total=self.expected, desc="compiling", unit="kernel", disable=None, leave=False)
        self.collecting = gc.isenabled()
        gc.disable()

    def end(self, kernel: str) -> None:
        """Count a compiled kernel."""
        self.count += 1
        self.bar.update()

    def close(self) -> None:
        """Close the bar."""
        if self.bar is not None:
            self.bar.close()
        if self.collecting:
            self.collecting = False
            gc.enable()


_active: list[Compilations] = []


@contextmanager
def announced(signatures: float = ONE_RUN) -> Iterator[Compilations]:
    """Announce compilations inside the ``with``; the bar expects ``signatures`` a kernel. Nested calls are silent."""
    if _active:
        yield _active[0]
        return
    compilations = Compilations(signatures)
    with listening(compilations.begin, compilations.end):
        _active.append(compilations)
        try:
            yield compilations
        finally:
            compilations.close()
            _active.clear()


def collector_pauses() -> bool:
    """Return whether a compilation in any thread lets the garbage collector rest, and will start it again."""
    return any(one.collecting for one in _active)


@functools.cache
def kernel_count() -> int:
    """Return the number of kernels in the sources; some compile for several types, some never."""
    return sum(path.read_text(encoding="utf-8").count("kernel\ndef ") for path in kernel_sources())
