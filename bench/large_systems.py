"""Measure start and steps of large structures of pinned bars against Exudyn, at the same step and beside their errors.

    python -m bench.large_systems                                   # all kinds and sizes; some minutes
    python -m bench.large_systems --kinds rope --sizes 100 1000     # some
    python -m bench.large_systems --python venv/bin/python          # Exudyn in another environment
    python -m bench.large_systems --write                           # puts the table into docs/performance.md

The structures are those of ``bench.campaigns.large_structures``. Programs take turns, a process each. Times are
processor times of one thread. The start of rtmbs is ``compile`` and ``Simulation``, that of Exudyn the building of its
system. The error is the largest distance of a node from its place in natural coordinates, over the largest way of a
node. It is found up to 1,000 bars.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from bench.campaigns.large_structures import GRAPHS, NaturalCoordinates, Structure, model_of, nodes_of, structure
from bench.documents import DOCS, insert, table
from rtmbs import Simulation

H, STEPS = 1e-3, 40
SIZES = (100, 200, 500, 1000, 2000, 5000, 10000)
KNOWN = 1000  # bars up to which the error is found
PATIENCE = 600  # seconds that one program may take for one structure
HEAD = [
    "structure", "bars", "compile and start [s]", "step [ms]", "error", "memory [MB]", "Exudyn: build [s]", "step [ms]",
    "error", "step, rtmbs / Exudyn",
]  # fmt: skip


def main() -> None:
    """Measure every structure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="*", default=list(GRAPHS), choices=list(GRAPHS))
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--python", default=sys.executable, help="interpreter that has Exudyn")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measured(drawn(options.child[0], int(options.child[1])))))
        return
    rows = []
    for kind in options.kinds:
        for size in options.sizes:
            rows.append(row(kind, size, options.python))
            print(" | ".join(rows[-1]), flush=True)
    text = table(HEAD, rows)
    if options.write:
        insert(DOCS / "performance.md", "python -m bench.large_systems", text)
    else:
        print(text)


def drawn(kind: str, count: int) -> Structure:
    """Return the structure of a kind and size; bars are 0.2 m long."""
    return structure(kind, count, np.random.default_rng(count), 0.2)


def row(kind: str, count: int, python: str) -> list[str]:
    """Return the row of one structure, both programs in turns."""
    one = drawn(kind, count)
    own = child([sys.executable, "-m", "bench.large_systems", "--child", kind, str(count)], "")
    peer = child([python, "-m", "bench.peers.exudyn_structures"], json.dumps(as_lists(one)))
    wanted = NaturalCoordinates(one).motion(STEPS * H) if count <= KNOWN else None
    found = [kind, f"{len(one.bars):,}"]
    if own:
        found += [f"{own['start']:.2f}", f"{1e3 * own['step']:.2f}", error(own, one, wanted), f"{own['memory']:.0f}"]
    else:
        found += ["none"] * 4
    if peer:
        found += [f"{peer['start']:.2f}", f"{1e3 * peer['step']:.2f}", error(peer, one, wanted)]
    else:
        found += ["none"] * 3
    return [*found, f"{own['step'] / peer['step']:.2f}" if own and peer else ""]


def child(command: list[str], given: str) -> dict[str, Any]:
    """Return what a process prints; nothing when it fails or takes too long."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=True
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return {}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def as_lists(one: Structure) -> dict[str, Any]:
    """Return the structure in lists, for JSON."""
    return {
        "places": np.column_stack((one.places.real, one.places.imag)).tolist(), "bars": one.bars.tolist(),
        "fixed": one.fixed.tolist(), "mass": one.mass.tolist(), "inertia": one.inertia.tolist(),
        "center": np.column_stack((one.center.real, one.center.imag)).tolist(),
        "gravity": [one.gravity.real, one.gravity.imag], "h": H, "steps": STEPS,
    }  # fmt: skip


def error(found: dict[str, Any], one: Structure, wanted: Any) -> str:
    """Return the relative error of the last places."""
    if wanted is None:
        return ""
    places = np.array(found["places"]) @ (1.0, 1.0j)
    return f"{np.abs(places - wanted).max() / np.abs(wanted - one.places).max():.1e}"


def measured(one: Structure) -> dict[str, Any]:
    """Return times [s], memory [MB] and the last places of a run of rtmbs."""
    small = Simulation(model_of(drawn("rope", 30), np.eye(3)).compile(), h=H)  # loads the kernels
    small.step()
    model, clock = model_of(one, np.eye(3)), time.process_time
    begun = clock()
    sim = Simulation(model.compile(), h=H)
    started = clock()
    for _ in range(STEPS):
        sim.step()
    ended = clock()
    places = nodes_of(sim, one, np.eye(3)) if len(one.bars) <= KNOWN else one.places
    return {
        "start": started - begun,
        "step": (ended - started) / STEPS,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
        "places": np.column_stack((places.real, places.imag)).tolist(),
    }


if __name__ == "__main__":
    main()
