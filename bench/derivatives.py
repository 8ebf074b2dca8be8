"""Write the tables and the plot of docs/derivatives.md from what was measured: ``python -m bench.derivatives``.

``bench/table1.json`` is what ``python -m bench.table1 --json`` wrote, ``bench/table1_paper.json`` the same with
``--paper``, ``bench/newton.json`` what
``python bench/figures.py --only newton --json`` wrote.
"""

import json
from collections.abc import Iterable
from typing import Any

from bench.documents import insert, table
from bench.peers.registry import ROOT
from bench.sources_plot import main as draw
from bench.table1 import paper
from bench.table1.measure import DIFFERENCES, FOOTING, OURS, STEPS
from bench.table1.measure import PAPER as AS_PRINTED
from rtmbs.semirecursive.sources import SOURCES, STRUCTURED

TABLE1, NEWTON = ROOT / "bench" / "table1.json", ROOT / "bench" / "newton.json"
PRINTED = ROOT / "bench" / "table1_paper.json"
PAGE, PLOT = ROOT / "docs" / "derivatives.md", ROOT / "docs" / "sources.png"

Row = dict[str, Any]
Case = dict[str, Row]  # the rows of one mechanism by source

# From the fastest to the slowest; a new source comes last.
ORDER = (
    "trace",
    DIFFERENCES,
    "central-difference",
    "complex-step",
    "finite-difference-page",
    "autograd",
    "autograd-forward",
)
NAMES = (STRUCTURED, *ORDER, *(name for name in SOURCES if name not in ORDER))
AD = ("trace", "autograd", "autograd-forward")  # what differences of the same Q are compared with
LARGEST = (4, 40)
INEXACT = (DIFFERENCES, "central-difference", "finite-difference-page")


def main() -> None:
    """Read both files, fill the page, draw the plot."""
    rows = json.loads(TABLE1.read_text(encoding="utf-8"))["rows"]
    for name, text in tables(rows, json.loads(NEWTON.read_text(encoding="utf-8"))["newton"]).items():
        insert(PAGE, name, text)
    insert(PAGE, "table1 paper", printed(json.loads(PRINTED.read_text(encoding="utf-8"))["rows"]))
    draw(str(TABLE1), str(PLOT))


def tables(rows: list[Row], counts: list[Row]) -> dict[str, str]:
    """Return every table of the page by the name of its markers."""
    return {
        "table1": "\n\n".join([*(scaled(rows, layout) for layout in layouts(rows)), STARS]),
        "table1 pairs": "\n\n".join(pairs(rows, layout) for layout in layouts(rows)),
        "table1 ratios": ratios(rows),
        "table1 errors": errors(rows),
        "table1 wanted": wanted(rows),
        "newton": newton(counts),
    }


def layouts(rows: list[Row]) -> list[str]:
    """Return the layouts in the order in which they were measured."""
    return list(dict.fromkeys(row["layout"] for row in rows))


def cases(rows: list[Row], layout: str) -> dict[tuple[int, int], Case]:
    """Return the mechanisms of one layout by n_y and n_z."""
    found: dict[tuple[int, int], Case] = {}
    for row in rows:
        if row["layout"] == layout:
            found.setdefault((row["ny"], row["nz"]), {})[row["source"]] = row
    return found


def sources(rows: list[Row]) -> list[str]:
    """Return the sources that were measured, the fastest first."""
    measured = {row["source"] for row in rows}
    return [name for name in NAMES if name in measured]


STARS = f"\\* on fewer than {STEPS} steps: the run of one source on one mechanism had a budget of wall time."


def scaled(rows: list[Row], layout: str) -> str:
    """Return the paper's table: its times beside ours, scaled to 400 evaluations of K and C [s]."""
    names = sources(rows)
    head = [f"{layout} [s]", "bodies", "n_jacs", "paper: n_jacs", "differences", "ADOL-C", *names]
    lines = []
    for (ny, nz), case in cases(rows, layout).items():
        first = case.get(STRUCTURED) or next(iter(case.values()))
        printed = paper.TABLE.get((ny, nz))
        beside = [""] * 3
        if printed is not None:
            beside = [str(printed.n_jacs), f"{printed.differences:.4g}", f"{printed.autodiff:.4g}"]
        times = [seconds(case[name]) if name in case else "" for name in names]
        lines.append([f"{ny} x {nz}", str(first["bodies"]), str(first["n_jacs"]), *beside, *times])
    return table(head, lines)


def seconds(row: Row) -> str:
    """Return the scaled time of a row, with a star when it was measured on fewer steps."""
    return f"{row['scaled_s']:.3g}" + ("*" if row["steps"] < STEPS else "")


def pairs(rows: list[Row], layout: str) -> str:
    """Return the time of one pair K, C [ms]."""
    names = sources(rows)
    lines = [
        [f"{ny} x {nz}", *(f"{case[name]['pair_ms']:.3g}" if name in case else "" for name in names)]
        for (ny, nz), case in cases(rows, layout).items()
    ]
    return table([f"{layout}: one pair [ms]", *names], lines)


