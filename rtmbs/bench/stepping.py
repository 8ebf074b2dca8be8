"""Step a Simulation by hand with a clock around each step: what watches is not in the time."""

import time
from collections.abc import Iterable

import numpy as np
from tqdm import tqdm

from rtmbs.integrators.report import StepReport
from rtmbs.observers.base import Observer
from rtmbs.simulation import Simulation
from rtmbs.simulation.failures import error_of


def timed_step(sim: Simulation) -> tuple[StepReport, float]:
    """Take one step; return its report and its wall time [s]. A step that fails raises its error."""
    before = time.perf_counter()
    report = sim.step()
    seconds = time.perf_counter() - before
    if not report.outcome.accepted:
        raise error_of(sim, report)
    return report, seconds


def timed_steps(sim: Simulation, steps: int, observers: Iterable[Observer], description: str) -> list[float]:
    """Take ``steps`` steps and return the wall time of each [s]; a progress bar runs on a terminal only."""
    watching = list(observers)
    for observer in watching:
        observer.begin(sim, steps)
    seconds = []
    for _ in tqdm(range(steps), desc=description, unit="step", disable=None, leave=False):
        report, time_of_step = timed_step(sim)
        seconds.append(time_of_step)
        for observer in watching:
            observer.observe(sim, report)
    for observer in watching:
        observer.end(sim)
    return seconds


def percentiles_us(seconds: list[float]) -> dict[str, float]:
    """Return the wall time of a step in microseconds: median, 99th percentile, largest."""
    times = 1e6 * np.array(seconds)
    p50, p99 = np.percentile(times, (50, 99))
    return {"p50": float(p50), "p99": float(p99), "max": float(times.max())}
