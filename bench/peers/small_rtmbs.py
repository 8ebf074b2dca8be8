"""The time of one step of small mechanisms inside ``Simulation.run``, recording included."""

import time

from bench.peers.mechanism import SMALL, T_SMALL, Mechanism
from bench.peers.rtmbs_joints import prepared


def measure(_: Mechanism) -> dict[str, float]:
    """Return microseconds a step by the name of the mechanism."""
    return {name: step_time(build(), h) for name, (build, h) in SMALL.items()}


def step_time(mechanism: Mechanism, h: float) -> float:
    """Run 10 s and return the time of a step [us]; kernels are loaded by a short run before."""
    prepared(mechanism, h).run(10 * h)
    sim = prepared(mechanism, h)
    before = time.perf_counter()
    sim.run(T_SMALL)
    return 1e6 * (time.perf_counter() - before) / round(T_SMALL / h)
