"""From sample to sample: a step is refined where Newton asks for it, a singular pose that a sample hits is crossed."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.branch import confirmed, departing
from rtmbs.kinematics.equations import Equations
from rtmbs.kinematics.march import WORN
from rtmbs.kinematics.marches import March
from rtmbs.kinematics.samples import Samples, new_samples

Array = NDArray[np.float64]

REFINEMENTS = (2, 8, 64, 512)  # pieces of a step that are tried
FAST = 0.5  # change of a driver in one of the smallest pieces from which it is to blame [rad, or in typical lengths]
BESIDE = 1e-4  # how far beside a singular pose the two poses lie whose mean is taken, in steps


class Refined:
    """How many steps were refined, and at which times a singular pose was crossed."""

    def __init__(self) -> None:
        self.pieces = 0
        self.crossed: list[float] = []


def fill(march: March, equations: Equations, samples: Samples, first: int, refined: Refined) -> tuple[March, int]:
    """Fill all rows from ``first`` on; return the march as it is now, and the first row that could not be filled.

    Behind a row that was filled in pieces the march goes on by one row, two, four: rows behind one that fails are
    filled for nothing.
    """
    k, last = first, len(samples.t)
    ahead = last
    while k < last:
        end = min(k + ahead, last)
        k, ahead = filled(march, equations, samples, k, end), 2 * ahead
        if k == end:
            continue
        if k == 0:
            break
        other = march.rechosen(samples.q[k - 1], samples.f[k - 1])
        march = other or march
        if other or samples.iterations[k] == -1 - WORN:
            beyond = filled(march, equations, samples, k, k + 1)
            if beyond > k:
                k = beyond
                continue
        if not (
            reach(march, equations, samples, k, samples.t[k], k, refined)
            or cross(march, equations, samples, k, refined)
        ):
            break
        k, ahead = k + 1, 1
    return march, k


def filled(march: March, equations: Equations, samples: Samples, first: int, last: int) -> int:
    """Fill rows; return the first that Newton does not find, or finds on another branch than the row before."""
    reached = march.fill(samples, first, last)
    for k in departing(march, equations, samples, first, reached):
        if not confirmed(march, equations, samples, k):
            return k
    return reached


def reach(march: March, equations: Equations, samples: Samples, k: int, t: float, row: int, refined: Refined) -> bool:
    """Go from sample k - 1 to time t in more and more pieces; the pose found goes into ``row``."""
    for pieces in REFINEMENTS:
        between = pieced(equations, samples, k - 1, np.linspace(samples.t[k - 1], t, pieces + 1))
        if filled(march, equations, between, 1, pieces + 1) == pieces + 1:
            samples.take(row, between, pieces)
            refined.pieces += pieces - 1
            return True
    return False


def too_fast(march: March, equations: Equations, samples: Samples, k: int) -> tuple[str, str] | None:
    """Return the driver that runs away from Newton before sample k, and that in words; None where none does."""
    if not equations.profiles or k == 0:
        return None
    before, after, change = farthest(march, equations, samples, k)
    lengths = {owner for owner, length in zip(equations.rows.owner, equations.rows.is_length, strict=True) if length}
    names = [name for name, _ in equations.profiles]
    share = change / [equations.length if name in lengths else 1.0 for name in names]
    worst = int(np.argmax(share))
    if share[worst] < FAST:
        return None
    unit = "m" if names[worst] in lengths else "rad"
    return names[worst], (
        f"driver {names[worst]!r} goes too fast to be followed: between t = {before:.6g} s and {after:.6g} s it changes"
        f" by {change[worst]:.3g} {unit}; look at its function and its units, or ask for times that are closer"
    )


def farthest(march: March, equations: Equations, samples: Samples, k: int) -> tuple[float, float, Array]:
    """Return the last time before sample k that is reached in the smallest pieces, the next one, and by how much the
    drivers (drivers,) change between the two.
    """
    between = pieced(equations, samples, k - 1, np.linspace(samples.t[k - 1], samples.t[k], REFINEMENTS[-1] + 1))
    lost = min(march.fill(between, 1, len(between.t)), len(between.t) - 1)
    values = between.drivers[lost - 1 : lost + 1, 0, : len(equations.profiles)]
    return float(between.t[lost - 1]), float(between.t[lost]), np.abs(values[1] - values[0])


def pieced(equations: Equations, samples: Samples, known: int, t: np.ndarray) -> Samples:
    """Return samples at times t, the first of which is known."""
    between = new_samples(t, equations.drivers_at(t), equations.n)
    between.take(0, samples, known)
    return between


def cross(march: March, equations: Equations, samples: Samples, k: int, refined: Refined) -> bool:
    """Take the mean of a pose just before t[k] and one just after on the same smooth path; False where none is."""
    step = samples.t[k] - samples.t[k - 1]
    sides = samples.t[k] + BESIDE * step * np.array([-1.0, 1.0])
    if not reach(march, equations, samples, k, sides[0], k, refined):
        return False
    beside = pieced(equations, samples, k, sides)
    if march.fill(beside, 1, 2) != 2:
        return False
    for column in beside[2:7]:
        column[1] = 0.5 * (column[0] + column[1])
    samples.take(k, beside, 1)
    samples.weak[k] = 0.0
    refined.crossed.append(float(samples.t[k]))
    return True
