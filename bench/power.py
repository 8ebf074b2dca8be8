"""Measure at which step the energies of all elements close with the kinetic energy to 1e-8 of what was exchanged.

    python -m bench.power            # all mechanisms of the library; four minutes
    python -m bench.power --write    # puts the table into docs/workload.md

Energies are integrals of power over every step, by the trapezoidal rule. Two runs, at a step and at half of it, give
the order. The step of the third run is the one that order two expects to reach 1e-8.
"""

import math
import sys

from bench.documents import DOCS, table, told
from rtmbs import Simulation, library, workload

WANTED = 1e-8  # of the exchanged energy
MARGIN = 0.7  # of WANTED that the third run aims at
FIRST = {"andrews": (2e-5, 0.02)}  # first step and length of the run [s], where the usual ones do not suit
USUAL = 1e-3, 0.1
HEAD = ["mechanism", "run [s]", "step [s]", "missed", "order", "step of the third run [s]", "missed there"]


def missed(name: str, h: float, t_end: float) -> float:
    """Return what energies miss in a run, of the exchanged energy."""
    return workload(Simulation(library.build(name).compile(), h=h), t_end).energy_missed


def fitting(h: float, t_end: float) -> float:
    """Return the largest step up to ``h`` [s] that ends at ``t_end`` [s]."""
    return t_end / math.ceil(t_end / h)


def measured(name: str) -> tuple[float, float, list[float]]:
    """Return the length of the runs [s], the order, and step [s] and miss of the first and of the third run."""
    h, t_end = FIRST.get(name, USUAL)
    coarse, half = missed(name, h, t_end), missed(name, h / 2, t_end)
    small = fitting(min(h / 2, h / 2 * math.sqrt(MARGIN * WANTED / half)), t_end)
    return t_end, math.log2(coarse / half), [h, coarse, small, missed(name, small, t_end)]


def main() -> None:
    """Measure every mechanism, and print the table."""
    rows = []
    for name in library.names():
        t_end, order, (h, coarse, small, fine) = measured(name)
        rows.append([name, f"{t_end:g}", f"{h:g}", f"{coarse:.1e}", f"{order:.2f}", f"{small:.2g}", f"{fine:.1e}"])
        print(rows[-1], file=sys.stderr)
    told(table(HEAD, rows), DOCS / "workload.md", "python -m bench.power")


if __name__ == "__main__":
    main()
