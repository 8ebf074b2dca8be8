"""Compilation of kernels as the user sees it: its progress, and in parallel by worker processes.

Progress is one line, a progress bar on a terminal, and nothing when all kernels are in the cache. Workers share the
cache on disk, and compiled kernels come back through it. A kernel that a worker does not finish, because the worker was
killed or failed, is compiled again by the process that needs it: workers only save time.
"""

import functools
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Lock
from typing import Any

from tqdm import tqdm

from rtmbs.core.garbage import CollectorRest
from rtmbs.jit.cache_folder import FILES, PACKAGE, kernel_sources, place_of_process
from rtmbs.jit.compiled import is_prebuilt, listening

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
        self.opening = Lock()  # other threads compile too, and one may count the kernels of workers
        self.closed = False
        self.rest = CollectorRest()  # a collector that runs takes an eighth of a compilation

    def begin(self, kernel: str) -> None:
        """Note that a kernel is being compiled; kernels that it calls follow inside."""
        with self.opening:
            if self.closed:  # while another thread began
                return
            if self.bar is None:
                self.open()
        self.bar.set_postfix_str(kernel)
        if self.bar.disable and time.monotonic() - self.last > EVERY:
            self.last = time.monotonic()
            print(f"compiled {self.count} of about {self.expected} kernels, now {kernel}", file=sys.stderr)

    def open(self) -> None:
        """Print the line, open the bar, and let the garbage collector rest."""
        self.expected = round(self.signatures * kernel_count())
        if not Compilations.said:
            place = place_of_process()
            print(f"compiling kernels{', the first time only' if place.folder else ''}; {place}", file=sys.stderr)
        Compilations.said, self.last = True, time.monotonic()
        self.bar = tqdm(total=self.expected, desc="compiling", unit="kernel", disable=None, leave=False)
        self.rest.begin()

    def end(self, kernel: str) -> None:
        """Count a compiled kernel."""
        self.count += 1
        if self.bar is not None and not self.closed:
            self.bar.update()

    def close(self) -> None:
        """Close the bar for good; what threads still compile is not announced."""
        with self.opening:
            self.closed = True
        try:
            if self.bar is not None:
                self.bar.close()
        finally:
            self.rest.end()


_entering = Lock()
_active: list[Compilations] = []


@contextmanager
def announced(signatures: float = ONE_RUN) -> Iterator[Compilations]:
    """Announce compilations inside the ``with``; the bar expects ``signatures`` a kernel. Nested calls are silent."""
    with _entering:
        nested = bool(_active)
        if not nested:
            _active.append(Compilations(signatures))
        compilations = _active[0]
    if nested:
        yield compilations
        return
    try:
        with listening(compilations.begin, compilations.end):
            yield compilations
    finally:
        if compilations in _active:
            _active.remove(compilations)
        compilations.close()


@functools.cache
def kernel_count() -> int:
    """Return the number of kernels in the sources; some compile for several types, some never."""
    return sum(path.read_text(encoding="utf-8").count("kernel\ndef ") for path in kernel_sources())


Command = list[str]
Lines = SimpleQueue[str]
DONE = "\n"  # what a worker's thread says when its worker has ended
STOP = "\0"  # what a program says that needs no more kernels


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cache_is_empty() -> bool:
    """Return whether there is a cache on disk without kernels: workers pay only then, for each starts for seconds."""
    if is_prebuilt():
        return False  # nothing is compiled
    from numba import config

    folder = place_of_process().folder
    return not config.DISABLE_JIT and folder is not None and next(folder.glob(FILES), None) is None


def command(module: str, *tasks: str) -> Command:
    """Return the command line of a worker that runs tasks of ``module`` one after the other (see ``run_worker``)."""
    return [sys.executable, "-m", module, *tasks]


def compile_in_processes(commands: Sequence[Command], jobs: int, compilations: Compilations) -> None:
    """Run the commands, ``jobs`` at a time, and count the kernels that they print; exit codes are ignored."""
    monitor(commands, jobs, compilations, Lines())


@contextmanager
def compiled_in_parallel(commands: Sequence[Command], jobs: int, compilations: Compilations) -> Iterator[None]:
    """Run the commands, ``jobs`` at a time, while the body of the ``with`` compiles too; stop them at its end.

    Kernels that a worker has finished are found in the cache: workers begin with what this process comes to last.
    """
    lines = Lines()

    def follow_them() -> None:
        with suppress(OSError):  # no process can be started: this one compiles everything
            monitor(commands, jobs, compilations, lines)

    follower = threading.Thread(target=follow_them, daemon=True)
    follower.start()
    try:
        yield
    finally:
        lines.put(STOP)
        follower.join()


def monitor(commands: Sequence[Command], jobs: int, compilations: Compilations, lines: Lines) -> None:
    """Run the commands, ``jobs`` at a time, and count the kernels that they print, until all end or STOP comes."""
    waiting, running = list(commands), list[subprocess.Popen[str]]()
    ends, line = 0, ""
    try:
        while ends < len(commands) and line != STOP:
            while waiting and len(running) - ends < jobs:
                running.append(start_worker(waiting.pop(0), lines))
            line = lines.get()
            if line == DONE:
                ends += 1
            elif line != STOP:
                compilations.begin(line.strip())
                compilations.end(line.strip())
    finally:
        for worker in running:
            stop_worker(worker)


def start_worker(words: Command, lines: Lines) -> "subprocess.Popen[str]":
    """Start a worker process, and a thread that puts its output into ``lines``."""
    path = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    worker = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    threading.Thread(target=forward_lines, args=(worker, lines), daemon=True).start()
    return worker


def forward_lines(worker: "subprocess.Popen[str]", lines: Lines) -> None:
    """Put every line of a worker's output into ``lines``, and DONE behind the last one."""
    with suppress(ValueError):  # closed while it was read
        for line in worker.stdout or ():
            lines.put(line)
    lines.put(DONE)


def stop_worker(worker: "subprocess.Popen[str]") -> None:
    """Kill a worker that still runs, and close its pipes."""
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


# ---- in the worker ---------------------------------------------------------------------------------------------------


def before_kernel(kernel: str) -> None:
    """Callback before a kernel is compiled; prints nothing."""


def print_kernel(kernel: str) -> None:
    """Print the name of a kernel that was compiled; the kernel is saved next."""
    print(kernel, flush=True)


def run_worker(tasks: Mapping[str, Callable[[], None]]) -> None:
    """Run the tasks that the command line names, and end when the parent process ends."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    gc.disable()  # as in ``compiling.Compilations``
    with listening(before_kernel, print_kernel):
        for name in sys.argv[1:]:
            tasks[name]()
    sys.stdout.flush()
    os._exit(0)  # the thread still reads


def end_with_parent() -> None:
    """Exit when the pipe from the parent closes. Finished files are moved into the cache, so none is half written."""
    sys.stdin.buffer.read()
    os._exit(1)
