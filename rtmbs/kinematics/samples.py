"""What an analysis fills: one row a time."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Samples(NamedTuple):
    """Positions, velocities and accelerations of the unknowns over K times."""

    t: Array  # (K,) [s]
    drivers: Array  # (K, 3, nf) values, rates, accelerations of the drivers
    q: Array  # (K, n)
    qd: Array  # (K, n)
    qdd: Array  # (K, n)
    f: Array  # (K, nf) values of the drivers, and turns that are counted
    weak: Array  # (K,) smallest singular value of the rows that are solved, without unit
    iterations: NDArray[np.int64]  # (K,) of Newton

    def part(self, first: int, last: int) -> "Samples":
        """Return some rows; they stay the same memory."""
        columns: list[Any] = [column[first:last] for column in self]
        return Samples(*columns)

    def take(self, row: int, other: "Samples", place: int) -> None:
        """Copy what was found at a row of other samples."""
        for mine, theirs in zip(self[2:], other[2:], strict=True):
            mine[row] = theirs[place]


def new_samples(t: Array, drivers: Array, n: int) -> Samples:
    """Allocate rows for these times."""
    K, nf = len(t), drivers.shape[2]
    q, qd, qdd = (np.zeros((K, n)) for _ in range(3))
    return Samples(t, drivers, q, qd, qdd, np.zeros((K, nf)), np.zeros(K), np.zeros(K, np.int64))
