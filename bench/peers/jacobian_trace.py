"""One pair K, C of rtmbs by ``trace``: Q of ``page.py`` recorded once, its sparse Jacobian replayed as a program.

The entries that are not zero are what is timed, for the other program writes no dense matrix either.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.peers.mechanism import Mechanism
from bench.peers.rtmbs_joints import prepared
from rtmbs.ad import Replay
from rtmbs.semirecursive.sources import make_source

STEP = 5e-3  # [s]; a Simulation wants one
REPEATS = 50

Array = NDArray[np.float64]


class Recorded(NamedTuple):
    """The record of Q and the point at which it is differentiated."""

    replay: Replay  # Q (n,) by x = [z, zd] (2 n,) with parameters p = [u, R0]
    x: Array
    p: Array
    seconds: float  # of recording


def measure(mechanism: Mechanism) -> dict[str, float]:
    """Return milliseconds of one pair, seconds of preparation, operations and entries of the program."""
    replay, x, p, recording = recorded(mechanism)
    before = time.perf_counter()
    replay.entries(x, p)
    elimination = time.perf_counter() - before
    return {
        "pair_ms": fastest(replay.entries, x, p),
        "prepare_s": recording + elimination,
        "operations": replay.jacobian_entries.sparse.record.operations,
        "entries": len(replay.row),
    }


def recorded(mechanism: Mechanism) -> Recorded:
    """Record Q of the mechanism; the point is its start."""
    sim = prepared(mechanism, STEP)
    state = sim.state
    before = time.perf_counter()
    source = make_source("trace", sim.system)
    seconds = time.perf_counter() - before
    replay: Any = source.derivatives  # type: ignore[union-attr]
    return Recorded(replay, np.concatenate([state.z, state.zd]), np.concatenate([state.u, state.R0.ravel()]), seconds)


def fastest(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the shortest time of a call [ms]."""
    times = []
    for _ in range(REPEATS):
        before = time.perf_counter()
        call(*arguments)
        times.append(time.perf_counter() - before)
    return 1e3 * min(times)
