"""``python -m bench.analysis_costs [--write]``: what inverse dynamics and workload cost an instant; a table in docs."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import rtmbs
from bench.documents import DOCS, table, told
from rtmbs.system.system import System

NAME, PAGE = "python -m bench.analysis_costs", DOCS / "workload.md"
COUNT, TRIES = 100, 5  # instants of a call; calls, of which the fastest counts


def main() -> None:
    """Measure, and print the table."""
    crank = rtmbs.library.build("crank_rocker").compile()
    arm = rtmbs.library.build("pendulum").compile()
    rows = [
        [name, f"{cost(partial(inverse, system)):.1f} ms", f"{cost(partial(load, system)):.1f} ms"]
        for name, system in (("pendulum", arm), ("four-bar", crank))
    ]
    told(table(["mechanism", "inverse dynamics", "workload"], rows), PAGE, NAME)


def inverse(system: System) -> None:
    """Prescribe the first coordinate at some instants."""
    first = system.coordinate_names[0].rpartition(".")[0]
    rtmbs.inverse_dynamics(system, {first: rtmbs.Sine(0.05, 3.0)}, np.linspace(0.0, 1.0, COUNT))


def load(system: System) -> None:
    """Run as many steps, every one a sample."""
    rtmbs.workload(rtmbs.Simulation(system, h=1e-3), 1e-3 * (COUNT - 1))


def cost(call: Callable[[], None]) -> float:
    """Return the processor time of an instant [ms]."""
    call()
    times = []
    for _ in range(TRIES):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return 1e3 * min(times) / COUNT


if __name__ == "__main__":
    main()
