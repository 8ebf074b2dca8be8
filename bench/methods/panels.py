"""Figure of error over time, a panel a problem and a curve a method, for the pages of this folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.ticker

mpl.use("Agg")
import matplotlib.pyplot as plt


def draw(
    path: Path, rows: Sequence[dict[str, Any]], over: str, label: str, style: Callable[[int, str], dict[str, Any]]
) -> None:
    """Write the figure of ``rows`` with keys problem, method, error and ``over``, a time that ``label`` names."""
    problems, methods = (list(dict.fromkeys(row[key] for row in rows)) for key in ("problem", "method"))
    lines = -(-(len(problems) + 1) // 3)
    figure, axes = plt.subplots(lines, 3, figsize=(15, 4.5 * lines))
    colours = plt.get_cmap("tab20").colors
    for axis, problem in zip(axes.flat, problems, strict=False):
        for i, method in enumerate(methods):
            here = [row for row in rows if (row["problem"], row["method"]) == (problem, method) and row["error"]]
            if points := [(row[over], row["error"]) for row in here]:
                axis.loglog(
                    *zip(*points, strict=True), lw=1, ms=4, color=colours[i % 20], label=method, **style(i, method)
                )
        axis.set(title=problem, xlabel=label, ylabel="error of q at the end")
        axis.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(problems) :]:
        axis.axis("off")
    handles = {name: line for axis in axes.flat for line, name in zip(*axis.get_legend_handles_labels(), strict=True)}
    axes.flat[-1].legend(handles.values(), handles.keys(), fontsize=7, ncol=2, loc="center")
    figure.tight_layout()
    figure.savefig(path, dpi=80)
