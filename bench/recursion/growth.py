"""Time of one evaluation of the generated loop by its length, on one rank, several ranks and threads.

An evaluation is everything that a stage of a step asks: positions, forces, backward pass, message, multipliers,
forward pass, next state. Samples of some steps are taken in turns over the lengths; the least and the median stand.
"""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import rtmbs
from bench.recursion import two_hosts
from bench.recursion.pinning import pin
from rtmbs.recursive.motion import STAGES, RankSteps, launch
from rtmbs.recursive.threads import Threads

ROOT = Path(__file__).parents[2]
SIZES = (15, 51, 101, 151, 251, 1001)
H, T_END = 1e-3, 10.0  # [s] of a step, of the run that times are told for
SAMPLES, SHORTEST = 200, 0.004  # of each length, and seconds of one: short, to find a quiet moment of the machine
GAINS = 20.0, 20.0  # [1/s]


def starts(sizes: Any) -> dict[int, Any]:
    """Return system, coordinates and rates of every loop at the start: the regular polygon, at rest."""
    systems = {k: rtmbs.library.build("loop", k=k).compile() for k in sizes}
    return {k: (system, system.z0, np.zeros(len(system.z0))) for k, system in systems.items()}


def of_ranks(sizes: Any) -> dict[str, Any]:
    """Return seconds an evaluation on the ranks that this process belongs to."""

    def work(exchange: Any) -> dict[str, Any]:
        pin(exchange.rank)
        marches = {}
        for k, (system, z, zd) in starts(sizes).items():
            marches[k] = RankSteps(system, exchange, *GAINS)
            marches[k].begin(z, zd, 0.0)
        steps = {k: enough(lambda c, one=one: walk(one, c), exchange) for k, one in marches.items()}
        found: dict[int, list[float]] = {k: [] for k in sizes}
        for _ in range(SAMPLES):
            for k, one in marches.items():
                before = time.perf_counter()
                walk(one, steps[k])
                found[k].append((time.perf_counter() - before) / (steps[k] * len(STAGES)))
        said = exchange.together(found)
        return summary({k: np.max([one[k] for one in said], axis=0) for k in sizes})

    return dict(launch(work))


def walk(march: RankSteps, steps: int) -> None:
    """Take so many steps."""
    for _ in range(steps):
        march.step(0.0, H)


def of_threads(sizes: Any, threads: int) -> dict[str, Any]:
    """Return seconds an evaluation on threads of this process."""
    works, found = {}, {k: [] for k in sizes}
    seats = count()
    with ThreadPoolExecutor(threads, initializer=lambda: pin(next(seats))) as pool:
        for k, (system, z, zd) in starts(sizes).items():
            works[k] = Threads(system, threads, *GAINS)
            works[k].begin(z, zd)
        steps = {k: enough(lambda c, one=one: one.steps(pool, c, H, 0.0)) for k, one in works.items()}
        for _ in range(SAMPLES):
            for k, one in works.items():
                before = time.perf_counter()
                one.steps(pool, steps[k], H, 0.0)
                found[k].append((time.perf_counter() - before) / (steps[k] * len(STAGES)))
    return summary(found)


def enough(call: Any, exchange: Any = None) -> int:
    """Return a number of steps that takes about SHORTEST, the same on all ranks."""
    call(2)
    before = time.perf_counter()
    call(5)
    steps = max(5, int(5 * SHORTEST / (time.perf_counter() - before)))
    return steps if exchange is None else int(exchange.together(steps)[0])


def summary(found: Any) -> dict[str, Any]:
    """Return least and median seconds by length."""
    return {str(k): {"least": float(np.min(row)), "median": float(np.median(row))} for k, row in found.items()}


def latency(ranks: int) -> dict[str, float]:
    """Return seconds of one exchange of the loop's message between ``ranks`` ranks, measured apart."""
    return dict(asked("latency", ranks))


def of_exchange() -> dict[str, float]:
    """Return seconds of an exchange on the ranks that this process belongs to."""

    def work(exchange: Any) -> dict[str, float]:
        pin(exchange.rank)
        message, messages, times = np.zeros(97), np.zeros((exchange.ranks, 97)), []
        for _ in range(SAMPLES):
            before = time.perf_counter()
            for _ in range(500):
                exchange.share(message, messages)
            times.append((time.perf_counter() - before) / 500)
        return {"least": min(times), "median": float(np.median(times))}

    return dict(launch(work))


def asked(what: str, ranks: int, *more: str) -> Any:
    """Return what ranks started for this answered; the first of them prints it."""
    command = [two_hosts.mpiexec(), "-n", str(ranks), sys.executable, "-m", "bench.recursion.worker", what, *more]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])
