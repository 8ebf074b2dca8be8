"""The tables in Markdown and the plot of a campaign."""

from pathlib import Path
from typing import Any

import numpy as np

from bench.documents import table
from bench.peers.campaign import NY, NZ, STEP, T_END, UNDISTURBED
from bench.peers.mechanism import LAYOUTS
from bench.peers.registry import RTMBS, THREADED
from bench.peers.targets import verdicts

Record = dict[str, Any]

# The kernel of Pinocchio that a kernel of rtmbs is held against; its derivatives include a pass over the tree.
KERNEL_PEER = {
    "residual, tree": "residual, tree",
    "residual, loops": "residual, tree",
    "tangent, tree": "tangent, tree",
    "tangent, loops": "tangent, tree",
    "residual and tangent, tree": "tangent, tree",
}
EQUAL_ERROR = 1e-6  # [rad]
# Lines of the plot in the order in which programs are measured: colours that a colour-blind eye tells apart.
COLOURS, MARKERS = ("#000000", "#cc79a7", "#0072b2", "#56b4e9", "#d55e00", "#009e73"), "oPs^Dv"


def text(record: Record) -> str:
    """Return everything between the markers of the page."""
    head = (
        f"{NY} x {record['nz']}, {T_END:g} s simulated in steps of {1e3 * STEP:g} ms, one thread pinned to one core, 2 "
        f"threads to two, a process a run, programs in turns, medians of {record['rounds']}. {record['machine']}."
        f"{disturbance(record)}{later(record)}"
    )
    tables = [*(runs(record, layout) for layout in LAYOUTS), equally_exact(record)]
    parts = [head, *tables, kernels(record), small(record), jacobians(record)]
    return "\n\n".join(part for part in [*parts, verdicts(record) if record["nz"] == NZ else ""] if part)


def disturbance(record: Record) -> str:
    """Return a sentence when other programs had a part of the core."""
    disturbed, all_runs = record["disturbed"]
    if not disturbed:
        return ""
    return (
        f" Not a quiet machine: {disturbed} of {all_runs} runs had less than {100 * UNDISTURBED:.0f} % of their core."
    )


def later(record: Record) -> str:
    """Return a sentence about programs that were not measured in turns with the rest."""
    names = record.get("later", [])
    return f" By itself, later: {', '.join(names)}." if names else ""


def runs(record: Record, layout: str) -> str:
    """Return the table of one layout."""
    found = [run for run in record["runs"] if run["layout"] == layout and run["h"] == STEP]
    own = next((run["seconds"] for run in found if run["module"] == RTMBS.module), None)
    head = [layout, "time [s]", "fastest, slowest [s]", "largest error [rad]", "error of theta_1 [rad]"]
    rows = []
    for run in found:
        low, high = run["spread"]
        times = [f"{run['seconds']:.3f}", f"{low:.3f}, {high:.3f}"]
        errors = [f"{run['error_max']:.1e}", f"{run['error']:.1e}", f"{run['gap']:.0e}"]
        peer = None if run["module"] in (RTMBS.module, THREADED.module) else run["seconds"]
        rows.append([run["peer"], *times, *errors, *against(own, peer)])
    return table([*head, "joints open [m]", "rtmbs / peer", ""], rows)


def equally_exact(record: Record) -> str:
    """Return the table of times to one largest error in the parallel layout, read off the lines of the plot."""
    names = list(dict.fromkeys(run["peer"] for run in record["runs"]))
    rows = []
    for name in names:
        runs = [run for run in record["runs"] if run["peer"] == name and run["layout"] == "parallel" and run["good"]]
        found = time_to(EQUAL_ERROR, [run["error_max"] for run in runs], [run["seconds"] for run in runs])
        if found is not None:
            rows.append([name, found])
    return table([f"parallel, largest error of {EQUAL_ERROR:.0e} rad", "time [s]"], rows) if rows else ""


def time_to(wanted: float, errors: list[float], seconds: list[float]) -> str | None:
    """Return the time to an error by a straight line in logarithms; None for fewer than two steps.

    Above the time of the most exact run when that is not exact enough.
    """
    if len(errors) < 2:
        return None
    x, y = np.log(np.array(sorted(zip(errors, seconds, strict=True)))).T
    if np.log(wanted) < x[0]:
        return f"more than {np.exp(y[0]):.2g}"
    return f"{np.exp(np.interp(np.log(wanted), x, y)):.3f}"


