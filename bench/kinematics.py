"""Measure kinematics: the slider-crank of the paper at 10,000 times, and chains of up to 200 loops.

python -m bench.kinematics [--write]    prints both tables, or writes them to docs/kinematics.md
"""

import time

import numpy as np

from bench.documents import KINEMATICS, table, told
from bench.measures import driven
from rtmbs.kinematics import Analysis
from rtmbs.kinematics.analysis import Run
from rtmbs.kinematics.programs import Programs

TIMES = 10_000
POINTS = 20
LOOPS = (1, 2, 5, 10, 20, 50, 100, 200)
ROUNDS = 5


def slider_crank() -> list[list[str]]:
    """Return what the slider-crank takes: record and programs, then 10,000 times."""
    analysis = Analysis(driven.paper_slider_crank())
    analysis.run(0.0, 0.1, 0.05)  # kernels are loaded
    records, runs = [], []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        prepare(Programs(analysis.equations))
        records.append(time.perf_counter() - before)
        before = time.perf_counter()
        motion = analysis.run_at(np.linspace(0.0, 8.0, TIMES))
        runs.append(time.perf_counter() - before)
    assert len(motion) == TIMES
    return [
        ["record and programs", f"{np.median(records):.3f}"],
        [f"{TIMES:,} times", f"{np.median(runs):.3f}"],
        ["one time [us]", f"{1e6 * np.median(runs) / TIMES:.1f}"],
    ]


def prepare(programs: Programs) -> None:
    """Make every program."""
    for name in ("values", "by_drivers", "second", "bend"):
        getattr(programs, name)


def loops() -> list[list[str]]:
    """Return what one time of a chain of loops takes, and the power of n at which it grows."""
    rows, costs = [], []
    for count in LOOPS:
        before = time.perf_counter()
        analysis = Analysis(driven.loops(count))
        prepare(analysis.programs)
        record = time.perf_counter() - before
        start, cost = timed(analysis)
        costs.append(cost)
        growth = np.log(costs[-1] / costs[-2]) / np.log(count / LOOPS[len(costs) - 2]) if len(costs) > 1 else np.nan
        unknowns = f"{analysis.equations.n}"
        rows.append(
            [
                f"{count}",
                unknowns,
                f"{record:.3f}",
                f"{start:.3f}",
                f"{1e6 * costs[-1]:.0f}",
                f"{growth:.2f}" if len(costs) > 1 else "",
            ]
        )
    slope = np.polyfit(np.log(LOOPS), np.log(costs), 1)[0]
    rows.append(["all", "", "", "", "", f"{slope:.2f}"])
    return rows


def timed(analysis: Analysis) -> tuple[float, float]:
    """Return what the start takes (assembly and rank), and the shortest time of one point of the march [s]."""
    before = time.perf_counter()
    run = Run(analysis, 0.002 * np.arange(POINTS + 1))
    march = run.march()
    start = time.perf_counter() - before
    march.fill(run.samples, 0, 2)
    found = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        if march.fill(run.samples, 1, POINTS + 1) != POINTS + 1:
            raise ValueError("the chain of loops did not follow its driver")
        found.append(time.perf_counter() - before)
    return start, min(found) / POINTS


def main() -> None:
    """Print the tables."""
    head = ["loops", "unknowns", "record and programs [s]", "assembly and rank [s]", "one time [us]", "power of n"]
    text = f"{table(['slider-crank of the paper', '[s]'], slider_crank())}\n\n{table(head, loops())}"
    told(text, KINEMATICS, "python -m bench.kinematics")


if __name__ == "__main__":
    main()
