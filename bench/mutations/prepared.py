"""A process that has loaded what does not change, and runs pytest in a fork of itself: half the time of a short run.

``python -m bench.mutations.prepared`` reads one job a line, JSON, and answers each by the exit code of pytest.
"""

import importlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

LOADED = (  # packages that neither change nor look at the environment later on
    *("numpy", "scipy.linalg", "scipy.sparse.linalg", "scipy.optimize", "scipy.integrate", "scipy.spatial.transform"),
    *("numba", "autograd.numpy", "hypothesis", "pytest", "lark", "tqdm", "lazy_loader", "h5py"),
)
MEMORY = 12 << 30  # [bytes] that a run may take


class Prepared:
    """Such a process, seen from outside."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", "bench.mutations.prepared"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=dict(environment), stdin=pipe, stdout=pipe, text=True)

    def run(self, folder: Path, environment: Mapping[str, str], arguments: Sequence[str], seconds: float) -> int:
        """Run pytest in a folder; return its exit code, below zero when a signal ended it."""
        job = {
            "folder": str(folder),
            "environment": dict(environment),
            "arguments": list(arguments),
            "seconds": seconds,
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def serve() -> None:
    """Fork a child for each job."""
    for name in LOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    for line in sys.stdin:
        job = json.loads(line)
        if (child := os.fork()) == 0:
            try:
                run(**job)
            finally:
                os._exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def run(folder: str, environment: dict[str, str], arguments: list[str], seconds: float) -> None:
    """Run pytest in this process, and end it."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    log = os.open(environment["RUN_LOG"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name in [name for name in sys.modules if name.split(".")[0] == "bench"]:
        del sys.modules[name]  # the copy has its own
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    sys.dont_write_bytecode = True
    import pytest

    code = int(pytest.main(arguments))
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    serve()