def ratios(rows: list[Row]) -> str:
    """Return what the paper asks: derivatives of the same Q, AD over differences, on equal footing."""
    head = ["n_y x n_z", "paper: ADOL-C / differences"]
    measured = [name for name in AD if name in sources(rows)]
    for layout in layouts(rows):
        for name in measured:
            head.append(f"{layout}: {name} / {FOOTING.get(name, DIFFERENCES)}")
    by_layout = [cases(rows, layout) for layout in layouts(rows)]
    lines = []
    for size in by_layout[0]:
        printed = paper.TABLE.get(size)
        cells = [f"{size[0]} x {size[1]}", "" if printed is None else f"{printed.ratio:.2f}"]
        for found in by_layout:
            for name in measured:
                ratio = found.get(size, {}).get(name, {}).get("ratio_to_differences")
                cells.append("" if ratio is None else f"{ratio:.2g}")
        lines.append(cells)
    return table(head, lines)


def printed(rows: list[Row]) -> str:
    """Return the counts of the paper's method beside ours, and what one projection leaves."""
    head = ["layout, n_y x n_z", "paper: n_jacs", "n_jacs", "n_jacs, our method", "steps UNPROJECTED"]
    head.append("largest rate of a loop [m/s]")
    lines = []
    for layout in layouts(rows):
        ours = cases([row for row in rows if row["method"] == OURS], layout)
        for size, case in cases([row for row in rows if row["method"] == AS_PRINTED], layout).items():
            row = case[STRUCTURED]
            lines.append([
                f"{layout} {size[0]} x {size[1]}", str(paper.TABLE[size].n_jacs), str(row["n_jacs"]),
                str(ours[size][STRUCTURED]["n_jacs"]), f"{row['unprojected']} of {row['steps']}",
                f"{row['velocity_violation']:.1e}",
            ])  # fmt: skip
    return table(head, lines)


def errors(rows: list[Row]) -> str:
    """Return the smallest and the largest relative error of K and of C over all mechanisms."""
    head = ["source", "error of K: smallest", "largest", "error of C: smallest", "largest"]
    lines = []
    for name in sources(rows):
        cells = []
        for key in ("error_K", "error_C"):
            found = [row[key] for row in rows if row["source"] == name]
            cells += [f"{min(found):.0e}", f"{max(found):.0e}"]
        lines.append([name, *cells])
    return table(head, lines)


def wanted(rows: list[Row]) -> str:
    """Return what was to be reached, and whether it is."""
    return table(["wanted", "measured", ""], [[*line[:2], verdict(line[2])] for line in targets(rows)])


def targets(rows: list[Row]) -> Iterable[tuple[str, str, bool]]:
    """Yield one target after another: what is wanted, what was measured, whether it is reached."""
    all_cases = [case for layout in layouts(rows) for case in cases(rows, layout).values()]
    for layout in layouts(rows):
        case = cases(rows, layout).get(LARGEST, {})
        if {STRUCTURED, DIFFERENCES} <= case.keys():
            gain = case[DIFFERENCES]["pair_ms"] / case[STRUCTURED]["pair_ms"]
            name = f"{layout} 4 x 40: a pair by structured at least 100 times faster than by {DIFFERENCES}"
            yield name, f"{gain:.0f} times", gain >= 100.0
    gains = [case[DIFFERENCES]["pair_ms"] / case["trace"]["pair_ms"] for case in all_cases if "trace" in case]
    if gains:
        faster = sum(gain > 1.0 for gain in gains)
        name = f"a pair by trace faster than by {DIFFERENCES} in all rows"
        yield name, f"in {faster} of {len(gains)}, {min(gains):.0f} to {max(gains):.0f} times", faster == len(gains)
    done = sum("autograd" in case for case in all_cases)
    yield "autograd completes every row", f"{done} of {len(all_cases)}", done == len(all_cases)
    exact = max(max(row["error_K"], row["error_C"]) for row in rows if row["source"] not in INEXACT)
    yield "errors of exact sources below 1e-10", f"{exact:.0e}", exact < 1e-10


def verdict(good: bool) -> str:
    """Return a word for it."""
    return "reached" if good else "not reached"


def newton(rows: list[Row]) -> str:
    """Return Newton's counts by rate of the crank, step and tangent."""
    head = [
        "crank [rad/s]",
        "h [ms]",
        "tangent_terms",
        "steps that converged",
        "iterations a step",
        "contraction: median",
    ]
    lines = [
        [
            f"{row['rate']:g}", f"{1e3 * row['h']:g}", row["tangent_terms"], f"{row['steps']} of 100",
            f"{row['iterations']:.2f}", f"{row['rate_median']:.0e}", f"{row['worst']:.0e}",
        ]
        for row in rows
    ]  # fmt: skip
    return table([*head, "worst"], lines)


if __name__ == "__main__":
    main()
