"""Flops and bytes of every phase of a step, the floor they imply, and what was measured: ``python -m bench.phases``.

Flops are counted by running the text of the kernels, uncompiled, with numbers that count. Bytes are those of the arrays
that a phase reads or writes, each once. The rates of the machine are measured in the same run. The tables go to
``docs/performance.md``; ``--json`` keeps the values and ``--read`` makes the tables of them again.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np

from bench.documents import insert, table
from rtmbs import IterationMeter, Simulation, library
from rtmbs.integrators.settings import PHASES

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
H, NY, STEPS, ROUNDS = 5e-3, 4, 200, 5
LAYOUTS = ("stacked", "parallel")
GROWTH = {"stacked": (10, 20, 40, 80, 160), "parallel": (40, 80, 160, 320, 640)}
REPEATS = 200  # of a loop that measures a rate

Values = dict[str, Any]


# ----------------------------------------------------------------------------------------------- rates of the machine


@numba.njit(error_model="numpy")
def tuples(count, a, out):
    """Products of 3 x 3 matrices with vectors, kept in scalars as in the passes: 15 flops each."""
    for _ in range(count):
        for i in range(len(a)):
            x, y, z = a[i, 9], a[i, 10], a[i, 11]
            out[i, 0] = a[i, 0] * x + a[i, 1] * y + a[i, 2] * z
            out[i, 1] = a[i, 3] * x + a[i, 4] * y + a[i, 5] * z
            out[i, 2] = a[i, 6] * x + a[i, 7] * y + a[i, 8] * z


@numba.njit(error_model="numpy")
def updates(count, x, y):
    """x -= c y for four y at a time, as in the fronts: 8 flops a number."""
    for _ in range(count):
        for j in range(len(x)):
            x[j] = x[j] - 1e-9 * y[0, j] - 2e-9 * y[1, j] - 3e-9 * y[2, j] - 4e-9 * y[3, j]


@numba.njit(error_model="numpy")
def copies(count, a, b):
    """b = a: 16 bytes a number."""
    for _ in range(count):
        for k in range(len(a)):
            b[k] = a[k]


@numba.njit(parallel=True)
def fork(a):
    """Give two threads a number each, and wait for both."""
    for k in numba.prange(2):
        a[64 * k] += 1.0


@numba.njit
def forks(count, a):
    """Do so many times."""
    for _ in range(count):
        fork(a)


def rates() -> Values:
    """Return what one core does: flops a second in scalars and in vectors, bytes a second from the second cache.

    And what it takes to hand work to a second thread and wait for it [us].
    """
    rng = np.random.default_rng(0)
    a, out, x, y, b = rng.random((64, 12)), np.zeros((64, 3)), rng.random(512), rng.random((4, 512)), rng.random(32_000)
    scalar = shortest(tuples, a, out) / (64 * 15)
    vector = shortest(updates, x, y) / (512 * 8)
    copied = shortest(copies, b, b.copy()) / (16 * len(b))
    forked = 1e6 * shortest(forks, np.zeros(128))
    return {"scalar": 1.0 / scalar, "vector": 1.0 / vector, "bytes": 1.0 / copied, "fork_us": forked}


def shortest(loop: Any, *arguments: Any) -> float:
    """Return the shortest time of one turn of a loop [s]."""
    loop(1, *arguments)
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        loop(REPEATS, *arguments)
        times.append((time.perf_counter() - start) / REPEATS)
    return min(times)


# ---------------------------------------------------------------------------------------------------- flops and bytes


def flops(sim: Simulation) -> Values:
    """Return the flops of one call of every phase at the present state, counted in another, uncompiled process."""
    e, state = sim.equations, sim.state
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.pickle"
        settings = sim._store.work.settings
        path.write_bytes(pickle.dumps((e.tables, e.lu, e.ws, e.work, e.alpha, state, settings)))
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        command = [sys.executable, "-m", "bench.measures.flops", str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: Values = json.loads(done.stdout)
    return found


def touched(sim: Simulation) -> Values:
    """Return the bytes of the arrays that one call of every phase reads or writes."""
    e = sim.equations
    t, ws, work = e.tables, e.ws, e.work
    bodies = (ws.A, ws.r, ws.S, ws.V, ws.acc, ws.inertia, ws.momentum, ws.wrench, ws.Fc, ws.tau)
    branches = (t.connectors.pointer, t.connectors.dof, t.connectors.sign, ws.Phi_z, ws.Phi, ws.G)
    one_pass = (*t.dofs, *t.closures, *bodies, *branches)
    pairs = (*t.paths, *t.interfaces, t.connectors.entry, ws.Phi_z)
    tangent = (*pairs, *bodies, ws.Ic, ws.Bc, ws.X, ws.Y, ws.psid, work.original)
    index = (e.lu.fronts, e.lu.order, e.lu.rest, e.lu.relative)
    sizes = {
        "residual": one_pass,
        "tangent": tangent,
        "factor": (work.original, work.factored, work.remainder, *index),
        "solve": (work.factored, work.original, *index),
        "projection": (*one_pass, work.factored, *index),
    }
    return {phase: int(sum(array.nbytes for array in arrays)) for phase, arrays in sizes.items()}


# ----------------------------------------------------------------------------------------------------------- measured


def simulation(layout: str, nz: int) -> Simulation:
    """Return the four-bar, warm."""
    sim = Simulation(library.build("fourbar", ny=NY, nz=nz, layout=layout).compile(), h=H)
    for _ in range(3):
        sim.step()
    return sim


def phases(layout: str, nz: int = 40) -> Values:
    """Return flops, bytes, calls a step and microseconds a call of every phase.

    One call of ``solve`` is all of Newton's in a step: with a check of the residual after the new factor, and without.
    """
    sim = simulation(layout, nz)
    work, arrays = flops(sim), touched(sim)
    reports = [sim.step() for _ in range(STEPS)]
    calls = {name: float(np.mean([getattr(r, name) for r in reports])) for name in ("iterations", "factorisations")}
    calls["sweeps"] = float(np.mean([r.projections for r in reports]))
    each = {"residual": calls["iterations"], "tangent": calls["factorisations"], "factor": calls["factorisations"]}
    rows: Values = {}
    for phase in PHASES:
        a_step = 1e6 * float(np.median([r.phases[phase] for r in reports]))
        count = each.get(phase, 1.0)
        rows[phase] = {"flops": work[phase], "bytes": arrays[phase], "calls": count, "us": a_step / count}
    return {"layout": layout, "nz": nz, **calls, "phases": rows}


def growth(layout: str, nz: int) -> Values:
    """Return the time of a step inside ``run``, the median of five fifths of a second, and that of the start [s]."""
    simulation(layout, 1)  # loads the kernels
    started = time.perf_counter()
    sim = simulation(layout, nz)
    started = time.perf_counter() - started
    times, meter = [], IterationMeter()
    steps = round(0.2 / H)
    for _ in range(5):
        start = time.perf_counter()
        sim.run(sim.t + steps * H, observers=[meter])
        times.append((time.perf_counter() - start) / steps)
    return {"layout": layout, "nz": nz, "start_s": started, "us": 1e6 * np.median(times), "iterations": meter.mean}


def exponent(rows: list[Values]) -> float:
    """Return the slope of log time over log n_z, by least squares."""
    return float(np.polyfit(np.log([row["nz"] for row in rows]), np.log([row["us"] for row in rows]), 1)[0])


# ------------------------------------------------------------------------------------------------------------- tables

KIND = {"residual": "scalar", "tangent": "scalar", "factor": "vector", "solve": "vector", "projection": "scalar"}


def phase_table(rates: Values, found: Values) -> str:
    """Return one line a phase: work, floor, prediction, measurement."""
    lines = []
    for phase, row in found["phases"].items():
        moved = row["bytes"] / rates["bytes"]
        floor = 1e6 * max(row["flops"] / rates["vector"], moved)
        predicted = 1e6 * max(row["flops"] / rates[KIND[phase]], moved)
        work = [f"{row['calls']:.2f}", f"{1e-3 * row['flops']:.0f}", f"{1e-3 * row['bytes']:.0f}"]
        times = [f"{floor:.1f}", f"{predicted:.1f}", f"{row['us']:.1f}", f"{row['us'] / predicted:.1f}"]
        lines.append([phase, *work, *times])
    head = ["phase", "calls a step", "kflop", "kB", "floor [us]", "predicted [us]", "measured [us]", "ratio"]
    return table(head, lines)


def text(values: Values) -> str:
    """Return both tables and the growth."""
    r = values["rates"]
    said = (
        f"Rates of this core ({values['machine']}): {1e-9 * r['scalar']:.1f} Gflop/s in scalars, "
        f"{1e-9 * r['vector']:.1f} Gflop/s in vectors, {1e-9 * r['bytes']:.0f} GB/s copied within the second cache. "
        f"An empty loop over two threads takes {r['fork_us']:.0f} us."
    )
    parts = [said]
    for found in values["phases"]:
        parts += [
            f"**{found['layout'].capitalize()} {NY} x {found['nz']}**, one call of each phase:",
            phase_table(r, found),
        ]
    rows = [
        [row["layout"], str(row["nz"]), str((1 + 2 * NY) * row["nz"]), f"{row['us']:.0f}", f"{row['start_s']:.1f}"]
        for row in values["growth"]
    ]
    parts += [
        "Growth with n_z, one step inside `run`:",
        table(["layout", "n_z", "coordinates", "us a step", "start [s]"], rows),
    ]
    for layout in LAYOUTS:
        of = [row for row in values["growth"] if row["layout"] == layout]
        if len(of) > 1:
            parts.append(f"Exponent, {layout}, {of[0]['nz']} to {of[-1]['nz']}: {exponent(of):.2f}.")
    return "\n\n".join(parts)


def measure(quick: bool) -> Values:
    """Return everything; ``quick`` leaves the large mechanisms out."""
    import platform

    grown = [growth(layout, nz) for layout in LAYOUTS for nz in (GROWTH[layout][:2] if quick else GROWTH[layout])]
    machine = f"{platform.machine()}, Python {platform.python_version()}, numba {numba.__version__}"
    return {"machine": machine, "rates": rates(), "phases": [phases(layout) for layout in LAYOUTS], "growth": grown}


def main() -> None:
    parser = argparse.ArgumentParser(description="flops, bytes, floors and times of the phases of a step")
    parser.add_argument("--quick", action="store_true", help="the two smallest mechanisms of each layout only")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/performance.md")
    parser.add_argument("--json", type=Path, metavar="PATH", help="keep the values")
    parser.add_argument("--read", type=Path, metavar="PATH", help="make the tables of kept values")
    options = parser.parse_args()
    values = json.loads(options.read.read_text(encoding="utf-8")) if options.read else measure(options.quick)
    if options.json:
        options.json.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    print(text(values))
    if options.docs:
        insert(PAGE, "python -m bench.phases", text(values))


if __name__ == "__main__":
    main()
