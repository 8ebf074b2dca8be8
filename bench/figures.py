"""Every figure that rtmbs promises, measured: `python bench/figures.py [--only WORD] [--json PATH]`.

Prints a table of figure, what is wanted and what was measured, and one of Newton iterations by tangent. Ends with 1
when a figure is missed. The same measurements, wall times left out, are tests in `tests/physics`.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from measures import conservation, main_job, mechanisms, newton, orders, published, scaling

HERE = Path(__file__).parent
REPEATS = 3  # of a wall time; the shortest counts


class Figure(NamedTuple):
    """One line of the table."""

    name: str
    wanted: str
    measured: float
    good: bool


def at_most(name: str, measured: float, bound: float, unit: str = "") -> Figure:
    return Figure(name, f"<= {bound:g} {unit}".strip(), float(measured), bool(measured <= bound))


def at_least(name: str, measured: float, bound: float, unit: str = "") -> Figure:
    return Figure(name, f">= {bound:g} {unit}".strip(), float(measured), bool(measured >= bound))


def between(name: str, measured: float, low: float, high: float) -> Figure:
    return Figure(name, f"{low:g} to {high:g}", float(measured), bool(low <= measured <= high))


def exactly(name: str, measured: float, wanted: float) -> Figure:
    return Figure(name, f"= {wanted:g}", float(measured), bool(measured == wanted))


# ------------------------------------------------------------------------------------------------ the groups


def main_case() -> Iterator[Figure]:
    """Stacked and parallel 4 x 40, h = 5 ms, 200 steps, 30 degrees."""
    for label, options, wall in (
        ("stacked 4 x 40", {}, 1.5),
        ("stacked 4 x 40, alpha 1e9", {"penalty": None, "alpha": 1e9}, None),
        ("parallel 4 x 40", {"layout": "parallel"}, 0.4),
    ):
        runs = [main_job.measure(**options) for _ in range(REPEATS if wall else 1)]
        run = runs[0]
        stacked = label != "parallel 4 x 40"
        yield at_most(f"{label}: largest error of 40 angles", run["error_theta_max"], 2e-4 if stacked else 1e-5, "rad")
        if stacked:
            yield at_most(f"{label}: error of theta_1", run["error_theta1"], 1e-6, "rad")
        yield at_most(f"{label}: Newton iterations", run["newton_iterations"], 410)
        yield at_most(f"{label}: loop violation", run["max_position_violation"], 1e-6, "m")
        yield at_most(f"{label}: loop violation, velocity", run["max_velocity_violation"], 1e-9, "m/s")
        if "alpha" in options:
            sweeps = run["sweeps"] / run["steps"]
            yield at_most(f"{label}: sweeps a step, velocities and accelerations", sweeps, 20)
        if wall:
            yield at_most(f"{label}: wall time", min(each["wall_s"] for each in runs), wall, "s")


def order() -> Iterator[Figure]:
    """Least-squares slopes over 10, 5, 2.5 and 1.25 ms, and the canaries."""
    for name, problem in orders.PROBLEMS.items():
        found = orders.errors(problem)
        for level, slope in found.slopes.items():
            band = (2.5, 3.5) if level == "position" and name in orders.ONE_FREEDOM else (1.9, 2.5)
            yield between(f"order of the {level}, {name}", slope, *band)
    for name in ("crank-rocker", "slider-crank", "driven five-bar"):
        problem = orders.PROBLEMS[name]
        without = orders.errors(problem, project_accelerations=False, hold_energy=False)
        yield at_most(
            f"no acceleration projection: order of the acceleration, {name}", without.slopes["acceleration"], 1.3
        )
        drift = orders.errors(problem, project_velocities=False)  # and so without a balance of energy
        ratio = min(drift.velocity_violation / drift.velocity_bound)
        yield at_least(f"no velocity projection: |Phid| over its bound, {name}", ratio, 1e3)
        yield between(f"no velocity projection: least order, {name}", min(drift.slopes.values()), 1.9, 2.5)
        wrong = orders.errors(problem, zero_start=True, hold_energy=False)
        yield at_most(f"first acceleration zero: largest order, {name}", max(wrong.slopes.values()), 1.3)


def conserved() -> Iterator[Figure]:
    """Free fall and 30 s of stacked 1 x 1."""
    fall = conservation.drop(mechanisms.free_body().compile(), "free")
    yield at_most("free fall in 1 s, distance from 4.905 m", abs(fall - 4.905), 1e-9, "m")
    drift = conservation.energy_drift()
    yield at_most(
        "stacked 1 x 1, 30 s at 1 ms: energy drift over energy exchanged", drift.largest / drift.exchanged, 1e-4
    )


def scale() -> Iterator[Figure]:
    """Masses 1e-6 to 1e6, lengths 1e-3 to 1e3."""
    for name, build in scaling.MECHANISMS.items():
        found = [scaling.sameness(build(), mass, length) for mass, length in scaling.SCALES]
        yield at_most(f"scale: dimensionless motion, {name}", max(each.motion for each in found), 1e-6)
        yield at_most(f"scale: mean iterations a step, {name}", max(each.iterations for each in found), 0.1)


def benchmarks() -> Iterator[Figure]:
    """IFToMM A01 to A05, spatial slider-crank, ADAMS single joints."""
    yield at_most("A01 pendulum, 10 s at 1 ms: position", published.pendulum()["position"], 5e-5, "m")
    a02 = published.windows()
    yield at_most("A02 N = 2, 10 s at 2.5 ms: position", a02["position"], 5e-5, "m")
    yield at_most("A02: energy", a02["energy"], 1.5e-3, "J")
    yield at_least("A02: singular poses passed", a02["horizontal"], 1)
    yield at_most("A02: spread of the posts", a02["branch"], 1e-5, "rad")
    yield at_most("A02: iterations a step", a02["iterations"], 2.05)
    a03 = published.andrews()
    yield at_most("A03 Andrews: first accelerations, relative", a03["first accelerations"], 1e-12)
    yield at_most("A03, 0.03 s at 12.5 us: angles of 16 rad", a03["angles"], 2e-4, "rad")
    yield at_most("A03: angles of the slow bodies", a03["slow angles"], 3e-6, "rad")
    a04 = published.bricard()
    yield at_most("A04 Bricard, 5 ms: angle at 1 s", a04["angle at 1 s"], 2e-5, "rad")
    yield at_most("A04: period", a04["period"], 5e-5, "s")
    yield at_most("A04: third joint at a quarter swing", a04["third joint"], 2e-5, "m")
    yield exactly("A04: redundant equations named", a04["redundant"], 1)
    yield exactly("A04: degrees of freedom", a04["degrees of freedom"], 1)
    a05 = published.governor()
    for t in published.GOVERNOR:
        yield at_most(f"A05 governor, 1 ms: height at {t:g} s", a05[f"height at {t:g} s"], 1e-6, "m")
    crank = published.slider_crank()
    yield at_most("spatial slider-crank, 1 ms: period", crank["period"], 5e-5, "s")
    yield at_most("spatial slider-crank: range of the slider", crank["range"], 1e-5, "m")
    for joint, frame in published.ADAMS:
        found = published.adams(joint, frame)
        yield at_most(f"ADAMS {joint}, {frame}: position", found["position"], 2e-3, "m")
        yield at_most(f"ADAMS {joint}, {frame}: reaction", found["reaction"], 2e-2, "N")


def starting() -> Iterator[Figure]:
    """Import, and the second start of the bench up to its first step."""
    yield at_most("import rtmbs", shortest("import rtmbs") - shortest("pass"), 0.3, "s")
    first_step = (
        "from rtmbs import library, Simulation\n"
        "Simulation(library.build('fourbar', ny=4, nz=40).compile(), h=5e-3).step()"
    )
    yield at_most("start of stacked 4 x 40 to its first step, cache warm", shortest(first_step), 3.0, "s")


def shortest(code: str) -> float:
    """Return the shortest wall time of a fresh interpreter that runs ``code`` [s]."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], cwd=HERE.parent, check=True)
        times.append(time.perf_counter() - start)
    return min(times)


