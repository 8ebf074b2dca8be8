"""Draw the pictures of docs/plots.md with the commands that stand there (extra ``plot``).

python -m bench.plot_pictures docs
"""

import sys
from pathlib import Path

import rtmbs


def main(folder: str) -> None:
    """Run the crank-rocker of the library, and draw its figures."""
    import matplotlib

    matplotlib.use("agg")
    result = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), h=1e-3).run(4.0)
    home = Path(folder)
    result.plot("rocker_pivot.angle", "rocker_pivot.rate", degrees=True, file=home / "plots_time.png")
    result.plot(
        "coupler.mass_center.z", x="coupler.mass_center.y", size="column", file=home / "plots_coupler_curve.png"
    )
    result.plot(
        "rocker_pivot.rate", x="rocker_pivot.angle", degrees=True, size="column", style="grey",
        file=home / "plots_phase_plane.png",
    )  # fmt: skip
    coarse = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), h=2e-2).run(4.0)
    rtmbs.compare(result, coarse).plot("rocker_pivot.angle", degrees=True, file=home / "plots_comparison.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
