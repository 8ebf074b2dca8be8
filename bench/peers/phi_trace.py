"""The Jacobian of Phi by the tape of rtmbs: the slider-crank of the paper, and a chain of loops.

What is timed is one call that fills the entries that are not zero, as in ``jacobian_trace``.
"""

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.measures import driven
from bench.peers.jacobian_trace import fastest
from rtmbs.ad import Evaluator, Tape
from rtmbs.kinematics.equations import KinematicEquations, Programs

Array = NDArray[np.float64]
SIZES = (0, 1, 10, 40)  # loops; 0 is the slider-crank


class Recorded(NamedTuple):
    """The tape of Phi(q, f) and the point at which it is differentiated."""

    tape: Tape
    q: Array
    f: Array
    seconds: float  # of recording


def measure(loops: int) -> dict[str, float]:
    """Return microseconds of one Jacobian, seconds of preparation, operations and entries."""
    known = recorded(loops)
    before = time.perf_counter()
    evaluator = Evaluator(known.tape)
    evaluator.entries(known.q, known.f)
    elimination = time.perf_counter() - before
    return {
        "jacobian_us": 1e3 * fastest(evaluator.jacobian_entries.run, known.q, known.f),
        "prepare_s": known.seconds + elimination,
        "operations": evaluator.jacobian_entries.sparse.tape.operations,
        "entries": len(evaluator.row),
    }


def recorded(loops: int) -> Recorded:
    """Tape Phi of one of the mechanisms; the point is its reference pose, a little off."""
    model = driven.loops(loops) if loops else driven.paper_slider_crank()
    equations = KinematicEquations(model)
    before = time.perf_counter()
    tape = Programs(equations).tape
    seconds = time.perf_counter() - before
    q = equations.start + 0.01 * np.random.default_rng(0).normal(size=equations.n)
    return Recorded(tape, q, equations.drivers_at(np.array([0.1]))[0, 0], seconds)
