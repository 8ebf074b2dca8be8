"""Entries of the inverse of a factored matrix within its fronts, after Takahashi; linear in the size of the factor.

With A = L U and Z its inverse, Z L = U^-1 and U Z = L^-1 give every entry of Z in the pattern of L + U from entries
further up the elimination tree (Takahashi, Fagan and Chen 1973; Erisman and Tinney 1975). Fronts are visited parents
first, each with a dense square of Z over its own and its rest rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.jit.compiled import kernel
from rtmbs.numerics.linear.symbolic import FIRST, LIST, LOWER, PARENT, REST, UPPER, WIDTH, SparseLU, inverse

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@kernel
def invert_fronts(fronts, relative, values, starts, Z):
    """Fill Z with the squares of all fronts, of ``values`` that are factored; starts (fronts,) are their places."""
    for s in range(len(fronts) - 1, -1, -1):
        width, rest, upper, lower = fronts[s, WIDTH], fronts[s, REST], fronts[s, UPPER], fronts[s, LOWER]
        size, start = width + rest, starts[s]
        if rest > 0:
            p, listed = fronts[s, PARENT], fronts[s, LIST]
            theirs = fronts[p, WIDTH] + fronts[p, REST]
            for i in range(rest):
                row = starts[p] + relative[listed + i] * theirs
                for j in range(rest):
                    Z[start + (width + i) * size + width + j] = Z[row + relative[listed + j]]
        for i in range(width - 1, -1, -1):
            own = upper + i * size
            for k in range(i + 1, size):
                across = down = 0.0
                for q in range(i + 1, size):
                    across += values[own + q] * Z[start + q * size + k]
                    below = values[upper + q * size + i] if q < width else values[lower + i * rest + q - width]
                    down += Z[start + k * size + q] * below
                Z[start + i * size + k], Z[start + k * size + i] = -values[own + i] * across, -down
            total = 1.0
            for q in range(i + 1, size):
                total -= values[own + q] * Z[start + q * size + i]
            Z[start + i * size + i] = values[own + i] * total


class SelectedInverse:
    """Blocks of the inverse of a factored matrix, over unknowns that the pattern joins with each other.

    Parameters
    ----------
    lu : pattern and storage
    factored : values after ``sparse_lu.factor``
    """

    def __init__(self, lu: SparseLU, factored: Array) -> None:
        self.lu: Any = lu
        sizes = (lu.fronts[:, WIDTH] + lu.fronts[:, REST]) ** 2
        self.starts = (np.cumsum(sizes) - sizes).astype(np.int64)
        self.Z = np.zeros(int(sizes.sum()))
        invert_fronts(lu.fronts, lu.relative, factored, self.starts, self.Z)
        self.place = inverse(lu.order)

    def block(self, unknowns: Indices) -> Array | None:
        """Return the inverse over ``unknowns`` (k, k); None where the pattern does not join all of them."""
        lu, place = self.lu, self.place[unknowns]
        s = int(np.searchsorted(lu.fronts[:, FIRST], place.min(), side="right")) - 1
        first, width, rest, listed = (int(lu.fronts[s, c]) for c in (FIRST, WIDTH, REST, LIST))
        mine = self.place[lu.rest[listed : listed + rest]]  # descending
        number = np.searchsorted(-mine, -place)
        own = place < first + width
        found = np.append(mine, -1)[np.minimum(number, rest)] == place
        if not np.all(own | found):
            return None
        at, size = np.where(own, place - first, width + number), width + rest
        Z = self.Z[self.starts[s] : self.starts[s] + size * size].reshape(size, size)
        return np.asarray(Z[np.ix_(at, at)])
