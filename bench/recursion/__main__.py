"""``python -m bench.recursion``: the tables of recursion; ``--write`` puts them into docs/recursion.md.

The slider-crank of the paper, growth of the generated loop on one rank, two ranks and two threads. The values stand in
``bench/recursion.json``. Needs mpi4py and mpiexec.
"""

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from bench.documents import DOCS, insert, table
from bench.recursion import growth, slider_crank
from bench.recursion.slider_crank import OUTPUT, PAPER, SPANS

PAGE, VALUES = DOCS / "recursion.md", Path(__file__).parents[1] / "recursion.json"
MARKER = "python -m bench.recursion"
WAYS = {
    "one rank": ("growth", 1),
    "two ranks": ("growth", 2),
    "one thread": ("threads", 1),
    "two threads": ("threads", 2),
}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog=MARKER, description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the tables into the page, and the values")
    parser.add_argument("--read", action="store_true", help="measure nothing, take the values that are kept")
    parser.add_argument(
        "--only", choices=("growth", "slider-crank", "errors"), help="measure this, keep the rest as it was"
    )
    options = parser.parse_args()
    record = json.loads(VALUES.read_text(encoding="utf-8")) if VALUES.exists() else {}
    if not options.read:
        record["machine"] = machine()
        if options.only in (None, "growth"):
            record |= {"growth": measured_growth(), "exchange": growth.latency(2)}
        if options.only in (None, "slider-crank"):
            record |= measured_crank()
        if options.only in (None, "errors"):
            record["errors"] = measured_errors()
    text = report(record)
    print(text)
    if options.write:
        VALUES.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        insert(PAGE, MARKER, text)


def measured_growth() -> dict[str, Any]:
    """Return seconds an evaluation by way and length."""
    found = {}
    for name, (what, count) in WAYS.items():
        if what == "growth":
            found[name] = growth.asked("growth", count)
        else:
            found[name] = growth.asked("threads", 1, str(count))
    return found


def measured_crank() -> dict[str, Any]:
    """Return runs of the slider-crank on one and two ranks, and errors against the Simulation."""
    runs = []
    for output in OUTPUT:
        for span in SPANS:
            one, two = (growth.asked("crank", count, str(span), str(output)) for count in (1, 2))
            apart = float(np.abs(np.array(one["q"]) - two["q"]).max())
            runs.append({"span": span, "output": output, "seconds": [one["seconds"], two["seconds"]]})
            runs[-1]["apart"] = apart
    return {"crank": runs}


def measured_errors() -> dict[str, float]:
    """Return the largest difference of tight runs from the Simulation, up to each span."""
    right, found = slider_crank.reference(SPANS[-1]), slider_crank.of_formulation(SPANS[-1])
    apart = np.abs(np.array(found) - right).max(axis=1)
    return {f"{span:g}": float(apart[: int(span) + 1].max()) for span in SPANS}


def report(record: dict[str, Any]) -> str:
    """Return the text between the markers."""
    parts = [f"{record['machine']}."]
    if "crank" in record:
        parts += [crank_table(record)]
    if "errors" in record:
        parts += [crank_errors(record)]
    if "growth" in record:
        parts += [growth_table(record["growth"]), growth_words(record)]
    return "\n\n".join(parts)


def crank_table(record: dict[str, Any]) -> str:
    """Return the table of the slider-crank beside the paper's."""
    rows = []
    for run in record["crank"]:
        paper = PAPER.get((run["span"], run["output"]), ())
        ours = [f"{seconds:.2f}" for seconds in run["seconds"]]
        theirs = [f"{seconds:.3f}" for seconds in paper] or ["", ""]
        rows.append([f"{run['span']:g}", f"{run['output']:g}", *ours, *theirs, f"{run['apart']:.0e}"])
    head = ["simulated [s]", "output step [s]", "one rank [s]", "two ranks [s]", "paper, one [s]", "paper, two [s]"]
    return table([*head, "coordinates apart"], rows)


def crank_errors(record: dict[str, Any]) -> str:
    """Return a sentence about errors."""
    listed = ", ".join(f"{error:.0e} up to {span} s" for span, error in record["errors"].items())
    return (
        "`formulations.Recursive` under DOP853 at 1e-12 differs from the Simulation in extrapolated steps of "
        f"{1e3 * slider_crank.SMALL:g} ms, at whole seconds, in rad and m, by {listed}."
    )


def growth_table(found: dict[str, Any]) -> str:
    """Return times of an evaluation by length and way."""
    rows = []
    for k in found["one rank"]:
        times = [found[name][k]["least"] for name in WAYS]
        shares = [f"{times[0] / times[1]:.2f}", f"{times[2] / times[3]:.2f}"]
        run = f"{times[0] * 4 * growth.T_END / growth.H:.2f}"
        rows.append([k, *(f"{1e6 * t:.1f}" for t in times), *shares, run])
    head = ["k", *(f"{name} [us]" for name in WAYS), "ranks: speed-up", "threads: speed-up"]
    return table([*head, f"{growth.T_END:g} s in steps of {1e3 * growth.H:g} ms, one rank [s]"], rows)


def growth_words(record: dict[str, Any]) -> str:
    """Return sentences about growth, and where two pay."""
    found = record["growth"]
    k = np.array([int(key) for key in found["one rank"]])
    t = np.array([found["one rank"][str(key)]["least"] for key in k])
    whole = np.log(t[-1] / t[0]) / np.log(k[-1] / k[0])
    last = np.log(t[-1] / t[-2]) / np.log(k[-1] / k[-2])
    pays = {}
    for one, two in (("one rank", "two ranks"), ("one thread", "two threads")):
        faster = [key for key in found[one] if found[two][key]["least"] < found[one][key]["least"]]
        pays[two] = f"{two} pay from k = {faster[0]} on" if faster else f"{two} pay at no length measured"
    return (
        f"The cost of an evaluation grows with k^{whole:.2f} over all lengths, and with k^{last:.2f} over the last "
        f"two. Here {pays['two ranks']}, and {pays['two threads']}. An exchange of messages between two ranks takes "
        f"{1e6 * record['exchange']['least']:.1f} us at least, and {1e6 * record['exchange']['median']:.1f} us in the "
        "median."
    )


def machine() -> str:
    """Return what was measured on."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    python = platform.python_version()
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {python}, load {load:.1f} at the start"


if __name__ == "__main__":
    main()
