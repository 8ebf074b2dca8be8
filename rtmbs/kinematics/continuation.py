"""Continuation of a pose along its branch, and singular poses of a motion.

Continuation of a pose along its branch: in pieces so short that no other branch can come between.

The matrix A of the equations keeps its rank on the way from one pose to the next where |D A^+| < 1, with D its change.
There the branch goes on, and no other one meets it: two poses of the same drivers have a mean A along which they
differ, so that it is singular. Rates have no part in that, and may jump. A piece is taken where this share stays below
BENT. Pieces become shorter towards a singular pose, and come to an end before it. A singular pose is passed on the one
smooth path.

Singular poses of a motion: where the smallest singular value comes down to zero, at a sample or between two.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.coordinates import SIZE, KinematicSamples, new_samples
from rtmbs.kinematics.equations import KinematicEquations
from rtmbs.kinematics.mobility import smallest_singular
from rtmbs.kinematics.path_solver import PathSolver

Array = NDArray[np.float64]
Drivers = Callable[[Array], Array]  # values, rates and accelerations (S, 3, nf) at times (S,)

SHARE = 0.2  # of the distance of a step by which the trapezoidal rule may miss: half a radian a step misses by 0.02
FLOOR = 1e3  # tolerances of Newton, below which a miss is rounding
BLOCK = 1000  # rows judged at a time: the differences of a block stay in the cache


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
    distance = np.maximum(np.max(np.abs(moved), axis=1), np.abs(h[:, 0]) * np.maximum(rate[1:], rate[:-1]))
    return np.max(np.abs(moved - expected), axis=1), distance


BENT = 0.5  # |D A^+| of a piece, half of what it may be
AIM = 0.35  # what the next piece is made for
SHORTER, LONGER = (0.1, 0.5), (0.5, 4.0)  # by which a piece changes
PIECES = 20_000  # tried on one way; each takes some tenths of a millisecond
LEAST = 1e-7  # motion in a piece, in typical sizes, at which the way ends
NEAR_ZERO = 1e-5  # share of the largest singular value of a way at which it ends
SPACINGS = 1e-14  # of a time, at which the way ends


class Way(NamedTuple):
    """Rows from a pose towards another time."""

    march: PathSolver  # with rows chosen anew, where it needed them
    rows: list[KinematicSamples]  # of one row each
    reached: bool  # the last is at the time
    ended: bool  # no piece leads on; otherwise there are too many
    step: float  # that was tried last [s]

    @property
    def last(self) -> KinematicSamples:
        """The last row."""
        return self.rows[-1]


def follow(
    march: PathSolver, equations: KinematicEquations, begin: KinematicSamples, end: float,
    drivers: Drivers | None = None,
) -> Way:  # fmt: skip
    """Go from a row to a time, which may lie before it, along the branch; the way ends early before a singular pose."""
    rows, h, largest = [begin], end - float(begin.t[0]), float(begin.weak[0])
    for _ in range(PIECES):
        here = rows[-1]
        t = float(here.t[0])
        if t == end:
            return Way(march, rows, True, True, h)
        beyond = abs(h) >= (1.0 - 1e-9) * abs(end - t)
        ahead = piece(march, equations, here, end if beyond else t + h, drivers)
        bend = float(ahead.bend[1]) if ahead is not None else np.inf
        if ahead is not None and bend <= BENT:
            rows.append(ahead.part(1, 2))
            largest = max(largest, float(ahead.weak[1]))
            h = (end - t if beyond else h) * np.clip(AIM / max(bend, 1e-9), *LONGER)
            continue
        if spare(march) and (other := march.rechosen(here.q[0], here.f[0])):
            march = other
            continue
        h = (end - t if beyond else h) * np.clip(AIM / bend, *SHORTER)
        moved = abs(h) * float(np.max(np.abs(here.qd[0]) / equations.sizes()))
        if 0.0 < moved <= LEAST or abs(h) <= SPACINGS * max(abs(t), abs(end)):
            break
        if bend > BENT and here.weak[0] <= NEAR_ZERO * largest:
            break
    else:
        return Way(march, rows, float(rows[-1].t[0]) == end, False, h)
    return Way(march, rows, False, True, h)


def piece(
    march: PathSolver, equations: KinematicEquations, here: KinematicSamples, t: float, drivers: Drivers | None
) -> KinematicSamples | None:
    """Return a known row and the one that Newton's iteration finds at t; None where it finds none."""
    times = np.array([here.t[0], t])
    found = new_samples(times, (drivers or equations.drivers_at)(times), equations.n)
    found.take(0, here, 0)
    return found if march.fill(found, 1, 2) == 2 else None


