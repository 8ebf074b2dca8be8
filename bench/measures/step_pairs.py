"""``python -m bench.measures.step_pairs [NAME ...]``: processor time of a variational step beside a trapezoidal one.

Both methods step the same mechanism in turns, once with the end of a run recorded and once with every step. The ratio
is the median over all turns; the time is the least one.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

import rtmbs
from rtmbs import PenaltyTrapezoidal, Simulation, VariationalMidpoint, library

TURNS = 21
LENGTH = 0.1  # [s] of processor time that a turn takes
CASES: dict[str, tuple[Callable[[], rtmbs.Model], float]] = {
    "crank_rocker": (lambda: library.build("crank_rocker"), 5e-3),
    "planar_slider_crank": (lambda: library.build("planar_slider_crank"), 5e-3),
    "andrews": (lambda: library.build("andrews"), 1e-4),
    "bricard": (lambda: library.build("bricard"), 5e-3),
    "top": (lambda: library.build("top"), 1e-3),
    "stacked 4 x 40": (lambda: library.build("fourbar", ny=4, nz=40), 5e-3),
}


def step_time(sim: Simulation, steps: int, whole: bool) -> float:
    """Return the processor time of a step in a run of some steps, the end recorded or the ``whole`` of it [s]."""
    end = sim.t + steps * sim.h
    start = time.process_time()
    sim.run(end, record=None if whole else rtmbs.At([end]))
    return (time.process_time() - start) / steps


def measured(name: str, whole: bool) -> tuple[float, float, float]:
    """Return the ratio of both methods, the least time of a variational step [s], and its iterations."""
    build, h = CASES[name]
    system = build().compile()
    sims = [Simulation(system, h, method()) for method in (PenaltyTrapezoidal, VariationalMidpoint)]
    steps = max(int(LENGTH / min(step_time(sim, 20, whole) for sim in sims)), 20)
    times = np.array([[step_time(sim, steps, whole) for sim in sims] for _ in range(TURNS)])
    iterations = float(np.mean([sims[1].step().iterations for _ in range(20)]))
    return float(np.median(times[:, 1] / times[:, 0])), float(times[:, 1].min()), iterations


def main() -> None:
    """Print a row a mechanism."""
    for name in sys.argv[1:] or CASES:
        for whole in (False, True):
            ratio, least, iterations = measured(name, whole)
            what = "every step" if whole else "the end"
            print(
                f"{name}, {what} recorded: {1e6 * least:.1f} us, ratio {ratio:.2f}, {iterations:.1f} iterations",
                flush=True,
            )


if __name__ == "__main__":
    main()
