"""Errors and costs of the two methods on loops that ground holds, and on loops of a floating, sliding or turning base.

``python -m bench.measures.suited_method`` prints the table of docs/time-integration.md, ``--write`` writes it there.
"""

import time
from typing import Any

import numpy as np

from bench.campaigns import energy, momentum
from bench.documents import DOCS, table, told
from bench.measures.energy import ring
from rtmbs import Every, Model, PenaltyTrapezoidal, Simulation, VariationalMidpoint
from rtmbs.errors import StepError

T, H = 2.0, 5e-3  # [s]
LONG = 50.0  # [s] of runs that are to end
PARTS = 16  # of a step of the reference, extrapolated from two
CASES = 8
METHODS: tuple[Any, Any] = (PenaltyTrapezoidal(), VariationalMidpoint())
PAGE, NAME = DOCS / "time-integration.md", "python -m bench.measures.suited_method"


def grounded(seed: int) -> Model:
    """Return a free four-bar or slider-crank of uneven masses in a skew plane."""
    return energy.linkage(seed)[0]


def based(seed: int) -> Model:
    """Return a spatial loop and an arm on a floating, sliding or turning base."""
    return momentum.mechanism(seed)[0]


KINDS = {"one loop on ground": grounded, "ring of two to four freedoms on ground": ring, "loop on a free base": based}


def end(system: Any, method: Any, h: float, t: float = T) -> tuple[np.ndarray, float]:
    """Return the mass centres of all bodies at the end, and the processor time of the run [s]."""
    sim = Simulation(system, h, method)
    begun = time.process_time()
    sim.run(t, record=Every(t), on_failure="raise")
    taken = time.process_time() - begun
    bodies = [body for body in system.bodies if body != "ground"]
    return np.concatenate([sim[f"{body}.mass_center"] for body in bodies]) / system.length, taken


def compared(make: Any) -> list[tuple[float, ...]]:
    """Return errors and costs of both methods, a row a mechanism that all runs finish."""
    found = []
    for seed in range(CASES):
        system = make(seed).compile()
        try:
            coarse, fine = (end(system, METHODS[1], H / parts)[0] for parts in (PARTS, 2 * PARTS))
            exact = fine + (fine - coarse) / 3.0
            runs = [end(system, method, H) for method in METHODS]
        except StepError:
            continue
        found.append((*(float(np.abs(one - exact).max()) for one, _ in runs), *(taken for _, taken in runs)))
    return found


def finished(make: Any) -> list[int]:
    """Return how many runs of LONG seconds each method ends."""
    count = [0, 0]
    for seed in range(CASES):
        system = make(seed).compile()
        for k, method in enumerate(METHODS):
            try:
                end(system, method, H, LONG)
                count[k] += 1
            except StepError:
                continue
    return count


def main() -> None:
    """Measure, print, and write on demand."""
    rows = []
    for kind, make in KINDS.items():
        errors = np.array(compared(make))
        better = int(np.count_nonzero(errors[:, 1] < errors[:, 0]))
        middle = np.median(errors, axis=0)
        ratio = float(np.median(errors[:, 3] / errors[:, 2]))
        ended = finished(make)
        rows.append([
            kind, f"{middle[0]:.1e}", f"{middle[1]:.1e}", f"{better} of {len(errors)}", f"{ratio:.2f}",
            *(f"{one} of {CASES}" for one in ended),
        ])  # fmt: skip
    errors_of, ends_of = ("error, trapezoidal", "error, variational"), ("trapezoidal runs that end", "variational ones")
    told(table(["mechanisms", *errors_of, "variational nearer", "cost ratio", *ends_of], rows), PAGE, NAME)


if __name__ == "__main__":
    main()
