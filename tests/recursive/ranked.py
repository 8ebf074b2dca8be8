"""What the ranks of ``test_ranks.py`` do: ``mpiexec -n N python -m tests.recursive.ranked WHAT FILE``."""

import os
import signal
import sys
from pathlib import Path

import numpy as np

import rtmbs
from rtmbs.recursive.motion import Alone, demand_same_system, launch, run
from tests.recursive.machines import branched, start_of

SAMPLES = 5


def main() -> None:
    """Run a motion on all ranks; rank 0 writes it beside that of one rank alone."""
    what, file = sys.argv[1:]

    def work(exchange):
        model, unit = branched(5, branches=4, free=True)
        system, z, zd = start_of(model, unit)
        demand_same_system(exchange, system, "1.0" if what == "version" and exchange.rank == 1 else rtmbs.__version__)
        if what == "mechanism" and exchange.rank == 1:
            system = branched(6, branches=4, free=True)[0].compile()
        demand_same_system(exchange, system, rtmbs.__version__)
        times, h = np.linspace(0.0, 0.02 * unit.time, SAMPLES), 1e-3 * unit.time
        if what in ("killed", "raising"):
            times, h = np.linspace(0.0, 1e3 * unit.time, SAMPLES * 10000), 1e-2 * unit.time
        found = run(system, z, zd, times, h, exchange, watch=lambda k: fail(what, exchange, k))
        if exchange.rank == 0:
            alone = run(system, z, zd, times, h, Alone())
            Path(file).write_bytes(np.concatenate((found.z, found.zd, alone.z, alone.zd)).tobytes())
            print("ranks", found.ranks)

    launch(work)


def fail(what, exchange, sample):
    """Let rank 1 die, or raise, in the middle of a motion."""
    if exchange.rank == 1 and sample == 3:
        if what == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "raising":
            raise RuntimeError("a disk is full")


if __name__ == "__main__":
    main()
