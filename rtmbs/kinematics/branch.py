"""Does a pose lie on the branch of the pose before? Newton may converge on another one, beside a dead centre."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.equations import Equations
from rtmbs.kinematics.marches import March
from rtmbs.kinematics.samples import Samples, new_samples

Array = NDArray[np.float64]

SHARE = 0.2  # of the distance of a step by which the trapezoidal rule may miss: half a radian a step misses by 0.02
FLOOR = 1e3  # tolerances of Newton, below which a miss is rounding
BLOCK = 1000  # rows judged at a time: the differences of a block stay in the cache
STRAIGHT = (1, 8)  # pieces in which the drivers go straight from one sample to the next


def departing(march: March, equations: Equations, samples: Samples, first: int, last: int) -> Iterator[int]:
    """Yield the rows first .. last - 1 that do not continue the row before.

    The trapezoidal integral of the rates must lead from row to row, but for SHARE of the distance. On the other branch
    of a dead centre the rates have another sign. Rows with frozen unknowns are not judged, for their positions are no
    integral of their rates.
    """
    if not march.integrates:
        return
    size, floor = equations.sizes(), FLOOR * march.tolerance
    for begin in range(max(first, 1), last, BLOCK):
        end = min(begin + BLOCK, last)
        missed, distance = misses(samples.part(begin - 1, end), size)
        yield from (begin + np.flatnonzero(~(missed <= np.maximum(SHARE * distance, floor)))).tolist()


def misses(samples: Samples, size: Array) -> tuple[Array, Array]:
    """Return by how much the trapezoidal rule misses every row but the first (K - 1,), and how far the row is.

    Both are the largest over the unknowns, in their sizes.
    """
    h = np.diff(samples.t)[:, None]
    moved, rate = np.diff(samples.q, axis=0) / size, np.max(np.abs(samples.qd) / size, axis=1)
    expected = 0.5 * h * (samples.qd[1:] + samples.qd[:-1]) / size
    distance = np.maximum(np.max(np.abs(moved), axis=1), h[:, 0] * np.maximum(rate[1:], rate[:-1]))
    return np.max(np.abs(moved - expected), axis=1), distance


def confirmed(march: March, equations: Equations, samples: Samples, k: int) -> bool:
    """Return whether drivers that go straight from sample k - 1 to sample k lead to the pose of sample k.

    A driver with a corner or a jump moves the mechanism by another distance than the trapezoidal rule expects. The
    branch is right all the same.
    """
    size, nf = equations.sizes(), len(equations.profiles)
    before, after = samples.drivers[k - 1], samples.drivers[k]
    h = samples.t[k] - samples.t[k - 1]
    for pieces in STRAIGHT:
        share = np.linspace(0.0, 1.0, pieces + 1)
        drivers = np.zeros((pieces + 1, *before.shape))
        drivers[:, 0] = before[0] + share[:, None] * (after[0] - before[0])
        drivers[:, 1, :nf] = (after[0, :nf] - before[0, :nf]) / h
        path = new_samples(samples.t[k - 1] + share * h, drivers, equations.n)
        path.q[0], path.f[0] = samples.q[k - 1], samples.f[k - 1]
        whole = march.fill(path, 0, pieces + 1) == pieces + 1
        if whole and not any(departing(march, equations, path, 0, pieces + 1)):
            apart = float(np.max(np.abs(path.q[-1] - samples.q[k]) / size))
            return apart <= max(SHARE * float(misses(path, size)[1].sum()), FLOOR * march.tolerance)
    return False
