"""A run: steps to its end, observers fed, failed steps retried in parts when asked.

As long as every observer takes rows, many steps are one kernel call; otherwise, and for a step that fails, one by one.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from tqdm import tqdm

from rtmbs.errors import InputError, shown
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import Rows
from rtmbs.observers.base import Observer, Watched
from rtmbs.options import is_number
from rtmbs.stepper import rows_for

MOST_STEPS = 2.0**53  # beyond it a count of steps is no exact number
WHOLE = 1e-9  # relative distance from a whole number of steps that is rounding


class Runner(Watched, Protocol):
    """Whoever steps; a Simulation."""

    @property
    def takes_rows(self) -> bool: ...
    def take_rows(self, rows: Rows) -> tuple[int, bool]: ...
    def step(self) -> StepReport: ...
    def retry(self, report: StepReport, on_failure: str, at_most: int) -> StepReport: ...


def run(sim: Runner, steps: int, observers: Sequence[Observer], progress: bool, on_failure: str, at_most: int) -> None:
    """Take ``steps`` steps, watched by ``observers``; raises StepError when one fails for good."""
    for observer in observers:
        observer.begin(sim, steps)
    in_rows = sim.takes_rows and all(observer.takes_rows for observer in observers)
    rows = rows_for(sim.state, steps if in_rows else 0)
    with tqdm(total=steps, disable=None if progress else True, unit="step") as bar:
        while steps > 0:
            done, single = take_rows(sim, observers, first(rows, steps)) if in_rows else (0, True)
            if single:
                report = sim.step()
                if not report.outcome.good:
                    report = sim.retry(report, on_failure, at_most)
                for observer in observers:
                    observer.observe(sim, report)
            steps -= done + single
            bar.update(done + single)
    for observer in observers:
        observer.end(sim)


def take_rows(sim: Runner, observers: Sequence[Observer], rows: Rows) -> tuple[int, bool]:
    """Take steps in one kernel call; returns (steps taken, whether the next one failed)."""
    t_ref, k, h = sim.state.t_ref, sim.state.k, sim.state.h
    done, failed = sim.take_rows(rows)
    if done:
        t, seen = t_ref + np.arange(k + 1, k + done + 1, dtype=np.float64) * h, first(rows, done)
        for observer in observers:
            observer.observe_rows(sim, t, seen)
    return done, failed


def first(rows: Rows, count: int) -> Rows:
    """Return the first ``count`` rows, shared."""
    return Rows(*(values[:count] for values in rows))


def steps_between(t: float, t_end: float, h: float) -> int:
    """Return the whole number of steps of ``h`` between two times [s]; InputError names the nearest h otherwise."""
    if not is_number(t_end):
        raise InputError(f"t_end is {shown(t_end)}; it must be a time in seconds")
    span = t_end - t
    if span < -WHOLE * h:
        raise InputError(f"t_end = {t_end!r} lies before the present t = {t:g} s; give a later time")
    if span / h > MOST_STEPS:
        raise InputError(f"t_end = {t_end!r} lies {span / h:.3g} steps of h = {h!r} s ahead; take an earlier t_end")
    steps = round(span / h)
    if abs(span / h - steps) > WHOLE * max(steps, 1):
        raise InputError(
            f"t_end = {t_end:g} s is no whole number of steps of h = {h!r} s; h = {span / max(steps, 1)!r} fits"
        )
    return steps
