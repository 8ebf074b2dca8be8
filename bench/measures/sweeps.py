"""Cost of a sweep: ``python -m bench.measures.sweeps`` prints tables, ``--write`` keeps them, ``--runs N`` is short

Processor times, and shares of wall time in which a worker has runs to make, mean the same on a loaded machine. The
time of a sweep of a million runs is computed from measured numbers and one assumed bandwidth.
"""

import math
import os
import pickle
import resource
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

import rtmbs
from bench.documents import DOCS, table, told
from rtmbs.library.linkages import crank_rocker
from rtmbs.studies.sweeps.engines import CHUNK_SECONDS, DEPTH, MOST, SERVED, RunRow, RunRows, Task
from rtmbs.studies.sweeps.result import Folder, RowTable, SweepResult

RUNS, FEW = 10_000, 50
WORKERS = 2
T_END, H = 1.0, 0.01  # of a run [s]
MEASURE = {"peak": "largest crank_pivot.rate", "end": "last crank_pivot.angle"}
MILLION = 1_000_000
CREWS = (1, 10, 100, 1000)
BANDWIDTH = 125e6  # of the scheduler's line, assumed: 1 Gbit/s [bytes/s]
EMPTY = 300  # messages without a run
PAGE, NAME = DOCS / "sweeps.md", "python -m bench.measures.sweeps"


class Cost(NamedTuple):
    """Measured numbers of a sweep."""

    run: float  # processor time of a run in its worker [s]
    overhead: float  # processor time of all processes for a run, beside the run itself [s]
    served: float  # processor time of this process for a run, messages included [s]
    row: float  # processor time of this process for a row of the table and of its file [s]
    size: float  # of the messages of a run [bytes]
    latency: float  # of a message without a run, there and back [s]
    message: float  # processor time of scheduler and client for a message [s]
    start: float  # from nothing to workers that are ready [s]


def swept(runs: int, engine: object) -> SweepResult:
    """Return the table of so many crank-rockers; rows go to a folder."""
    with tempfile.TemporaryDirectory() as folder:
        parameters = {"angle": rtmbs.Uniform(0.0, 6.2), "rate": rtmbs.Normal(6.0, 1.0)}
        return rtmbs.sweep(
            crank_rocker, parameters, MEASURE, t_end=T_END, h=H, design=rtmbs.LatinHypercube(runs, seed=1),
            engine=engine, folder=folder,
        )  # fmt: skip