GROUPS: dict[str, Callable[[], Iterator[Figure]]] = {
    "main": main_case,
    "order": order,
    "conserved": conserved,
    "scale": scale,
    "published": benchmarks,
    "start": starting,
}


# -------------------------------------------------------------------------------------------------- the tables

SPEEDS = ((20.0, 10e-3), (20.0, 5e-3), (20.0, 2.5e-3), (60.0, 5e-3), (60.0, 2.5e-3), (60.0, 1e-3))


def newton_table() -> list[dict[str, float | str]]:
    """Return what each tangent takes on a fast crank-rocker: steps that converged of 100, iterations, rates."""
    rows: list[dict[str, float | str]] = []
    for rate, h in SPEEDS:
        for terms in newton.TANGENTS:
            found = newton.contraction(newton.fast_crank_rocker(rate)(), h, terms)
            rows.append({"rate": rate, "h": h, "tangent_terms": terms, **found._asdict()})
    return rows


def print_newton(rows: list[dict[str, float | str]]) -> None:
    print(
        "\nNewton on a crank-rocker: 100 steps, at most 8 iterations each; contraction is second over first correction"
    )
    print("  rad/s  h [ms]  tangent   converged  iterations  contraction: median     worst")
    for row in rows:
        print(
            f"  {row['rate']:5g}  {1e3 * float(row['h']):6g}  {row['tangent_terms']:8}  {row['steps']:9d}"
            f"  {row['iterations']:10.3f}  {row['rate_median']:19.1e}  {row['worst']:8.1e}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="measure every figure that rtmbs promises")
    parser.add_argument("--only", choices=[*GROUPS, "newton"], help="one group of figures")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures to this file as well")
    options = parser.parse_args()
    figures: list[Figure] = []
    print(f"{'figure':72} {'wanted':>14} {'measured':>12}")
    for name, group in GROUPS.items():
        if options.only not in (None, name):
            continue
        for figure in group():
            figures.append(figure)
            mark = "" if figure.good else "  MISSED"
            print(f"{figure.name:72} {figure.wanted:>14} {figure.measured:12.4g}{mark}", flush=True)
    table = newton_table() if options.only in (None, "newton") else []
    if table:
        print_newton(table)
    missed = [figure.name for figure in figures if not figure.good]
    if figures:
        print(f"\n{len(figures) - len(missed)} of {len(figures)} figures reached")
    if options.json:
        machine = f"{platform.machine()}, Python {platform.python_version()}"
        record = {"machine": machine, "figures": [figure._asdict() for figure in figures], "newton": table}
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
