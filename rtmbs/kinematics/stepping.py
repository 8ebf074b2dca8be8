"""Steps from sample to sample: refined where Newton needs them, across singular poses, on one branch.

Beside a dead centre Newton may converge on another branch than that of the pose before.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.continuation import (
    BENT,
    FLOOR,
    SHARE,
    beside,
    departing,
    follow,
    middle,
    misses,
    over_jump,
    pieced,
    vanishing,
)
from rtmbs.kinematics.coordinates import KinematicSamples, new_samples
from rtmbs.kinematics.equations import KinematicEquations
from rtmbs.kinematics.path_kernel import WORN
from rtmbs.kinematics.path_solver import PathSolver
from rtmbs.model import Spline

Array = NDArray[np.float64]

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
