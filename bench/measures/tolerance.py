"""What ``tolerance`` keeps: ``python -m bench.measures.tolerance`` prints the largest errors of library mechanisms.

Errors are those of bodies, over all samples: of places in terms of the length of the mechanism, and of orientations in
rad, against extrapolated runs of small steps. The last column is the largest of both, in terms of the tolerance.
"""

import math
import time

import numpy as np
from numpy.typing import NDArray

from bench.measures.energy import ring
from rtmbs import Every, Result, Simulation, library
from rtmbs.simulation.refined import RefinedResult, refined

CASES = (  # mechanism, end [s], step of the reference [s]
    ("pendulum", 2.0, 2e-3),
    ("top", 1.0, 1e-3),
    ("governor", 1.0, 5e-4),
    ("fourbar", 1.0, 2e-3),
    ("windows", 1.0, 2e-3),
    ("crank_rocker", 1.0, 5e-4),
    ("planar_slider_crank", 1.0, 5e-4),
    ("slider_crank", 0.5, 2.5e-4),
    ("bricard", 1.0, 2e-3),
    ("driven_fourbar", 1.0, 1e-3),
    ("loop", 1.0, 1e-3),
    ("andrews", 0.02, 1e-5),
)
TOLERANCES = (1e-4, 1e-6)
SAMPLES = 50
RINGS, RING_TOLERANCE, RING_END, RING_PARTS = 40, 1e-5, 0.5, 20

Array = NDArray[np.float64]


def largest_error(result: Result, exact: Result, every: int, length: float) -> float:
    """Return the largest error of places [length] and orientations [rad]."""
    worst = 0.0
    for name in exact.names():
        body, _, what = name.rpartition(".")
        if f"{body}.mass_center" not in exact:
            continue
        values, true = result[name], exact[name][::every]
        if what == "position":
            worst = max(worst, float(np.abs(values - true).max()) / length)
        if what == "orientation":
            cosine = np.sign(np.sum(values * true, axis=1, keepdims=True))
            worst = max(worst, 2.0 * float(np.linalg.norm(values - cosine * true, axis=1).max()))
    return worst


def reference(system, t_end: float, h: float) -> tuple[RefinedResult, int]:  # type: ignore[no-untyped-def]
    """Return a run of small steps, and how many of them lie between two samples."""
    every = math.ceil(t_end / SAMPLES / h)
    return refined(system, t_end / SAMPLES / every, t_end, runs=3), every


def rings() -> list[tuple[float, float]]:
    """Return for random rings of bars: largest error and that of the reference, in tolerances of RING_TOLERANCE."""
    found = []
    for seed in range(RINGS):
        system = ring(seed).compile()
        exact, every = reference(system, RING_END, RING_END / SAMPLES / RING_PARTS)
        sim = Simulation(system, 5e-3)
        result = sim.run(RING_END, tolerance=RING_TOLERANCE, record=Every(RING_END / SAMPLES))
        places = [name for name in exact.names() if name.startswith("bar") and name.endswith(".position")]
        doubt = max(float(exact.error(name).max()) for name in places) / system.length
        found.append((largest_error(result, exact, every, system.length) / RING_TOLERANCE, doubt / RING_TOLERANCE))
    return found


def main() -> None:
    """Print the table, and how random rings fare."""
    print("| mechanism | s | tolerance | steps | refused | h, ms | time, s | largest error | in tolerances |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, t_end, h in CASES:
        system = library.build(name).compile()
        exact, every = reference(system, t_end, h)
        for tolerance in TOLERANCES:
            sim = Simulation(system, min(t_end / 100, 5e-3))
            start = time.perf_counter()
            result = sim.run(t_end, tolerance=tolerance, record=Every(t_end / SAMPLES))
            seconds, log = time.perf_counter() - start, result.steps  # type: ignore[attr-defined]
            error = largest_error(result, exact, every, system.length)
            h_used = log.h[log.taken]
            print(
                f"| {name} | {t_end:g} | {tolerance:.0e} | {log.steps} | {log.refused} | {1e3 * h_used.min():.2g} to "
                f"{1e3 * h_used.max():.2g} | {seconds:.2f} | {error:.1e} | {error / tolerance:.2g} |",
                flush=True,
            )
    known = [error for error, doubt in rings() if doubt < 0.1]
    print(
        f"\n{RINGS} random rings of 4 to 6 bars, uneven masses, units over four decades, tolerance {RING_TOLERANCE:g},"
        f" {RING_END:g} s: reference known to a tenth of the tolerance in {len(known)}; there the largest error is "
        f"{max(known):.2g} tolerances, the median {float(np.median(known)):.2g}"
    )


if __name__ == "__main__":
    main()