def pieced(equations: KinematicEquations, samples: KinematicSamples, known: int, t: np.ndarray) -> KinematicSamples:
    """Return samples at times t, the first of which is known."""
    between = new_samples(t, equations.drivers_at(t), equations.n)
    between.take(0, samples, known)
    return between


def spare(march: PathSolver) -> bool:
    """Return whether other rows could be solved in place of those that are."""
    return bool(march.programs.m - SIZE > int(march.keep.sum()))


JUMP = 1e3  # times the change that the rates tell


def over_jump(way: Way, equations: KinematicEquations) -> KinematicSamples | None:
    """Return the row behind a jump of the drivers at which a way ended; None where they do not jump, or lead nowhere.

    The drivers go straight from their values before the jump to those behind.
    """
    t = float(way.last.t[0])
    beyond = t + 2.0 * max(way.step, SPACINGS * abs(t), 1e-300)
    drivers = equations.drivers_at(np.array([t, beyond]))
    change = drivers[1, 0] - drivers[0, 0]
    told = (beyond - t) * np.maximum(np.abs(drivers[0, 1]), np.abs(drivers[1, 1]))
    if not np.any(np.abs(change) > JUMP * told + LEAST):
        return None

    def straight(s: Array) -> Array:
        values = np.zeros((len(s), 3, drivers.shape[2]))
        values[:, 0], values[:, 1] = drivers[0, 0] + s[:, None] * change, change
        return values

    begin = new_samples(np.zeros(1), straight(np.zeros(1)), equations.n)
    begin.take(0, way.last, 0)
    gone = follow(way.march, equations, begin, 1.0, straight)
    if not gone.reached:
        return None
    gone.last.qd[:] = gone.last.qdd[:] = 0.0
    found = piece(gone.march, equations, gone.last._replace(t=np.array([t])), beyond, None)
    return None if found is None else found.part(1, 2)


BESIDE = 3e-3  # change of the coordinates, in typical sizes, from a singular pose to poses beside it; errors are d^4
WIDEST = 0.3  # of a step that it may be
NEARER = (1.0, 0.3, 0.1, 0.03)  # parts of it that are tried
CLOSED = 1e-9  # largest |Phi| of a sample between them, in typical sizes
CLOSED_RATES = 1e-5  # of the largest rate, in typical sizes: what rates between them may leave of Phid
PASSED = 1e-8  # largest |Phi| of a singular pose that is passed between two samples: of lengths, what is told as equal


def vanishing(way: Way) -> float:
    """Return the time [s] at which the singular value of a way that ended comes to zero."""
    t, weak = float(way.last.t[0]), float(way.last.weak[0])
    if len(way.rows) < 2:
        return t
    before, was = float(way.rows[-2].t[0]), float(way.rows[-2].weak[0])
    ahead = weak * (t - before) / (was - weak) if was > weak else 0.0
    return t + min(ahead, 2.0 * (t - before))


def beside(
    way: Way, equations: KinematicEquations, center: float, step: float, sample: bool
) -> Iterator[KinematicSamples]:
    """Yield four rows beside a time: two just before, two just after, on one smooth path; at most once.

    They lie d and 2 d away. What lies between two mechanisms out of reach is no smooth path, or leaves equations open
    in the middle. A ``sample`` in the middle must meet all equations, and their rates.
    """
    size = equations.sizes()
    rates = [float(np.max(np.abs(row.qd[0]) / size)) for row in way.rows]
    rate = min((one for one in rates if one > 0.0), default=0.0)
    distance = min(BESIDE / rate, WIDEST * step) if rate > 0.0 else WIDEST * step
    for part in NEARER:
        sides = center + part * distance * np.array([-2.0, -1.0, 1.0, 2.0])
        begin = next((row for row in reversed(way.rows) if row.t[0] <= sides[0]), way.rows[0])
        reached = follow(way.march, equations, begin, float(sides[0]))
        if not reached.reached:
            continue
        found = new_samples(sides, equations.drivers_at(sides), equations.n)
        found.take(0, reached.last, 0)
        march = reached.march
        if march.fill(found, 1, 4) != 4 or any(departing(march, equations, found, 0, 4)):
            continue
        between = middle(equations, found, center)
        if holds(march, equations, between, sample):
            yield found
            return


