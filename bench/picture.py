"""Draw the multiple four-bar from a real run: ``python bench/picture.py docs/fourbar.png`` (extra ``plot``)."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import rtmbs

NY, NZ = 4, 10
TIMES = (0.0, 0.5, 1.0, 1.5)


def main(path: str) -> None:
    """Simulate stacked 4 x 10 for 1.5 s and draw its bars at four instants."""
    result = rtmbs.Simulation(rtmbs.library.build("fourbar", ny=NY, nz=NZ).compile()).run(TIMES[-1])
    rods = [name for name in result.names() if name.startswith("rod_") and name.endswith(".position")]
    couplers = [name for name in result.names() if name.startswith("coupler_") and name.endswith(".position")]
    figure, axes = plt.subplots(1, len(TIMES), figsize=(12, 4.6), sharey=True, layout="constrained")
    for axis, t in zip(axes, TIMES, strict=True):
        sample = int(np.argmin(np.abs(result.t - t)))
        for bars, colour in ((rods, "#1f5fa8"), (couplers, "#c4591a")):
            for bar in bars:
                draw(axis, result, bar.removesuffix(".position"), sample, colour)
        axis.plot(np.arange(NY + 1), np.zeros(NY + 1), "k^", markersize=7)
        axis.set_title(f"t = {t:g} s", fontsize=11)
        axis.set(aspect="equal", xlim=(-1.2, NY + 5.4), ylim=(-NZ - 0.6, 0.6))
        axis.set_xlabel("y [m]")
    axes[0].set_ylabel("z [m]")
    figure.savefig(path, dpi=110)
    print(path)


def draw(axis: Axes, result: rtmbs.Result, body: str, sample: int, colour: str) -> None:
    """Draw one bar of 1 m, symmetric about its mass centre."""
    start = result[f"{body}.position"][sample]
    end = 2.0 * result[f"{body}.mass_center"][sample] - start
    axis.plot([start[1], end[1]], [start[2], end[2]], "o-", color=colour, linewidth=2.2, markersize=3.2)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "fourbar.png")
