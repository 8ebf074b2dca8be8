"""Draw the times of the paper's table: ``python bench/sources_plot.py TABLE.json PICTURE.png`` (extra ``plot``).

The JSON is that of ``python -m bench.table1 --json bench/table1.json``, the picture ``docs/sources.png``.
One line a source, as in the paper's figure 4; its own two lines are dashed.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from bench.table1 import paper

COLOURS = {
    "structured": "#1a1a1a",
    "trace": "#1f5fa8",
    "finite-difference": "#c4591a",
    "central-difference": "#e0a030",
    "complex-step": "#2f8f4e",
    "finite-difference-page": "#b06aa8",
    "autograd": "#a01c3c",
    "autograd-forward": "#5a3ca0",
}


def main(source: str, target: str) -> None:
    """Draw one panel a layout, scaled time over the number of bodies."""
    rows = json.loads(Path(source).read_text(encoding="utf-8"))["rows"]
    layouts = list(dict.fromkeys(row["layout"] for row in rows))
    figure, panels = plt.subplots(1, len(layouts), figsize=(6 * len(layouts), 5.6), sharey=True, layout="constrained")
    for axis, layout in zip([panels] if len(layouts) == 1 else panels, layouts, strict=True):
        draw(axis, [row for row in rows if row["layout"] == layout])
        axis.set(title=layout, xlabel="bodies", yscale="log")
        axis.grid(visible=True, which="major", alpha=0.3)
    figure.axes[0].set_ylabel(f"time of the run x {paper.SCALED_TO} / n_jacs [s]")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9, frameon=False)
    figure.savefig(target, dpi=110)
    print(target)


def draw(axis: Axes, rows: list[dict]) -> None:
    """Draw a line for every source of one layout, and the paper's two."""
    for name in sorted({row["source"] for row in rows}, key=list(COLOURS).index):
        line(
            axis, [(row["bodies"], row["scaled_s"]) for row in rows if row["source"] == name], name, COLOURS[name], "-"
        )
    printed = paper.TABLE.values()
    line(axis, [(row.bodies, row.differences) for row in printed], "paper, differences (2010)", "#c4591a", "--")
    line(axis, [(row.bodies, row.autodiff) for row in printed], "paper, ADOL-C (2010)", "#a01c3c", "--")


def line(axis: Axes, points: list[tuple[float, float]], label: str, colour: str, style: str) -> None:
    """Draw the points in the order of their bodies."""
    x, y = zip(*sorted(points), strict=True)
    axis.plot(x, y, style, marker="o", markersize=3.5, linewidth=1.4, color=colour, label=label)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python bench/sources_plot.py TABLE.json PICTURE.png")
    main(*sys.argv[1:])