def processor() -> tuple[float, float]:
    """Return the processor time of this process and of its children that ended [s]."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def measured(runs: int) -> tuple[SweepResult, Cost]:
    """Return the table of ``runs`` crank-rockers, and the costs: those of ``FEW`` runs are taken off."""
    engine = rtmbs.Processes(WORKERS)
    swept(FEW, engine)  # imports
    marks, tables = [processor()], []
    for count in (FEW, runs):
        tables.append(swept(count, engine))
        marks.append(processor())
    few, many = tables
    own, children = np.diff([np.diff(marks, axis=0)[k] for k in (0, 1)], axis=0)[0]
    inside, more = many.effort.processor - few.effort.processor, runs - FEW
    latency, message, start = empty_messages()
    cost = Cost(
        inside / more, (own + children - inside) / more, own / more, row_time(), message_size(), latency, message, start
    )
    return many, cost


def message_size() -> float:
    """Return the bytes of a run in the messages of a chunk of 25, which are a call and its answer."""
    task = Task(crank_rocker, length, T_END, H, None, {})
    shares = np.random.default_rng(0).random((25, 4)).tolist()
    points = [(k, {"angle": a, "rate": b}) for k, (a, b, _, _) in enumerate(shares)]
    rows = [RunRow(k, {"peak": a, "end": b}, "") for k, (_, _, a, b) in enumerate(shares)]
    return (len(pickle.dumps((task.rows, points))) + len(pickle.dumps(RunRows(rows, 0.0, 0.0)))) / len(points)


def row_time() -> float:
    """Return the processor time for a row, into the columns and a file of 20,000 rows [s]."""
    count, study = 20_000, {"study": "rows"}
    rows = [RunRow(k, {"peak": 0.1 * k, "end": 0.3 * k}, "") for k in range(count)]
    parameters = {"angle": np.arange(count) / 7.0, "rate": np.arange(count) / 3.0}
    with tempfile.TemporaryDirectory() as folder:
        keeper = RowTable(parameters, Folder(folder, study), tqdm(disable=True))
        begun = time.process_time()
        for k in range(0, count, 25):
            keeper.take(RunRows(rows[k : k + 25], 0.0, 0.0))
        keeper.flush()
        return (time.process_time() - begun) / count


def length(result: rtmbs.Result) -> dict[str, float]:
    """Return a number."""
    return {"length": len(result)}


def empty_messages() -> tuple[float, float, float]:
    """Return latency, processor time of a message, and the start, of a dask cluster with one worker on this machine."""
    task = Task(crank_rocker, length, T_END, H, None, {})
    begun = time.perf_counter()
    with rtmbs.Dask(workers=1).open() as crew:
        crew.executor.submit(task.rows, []).result()
        start = time.perf_counter() - begun
        trips = []
        for _ in range(EMPTY):
            sent = time.perf_counter()
            crew.executor.submit(task.rows, []).result()
            trips.append(time.perf_counter() - sent)
        before = time.process_time()  # scheduler and client live in this process
        for future in [crew.executor.submit(task.rows, []) for _ in range(EMPTY)]:
            future.result()
        message = (time.process_time() - before) / EMPTY
    return float(np.median(trips)), message, start


def estimate(cost: Cost, workers: int, runs: int = MILLION) -> tuple[float, dict[str, float]]:
    """Return the time of a sweep [s], and the time that each part of the machinery is busy [s].

    Workers, the scheduler with the collecting process, and the line work at the same time: the slowest one counts.
    The start comes before, and a last run after. Latency counts where a chunk is shorter: the next one waits at the
    worker. The chunks of the end are ever smaller, which adds messages.
    """
    seconds = max(CHUNK_SECONDS, SERVED * workers)
    chunk = max(1.0, min(seconds / cost.run, MOST, runs / workers / DEPTH))
    messages = runs / chunk + DEPTH * workers * math.log(chunk)
    parts = {
        "runs": runs * cost.run / workers,
        "scheduler and table": messages * cost.message + runs * cost.row,
        "line": runs * cost.size / BANDWIDTH,
        "latency": messages / workers * max(0.0, cost.latency - chunk * cost.run),
    }
    return cost.start + max(parts.values()) + cost.run + cost.latency, parts


def estimates(cost: Cost) -> str:
    """Return the table of a million runs."""
    rows = []
    for workers in CREWS:
        whole, parts = estimate(cost, workers)
        shares = [f"{seconds:.0f}" for seconds in parts.values()]
        alone, _ = estimate(cost, 1)
        rows.append([f"{workers}", f"{whole:.0f}", f"{alone / whole:.0f}", *shares, max(parts, key=parts.__getitem__)])
    head = ["workers", "sweep [s]", "speed-up", *(f"{name} [s]" for name in estimate(cost, 1)[1]), "bottleneck"]
    return table(head, rows)


def main() -> None:
    """Measure, print, and write with ``--write``."""
    words = sys.argv[1:]
    runs = int(words[words.index("--runs") + 1]) if "--runs" in words else RUNS
    begun = time.perf_counter()
    found, cost = measured(runs)
    load, memory = os.getloadavg()[1], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    rows = [
        ["runs, of them failed", f"{len(found)}, {len(found.failed)}"],
        ["share of the time of both workers spent in runs", f"{100 * found.effort.busy:.1f} %"],
        ["processor time of a run in its worker", f"{1e3 * cost.run:.1f} ms"],
        ["overhead: processor time for a run beside the run", f"{1e3 * cost.overhead:.2f} ms"],
        ["of that in the process that collects", f"{1e3 * cost.served:.2f} ms"],
        ["processor time for a row, in the table and in its file", f"{1e6 * cost.row:.1f} us"],
        ["messages of a run", f"{cost.size:.0f} bytes"],
        ["latency of a message of dask.distributed", f"{1e3 * cost.latency:.1f} ms"],
        ["processor time of scheduler and client for a message", f"{1e3 * cost.message:.2f} ms"],
        ["start of the cluster", f"{cost.start:.1f} s"],
        ["wall time of the sweep", f"{found.effort.wall:.0f} s, at a load of {load:.1f} on {os.cpu_count()} cores"],
        ["memory of the collecting process, at most", f"{memory:.0f} MB"],
    ]
    told(f"{table(['', 'measured'], rows)}\n\nA million runs, computed:\n\n{estimates(cost)}", PAGE, NAME)
    print(f"{time.perf_counter() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
