"""The tables in Markdown and the plot of a campaign."""

from pathlib import Path
from typing import Any

from bench.peers.campaign import NY, NZ, STEP, T_END
from bench.peers.mechanism import LAYOUTS
from bench.peers.registry import RTMBS

Record = dict[str, Any]

# Time of rtmbs / time of the peer at most at full size, by module and layout; kernels by kernel of rtmbs.
TARGETS = {
    ("exudyn_spatial", "stacked"): 0.1,
    ("mujoco_connect", "stacked"): 0.5,
    ("exudyn_planar", "parallel"): 0.15,
    ("mujoco_connect", "parallel"): 1.5,
}
KERNEL_TARGETS = {"residual, tree": 1.0, "residual, loops": 1.5, "tangent, tree": 0.7}
KERNEL_PEER = {"residual": "residual, tree", "tangent": "tangent, tree"}  # what the kernel is held against


def text(record: Record) -> str:
    """Return everything between the markers of the page."""
    head = (
        f"{NY} x {record['nz']}, {T_END:g} s simulated in steps of {1e3 * STEP:g} ms, one thread pinned to one core, a "
        f"process a run, programs in turns, medians of {record['rounds']}. {record['machine']}."
    )
    return "\n\n".join([head, *(table(record, layout) for layout in LAYOUTS), kernels(record)])


def table(record: Record, layout: str) -> str:
    """Return the table of one layout."""
    runs = [run for run in record["runs"] if run["layout"] == layout and run["h"] == STEP]
    own = next((run["seconds"] for run in runs if run["module"] == RTMBS.module), None)
    lines = [
        f"| {layout} | time [s] | fastest, slowest [s] | error of theta_1 [rad] | largest error [rad] | loops open [m] "
        "| rtmbs / peer | wanted | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        ratio = own / run["seconds"] if own is not None and run["module"] != RTMBS.module else None
        low, high = run["spread"]
        cells = [
            run["peer"], f"{run['seconds']:.3f}", f"{low:.3f}, {high:.3f}", f"{run['error']:.1e}",
            f"{run['error_max']:.1e}", f"{run['loop_gap']:.0e}",
            *against(ratio, target(record, TARGETS, (run["module"], layout))),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def target(record: Record, targets: dict[Any, float], key: Any) -> float | None:
    """Return the wanted ratio; there is none at another size."""
    return targets.get(key) if record["nz"] == NZ else None


def against(ratio: float | None, wanted: float | None) -> list[str]:
    """Return three cells: the ratio, what it should be at most, and a verdict in words."""
    if ratio is None:
        return ["", "", ""]
    verdict = "" if ratio <= 1.0 else "rtmbs is slower"
    if wanted is not None:
        verdict = "reached" if ratio <= wanted else "not reached" + (", rtmbs is slower" if ratio > 1.0 else "")
    return [f"{ratio:.2f}", "" if wanted is None else f"{wanted:g}", verdict]


def kernels(record: Record) -> str:
    """Return the table of the kernels."""
    lines = [
        "| kernel [us] | layout | rtmbs | Pinocchio | rtmbs / Pinocchio | wanted | |",
        "|---|---|---|---|---|---|---|",
    ]
    found = {(entry["module"], entry["layout"]): entry["us"] for entry in record["kernels"]}
    for layout in LAYOUTS:
        own, other = found.get(("kernels_rtmbs", layout), {}), found.get(("kernels_pinocchio", layout), {})
        for name, time in own.items():
            peer = other.get(KERNEL_PEER.get(name.split(",")[0], ""))
            ratio = None if peer is None else time / peer
            shown = "" if peer is None else f"{peer:.1f}"
            cells = [name, layout, f"{time:.1f}", shown, *against(ratio, target(record, KERNEL_TARGETS, name))]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(record: Record, path: Path) -> None:
    """Draw error against wall time, both logarithmic, a line a program, a panel a layout."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(11.0, 4.6), sharey=True, layout="constrained")
    names = list(dict.fromkeys(run["peer"] for run in record["runs"]))
    for panel, layout in zip(panels, LAYOUTS, strict=True):
        for name, marker in zip(names, "os^Dv", strict=False):
            runs = [run for run in record["runs"] if run["peer"] == name and run["layout"] == layout and run["good"]]
            runs.sort(key=lambda run: -run["h"])
            panel.loglog([r["seconds"] for r in runs], [r["error"] for r in runs], marker=marker, label=name)
        panel.axvline(T_END, color="0.7", linewidth=0.8)
        panel.set_title(f"{layout} {NY} x {record['nz']}, steps of 10, 5, 2, 1, 0.5 ms from left to right")
        panel.title.set_fontsize(9)
        panel.set_xlabel(f"wall time for {T_END:g} s [s]; the grey line is real time")
        panel.grid(True, which="major", color="0.9")
    panels[0].set_ylabel("error of theta_1 at the end [rad]")
    panels[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
