"""A run: steps to its end, observers fed, failed steps retried in parts when asked.

As long as every observer takes chunks, many steps are one kernel call; otherwise, and for a step that fails, one by
one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol

import numpy as np

from rtmbs.errors import InputError, shown
from rtmbs.integrators.checks import is_number
from rtmbs.integrators.chunks import chunk_for, first
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import Chunk
from rtmbs.observers.observer import Observer, Watched
from rtmbs.observers.recorder import Recorder
from rtmbs.simulation.one_thread import LOOK, visited
from rtmbs.simulation.progress import progress_bar

MOST_STEPS = 2.0**53  # beyond it a count of steps is no exact number
WATCHING = "an observer"  # in messages
WHOLE = 1e-9  # relative distance from a whole number of steps that is rounding


class Runner(Watched, Protocol):
    """Whoever steps; a Simulation."""

    @property
    def takes_chunks(self) -> bool: ...
    def take_chunk(self, chunk: Chunk) -> tuple[int, bool]: ...
    def step(self) -> StepReport: ...
    def retry(self, report: StepReport, on_failure: str, at_most: int) -> StepReport: ...
    def mark(self) -> Any: ...
    def back_to(self, mark: Any) -> None: ...


def run(
    sim: Runner,
    steps: int,
    recorder: Recorder,
    observers: Sequence[Observer],
    progress: bool,
    on_failure: str,
    at_most: int,
    until: Callable[[Any], Any] | None = None,
) -> None:
    """Take ``steps`` steps, watched by ``recorder`` and ``observers``; raises StepError when one fails for good.

    Ends behind the first step at whose end ``until`` of the Simulation is true.

    Whatever raises, the last sample of the recorder is the state that counts.
    """
    watching = [recorder, *observers]
    with visited(sim, LOOK, WATCHING):
        for observer in watching:
            observer.begin(sim, steps)
    in_chunks = until is None and sim.takes_chunks and all(observer.takes_chunks for observer in watching)
    chunk = chunk_for(sim.state, steps) if in_chunks else None
    # No bar at all when none is asked for: an interrupt inside tqdm may keep the lock that all bars share.
    with progress_bar(steps, "step") if progress else nullcontext() as bar:
        while steps > 0:
            done, failed = take_chunk(sim, watching, first(chunk, steps)) if chunk is not None else (0, True)
            if failed:
                take_step(sim, watching, on_failure, at_most)
            steps -= done + failed
            if until is not None and reached(until, sim):
                break
            if bar is not None:
                bar.update(done + failed)
    with visited(sim, LOOK, WATCHING):
        for observer in watching:
            observer.end(sim)


def reached(until: Callable[[Any], Any], sim: Runner) -> bool:
    """Return whether a run is to end here; InputError when ``until`` raises or answers neither true nor false."""
    what = f"until at t = {sim.state.t:g} s"
    try:
        with visited(sim, LOOK, "until"):
            answer = until(sim)
    except Exception as error:
        raise InputError(f"{what} raised {type(error).__name__}: {error}") from error
    if not isinstance(answer, bool | np.bool_):
        raise InputError(f"{what} returned {shown(answer)}; it must return True or False")
    return bool(answer)


def take_chunk(sim: Runner, watching: Sequence[Observer], chunk: Chunk) -> tuple[int, bool]:
    """Take steps in one kernel call; returns (steps taken, whether the next one failed)."""
    t_ref, k, h = sim.state.t_ref, sim.state.k, sim.state.h
    with shown_to_all(sim, watching) as show:
        done, failed = sim.take_chunk(chunk)
        if done:
            t, seen = t_ref + np.arange(k + 1, k + done + 1, dtype=np.float64) * h, first(chunk, done)
            show(lambda observer: observer.observe_chunk(sim, t, seen))
    return done, failed


def take_step(sim: Runner, watching: Sequence[Observer], on_failure: str, at_most: int) -> None:
    """Take one step, in parts when it fails and that is asked for."""
    with shown_to_all(sim, watching) as show:
        report = sim.step()
        if not report.outcome.accepted:
            report = sim.retry(report, on_failure, at_most)
        show(lambda observer: observer.observe(sim, report))


@contextmanager
def shown_to_all(sim: Runner, watching: Sequence[Observer]) -> Iterator[Callable[[Callable[[Observer], None]], None]]:
    """Steps taken inside and shown by what this yields are shown to every observer, or to none and then taken back.

    An interrupt before the recorder, the first of them, has the steps takes them back. After that the observers behind
    the one that was interrupted see them before it goes on its way: no record has a hole. The interrupted one may have
    seen half.
    """
    mark, waiting = sim.mark(), list(watching)
    claim = vars(sim)["_inside"]
    acts: list[Callable[[Observer], None]] = []

    def show(act: Callable[[Observer], None]) -> None:
        acts.append(act)
        with visited(sim, LOOK, WATCHING):
            while waiting:
                act(waiting[0])
                del waiting[0]

    try:
        yield show
    except BaseException:
        vars(sim)["_inside"] = claim  # an exception at the very end of a step may have left that of the step
        recorder = watching[0]
        assert isinstance(recorder, Recorder)
        if recorder.time != sim.state.t:
            sim.back_to(mark)
        else:
            with visited(sim, LOOK, WATCHING):
                for observer in waiting[1 if waiting and waiting[0] is not recorder else 0 :]:
                    if observer is not recorder and acts:
                        acts[0](observer)
        raise


def check_end(t: float, t_end: float) -> None:
    """Refuse an end that is no time behind ``t`` [s]: InputError."""
    if not is_number(t_end):
        raise InputError(f"t_end is {shown(t_end)}; it must be a time in seconds")
    if not t_end > t:
        raise InputError(f"t_end = {t_end!r} does not lie behind the present t = {t:g} s; give a later time")


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


def observers_of(observers: Any) -> list[Observer]:
    """Return what watches a run as a list; InputError for anything that cannot watch."""
    try:
        listed = list(observers) if isinstance(observers, Iterable) and not isinstance(observers, str) else [observers]
    except TypeError:  # an array of no dimensions
        listed = [observers]
    for one in listed:
        if not all(callable(getattr(one, name, None)) for name in ("begin", "observe", "end")):
            raise InputError(
                f"observers hold {shown(one)}; each must be an observer, such as rtmbs.EnergyMeter(), in a list"
            )
    return listed
