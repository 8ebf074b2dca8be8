"""Continuation of a pose along its branch, steps from sample to sample on one branch, and singular poses of a motion.

The matrix A of the equations keeps its rank on the way from one pose to the next where |D A^+| < 1, with D its change.
There the branch goes on, and no other one meets it: two poses of the same drivers have a mean A along which they
differ, so that it is singular. Rates have no part in that, and may jump. A piece is taken where this share stays below
BENT. Pieces become shorter towards a singular pose, and come to an end before it. A singular pose is passed on the one
smooth path. It is found where the smallest singular value comes down to zero, at a sample or between two. Steps are
refined where Newton needs them: beside a dead centre it may converge on another branch than that of the pose before.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.assembly import smallest_singular
from rtmbs.kinematics.coordinates import SIZE, KinematicSamples, new_samples
from rtmbs.kinematics.equations import KinematicEquations
from rtmbs.kinematics.path_kernel import WORN
from rtmbs.kinematics.path_solver import PathSolver
from rtmbs.model import Spline

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


STRAIGHT = (1, 8)  # pieces in which the drivers go straight from one sample to the next


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


FINEST = 512  # pieces of a step in which a driver is looked at
FAST = 0.5  # change of a driver in one of them from which it is to blame [rad, or in typical lengths]
SAME = 1e-7  # in typical sizes: two poses of one branch
SINGULAR = 1e-4  # share of the next singular value from which a first pose is singular
STOPS = 20  # singular poses and jumps of drivers between two samples


class Refinement:
    """Number of refined steps, and singular poses that were crossed."""

    def __init__(self) -> None:
        self.pieces = 0
        self.crossed: list[float] = []  # times of samples at a singular pose
        self.passed: list[tuple[float, float, int]] = []  # time, singular value beside it and sample before it
        self.behind: tuple[int, KinematicSamples] | None = None  # a sample at a singular pose, and a row behind it

    def start(self, samples: KinematicSamples, k: int) -> KinematicSamples:
        """Return the row from which the way to sample k begins."""
        if self.behind and self.behind[0] == k - 1 and self.behind[1].t[0] < samples.t[k]:
            return self.behind[1]
        return samples.part(k - 1, k)


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
        k, right = filled(march, equations, samples, k, end, refined)
        ahead = 2 * ahead if right else 1
        if right:
            continue
        if k == 0:
            break
        other = march.rechosen(samples.q[k - 1], samples.f[k - 1])
        march = other or march
        if other or samples.iterations[k] == -1 - WORN:
            k, right = filled(march, equations, samples, k, k + 1, refined)
            if right:
                continue
        march, found = advance(march, equations, samples, k, refined)
        if not found:
            break
        k += 1
    return march, k


def filled(
    march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, first: int, last: int,
    refined: Refinement,
) -> tuple[int, bool]:  # fmt: skip
    """Fill rows; return the first that is not filled, and whether it was looked for.

    A row is not filled where Newton's iteration fails, or finds a pose of which it is not known that the branch of the
    row before leads to it.
    """
    reached = march.fill(samples, first, last)
    begin = max(first, 1)
    far = samples.bend[begin:reached] > BENT
    for k in sorted({*(begin + np.flatnonzero(far)).tolist(), *departing(march, equations, samples, first, reached)}):
        if not far[k - begin] or (k == 1 and samples.weak[0] <= SINGULAR * samples.weak[1]):
            if not confirmed(march, equations, samples, k):
                return k, False
            continue
        way = follow(march, equations, refined.start(samples, k), float(samples.t[k]))
        if not way.reached:
            return k, False
        if float(np.max(np.abs(way.last.q[0] - samples.q[k]) / equations.sizes())) > SAME:
            samples.take(k, way.last, 0)
            refined.pieces += len(way.rows) - 2
            return k + 1, True
    return reached, reached == last


def advance(
    march: PathSolver, equations: KinematicEquations, samples: KinematicSamples, k: int, refined: Refinement
) -> tuple[PathSolver, bool]:
    """Fill row k from the one before along its branch, over singular poses and jumps of drivers; False where it ends.

    A sample at a singular pose lies in the middle of four rows beside it.
    """
    row, end, step = refined.start(samples, k), float(samples.t[k]), float(samples.t[k] - samples.t[k - 1])
    for _ in range(STOPS):
        way = follow(march, equations, row, end)
        march = way.march
        refined.pieces += len(way.rows) - 1 - way.reached
        if way.reached:
            samples.take(k, way.last, 0)
            return march, True
        if not way.ended:
            return march, False
        behind = over_jump(way, equations)
        if behind is not None and behind.t[0] <= end:
            row = behind
            continue
        center = vanishing(way)
        for found in beside(way, equations, center, step, sample=False):
            if found.t[2] > end:
                break
            row = found.part(2, 3)
            refined.passed.append((center, float(way.last.weak[0]), k - 1))
            break
        else:
            return march, False
        if found.t[2] <= end:
            continue
        for at_sample in beside(way, equations, end, step, sample=True):
            samples.take(k, middle(equations, at_sample, end), 0)
            samples.weak[k], samples.iterations[k] = 0.0, at_sample.iterations[2]
            refined.behind = (k, at_sample.part(2, 3))
            refined.crossed.append(end)
            return march, True
        return march, False
    return march, False


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
    between = pieced(equations, samples, k - 1, np.linspace(samples.t[k - 1], samples.t[k], FINEST + 1))
    lost = min(march.fill(between, 1, len(between.t)), len(between.t) - 1)
    values = between.drivers[lost - 1 : lost + 1, 0, : len(equations.profiles)]
    return float(between.t[lost - 1]), float(between.t[lost]), np.abs(values[1] - values[0])


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


def curve_notes(
    equations: KinematicEquations, q: Array | None = None, about: float = 0.0, names: tuple[str, ...] | None = None
) -> list[str]:
    """Return remarks of curves on their points, at coordinates q (S, n) and ``about`` beside them, or over a turn.

    Most curves have none. ``names`` are those that are asked, all by default.
    """
    found = []
    for row, one in equations.rows.lists.get("curve", ()):
        owner = equations.rows.owner[row]
        if (notes := getattr(one.curve, "notes", None)) and (names is None or owner in names):
            s = None if q is None else q[:, one.place]
            ends = () if s is None else (float(s.min()) - about, float(s.max()) + about)
            found += notes(owner, *ends)
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
