"""One measurement in a process of its own: ``python -m bench.peers.worker CORES MODULE LAYOUT NY NZ H T_END``.

The last line of standard output is the answer as JSON. The caller sets the environment that keeps libraries to one
thread; the process keeps itself to so many cores, and says what share of a core it was given.
"""

import importlib
import json
import os
import sys
import time

from bench.peers import mechanism as description
from bench.peers.mechanism import Mechanism


def main() -> None:
    """Read the arguments, measure, print."""
    cores, module, layout, ny, nz, *rest = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-int(cores) :])
    mechanism = description.build(layout, int(ny), int(nz))
    peer = importlib.import_module(f"bench.peers.{module}")
    wall, processor = time.perf_counter(), time.process_time()
    answer = run(peer, mechanism, *map(float, rest)) if rest else peer.measure(mechanism)
    share = (time.process_time() - processor) / (time.perf_counter() - wall)
    print(json.dumps({"answer": answer, "share": share}), flush=True)


def run(peer: object, mechanism: Mechanism, h: float, t_end: float) -> dict[str, object]:
    """Return what one simulation gave."""
    outcome = peer.simulate(mechanism, h, round(t_end / h))  # type: ignore[attr-defined]
    return {
        "seconds": outcome.seconds,
        "theta": description.first_angles(mechanism, outcome).tolist(),
        "loop_gap": description.largest_gap(mechanism, outcome, mechanism.loops),
        "pin_gap": description.largest_gap(mechanism, outcome, mechanism.tree),
    }


if __name__ == "__main__":
    main()