def middle(equations: KinematicEquations, sides: KinematicSamples, t: float) -> KinematicSamples:
    """Return the row in the middle of four on a smooth path: what is left is of order d^4."""
    found = new_samples(np.array([t]), equations.drivers_at(np.array([t])), equations.n)
    for mine, column in zip(found[2:6], sides[2:6], strict=True):
        mine[0] = (4.0 * (column[1] + column[2]) - (column[0] + column[3])) / 6.0
    known = len(equations.profiles)  # turns that are counted stand behind
    found.f[0, :known] = found.drivers[0, 0, :known]
    return found


def holds(march: PathSolver, equations: KinematicEquations, row: KinematicSamples, sample: bool) -> bool:
    """Return whether a row meets all equations, and as a sample also their first derivatives."""
    programs, size = march.programs, equations.sizes()
    scale = np.where(equations.rows.is_length, equations.length, 1.0)
    q, qd, f = row.q[0], row.qd[0], row.f[0]
    phi = np.max(np.abs(programs.phi(q, f)) / scale, initial=0.0)
    if not sample:
        return bool(phi <= PASSED)
    phid = np.abs(programs.jacobian(q, f) @ qd + programs.by_time(q, f, row.drivers[0, 1])) / scale
    rate = float(np.max(np.abs(qd) / size, initial=0.0))
    return bool(phi <= CLOSED and np.max(phid, initial=0.0) <= CLOSED_RATES * rate + CLOSED)


ZERO = 1e-5  # share of the largest value of the motion that counts as zero
REACH = 1.5  # a minimum may be zero when it is at most so many times as large as the steps beside it
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
SEARCHES = 60
FLAT = 0.9  # share of the values at both ends from which the middle is flat
SIDES = (1e-2, 1e-3)  # how far aside the slopes are looked at, in steps
DENSE = 1500  # independent rows up to which singular values of all rows are worked out
MANY = 4  # rows for each independent one up to which they are
PART = 0.3  # share of the largest part in the weak direction from which an element is named


@dataclass(frozen=True)
class SingularPose:
    """A pose at which the equations lose a rank.

    Parameters
    ----------
    t : float
        [s].
    value : float
        Smallest singular value without unit.
    elements : tuple[str, ...]
        Joints and drivers whose equations depend on each other there.
    sample : int
        The last sample before it, or at it.
    """

    t: float  # [s]
    value: float  # smallest singular value without unit
    elements: tuple[str, ...]  # joints and drivers whose equations depend on each other there
    sample: int  # the last sample before it, or at it

    def __str__(self) -> str:
        return f"singular pose at t = {self.t:.9g} s in {', '.join(self.elements)} (singular value {self.value:.1e})"


def find_singular(march: PathSolver, equations: KinematicEquations, samples: KinematicSamples) -> list[SingularPose]:
    """Return the singular poses of samples that are filled, in the order of time."""
    w = samples.weak
    largest = float(np.max(w[np.isfinite(w)], initial=0.0))
    found: list[SingularPose] = []
    for k in range(len(w)):
        left, right = w[max(k - 1, 0)], w[min(k + 1, len(w) - 1)]
        if not (w[k] <= left and w[k] <= right) or (found and found[-1].sample >= k - 1 and w[k] > ZERO * largest):
            continue
        if w[k] > ZERO * largest and w[k] > REACH * max(left - w[k], right - w[k]):
            continue
        here = march.rechosen(samples.q[k], samples.f[k]) or march
        pose = closest(here, equations, samples, k, ZERO * largest)
        if (
            pose is not None
            and real(here, pose, samples, largest)
            and not (found and abs(found[-1].t - pose.t) < 1e-6 * (1.0 + abs(pose.t)))
        ):
            found.append(pose)
    return found


def with_passed(
    poses: list[SingularPose], passed: list[tuple[float, float, int]], march: PathSolver, equations: KinematicEquations,
    samples: KinematicSamples,
) -> list[SingularPose]:  # fmt: skip
    """Return poses with those that were passed between two samples (time, singular value, sample before) and not found.

    A pose may lie deep between two samples, where no sample tells of it.
    """
    t = samples.t
    added: list[SingularPose] = []
    for time, value, sample in passed:
        if sample + 1 >= len(t):
            continue
        near = 0.5 * (t[sample + 1] - t[sample])
        if not any(abs(pose.t - time) <= near for pose in [*poses, *added]):
            added.append(SingularPose(time, value, elements_at_rank_loss(march, equations), sample))
    return sorted([*poses, *added], key=lambda pose: pose.t)


