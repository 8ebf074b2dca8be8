"""Measure a long run that writes its channels to a file while it goes on, beside the same run without a record.

    python -m bench.recording                       # 10^6 samples of 50 numbers; a few minutes
    python -m bench.recording --samples 100000      # shorter
    python -m bench.recording --write               # puts the table into docs/results.md

Each run has a process of its own, and the two kinds take turns. Time is that of ``Simulation.run``, with the file
finished. Processor time counts all threads, and does not depend on what else the machine does. Memory is the peak of
the process.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.documents import DOCS, insert, table
from rtmbs import At, Result, Simulation, library, load_result

COLUMNS = 50  # numbers a sample, beside the time
MECHANISMS: dict[str, dict[str, int]] = {"crank_rocker": {}, "fourbar": {"ny": 4, "nz": 10}}
HEAD = [
    "mechanism", "samples", "numbers", "file [MB]", "without [s]", "recorded [s]", "ratio", "processor time [s]",
    "recorded [s]", "ratio", "peak memory without [MB]", "recorded [MB]",
]  # fmt: skip
PLAIN, RECORDED = "plain", "recorded"


def main() -> None:
    """Measure every mechanism, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mechanisms", nargs="*", default=["fourbar"], choices=list(MECHANISMS))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measured(options.child, options.mechanisms[0], options.samples)))
        return
    rows = [row(name, options.samples, options.rounds) for name in options.mechanisms]
    text = table(HEAD, rows)
    print(text)
    if options.write:
        insert(DOCS / "results.md", "python -m bench.recording", text)


def row(name: str, samples: int, rounds: int) -> list[str]:
    """Return the row of one mechanism: the fastest of some rounds in turns."""
    found: dict[str, list[dict[str, Any]]] = {PLAIN: [], RECORDED: []}
    for _ in range(rounds):
        for kind, runs in found.items():
            runs.append(child(kind, name, samples))
    plain, recorded = (
        {name: min(one[name] for one in found[kind]) for name in found[kind][0]} for kind in (PLAIN, RECORDED)
    )
    times = [
        text
        for what in ("seconds", "processor")
        for text in (f"{plain[what]:.1f}", f"{recorded[what]:.1f}", f"{recorded[what] / plain[what]:.2f}")
    ]
    parameters = "".join(f" {value}" for value in MECHANISMS[name].values()).strip().replace(" ", " x ")
    return [
        f"{name} {parameters}".strip(),
        f"{samples:,}",
        f"{recorded['columns']}",
        f"{recorded['file_MB']:.0f}",
        *times,
        f"{max(one['peak_MB'] for one in found[PLAIN]):.0f}",
        f"{max(one['peak_MB'] for one in found[RECORDED]):.0f}",
    ]


def child(kind: str, name: str, samples: int) -> dict[str, Any]:
    """Measure in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "bench.recording",
        "--child",
        kind,
        "--mechanisms",
        name,
        "--samples",
        str(samples),
    ]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    return answer


def measured(kind: str, name: str, samples: int) -> dict[str, Any]:
    """Return time and memory of one run."""
    h = 1e-4
    system = library.build(name, **MECHANISMS[name]).compile()
    first = Simulation(system, h=h).run(10 * h)
    names, columns = chosen(first)
    sim, t_end = Simulation(system, h=h), (samples - 1) * h
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        start, used = time.perf_counter(), time.process_time()
        if kind == PLAIN:
            sim.run(t_end, record=At([t_end]))
        else:
            sim.run(t_end, channels=names, file=path)
        seconds, processor = time.perf_counter() - start, time.process_time() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
        size = path.stat().st_size if kind == RECORDED else 0
        if kind == RECORDED:
            assert len(load_result(path)) == samples
    return {"seconds": seconds, "processor": processor, "peak_MB": peak, "file_MB": size / 1e6, "columns": columns}


def chosen(result: Result) -> tuple[list[str], int]:
    """Return channels of bodies and joints with COLUMNS numbers together, in the order of the result."""
    names, columns = list[str](), 0
    for name in result.names():
        size = max(len(result.about(name)[0]), 1)
        if name != "t" and columns + size <= COLUMNS:
            names.append(name)
            columns += size
    return names, columns


if __name__ == "__main__":
    main()
