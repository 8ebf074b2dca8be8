"""Work for an error at stacked 4 x 40: ``python -m bench.measures.work`` prints the table, ``--write`` keeps it.

Work is how often the equations of motion are evaluated in 1 s: residuals of Newton's iteration, or right-hand sides of
the reduced chain. The error is the largest of all angles at the end. Between two steps of a ladder it is read off a
straight line in logarithms.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from bench.documents import table, told
from bench.measures import main_job
from rtmbs.library import references
from rtmbs.library.references import Chain

ERRORS = (1e-3, 1e-6, 1e-9)  # [rad]
NY, NZ, RATE, END = (main_job.OPTIONS[name] for name in ("ny", "nz", "rate", "t_end"))
ANGLE = np.radians(main_job.OPTIONS["angle"])
COARSEST, HALVINGS = 0.04, 12  # steps [s]: 40 ms to 10 us
TOLERANCES = tuple(10.0 ** -np.arange(1.0, 13.0))  # relative, of DOP853
PAGE, NAME = Path(__file__).parents[2] / "docs" / "performance.md", "python -m bench.measures.work"

Array = NDArray[np.float64]
Ladder = list[tuple[float, float]]  # error [rad] and evaluations


def angles(h: float, ny: int = NY, nz: int = NZ) -> tuple[Array, int]:
    """Return the angles of the first rods after END in steps of ``h``, and the residuals evaluated."""
    record = main_job.measure(ny=ny, nz=nz, h=h)
    return np.array(record["theta"]), record["newton_iterations"]


def ladders(halvings: int = HALVINGS, ny: int = NY, nz: int = NZ) -> tuple[Ladder, Ladder]:
    """Return errors and work of steps ever half as long, as they are and extrapolated from pairs of them."""
    exact = references.fourbar(ny, nz, END, "stacked", ANGLE, RATE).q
    plain: Ladder = []
    extrapolated: Ladder = []
    before: tuple[Array, int] | None = None
    for k in range(halvings + 1):
        found, work = angles(COARSEST / 2**k, ny, nz)
        plain.append((float(np.abs(found - exact).max()), work))
        if before is not None:
            better = (4.0 * found - before[0]) / 3.0
            extrapolated.append((float(np.abs(better - exact).max()), work + before[1]))
        before = found, work
    return plain, extrapolated


def reduced() -> Ladder:
    """Return errors and work of DOP853 on the equations of the chain, whose loops are eliminated by hand."""
    chain, exact = Chain(NY, NZ), references.fourbar(NY, NZ, END, "stacked", ANGLE, RATE).q
    start = np.concatenate([np.full(NZ, ANGLE), [RATE], np.zeros(NZ - 1)])

    def flow(_: float, y: Array) -> Array:
        return np.concatenate([y[NZ:], chain(y[:NZ], y[NZ:])])

    found: Ladder = []
    for tolerance in TOLERANCES:
        run = solve_ivp(flow, (0.0, END), start, method="DOP853", rtol=tolerance, atol=tolerance)
        found.append((float(np.abs(run.y[:NZ, -1] - exact).max()), float(run.nfev)))
    return found


def work_for(error: float, ladder: Ladder) -> float:
    """Return the evaluations for an error [rad]; NaN when the ladder does not reach it."""
    for (above, fewer), (below, more) in pairwise(ladder):
        if above >= error > below:
            share = np.log(above / error) / np.log(above / below)
            return float(fewer * (more / fewer) ** share)
    return np.nan


def main() -> None:
    """Print the table."""
    columns = (*ladders(), reduced())
    head = ["largest error of the 40 angles [rad]", "rtmbs", "extrapolated from h and h / 2", "DOP853, reduced chain"]
    rows = [[f"{error:.0e}", *(f"{work_for(error, each):.0f}" for each in columns)] for error in ERRORS]
    told(table(head, rows), PAGE, NAME)


if __name__ == "__main__":
    main()