def real(march: PathSolver, pose: SingularPose, samples: KinematicSamples, largest: float) -> bool:
    """Return whether all rows lose a rank at a pose, not only those that are solved."""
    programs, rank = march.programs, int(march.keep.sum())
    if rank == programs.m - SIZE or rank > DENSE or programs.m > MANY * rank:
        return True
    limit = float(np.sqrt(ZERO)) * largest
    at = np.flatnonzero(samples.t == pose.t)
    if len(at):
        return smallest_singular(programs, samples.q[at[0]], samples.f[at[0]], rank) <= limit
    near = nearest(march, samples, pose)
    return near is not None and smallest_singular(programs, *near, rank) <= limit


def nearest(march: PathSolver, samples: KinematicSamples, pose: SingularPose) -> tuple[np.ndarray, np.ndarray] | None:
    """Return q and f a little beside the pose, where the equations can be solved; None where they cannot."""
    known = min(pose.sample, len(samples.t) - 2)
    step = samples.t[known + 1] - samples.t[known]
    for aside in (1e-4, -1e-4, 1e-3, -1e-3, 1e-2, -1e-2):
        t = np.array([samples.t[known], pose.t + aside * step])
        between = pieced(march.programs.equations, samples, known, t)
        if t[1] != t[0] and march.fill(between, 1, 2) == 2:
            return between.q[1], between.f[1]
    return None


def closest(
    march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, k: int, zero: float
) -> SingularPose | None:
    """Return the pose of the smallest singular value between the samples beside k, by golden sections; None where it is
    larger than ``zero``.

    Towards a zero it goes in two straight lines. Where it is flat instead, no zero is between.
    """
    first, last = max(k - 1, 0), min(k + 1, len(samples.t) - 1)
    a, b = samples.t[first], samples.t[last]
    at_a, at_b = float(samples.weak[first]), float(samples.weak[last])
    best, where = float(samples.weak[k]), float(samples.t[k])
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    at_c, at_d = (weak_at(march, equations, samples, time, k) for time in (c, d))
    for _ in range(SEARCHES):
        if at_c < at_d:
            b, d, at_b, at_d = d, c, at_d, at_c
            c = b - GOLDEN * (b - a)
            at_c = weak_at(march, equations, samples, c, k)
        else:
            a, c, at_a, at_c = c, d, at_c, at_d
            d = a + GOLDEN * (b - a)
            at_d = weak_at(march, equations, samples, d, k)
        lowest = min(at_c, at_d, best)
        if b - a < 1e-12 * (1.0 + abs(b)) or lowest > max(zero, FLAT * max(at_a, at_b)):
            break
    for value, time in ((at_c, c), (at_d, d)):
        if value < best:
            best, where = value, time
    if best > zero:
        return None
    where = between_slopes(march, equations, samples, where, k)
    last_sample = int(np.searchsorted(samples.t, where, side="right")) - 1
    return SingularPose(where, best, elements_at_rank_loss(march, equations), last_sample)


def between_slopes(
    march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, where: float, k: int
) -> float:
    """Return where the singular value comes to zero, from its values on both sides: there it is two straight lines."""
    first, last = samples.t[max(k - 1, 0)], samples.t[min(k + 1, len(samples.t) - 1)]
    for part in SIDES:
        a, b = max(where - part * (last - first), first), min(where + part * (last - first), last)
        at_a, at_b = (weak_at(march, equations, samples, time, k) for time in (a, b))
        if not (at_a > 0.0 and at_b > 0.0):
            break
        where = a + (b - a) * at_a / (at_a + at_b)
    return float(where)


def weak_at(march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, t: float, k: int) -> float:
    """Return the smallest singular value at a time near sample k; zero where a matrix is singular."""
    known = k if t >= samples.t[k] or k == 0 else k - 1
    if t == samples.t[known]:
        return float(samples.weak[known])
    between = pieced(equations, samples, known, np.array([samples.t[known], t]))
    if march.fill(between, 1, 2) == 2:
        return float(between.weak[1])
    way = follow(march, equations, samples.part(known, known + 1), t)
    return float(way.last.weak[0]) if way.reached else 0.0


def elements_at_rank_loss(march: PathSolver, equations: KinematicEquations) -> tuple[str, ...]:
    """Return the elements with a part in the weak direction, norms and ground left out."""
    parts, rows = march.weak_rows(), equations.rows
    largest: dict[str, float] = {}
    for owner, label, part in zip(rows.owner, rows.label, parts.tolist(), strict=True):
        if label != "norm" and owner != equations.bodies[0]:
            largest[owner] = max(largest.get(owner, 0.0), part)
    most = max(largest.values(), default=0.0)
    return tuple(owner for owner, part in largest.items() if part >= PART * most and part > 0.0)
