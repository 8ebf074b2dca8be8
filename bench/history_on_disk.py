"""What a history on disk costs a step, and whether memory stays flat: python -m bench.history_on_disk [--minutes 2]

Two sessions of the 4 x 40 four-bar step in turns as fast as they can, one with its history on disk and one without, so
that both see the same machine. A turn ends when the disk has all its steps. The processor time is that of all threads.
"""

import argparse
import gc
import tempfile
import time
from pathlib import Path

import numpy as np

import rtmbs
from rtmbs.simulation import Simulation
from rtmbs.viewer.session.describe import describe
from rtmbs.viewer.session.disk_history import DiskHistory
from rtmbs.viewer.session.history import History
from rtmbs.viewer.session.session import Session

TURN = 400  # steps that a session takes before it is the other's turn
STATES = 500  # in memory
LOOK = 15.0  # [s] between two looks at the memory


def resident() -> float:
    """Return the memory of this process [MB]."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


def sessions(folder: str, limit: float) -> tuple[Session, Session, DiskHistory]:
    """Return a session without and one with a history on disk."""
    system = rtmbs.library.build("fourbar", ny=4, nz=40).compile()
    plain, kept = (Session(Simulation(system), History(states=STATES)) for _ in range(2))
    disk, scene = DiskHistory(folder, limit, print), describe(kept.sim)
    kept.history.keep_on(disk, lambda: disk.begin(scene, kept.base_sim))
    return plain, kept, disk


def main() -> None:
    """Measure, and print a line for each look."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--limit", type=float, default=2e9, help="bytes on disk")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain, kept, disk = sessions(folder, options.limit)
        wall: dict[bool, list[float]] = {False: [], True: []}
        cpu: dict[bool, list[float]] = {False: [], True: []}
        start = looked = time.perf_counter()
        print(f"{'time [s]':>9} {'steps':>8} {'memory [MB]':>12} {'disk [MB]':>10}")
        while (now := time.perf_counter()) - start < 60.0 * options.minutes:
            for session in (plain, kept):
                before, busy = time.perf_counter(), time.process_time()
                for _ in range(TURN):
                    session.step()
                wall[session is kept].append((time.perf_counter() - before) / TURN)
                session.history.save()
                cpu[session is kept].append((time.process_time() - busy) / TURN)
            if now - looked >= LOOK:
                looked = now
                gc.collect()
                size = sum(path.stat().st_size for path in Path(folder).rglob("*.block")) / 1e6
                print(f"{now - start:9.0f} {kept.step_number:8d} {resident():12.0f} {size:10.0f}", flush=True)
        kept.history.save()
        disk.close()
    for name, times in (("wall", wall), ("processor", cpu)):
        alone, both = np.array(times[False]), np.array(times[True])
        ratio = np.median(both / alone)
        print(f"{name}: {1e6 * np.median(alone):.0f} us a step, on disk {1e6 * np.median(both):.0f}; ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
