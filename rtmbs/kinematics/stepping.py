"""Steps from sample to sample: refined where Newton needs them, across singular poses, on one branch.

Beside a dead centre Newton may converge on another branch than that of the pose before.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.coordinates import KinematicSamples, new_samples
from rtmbs.kinematics.equations import KinematicEquations
from rtmbs.kinematics.path_kernel import WORN
from rtmbs.kinematics.path_solver import PathSolver
from rtmbs.model import Spline

Array = NDArray[np.float64]

SHARE = 0.2  # of the distance of a step by which the trapezoidal rule may miss: half a radian a step misses by 0.02
FLOOR = 1e3  # tolerances of Newton, below which a miss is rounding
BLOCK = 1000  # rows judged at a time: the differences of a block stay in the cache
STRAIGHT = (1, 8)  # pieces in which the drivers go straight from one sample to the next


def departing(
    march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, first: int, last: int
) -> Iterator[int]:
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


def misses(samples: KinematicSamples, size: Array) -> tuple[Array, Array]:
    """Return by how much the trapezoidal rule misses every row but the first (K - 1,), and how far the row is.

    Both are the largest over the unknowns, in their sizes.
    """
    h = np.diff(samples.t)[:, None]
    moved, rate = np.diff(samples.q, axis=0) / size, np.max(np.abs(samples.qd) / size, axis=1)
    expected = 0.5 * h * (samples.qd[1:] + samples.qd[:-1]) / size
    distance = np.maximum(np.max(np.abs(moved), axis=1), h[:, 0] * np.maximum(rate[1:], rate[:-1]))
    return np.max(np.abs(moved - expected), axis=1), distance


def confirmed(march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, k: int) -> bool:
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


REFINEMENTS = (2, 8, 64, 512)  # pieces of a step that are tried
FAST = 0.5  # change of a driver in one of the smallest pieces from which it is to blame [rad, or in typical lengths]
BESIDE = 3e-3  # change of the coordinates, in typical sizes, from a singular pose to poses beside it; errors are d^4
WIDEST = 0.3  # of a step that it may be
NEARER = (1.0, 0.3, 0.1, 0.03)  # parts of it that are tried
CLOSED = 1e-9  # largest |Phi| of a pose between them, in typical sizes
CLOSED_RATES = 1e-5  # of the largest rate, in typical sizes: what rates between them may leave of Phid


class Refinement:
    """Number of refined steps, and times of crossed singular poses."""

    def __init__(self) -> None:
        self.pieces = 0
        self.crossed: list[float] = []


def fill(
    march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, first: int, refined: Refinement
) -> tuple[PathSolver, int]:
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


def filled(march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, first: int, last: int) -> int:
    """Fill rows; return the first that Newton does not find, or finds on another branch than the row before."""
    reached = march.fill(samples, first, last)
    for k in departing(march, equations, samples, first, reached):
        if not confirmed(march, equations, samples, k):
            return k
    return reached


def reach(
    march: PathSolver,
    equations: KinematicEquations,
    samples: KinematicSamples,
    k: int,
    t: float,
    row: int,
    refined: Refinement,
) -> bool:
    """Go from sample k - 1 to time t in more and more pieces; the pose found goes into ``row``."""
    for pieces in REFINEMENTS:
        between = pieced(equations, samples, k - 1, np.linspace(samples.t[k - 1], t, pieces + 1))
        if filled(march, equations, between, 1, pieces + 1) == pieces + 1:
            samples.take(row, between, pieces)
            refined.pieces += pieces - 1
            return True
    return False


def too_fast(
    march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, k: int
) -> tuple[str, str] | None:
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


def farthest(
    march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, k: int
) -> tuple[float, float, Array]:
    """Return the last time before sample k that is reached in the smallest pieces, the next one, and by how much the
    drivers (drivers,) change between the two.
    """
    between = pieced(equations, samples, k - 1, np.linspace(samples.t[k - 1], samples.t[k], REFINEMENTS[-1] + 1))
    lost = min(march.fill(between, 1, len(between.t)), len(between.t) - 1)
    values = between.drivers[lost - 1 : lost + 1, 0, : len(equations.profiles)]
    return float(between.t[lost - 1]), float(between.t[lost]), np.abs(values[1] - values[0])


def pieced(equations: KinematicEquations, samples: KinematicSamples, known: int, t: np.ndarray) -> KinematicSamples:
    """Return samples at times t, the first of which is known."""
    between = new_samples(t, equations.drivers_at(t), equations.n)
    between.take(0, samples, known)
    return between


def cross(
    march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, k: int, refined: Refinement
) -> bool:
    """Take sample k from two poses just before t[k] and two just after on the same smooth path; False where none is.

    Means of poses at distances d and 2 d on both sides are extrapolated, so that what is left is of order d^4. Newton's
    iteration does not come closer to a singular pose than the root of its tolerance, whatever the step. Drivers may ask
    for more than the mechanism can reach. Then poses on both sides are no smooth path, or leave equations open between
    them.
    """
    step = samples.t[k] - samples.t[k - 1]
    rate = float(np.max(np.abs(samples.qd[k - 1]) / equations.sizes()))
    distance = min(BESIDE / rate, WIDEST * step) if rate > 0.0 else WIDEST * step
    for part in NEARER:
        sides = samples.t[k] + part * distance * np.array([-2.0, -1.0, 1.0, 2.0])
        if not reach(march, equations, samples, k, sides[0], k, refined):
            continue
        beside = pieced(equations, samples, k, sides)
        if march.fill(beside, 1, 4) != 4:
            continue
        if any(departing(march, equations, beside, 0, 4)):
            continue
        for column in beside[2:7]:
            column[1] = (4.0 * (column[1] + column[2]) - (column[0] + column[3])) / 6.0
        known = len(equations.profiles)  # turns that are counted stand behind
        beside.f[1, :known] = samples.drivers[k, 0, :known]
        if not holds(march, equations, samples.drivers[k, 1], beside, 1):
            continue
        samples.take(k, beside, 1)
        samples.weak[k] = 0.0
        refined.crossed.append(float(samples.t[k]))
        return True
    return False


def holds(march: PathSolver, equations: KinematicEquations, rates: Array, samples: KinematicSamples, row: int) -> bool:
    """Return whether a row meets all equations, and their first derivatives with ``rates`` (nf,) of the drivers."""
    programs, size = march.programs, equations.sizes()
    scale = np.where(equations.rows.is_length, equations.length, 1.0)
    q, qd, f = samples.q[row], samples.qd[row], samples.f[row]
    phi = np.abs(programs.phi(q, f)) / scale
    phid = np.abs(programs.jacobian(q, f) @ qd + programs.by_time(q, f, rates)) / scale
    rate = float(np.max(np.abs(qd) / size, initial=0.0))
    return bool(np.max(phi, initial=0.0) <= CLOSED and np.max(phid, initial=0.0) <= CLOSED_RATES * rate + CLOSED)


HALVINGS = 40  # of an interval in which a driver jumps
COARSE = 1.0  # [rad] from row to row, from which an angle may be meant in degrees
LEFT, SEEN = 0.5, 1e-9  # share of a step that rates do not explain; smallest change that is looked at


def driver_notes(equations: KinematicEquations, samples: KinematicSamples) -> list[str]:
    """Return remarks on the drivers over these samples: jumps, tables that end, and degrees in place of radians."""
    found = []
    lengths = {owner for owner, length in zip(equations.rows.owner, equations.rows.is_length, strict=True) if length}
    for slot, (name, profile) in enumerate(equations.profiles):
        for begin, end in spans(profile):
            if len(samples.t) and not (begin <= samples.t[0] and samples.t[-1] <= end):
                found.append(
                    f"driver {name!r}: its table is from {begin:g} s to {end:g} s; beyond, its spline goes on straight"
                )
        change, h = np.diff(samples.drivers[:, 0, slot]), np.diff(samples.t)
        rate = np.maximum(np.abs(samples.drivers[1:, 1, slot]), np.abs(samples.drivers[:-1, 1, slot]))
        turns = np.ptp(samples.drivers[:, 0, slot]) > 2.0 * np.pi if len(change) else False
        if turns and name not in lengths and np.abs(change).max() > COARSE:
            found.append(
                f"driver {name!r} turns by up to {np.abs(change).max():.3g} rad from one row to the next; angles are in"
                " rad, a turn is 2 * pi or 360 deg; take a shorter print interval if it is meant"
            )
        unexplained = np.abs(change) - h * rate
        for k in np.flatnonzero(unexplained > np.maximum(LEFT * np.abs(change), SEEN))[:1]:
            if jump := jump_between(equations, slot, float(samples.t[k]), float(samples.t[k + 1])):
                found.append(
                    f"driver {name!r} jumps by {jump[1]:.6g} at t = {jump[0]:.6g} s, which its rates do not tell; write"
                    " it as a smooth step for a motion without jumps"
                )
    return found


def curve_notes(equations: KinematicEquations, q: Array | None = None) -> list[str]:
    """Return remarks of curves on their points, at coordinates q (S, n), or over a turn; most curves have none."""
    found = []
    for row, one in equations.rows.lists.get("curve", ()):
        if notes := getattr(one.curve, "notes", None):
            ends = () if q is None else (float(q[:, one.place].min()), float(q[:, one.place].max()))
            found += notes(equations.rows.owner[row], *ends)
    return found


def spans(profile: Any) -> list[tuple[float, float]]:
    """Return the times between which the tables of a profile lie [s]; an expression may hold several."""
    parts = [operand for kind, operand in getattr(profile, "steps", ()) if kind == "profile"]
    tables = [one for one in (profile, *parts) if isinstance(one, Spline)]
    return [(float(np.min(one.t)), float(np.max(one.t))) for one in tables]


def jump_between(equations: KinematicEquations, slot: int, a: float, b: float) -> tuple[float, float] | None:
    """Return where a driver jumps between two times, and by how much; None where it is steep and goes on."""
    whole = np.diff(equations.drivers_at(np.array([a, b]))[:, 0, slot])[0]
    for _ in range(HALVINGS):
        middle = 0.5 * (a + b)
        if not a < middle < b:
            break
        values = equations.drivers_at(np.array([a, middle, b]))[:, 0, slot]
        a, b = (a, middle) if abs(values[1] - values[0]) > abs(values[2] - values[1]) else (middle, b)
    aside = SEEN * max(abs(a), abs(b), 1.0)
    left = np.diff(equations.drivers_at(np.array([a - aside, b + aside]))[:, 0, slot])[0]
    return (b, float(left)) if abs(left) > LEFT * abs(whole) else None
