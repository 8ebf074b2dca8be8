"""The under-constrained linear solver of MKSim (METHODS 4), and the readable solution of least change.

A x = b with fewer equations than unknowns, or dependent ones: elimination picks as many unknowns as there are
independent equations, and leaves the others frozen at their previous values.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.kinematics.pivoting import eliminate_rows

Array = NDArray[np.float64]
PIVOTS = ("row", "full")


class Solution(NamedTuple):
    """What elimination found."""

    x: Array  # (n,)
    pivots: NDArray[np.int64]  # (r,) the unknowns solved for, in the order of the rows kept
    dependent: NDArray[np.int64]  # rows dropped
    inconsistency: Array  # (m - r,) what was left of b in them


def eliminate(
    A: Any,
    b: Any,
    previous: Any = None,
    *,
    pivot: str = "full",
    tolerance: float = 1e-10,
    last: NDArray[np.int64] | None = None,
) -> Solution:
    """Solve A x = b (m, n) by elimination; unknowns that no pivot takes keep their value in ``previous`` (zero).

    Parameters
    ----------
    A : object
        Matrix (m, n).
    b : object
        Right-hand side (m,).
    previous : object, optional
        Values (n,) of unknowns without a pivot; zero unless given.
    pivot : str, default "full"
        "row" takes the rows in their order and the largest entry of each (the paper's rule); "full" takes the largest
        entry of all that is left, which reveals the rank and does not depend on the order of the rows.
    tolerance : float, default 1e-10
        A pivot is zero when it is at most this share of the largest entry of A.
    last : ndarray of int, optional
        Unknowns (m,) by row that were pivots before; with "row" they are taken again while above 0.1 of the maximum.

    Returns
    -------
    Solution
        Solution with its pivots and rank.

    Raises
    ------
    InputError
        For arguments out of range.
    """
    if pivot not in PIVOTS:
        raise InputError(f"pivot is {shown(pivot)}; it must be {' or '.join(map(repr, PIVOTS))}")
    U, y = np.array(A, np.float64), np.array(b, np.float64)
    m, n = U.shape
    x = np.zeros(n) if previous is None else np.array(previous, np.float64)
    kept, dropped = np.zeros(m, np.int64), np.zeros(m, np.int64)
    columns, rows = np.arange(n), np.arange(m)
    old = np.full(m, -1) if last is None else np.asarray(last, np.int64)
    rank = eliminate_rows(
        U, y, x, columns, rows, old, kept, dropped, tolerance * np.abs(U).max(initial=0.0), pivot == "full"
    )
    gone = dropped[: m - rank]
    return Solution(x, columns[:rank].copy(), rows[gone] if pivot == "full" else gone, y[gone])


def least_norm(A: Any, b: Any, previous: Any = None, size: Any = None, tolerance: float = 1e-10) -> Array:
    """Return x with A x = b (least squares where that is impossible) and the least change from ``previous`` (zero).

    Parameters
    ----------
    A : object
        Matrix (m, n).
    b : object
        Right-hand side (m,).
    previous : object, optional
        Values (n,) to stay near; zero unless given.
    size : object, optional
        (n,) what each unknown typically changes by; changes are weighed by it. Singular values below ``tolerance`` of
        the largest count as zero.
    tolerance : float, default 1e-10
        Smallest singular value that counts, relative to the largest.

    Returns
    -------
    ndarray
        X with A x = b (least squares where that is impossible) and the least change from ``previous`` (zero).
    """
    A = np.asarray(A, np.float64)
    x = np.zeros(A.shape[1]) if previous is None else np.array(previous, np.float64)
    scale = np.ones(A.shape[1]) if size is None else np.asarray(size, np.float64)
    change = np.linalg.lstsq(A * scale, np.asarray(b) - A @ x, rcond=tolerance)[0]
    return np.asarray(x + scale * change)
