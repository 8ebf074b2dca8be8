"""Column compression: columns that share no row get one colour, and one difference serves all of a colour.

A pattern is a boolean array (m, n) or a scipy sparse matrix. Source: Curtis, Powell, Reid 1974; greedy colouring with
the columns of most neighbours first (Welsh, Powell 1967).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.errors import DerivativeError


class Compression(NamedTuple):
    """A coloured pattern: what to differentiate along, and where the entries of the answer belong."""

    colour: NDArray[np.int64]  # (n,) colour of a column
    colours: int
    row: NDArray[np.int64]  # (entries,) of the pattern
    column: NDArray[np.int64]  # (entries,)
    shape: tuple[int, int]  # (m, n)

    def seeds(self) -> NDArray[np.float64]:
        """Return (n, colours): ones where a column has the colour."""
        seed = np.zeros((self.shape[1], self.colours))
        seed[np.arange(self.shape[1]), self.colour] = 1.0
        return seed

    def expand(self, compressed: NDArray[Any]) -> NDArray[Any]:
        """Return the dense (m, n) of which ``compressed`` (m, colours) is the product with the seeds."""
        dense = np.zeros(self.shape, dtype=compressed.dtype)
        dense[self.row, self.column] = compressed[self.row, self.colour[self.column]]
        return dense


def compress(pattern: Any, n: int, m: int | None = None) -> Compression:
    """Colour the columns of ``pattern`` (m, n); raises when it has another shape."""
    import scipy.sparse as sparse

    S = sparse.csc_array(sparse.csc_array(pattern) != 0, dtype=np.int32)
    shape = (S.shape[0] if m is None else m, n)
    if S.shape != shape:
        raise DerivativeError(f"the sparsity pattern has the shape {S.shape}; the Jacobian has {shape}")
    neighbours = sparse.csr_array(S.T @ S)  # columns that meet in a row
    colour = np.full(shape[1], -1, dtype=np.int64)
    for j in np.argsort(-np.diff(neighbours.indptr), kind="stable"):
        taken = colour[neighbours.indices[neighbours.indptr[j] : neighbours.indptr[j + 1]]]
        free = np.ones(len(taken) + 1, dtype=bool)
        free[taken[(taken >= 0) & (taken < len(free))]] = False
        colour[j] = np.argmax(free)
    row, column = S.nonzero()
    colours = int(colour.max(initial=-1)) + 1
    return Compression(colour, colours, row.astype(np.int64), column.astype(np.int64), shape)
