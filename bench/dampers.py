"""The study of ``apps/dampers``: ``python -m bench.dampers`` prints the best one; ``--docs`` writes table and picture.

The same car is two linear equations. Their exact solution has a best damper too, which the study must find.
"""

import sys
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.optimize import minimize_scalar

import rtmbs
from bench.documents import DOCS, insert, table
from rtmbs.studies.sweeps.sweep import read_study

STUDY = DOCS.parent / "apps" / "dampers" / "study.toml"
PAGE, NAME, PICTURE = DOCS / "sweeps.md", "python -m bench.dampers", DOCS / "sweeps_dampers.png"
INK, BLUE, GREY = "#1a1a1a", "#1f5fa8", "#8a8a8a"


def swept(engine: Any = None, **changes: Any) -> rtmbs.SweepResult:
    """Return the table of the study; its rows are kept nowhere."""
    given = read_study(STUDY)
    del given["folder"]
    return rtmbs.sweep(**{**given, **changes}, engine=engine, progress=sys.stderr.isatty())


def exact(damping: float, t_end: float, h: float) -> float:
    """Return the root of the mean square of the body's acceleration at multiples of h [m/s^2], by the exponential."""
    import dampers as car  # beside the study, which was read

    k, spring, c = car.TYRE, car.SPRING, damping
    strut = np.array([[-spring, spring, -c, c], [spring, -spring, c, -c]])  # on wheel and body, by heights and rates
    forces = strut - np.array([[k, 0.0, 0.0, 0.0], [0.0] * 4])
    flow = np.vstack([np.eye(4)[2:], forces / np.array([[car.WHEEL], [car.BODY]])])
    step, y = expm(h * flow), np.array([-car.KERB, -car.KERB, 0.0, 0.0])
    squares = []
    for _ in range(round(t_end / h) + 1):
        squares.append(float(flow[3] @ y) ** 2)
        y = step @ y
    return float(np.sqrt(np.mean(squares)))


def best_of(found: rtmbs.SweepResult) -> dict[str, Any]:
    """Return the row of the least acceleration."""
    return found.row(int(np.nanargmin(found["acceleration"])))


def draw(found: rtmbs.SweepResult) -> None:
    """Draw what every damper costs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
    best, order = best_of(found), np.argsort(found["damping"])
    left, right = panels
    left.plot(found["damping"][order], found["acceleration"][order], ".", color=BLUE, markersize=2.5)
    left.plot(best["damping"], best["acceleration"], "o", color=INK, markersize=6)
    left.annotate(
        f"{best['damping']:.0f} N s/m", (best["damping"], best["acceleration"]), (0, 28), textcoords="offset points",
        ha="center", arrowprops={"arrowstyle": "-", "color": INK},
    )  # fmt: skip
    left.set(xscale="log", xlabel="damping [N s/m]", ylabel="acceleration of the body, rms [m/s²]", ylim=(0.0, None))
    right.plot(1e3 * found["travel"][order], found["acceleration"][order], "-", color=BLUE, linewidth=1.2)
    right.plot(1e3 * best["travel"], best["acceleration"], "o", color=INK, markersize=6)
    right.set(xlabel="largest travel of the strut [mm]", ylim=(0.0, None))
    for panel in panels:
        panel.grid(visible=True, color="0.9")
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    """Make the study, and hold its best damper against the exact one."""
    found, given = swept(), read_study(STUDY)
    best = best_of(found)

    def cost(log: float) -> float:
        return exact(float(np.exp(log)), given["t_end"], given["h"])

    least = minimize_scalar(cost, bracket=(np.log(300.0), np.log(1e3), np.log(5e3)), tol=1e-10)
    errors = [
        abs(found["acceleration"][k] / exact(found["damping"][k], given["t_end"], given["h"]) - 1.0)
        for k in range(0, len(found), 20)
    ]
    rows = [
        ["study, best of 1,000", f"{best['damping']:.1f}", f"{best['acceleration']:.6f}"],
        ["exact solution, best of all", f"{np.exp(least.x):.1f}", f"{least.fun:.6f}"],
    ]
    text = table(["", "damping [N s/m]", "acceleration of the body, rms [m/s^2]"], rows)
    text += f"\n\n{len(found)} runs, {len(found.failed)} failed. Every twentieth run differs from the exact solution by"
    text += f" at most {max(errors):.1e} of the acceleration."
    print(text)
    if "--docs" in sys.argv[1:]:
        insert(PAGE, NAME, text)
        draw(found)


if __name__ == "__main__":
    main()
