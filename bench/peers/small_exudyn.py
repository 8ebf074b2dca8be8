"""The time of one step of small mechanisms in Exudyn with planar bodies."""

from bench.peers.exudyn_planar import simulate
from bench.peers.mechanism import SMALL, T_SMALL, Mechanism


def measure(_: Mechanism) -> dict[str, float]:
    """Return microseconds a step by the name of the mechanism."""
    answer = {}
    for name, (build, h) in SMALL.items():
        steps = round(T_SMALL / h)
        answer[name] = 1e6 * simulate(build(), h, steps).seconds / steps
    return answer
