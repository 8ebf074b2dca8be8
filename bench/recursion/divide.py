"""One loop of 251, and of 1001, on more ranks than it has branches: counts of work and messages, and times.

Counts need no quiet machine. The time of kernels is that of the busiest rank, ranks in turn in one process, so it is
what an evaluation would take with a core for each rank and messages that take no time. The time by the clock is that of
ranks on this machine, which share its cores.
"""

import time
from typing import Any

import numpy as np

from bench.documents import table
from bench.recursion import growth
from rtmbs.recursive.motion import STAGES
from rtmbs.recursive.part import RankPart
from rtmbs.recursive.partition import split

LENGTHS = (251, 1001)
RANKS = (1, 2, 3, 4, 6, 8)
STARTED = (1, 2, 4)  # ranks of mpiexec
SAMPLES, TURNS = 40, 8


class InTurn:
    """All ranks of a mechanism in one process, one after the other, with the time of each rank's kernels."""

    def __init__(self, system: Any, z: Any, zd: Any, ranks: int) -> None:
        self.split = split(system, ranks)
        self.parts = [RankPart(system, self.split, rank, *growth.GAINS) for rank in range(ranks)]
        for part in self.parts:
            part.take(z, zd)
            part.prepare(ranks, system.u0.copy())
        self.seconds = np.zeros(ranks)
        self.evaluate()

    def phase(self, name: str) -> None:
        """Call one function of every part, and add its time."""
        for rank, part in enumerate(self.parts):
            before = time.thread_time()
            getattr(part, name)()
            self.seconds[rank] += time.thread_time() - before

    def evaluate(self) -> None:
        """Evaluate the accelerations once."""
        if len(self.parts[0].posts):
            self.phase("tell_poses")
            told = np.array([part.told for part in self.parts])
            for part in self.parts:
                part.all_told[:] = told
            self.phase("place_frames")
        self.phase("backward")
        messages = np.array([part.message for part in self.parts])
        for part in self.parts:
            part.messages[:] = messages
        self.phase("forward")

    def accelerations(self) -> Any:
        """Return zdd (n,)."""
        found = np.zeros(sum(map(len, self.split.shares)) + len(self.split.trunk))
        for part in self.parts:
            found[part.coordinates] = part.scratch.zdd[part.places]
        return found


def counts(work: InTurn) -> dict[str, int]:
    """Return the work of the busiest rank, and the messages of an evaluation."""
    passed = [part.end for part in work.parts]
    rows = [int(part.border.pointer[part.end]) for part in work.parts]
    part = work.parts[0]
    return {
        "dofs": max(passed), "rows": max(rows), "unknowns": len(part.reduced.gamma),
        "messages": 0 if len(work.parts) == 1 else 1 + bool(len(part.posts)),
        "numbers": 0 if len(work.parts) == 1 else part.length + part.told.size,
    }  # fmt: skip


def measured() -> list[dict[str, Any]]:
    """Return counts and times by length and number of ranks."""
    return [one for k in LENGTHS for one in of_length(k)]


def of_length(k: int) -> list[dict[str, Any]]:
    """Return counts and times of one loop by number of ranks."""
    system, z, zd = growth.starts((k,))[k]
    works = {ranks: InTurn(system, z, zd, ranks) for ranks in RANKS}
    right, least = works[1].accelerations(), dict.fromkeys(RANKS, np.inf)
    for _ in range(SAMPLES):
        for ranks, work in works.items():
            work.seconds[:] = 0.0
            for _ in range(TURNS):
                work.evaluate()
            least[ranks] = min(least[ranks], float(work.seconds.max()) / TURNS)
    clock = {ranks: growth.asked("growth", ranks, str(k))[str(k)]["least"] for ranks in STARTED}
    found = []
    for ranks, work in works.items():
        apart = float(np.abs(work.accelerations() - right).max() / np.abs(right).max())
        one = {"k": k, "ranks": ranks, **counts(work), "kernels": least[ranks], "apart": apart}
        found.append(one | ({"clock": clock[ranks]} if ranks in clock else {}))
    return found


def words(found: list[dict[str, Any]]) -> str:
    """Return the table."""
    rows = []
    for one in found:
        alone = next(other["kernels"] for other in found if other["k"] == one["k"])
        clock = f"{1e6 * one['clock']:.1f}" if "clock" in one else ""
        names = ("k", "ranks", "dofs", "rows", "unknowns", "messages", "numbers")
        times = [f"{1e6 * one['kernels']:.1f}", f"{alone / one['kernels']:.2f}", clock]
        rows.append([*(str(one[name]) for name in names), *times, f"{one['apart']:.0e}"])
    head = ["k", "ranks", "dofs of the busiest", "its rows", "unknowns", "messages", "numbers of a rank"]
    body = table([*head, "kernels [us]", "speed-up of kernels", "by the clock [us]", "accelerations apart"], rows)
    return f"One loop on more ranks than its two branches, an evaluation ({len(STAGES)} make a step):\n\n{body}"
