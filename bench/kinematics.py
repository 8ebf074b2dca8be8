"""Measure kinematics: the slider-crank of the paper at 10,000 times, and chains of up to 200 loops.

python -m bench.kinematics [--write]    prints both tables, or writes them to docs/kinematics.md
"""

import time
from typing import NamedTuple

import numpy as np

from bench.documents import KINEMATICS, table, told
from bench.measures import driven
from rtmbs.kinematics import Analysis
from rtmbs.kinematics.analysis import AnalysisRun
from rtmbs.kinematics.equations import Programs
from rtmbs.kinematics.path_solver import PathSolver

TIMES = 10_000
POINTS = 20
LOOPS = (1, 2, 5, 10, 20, 50, 100, 200)
ROUNDS = 5
TURNS = 40  # of the chains


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


class Chain(NamedTuple):
    """A chain of loops, ready to march."""

    run: AnalysisRun
    march: PathSolver
    record: float  # what the record and its programs took [s]
    start: float  # what assembly and rank took [s]


def loops() -> list[list[str]]:
    """Return what one time of a chain of loops takes, and the power of n at which it grows.

    The chains take turns, and the shortest of many rounds counts: a disturbance of the machine falls on all of them.
    """
    chains = [prepared(count) for count in LOOPS]
    costs = np.min([[one_time(chain) for chain in chains] for _ in range(TURNS)], axis=0)
    growth = np.diff(np.log(costs)) / np.diff(np.log(LOOPS))
    rows = []
    for k, (count, chain) in enumerate(zip(LOOPS, chains, strict=True)):
        unknowns, power = f"{chain.run.equations.n}", f"{growth[k - 1]:.2f}" if k else ""
        rows.append([f"{count}", unknowns, f"{chain.record:.3f}", f"{chain.start:.3f}", f"{1e6 * costs[k]:.0f}", power])
    slope = np.polyfit(np.log(LOOPS), np.log(costs), 1)[0]
    whole = np.log(costs[1:] / costs[0]) / np.log(LOOPS[1:])
    rows.append(["all, fitted", "", "", "", "", f"{slope:.2f}"])
    rows.append(["largest from 1 loop to n", "", "", "", "", f"{whole.max():.2f}"])
    rows.append(["largest from one row to the next", "", "", "", "", f"{growth.max():.2f}"])
    return rows


def prepared(count: int) -> Chain:
    """Return a chain of ``count`` loops."""
    before = time.perf_counter()
    analysis = Analysis(driven.loops(count))
    prepare(analysis.programs)
    record = time.perf_counter() - before
    before = time.perf_counter()
    run = AnalysisRun(analysis, 0.002 * np.arange(POINTS + 1))
    march = run.march()
    start = time.perf_counter() - before
    march.fill(run.samples, 0, 2)
    return Chain(run, march, record, start)


def one_time(chain: Chain) -> float:
    """Return what one point of the march takes [s]."""
    before = time.perf_counter()
    if chain.march.fill(chain.run.samples, 1, POINTS + 1) != POINTS + 1:
        raise ValueError("the chain of loops did not follow its driver")
    return (time.perf_counter() - before) / POINTS


def main() -> None:
    """Print the tables."""
    head = ["loops", "unknowns", "record and programs [s]", "assembly and rank [s]", "one time [us]", "power of n"]
    text = f"{table(['slider-crank of the paper', '[s]'], slider_crank())}\n\n{table(head, loops())}"
    told(text, KINEMATICS, "python -m bench.kinematics")


if __name__ == "__main__":
    main()
