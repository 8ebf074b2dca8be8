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
from bench.recursion import divide, growth, slider_crank, two_hosts
from bench.recursion.slider_crank import OUTPUT, PAPER, SPANS

PAGE, VALUES = DOCS / "recursion.md", Path(__file__).parents[1] / "recursion.json"
MARKER = "python -m bench.recursion"
PICTURE = DOCS / "recursion_slider_crank.png"
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
        "--only",
        choices=("growth", "slider-crank", "hosts", "divide", "errors"),
        help="measure this, keep the rest as it was",
    )
    options = parser.parse_args()
    record = json.loads(VALUES.read_text(encoding="utf-8")) if VALUES.exists() else {}
    if not options.read:
        record["machine"] = machine()
        if options.only in (None, "growth"):
            record |= {"growth": measured_growth(), "exchange": growth.latency(2)}
        if options.only in (None, "slider-crank"):
            record |= measured_crank()
        if options.only in (None, "hosts"):
            record |= measured_hosts()
        if options.only in (None, "divide"):
            record["divide"] = divide.measured()
        if options.only in (None, "errors"):
            record["errors"] = measured_errors()
    text = report(record)
    print(text)
    if options.write:
        VALUES.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        insert(PAGE, MARKER, text)
        draw_crank(record)


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
    """Return times of the slider-crank by span, output step and number of ranks: the 32 numbers of the document."""
    runs = {f"{output:g}": [growth.asked("crank", count, str(output)) for count in (1, 2)] for output in OUTPUT}
    found = {}
    for output, pair in runs.items():
        apart = float(np.abs(np.array(pair[0].pop("q")) - pair[1].pop("q")).max())
        found[output] = {"one": pair[0], "two": pair[1], "apart": apart}
    return {"crank": found}


def measured_hosts() -> dict[str, Any]:
    """Return what two hosts measured, or why there are none."""
    try:
        return {"hosts": two_hosts.measured()}
    except two_hosts.Unable as reason:
        return {"hosts": {"not run": str(reason)}}


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
    if "hosts" in record:
        parts += [hosts_words(record["hosts"])]
    if "divide" in record:
        parts += [divide.words(record["divide"])]
    if "errors" in record:
        parts += [crank_errors(record)]
    if "growth" in record:
        parts += [growth_table(record["growth"]), growth_words(record)]
    return "\n\n".join(parts)


def crank_table(record: dict[str, Any]) -> str:
    """Return the table of the slider-crank beside the paper's, and its picture."""
    rows = []
    for output in OUTPUT:
        run = record["crank"][f"{output:g}"]
        for span in SPANS:
            name = f"{span:g}"
            paper = [f"{seconds:.3f}" for seconds in PAPER.get((span, output), ())] or ["", ""]
            ours = [f"{run[ranks]['processor'][name]:.2f}" for ranks in ("one", "two")]
            walls = [f"{run[ranks]['wall'][name]:.2f}" for ranks in ("one", "two")]
            rows.append([name, f"{output:g}", *ours, *walls, *paper])
    apart = max(record["crank"][f"{output:g}"]["apart"] for output in OUTPUT)
    head = ["simulated [s]", "output step [s]", "one rank [s]", "two ranks [s]", "one, by the clock [s]"]
    said = f"One and two ranks differ by {apart:.0e} at whole seconds."
    body = table([*head, "two, by the clock [s]", "paper, one [s]", "paper, two [s]"], rows)
    return f"{body}\n\n{said}\n\n![Time over simulated time]({PICTURE.name})"


def draw_crank(record: dict[str, Any]) -> None:
    """Draw the times over the simulated time, a picture for each output step, as the paper's figure 4."""
    from rtmbs.results.tables import needed

    needed("matplotlib", "python -m bench.recursion --write", "plot").use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(OUTPUT), figsize=(9.0, 3.4), layout="constrained")
    for axis, output, letter in zip(axes, OUTPUT, "ab", strict=True):
        run = record["crank"][f"{output:g}"]
        for ranks, mark in (("one", "o-"), ("two", "s--")):
            times = [run[ranks]["processor"][f"{span:g}"] for span in SPANS]
            axis.plot(SPANS, times, mark, label=f"{ranks} rank{'s' * (ranks == 'two')}")
        known = [(span, PAPER[span, output]) for span in SPANS if (span, output) in PAPER]
        for k, mark in enumerate(("k^", "kv")):
            label = f"paper, {('one processor', 'two processors')[k]}"
            axis.plot([span for span, _ in known], [times[k] for _, times in known], mark, label=label)
        axis.set(xlabel="simulated time [s]", ylabel="processor time of a rank [s]")
        axis.set_title(f"({letter}) output step {output:g} s")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(PICTURE, dpi=110)


def hosts_words(found: dict[str, Any]) -> str:
    """Return a sentence about two hosts."""
    if "not run" in found:
        return f"Two hosts were not run: {found['not run']}."
    seen = " and ".join(words.split()[-1].split("/")[0] for words in found["addresses"])
    return (
        f"Two hosts, as two network namespaces with the addresses {seen}: a motion of 1 s differs from that of one "
        f"rank by {found['apart']:.0e}, and an exchange takes {1e6 * found['exchange']['least']:.0f} us at least."
    )


def crank_errors(record: dict[str, Any]) -> str:
    """Return a sentence about errors."""
    listed = ", ".join(f"{error:.0e} up to {span} s" for span, error in record["errors"].items())
    return (
        "`formulations.Recursive` runs under DOP853 at 1e-12. The Simulation takes extrapolated steps of "
        f"{1e3 * slider_crank.SMALL:g} ms. Differences at whole seconds in rad and m: {listed}."
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
