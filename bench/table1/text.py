"""The printed form of the paper's table: a block a mechanism, a line a source, and what the whole of it shows."""

from collections.abc import Iterable
from typing import Any

from bench.table1 import paper
from bench.table1.measure import DIFFERENCES, FOOTING, PAGE_DIFFERENCES, STEPS, H

Row = dict[str, Any]
WIDTH = 24  # columns of a source's name
INEXACT = (DIFFERENCES, PAGE_DIFFERENCES, "central-difference")

TITLES = (
    f"  {'source':<{WIDTH}}{'n_jacs':>7}{'steps':>7}{'scaled s':>11}{'ratio':>9}"
    f"{'pair ms':>11}{'error K':>10}{'error C':>10}"
)


def heading(budget: float) -> str:
    """Return what the columns mean."""
    footed = " and ".join(source for source in FOOTING if source != PAGE_DIFFERENCES)
    return "\n".join(
        (
            f"Multiple four-bars n_y x n_z, {H * STEPS:g} s in {STEPS} steps: the paper's Table 1 by source of K and C",
            "",
            f"  scaled s  time of the run x {paper.SCALED_TO} / n_jacs, as in the paper",
            f"  steps     * fewer than {STEPS}: a run of one source may take {budget:g} s (--budget)",
            f"  ratio     scaled time over that of {DIFFERENCES}; {footed} over {PAGE_DIFFERENCES}: the same Q",
            "  pair ms   fastest K, C pair (structured: a pass, K and C one by one, in the sparse pattern)",
            "  error     largest, over the largest entry of the closed form (structured: of complex step)",
        )
    )


def block(rows: list[Row]) -> str:
    """Return the lines of one mechanism."""
    first = rows[0]
    head = f"{name(first)}, {first['bodies']} bodies"
    if "method" in first:
        head += f", method: {first['method']}"
    if "unprojected" in first:
        left = max(row["velocity_violation"] for row in rows)
        missed = max(row["unprojected"] for row in rows)
        head += f" (steps that one projection leaves too far off: {missed}; rates of loops up to {left:.1e} m/s)"
    printed = paper.TABLE.get((first["ny"], first["nz"]))
    if printed is not None:
        head += (
            f"; paper: n_jacs {printed.n_jacs}, differences {printed.differences:g} s,"
            f" AD {printed.autodiff:g} s, ratio {printed.ratio:.2f}"
        )
    return "\n".join(["", head, TITLES, *(line(row) for row in rows)])


def line(row: Row) -> str:
    """Return the line of one source."""
    steps = f"{row['steps']}{'*' if row['steps'] < STEPS else ' '}"
    ratio = "" if row["ratio_to_differences"] is None else f"{row['ratio_to_differences']:.3g}"
    return (
        f"  {row['source']:<{WIDTH}}{row['n_jacs']:>7}{steps:>8}{row['scaled_s']:>10.3g}{ratio:>9}"
        f"{row['pair_ms']:>11.3g}{row['error_K']:>10.1e}{row['error_C']:>10.1e}"
    )


def summary(rows: list[Row]) -> str:
    """Return what the whole table shows, or nothing when the sources for it are missing."""
    return "\n".join(["", *conclusions(rows)])


def conclusions(rows: list[Row]) -> Iterable[str]:
    """Yield one line for each comparison that the rows hold."""
    by_case: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        by_case.setdefault((row["layout"], row["ny"], row["nz"]), {})[row["source"]] = row
    cases = [case for case in by_case.values() if DIFFERENCES in case]
    for source in dict.fromkeys(row["source"] for row in rows if row["source"] != DIFFERENCES):
        gains = [(case[DIFFERENCES]["pair_ms"] / case[source]["pair_ms"], case) for case in cases if source in case]
        if gains:
            values = [gain for gain, _ in gains]
            faster = sum(gain > 1 for gain in values)
            yield (
                f"one pair by {source}: {min(values):.3g} to {max(values):.3g} times as fast as by {DIFFERENCES},"
                f" faster in {faster} of {len(gains)} rows; {largest(gains)}"
            )
    for source in ("trace", "autograd", "autograd-forward"):
        ratios = [row["ratio_to_differences"] for row in rows if row["source"] == source]
        if ratios and None not in ratios:
            yield (
                f"same Q, scaled time of {source} over {FOOTING.get(source, DIFFERENCES)}:"
                f" {min(ratios):.2g} to {max(ratios):.2g}"
            )
    for kind, chosen in (("exact sources", False), ("differences", True)):
        errors = [max(row["error_K"], row["error_C"]) for row in rows if (row["source"] in INEXACT) is chosen]
        if errors:
            yield f"largest error of {kind}: {max(errors):.1e}"


def largest(gains: list[tuple[float, dict[str, Row]]]) -> str:
    """Return the gain on the mechanism with the most bodies of each layout."""
    top: dict[str, tuple[int, str]] = {}
    for gain, case in gains:
        row = case[DIFFERENCES]
        top[row["layout"]] = max(top.get(row["layout"], (0, "")), (row["bodies"], f"{gain:.3g} at {name(row)}"))
    return ", ".join(text for _, text in top.values())


def name(row: Row) -> str:
    """Return the layout and size of a mechanism in words."""
    return f"{row['layout']} {row['ny']} x {row['nz']}"
