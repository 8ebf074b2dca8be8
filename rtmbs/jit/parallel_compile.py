"""Parallel compilation of kernels in worker processes, which share the cache on disk.

Compiled kernels come back through the cache. A kernel that a worker does not finish, because the worker was killed or
failed, is compiled again by the process that needs it: workers only save time.
"""

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from rtmbs.jit.cache_folder import FILES, PACKAGE, place_of_process
from rtmbs.jit.compile_progress import Compilations
from rtmbs.jit.compiled import is_prebuilt, listening

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
