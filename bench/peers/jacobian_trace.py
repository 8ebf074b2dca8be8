"""One pair K, C of rtmbs by ``trace``: Q of ``page.py`` recorded once, its sparse Jacobian evaluated as a program.

The entries that are not zero are what is timed, for the other program writes no dense matrix either.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.peers.mechanism import Mechanism
from bench.peers.rtmbs_joints import prepared
from rtmbs.ad import Evaluator
from rtmbs.semirecursive.sources import make_source

STEP = 5e-3  # [s]; a Simulation wants one
REPEATS = 50

Array = NDArray[np.float64]


class Recorded(NamedTuple):
    """The tape of Q and the point at which it is differentiated."""

    evaluator: Evaluator  # Q (n,) by x = [z, zd] (2 n,) with parameters p = [u, R0]
    x: Array
    p: Array
    seconds: float  # of recording


def measure(mechanism: Mechanism) -> dict[str, float]:
    """Return milliseconds of one pair, seconds of preparation, operations and entries of the program."""
    evaluator, x, p, recording = recorded(mechanism)
    before = time.perf_counter()
    evaluator.entries(x, p)
    elimination = time.perf_counter() - before
    return {
        "pair_ms": fastest(evaluator.entries, x, p),
        "prepare_s": recording + elimination,
        "operations": evaluator.jacobian_entries.sparse.tape.operations,
        "entries": len(evaluator.row),
    }


def recorded(mechanism: Mechanism) -> Recorded:
    """Tape Q of the mechanism; the point is its start."""
    sim = prepared(mechanism, STEP)
    state = sim.state
    before = time.perf_counter()
    source = make_source("trace", sim.system)
    seconds = time.perf_counter() - before
    evaluator: Any = source.derivatives  # type: ignore[union-attr]
    return Recorded(
        evaluator, np.concatenate([state.z, state.zd]), np.concatenate([state.u, state.R0.ravel()]), seconds
    )


def fastest(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the shortest time of a call [ms]."""
    times = []
    for _ in range(REPEATS):
        before = time.perf_counter()
        call(*arguments)
        times.append(time.perf_counter() - before)
    return 1e3 * min(times)
