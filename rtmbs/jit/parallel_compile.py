"""Compile in processes of their own, which share the cache on disk: a compiler keeps one core busy, a machine has more.

Compiled kernels come back through the cache. Whatever a process does not finish, because it was killed or because
something is wrong, is compiled again by who needs it: workers only ever save time.
"""

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from numba import config

from rtmbs.jit.cache_folder import FILES, PACKAGE, PLACE
from rtmbs.jit.compile_progress import Compilations
from rtmbs.jit.compiled import listening

Command = list[str]
Lines = SimpleQueue[str]
DONE = "\n"  # what a worker's thread says when its worker has ended
STOP = "\0"  # what a program says that needs no more kernels


def usable_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worthwhile() -> bool:
    """True when there is a cache and nothing is in it yet: a worker takes seconds to find that all is there."""
    return not config.DISABLE_JIT and PLACE.folder is not None and next(PLACE.folder.glob(FILES), None) is None


def command(module: str, *tasks: str) -> Command:
    """Return the command line of a worker: tasks of a module that ends in ``work``, one after the other."""
    return [sys.executable, "-m", module, *tasks]


def compile_apart(commands: Sequence[Command], jobs: int, compilations: Compilations) -> None:
    """Run the commands, ``jobs`` at a time, and count the kernels they name; how they end does not matter."""
    follow(commands, jobs, compilations, Lines())


@contextmanager
def helped(commands: Sequence[Command], jobs: int, compilations: Compilations) -> Iterator[None]:
    """Run the commands, ``jobs`` at a time, while this process compiles too; they end with what it does.

    Kernels that a worker has finished are found in the cache: workers begin with what this process comes to last.
    """
    lines = Lines()

    def follow_them() -> None:
        with suppress(OSError):  # no process can be started: this one compiles everything
            follow(commands, jobs, compilations, lines)

    follower = threading.Thread(target=follow_them, daemon=True)
    follower.start()
    try:
        yield
    finally:
        lines.put(STOP)
        follower.join()


def follow(commands: Sequence[Command], jobs: int, compilations: Compilations, lines: Lines) -> None:
    """Run the commands, ``jobs`` at a time, and count the kernels they name, until all have ended or STOP is said."""
    waiting, running = list(commands), list[subprocess.Popen[str]]()
    ends, line = 0, ""
    try:
        while ends < len(commands) and line != STOP:
            while waiting and len(running) - ends < jobs:
                running.append(start(waiting.pop(0), lines))
            line = lines.get()
            if line == DONE:
                ends += 1
            elif line != STOP:
                compilations.begin(line.strip())
                compilations.end(line.strip())
    finally:
        for worker in running:
            stop(worker)


def start(words: Command, lines: Lines) -> "subprocess.Popen[str]":
    """Start a worker; a thread puts what it prints into ``lines``."""
    path = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    worker = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    threading.Thread(target=pass_on, args=(worker, lines), daemon=True).start()
    return worker


def pass_on(worker: "subprocess.Popen[str]", lines: Lines) -> None:
    """Put every line of a worker into ``lines``, and DONE behind its last one."""
    with suppress(ValueError):  # closed while it was read
        for line in worker.stdout or ():
            lines.put(line)
    lines.put(DONE)


def stop(worker: "subprocess.Popen[str]") -> None:
    """End a worker, if it still runs, and let go of its pipes."""
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


# ---- in the worker ---------------------------------------------------------------------------------------------------


def ignored(kernel: str) -> None:
    """Before a kernel is compiled: nothing to say yet."""


def named(kernel: str) -> None:
    """Print the name of a kernel that was compiled; it is saved next."""
    print(kernel, flush=True)


def work(tasks: Mapping[str, Callable[[], None]]) -> None:
    """Do the tasks that the command line names, and end with the process that asked for them, at once."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    gc.disable()  # as in ``compiling.Compilations``
    with listening(ignored, named):
        for name in sys.argv[1:]:
            tasks[name]()
    sys.stdout.flush()
    os._exit(0)  # the thread still reads


def end_with_parent() -> None:
    """Leave when the pipe from the parent closes. Finished files are moved into the cache: none is half written."""
    sys.stdin.buffer.read()
    os._exit(1)
