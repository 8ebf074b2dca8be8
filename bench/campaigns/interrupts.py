"""Signals at random times in a run, on one thread and on two: the state is that of a finished step, and goes on."""

import os
import signal
import threading
import time
from contextlib import suppress
from typing import Any

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.machines import contents, simulation
from rtmbs import Simulation

PLACES = (("rich", 1), ("timed", 1), ("two rows", 2), ("crank rocker", 1), ("two rows", 1))
STEPS = 4000
MORE = 50  # steps after the interrupt that are compared
STEP_BY_STEP = 4  # every so many cases, a loop over ``step`` in place of ``run``
SECOND = 3  # every so many cases, a second signal a moment after the first


class Stop(Exception):
    """What the signal raises beside KeyboardInterrupt."""


def run(cases: int, seed: int) -> Tally:
    """Interrupt ``cases`` runs from ``seed`` on; signals come to the main thread, so it must be called there."""
    tally, references = Tally(), {}
    for case in range(seed, seed + cases):
        name, threads = PLACES[case % len(PLACES)]
        if (name, threads) not in references:
            references[name, threads] = Reference(name, threads)
        if wrong := interrupted(case, name, threads, references[name, threads]):
            tally.fail(f"seed {case}, {name} on {threads} threads: {wrong}")
        else:
            tally.survive()
    return tally


class Reference:
    """Undisturbed Simulation with its state after any step, and the duration of a step."""

    def __init__(self, name: str, threads: int) -> None:
        self.sim = simulation(name, 0, threads=threads)
        self.start = self.sim.state.copy()
        self.sim.step()
        begin = time.perf_counter()
        self.sim.run(self.sim.t + 500 * self.sim.h)
        self.seconds = (time.perf_counter() - begin) / 500
        self.known: dict[int, dict[str, Any]] = {}

    def after(self, k: int) -> dict[str, Any]:
        """Return the contents of the state after ``k`` steps."""
        if k not in self.known:
            self.sim.restore(self.start)
            for _ in range(k):
                self.sim.step()
            self.known[k] = contents(self.sim.state)
        return self.known[k]


def interrupted(case: int, name: str, threads: int, reference: Reference) -> str:
    """Interrupt one run; return what is wrong with what is left."""
    rng = np.random.default_rng(case)
    sim = simulation(name, 0, threads=threads)
    number, fault = ((signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Stop))[int(rng.integers(2))]
    previous = signal.signal(number, raising(fault))
    delays = [float(rng.uniform(0.0, min(STEPS * reference.seconds, 0.2)))]
    delays += [float(rng.uniform(0.0, 2e-3))] if case % SECOND == 0 else []
    thread = threading.Thread(target=send, args=(number, delays))
    try:
        thread.start()
        with suppress(fault):
            go_on(sim, case % STEP_BY_STEP == 0)
        thread.join()
    finally:
        signal.signal(number, previous)
    return judged(sim, reference)


def raising(fault: type[BaseException]) -> Any:
    """Return a handler that raises ``fault`` while ``go_on`` runs, and does nothing before and after it."""

    def handler(number: int, frame: Any) -> None:
        while frame is not None and frame.f_code is not go_on.__code__:
            frame = frame.f_back
        if frame is not None:
            raise fault

    return handler


def send(number: int, delays: list[float]) -> None:
    """Send this process its signals."""
    for delay in delays:
        time.sleep(delay)
        os.kill(os.getpid(), number)


def go_on(sim: Simulation, step_by_step: bool) -> None:
    if not step_by_step:
        sim.run(STEPS * sim.h)
        return
    for _ in range(STEPS):
        sim.step()


def judged(sim: Simulation, reference: Reference) -> str:
    """Return what is wrong: a state that no step left, or one that does not go on to the same bytes."""
    k = sim.state.k
    if contents(sim.state) != reference.after(k):
        return f"the state after {k} steps is none that a step left"
    sim.run((k + MORE) * sim.h)
    return "" if contents(sim.state) == reference.after(k + MORE) else f"from step {k} it goes on to other bytes"


CAMPAIGN = Campaign(
    name="interrupts",
    claim="a signal at any time leaves the bytes of some finished step, and the run goes on to the same bytes",
    full=3_000,
    bounded=60,
    run=run,
)
