"""A long curve in few points: the least and the greatest of every part, at their own times."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PARTS = 1500  # of a curve; a plot is rarely wider in pixels


def envelope(t: Array, y: Array, parts: int = PARTS) -> tuple[Array, Array]:
    """Return the points of a curve (t, y) (k,) that a picture of ``parts`` columns needs, times rising.

    Every part of the samples keeps its first least and first greatest one, and the curve its ends, so extremes are
    exact. A curve of up to two samples a part comes back as it is.
    """
    if len(y) <= 2 * parts:
        return t, y
    length = -(-len(y) // parts)
    padded = np.append(y, np.full(-len(y) % length, y[-1])).reshape(-1, length)
    firsts, known = length * np.arange(len(padded)), ~np.isnan(padded)  # a curve may have no numbers at first
    low = firsts + np.argmin(np.where(known, padded, np.inf), axis=1)
    high = firsts + np.argmax(np.where(known, padded, -np.inf), axis=1)
    chosen = np.unique(np.minimum(np.concatenate(([0, len(y) - 1], low, high)), len(y) - 1))
    return t[chosen], y[chosen]
