"""Singular poses of a motion: where the smallest singular value comes down to zero, at a sample or between two."""

from dataclasses import dataclass

import numpy as np

from rtmbs.kinematics.continuation import follow, pieced
from rtmbs.kinematics.coordinates import SIZE, KinematicSamples
from rtmbs.kinematics.equations import KinematicEquations
from rtmbs.kinematics.mobility import smallest_singular
from rtmbs.kinematics.path_solver import PathSolver

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
