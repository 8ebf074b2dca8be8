"""The 3R arm of METHODS 4: one prescribed coordinate, two free directions; how smooth each solver's motion is.

    python -m bench.smoothness [--write]    prints the table of docs/kinematics.md, or writes it there

Three links of one metre in a plane; x of the tip goes from its start by 2.2 m towards the base and back, once, as
(1 - cos) / 2, in 400 steps. Newton starts each step from the pose before, with increments of the solver named.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bench.documents import KINEMATICS, table, told
from rtmbs.kinematics import eliminate, least_norm

Array = NDArray[np.float64]
Solver = Callable[[Array, Array], Array]

START = np.array([-0.1, 0.5, -1.0])  # [rad] each from the link before
STEPS, WAY, EXACT, MOST = 400, 2.2, 1e-13, 50


class Kept:
    """Elimination that keeps its pivots while they are above a tenth of the row's maximum."""

    def __init__(self) -> None:
        self.last: NDArray[np.int64] | None = None

    def __call__(self, A: Array, b: Array) -> Array:
        found = eliminate(A, b, pivot="row", last=self.last)
        self.last = found.pivots
        return found.x


def tip(q: Array) -> float:
    """Return x of the tip [m]."""
    return float(np.sum(np.cos(np.cumsum(q))))


def jacobian(q: Array) -> Array:
    """Return its derivative (1, 3)."""
    sines = np.sin(np.cumsum(q))
    return -np.cumsum(sines[::-1])[::-1][None]


def path(solve: Solver) -> Array:
    """Return the angles (STEPS + 1, 3)."""
    q, found = START.copy(), [START]
    for k in range(1, STEPS + 1):
        wanted = tip(START) - 0.5 * WAY * (1.0 - np.cos(2.0 * np.pi * k / STEPS))
        for _ in range(MOST):
            change = solve(jacobian(q), np.array([wanted - tip(q)]))
            q = q + change
            if np.abs(change).max() <= EXACT:
                break
        found.append(q)
    return np.array(found)


def measured() -> list[list[str]]:
    """Return a row for each solver: length of the path, largest second difference, drift after the cycle [rad]."""
    solvers: dict[str, Solver] = {
        '`pivot="row"`': lambda A, b: eliminate(A, b, pivot="row").x,
        '`pivot="full"`': lambda A, b: eliminate(A, b, pivot="full").x,
        '`pivot="row"`, kept': Kept(),
        '`method="min_norm"`': least_norm,
    }
    rows = []
    for name, solve in solvers.items():
        q = path(solve)
        length = np.linalg.norm(np.diff(q, axis=0), axis=1).sum()
        bend, drift = np.abs(np.diff(q, 2, axis=0)).max(), np.linalg.norm(q[-1] - q[0])
        rows.append([name, f"{length:.2f}", f"{bend:.1e}", f"{drift:.2g}"])
    return rows


if __name__ == "__main__":
    head = ["solver", "length of the path [rad]", "largest second difference [rad]", "drift [rad]"]
    told(table(head, measured()), KINEMATICS, "python -m bench.smoothness")