def against(own: float | None, peer: float | None) -> list[str]:
    """Return two cells: time of rtmbs / time of the peer, and words when the peer is faster."""
    if own is None or peer is None:
        return ["", ""]
    return [f"{own / peer:.2f}", "rtmbs is slower" if own > peer else ""]


def kernels(record: Record) -> str:
    """Return the table of the kernels."""
    found = {(entry["module"], entry["layout"]): entry["values"] for entry in record["kernels"]}
    rows = []
    for layout in LAYOUTS:
        own, other = found.get(("kernels_rtmbs", layout), {}), found.get(("kernels_pinocchio", layout), {})
        for name, time in own.items():
            peer = other.get(KERNEL_PEER.get(name, ""))
            rows.append([name, layout, f"{time:.1f}", "" if peer is None else f"{peer:.1f}", *against(time, peer)])
    return table(["kernel [us]", "layout", "rtmbs", "Pinocchio", "rtmbs / Pinocchio", ""], rows) if rows else ""


def small(record: Record) -> str:
    """Return the table of small mechanisms."""
    found = {entry["module"]: entry["values"] for entry in record["small"]}
    own, other = found.get("small_rtmbs", {}), found.get("small_exudyn", {})
    head = ["one step [us]", "rtmbs, inside run", "Exudyn, planar bodies", "rtmbs / Exudyn", ""]
    rows = []
    for name, time in own.items():
        peer = other.get(name)
        rows.append([name, f"{time:.1f}", "" if peer is None else f"{peer:.1f}", *against(time, peer)])
    return table(head, rows) if rows else ""


def jacobians(record: Record) -> str:
    """Return the table of one K, C pair by trace and by CasADi."""
    found = {(entry["module"], entry["layout"]): entry for entry in record["jacobians"]}
    head = ["one K, C pair", "layout", "time [ms]", "prepared in [s]", "operations", "entries", "trace / CasADi", ""]
    rows = []
    for layout in LAYOUTS:
        own = found.get(("jacobian_trace", layout), {"values": {}})["values"].get("pair_ms")
        for module in ("jacobian_trace", "jacobian_casadi"):
            if (module, layout) not in found:
                continue
            entry = found[module, layout]
            v = entry["values"]
            cells = [f"{v['pair_ms']:.3g}", f"{v['prepare_s']:.2g}", f"{v['operations']:,.0f}", f"{v['entries']:,.0f}"]
            peer = v["pair_ms"] if module == "jacobian_casadi" else None
            rows.append([entry["peer"], layout, *cells, *against(own, peer)])
    return table(head, rows) if rows else ""


def draw(record: Record, path: Path) -> None:
    """Draw error against wall time, both logarithmic, a line a program, a panel a layout.

    The error is the largest of all rows: that of theta_1 alone passes through zero near 5 ms in the stacked layout.
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(11.0, 5.0), sharex=True, sharey=True, layout="constrained")
    names = list(dict.fromkeys(run["peer"] for run in record["runs"]))
    for panel, layout in zip(panels, LAYOUTS, strict=True):
        for name, marker, colour in zip(names, MARKERS, COLOURS, strict=False):
            runs = [run for run in record["runs"] if run["peer"] == name and run["layout"] == layout and run["good"]]
            runs.sort(key=lambda run: -run["h"])
            times, errors = [run["seconds"] for run in runs], [run["error_max"] for run in runs]
            panel.loglog(times, errors, marker=marker, color=colour, markersize=5, linewidth=1.3, label=name)
            for place in {0, len(runs) - 1} if runs else ():
                label(panel, f"{1e3 * runs[place]['h']:g} ms", times[place], errors[place], colour)
        panel.axvline(T_END, color="0.7", linewidth=0.8)
        panel.set_title(f"{layout} {NY} x {record['nz']}", fontsize=10)
        panel.set_xlabel(f"wall time for {T_END:g} s [s]; the grey line is real time")
        panel.grid(visible=True, which="major", color="0.9")
    panels[0].set_ylabel("largest error of an angle at the end [rad]")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def label(panel: Any, words: str, x: float, y: float, colour: str) -> None:
    """Write the step beside a point."""
    panel.annotate(words, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=7, color=colour)
