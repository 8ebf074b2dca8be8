"""What waits before the first step: compiling with an empty cache, and how the first step compares with the others.

``python -m bench.cold --docs`` writes the tables of ``docs/performance.md``. Every round is a new process with a new
cache; CPU time is that of the process and of its workers, and says more than wall time on a machine that is not quiet.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numba
from tqdm import tqdm

from bench.documents import insert, table
from rtmbs.jit.compile_progress import usable_cores

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
MAIN_JOB = ["-m", "rtmbs.bench", "fourbar", "--ny", "4", "--nz", "40", "--t-end", "0.005"]
COMMANDS = {"main job": MAIN_JOB, "warmup": ["-m", "rtmbs", "warmup"]}
STEPS = 200
FIRST_STEP = f"""
import json, sys, time
from rtmbs import Simulation, library
sim = Simulation(library.build(sys.argv[1], **json.loads(sys.argv[2])).compile(), h=float(sys.argv[3]))
clock, seconds = time.perf_counter, []
for _ in range({STEPS}):
    start = clock()
    sim.step()
    seconds.append(clock() - start)
print(json.dumps(seconds))
"""
MECHANISMS: dict[str, tuple[str, dict[str, object], float]] = {
    "pendulum": ("pendulum", {}, 1e-3),
    "four-bar 1 x 2": ("fourbar", {"ny": 1, "nz": 2}, 1e-3),
    "four-bar 4 x 40": ("fourbar", {"ny": 4, "nz": 40}, 5e-3),
}


def main() -> int:
    """Measure, print, and write the tables with the option for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3, help="of every cold compilation")
    parser.add_argument("--processes", type=int, default=20, help="of every first step")
    parser.add_argument("--docs", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    text = "\n\n".join((machine(), cold_table(options.rounds), first_table(options.processes)))
    print(text)
    if options.docs:
        insert(PAGE, "python -m bench.cold", text)
    return 0


def machine() -> str:
    """Return what was measured on."""
    versions = f"Python {platform.python_version()}, numba {numba.__version__}"
    return f"{platform.machine()}, {usable_cores()} cores, {versions}; medians, fastest and slowest in brackets."


def cold_table(rounds: int) -> str:
    """Measure every command with an empty cache, on one core and on all, and with a full one."""
    head = ["from an empty cache", "cores", "wall [s]", "CPU [s]", "with a full cache [s]"]
    cases = [(name, cores) for name in COMMANDS for cores in sorted({1, usable_cores()})]
    found: dict[tuple[str, int], list[tuple[float, float, float]]] = {case: [] for case in cases}
    for _ in tqdm(range(rounds), desc="cold", unit="round", disable=None, leave=False):
        for name, cores in cases:
            found[name, cores].append(cold_and_warm(COMMANDS[name], cores))
    return table(head, [[name, f"{cores}", *spreads(found[name, cores])] for name, cores in cases])


def cold_and_warm(words: list[str], cores: int) -> tuple[float, float, float]:
    """Return wall and CPU time of a program with an empty cache, and its wall time when it runs again."""
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (timed(words, folder, cores) for _ in range(2))
    return *cold, warm[0]


def timed(words: list[str], cache: str, cores: int) -> tuple[float, float]:
    """Run a Python program; return its wall and CPU time [s], its children's with it."""
    allowed = os.sched_getaffinity(0)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    os.sched_setaffinity(0, sorted(allowed)[:cores])  # children keep to the cores of who starts them
    try:
        environment = {**os.environ, "RTMBS_CACHE_DIR": cache}
        subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=True, capture_output=True)
    finally:
        os.sched_setaffinity(0, allowed)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def spreads(rows: Sequence[tuple[float, ...]]) -> Iterator[str]:
    """Yield the median of every column, and its range."""
    for values in zip(*rows, strict=True):
        yield f"{statistics.median(values):.1f} ({min(values):.1f}, {max(values):.1f})"


def first_table(processes: int) -> str:
    """Measure the first step of fresh processes beside the others."""
    head = ["mechanism", "first step [us]", "median step [us]", "first / median"]
    rows = []
    for label, (name, built, h) in MECHANISMS.items():
        words = [sys.executable, "-c", FIRST_STEP, name, json.dumps(built), str(h)]
        first, usual = [], []
        for _ in tqdm(range(processes), desc=label, unit="process", disable=None, leave=False):
            done = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
            seconds = json.loads(done.stdout)
            first.append(1e6 * seconds[0])
            usual.append(1e6 * statistics.median(seconds))
        ratio = statistics.median(a / b for a, b in zip(first, usual, strict=True))
        rows.append([label, f"{statistics.median(first):.0f}", f"{statistics.median(usual):.0f}", f"{ratio:.1f}"])
    return table(head, rows)


if __name__ == "__main__":
    sys.exit(main())
