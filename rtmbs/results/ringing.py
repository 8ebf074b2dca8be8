"""Modes that ring: accelerations that change their sign at every step and keep their size.

The trapezoidal rule answers a mode of |w h| or damping c h / m far above one with (-1)^k: nothing of it is physical.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.samples import Samples
from rtmbs.system.system import System

Array = NDArray[np.float64]

ALIKE = 0.25  # relative change of size from step to step that still is the same size
MATTERS = 1e-3  # h/2 |zdd| relative to the largest rate of the record: below it ringing is left alone
STILL = 1e-8  # h^2/4 |zdd| in typical sizes: below it there is only rounding
BLOCK = 4096  # samples looked at together
NAMED = 3  # coordinates


def ringing(system: System, samples: Samples) -> dict[str, int]:
    """Return "rings: COORDINATE" and how many samples ring, for the coordinates that ring most."""
    if len(samples.t) < 3 or system.n == 0:
        return {}
    fastest = max(float(np.max(np.abs(rates) / system.typical, initial=0.0)) for rates in blocks(samples.zd))
    counts = np.zeros(system.n, np.int64)
    for t, zdd in zip(blocks(samples.t), blocks(samples.zdd), strict=True):
        counts += alternating(t, zdd / system.typical, fastest)
    most = np.argsort(-counts, kind="stable")[:NAMED]
    return {f"rings: {system.coordinate_names[i]}": int(counts[i]) for i in most if counts[i]}


def blocks(values: Any) -> list[Array]:
    """Return ``values`` in blocks of samples; each begins with the last two of the one before."""
    return [values[first : first + BLOCK + 2] for first in range(0, max(len(values) - 2, 1), BLOCK)]


def alternating(t: Array, zdd: Array, fastest: float) -> Any:
    """Return how many samples (n,) have the opposite sign and about the size of the one before, and that of its own."""
    size = np.abs(zdd)
    flips = (zdd[1:] * zdd[:-1] < 0.0) & (np.abs(size[1:] - size[:-1]) <= ALIKE * size[:-1])
    h = np.diff(t)[:, None]
    flips &= (0.5 * h * size[1:] >= MATTERS * fastest) & (0.25 * h * h * size[1:] >= STILL)
    return np.count_nonzero(flips[1:] & flips[:-1], axis=0)
