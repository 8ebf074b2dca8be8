"""rtmbs as in ``rtmbs_joints``, on two threads: rows of the parallel layout share nothing but ground."""

from bench.peers import rtmbs_joints
from bench.peers.mechanism import Mechanism, Outcome

THREADS = 2


def simulate(mechanism: Mechanism, h: float, steps: int) -> Outcome:
    """Run ``steps`` steps of ``h`` in one call, recording."""
    return rtmbs_joints.simulate(mechanism, h, steps, THREADS)
