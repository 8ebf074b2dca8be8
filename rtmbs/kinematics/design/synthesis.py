"""Synthesis of four-bars for a path, a function or a motion.

Synthesis of four-bars for a path or a function, by least squares from many starts, and the defects it must avoid.

The loop is kept as an equation, with the angles of the links at every point as unknowns beside the lengths. So no start
leads to a four-bar that does not close, and every derivative is a product of a length and a unit vector.

Defects are positions on two branches, on two circuits, or passed in another order. A circuit holds all positions that
the linkage reaches without being taken apart. A branch is the part of a circuit on which the transmission angle keeps
its sign; between two branches the crank cannot drive the linkage.

Synthesis of four-bars for a motion: links that meet the poses, and the best four-bars of them fitted as a whole.

A pin of the coupler goes through places that a circle fits; centre and radius are those of a link. Links are fitted one
by one, joined in pairs, and then all lengths, angles and crank angles of the four-bar are fitted to the poses at once.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import least_squares

from rtmbs.errors import InputError, shown
from rtmbs.kinematics.design.four_bar import FourBar, crank_limits, gaps, length, side_changes, whole_number

Array = NDArray[np.float64]
WHOLE = 2.0 * np.pi
ROUNDING = 1e-9  # of a circuit: positions nearer to each other than this are in either order


class Defects(NamedTuple):
    """Defects of a four-bar at wanted positions.

    Parameters
    ----------
    branch : bool
        Whether the crank cannot drive the linkage through all positions, for they lie on two branches.
    circuit : bool
        Whether the linkage is to be taken apart between two positions.
    order : bool
        Whether the positions are passed in another order than the wanted one, with the crank in either sense.
    """

    branch: bool
    circuit: bool
    order: bool

    def __str__(self) -> str:
        names = [f"{name} defect" for name, has in zip(self._fields, self, strict=True) if has]
        return ", ".join(names) or "no defect"


def defects(bar: FourBar, crank: ArrayLike, branches: ArrayLike | None = None) -> Defects:
    """Return the defects of a four-bar at positions in their wanted order.

    Parameters
    ----------
    bar : FourBar
        The four-bar.
    crank : array_like
        Crank angles (K,) of the positions, from the line of the ground pivots [rad].
    branches : array_like, optional
        Branch (K,), 1 or -1, of every position; that of the four-bar unless given.

    Returns
    -------
    Defects
        Branch, circuit and order defect.

    Raises
    ------
    InputError
        For lists of different lengths, and for a position where the linkage does not close.

    Examples
    --------
    >>> from rtmbs.kinematics.design import FourBar, defects
    >>> bar = FourBar(8.0, 2.0, 7.0, 5.0)
    >>> print(defects(bar, [0.1, 0.5, 0.9]), "/", defects(bar, [0.1, 0.9, 0.5, 1.2]))
    no defect / order defect
    """
    angles = np.atleast_1d(np.asarray(crank, np.float64))
    sides = np.full(len(angles), bar.branch) if branches is None else np.sign(np.asarray(branches, np.float64))
    if angles.ndim != 1 or sides.shape != angles.shape or not np.all(np.abs(sides) == 1):
        raise InputError(
            f"crank and branches have shapes {angles.shape} and {sides.shape}; they must be lists of equal length, "
            "branches of 1 and -1"
        )
    if not np.all(np.isfinite(bar.angles(angles)[0])):
        raise InputError("the four-bar does not close at all crank angles; they must be positions that it reaches")
    circuit, place, length = places(bar, angles, sides)
    two_branches = len(set(sides.tolist())) > 1
    two_circuits = len(set(circuit.tolist())) > 1
    return Defects(two_branches, two_circuits, not two_circuits and disordered(place, length, two_branches))


def places(bar: FourBar, crank: Array, sides: Array) -> tuple[Array, Array, float]:
    """Return the circuit of every position, its place on the circuit, and the length of a circuit that closes.

    A crank that turns leads around a circuit by its angle. Another one goes from one limit to the other on one branch,
    places 0 to 1, and back on the other, 1 to 2. The length is infinite where a branch alone is no closed way.
    """
    if bar.crank_turns:
        return sides, crank % WHOLE, WHOLE
    p0, q0 = gaps(*bar.lengths)
    low, high = crank_limits(bar.lengths)
    turn = np.angle(np.exp(1j * crank))
    if q0 >= 0.0:  # through the ground line at angle 0
        begin, span, circuit = -high, 2.0 * high, np.zeros(len(turn))
    elif p0 >= 0.0:  # through pi
        begin, span, circuit = low, WHOLE - 2.0 * low, np.zeros(len(turn))
        turn = crank % WHOLE
    else:  # two ranges, one on each side of the ground line
        circuit, turn = np.sign(turn), np.abs(turn)
        begin, span = low, high - low
    share = (turn - begin) / span
    return circuit, np.where(sides > 0, share, 2.0 - share), 2.0


def disordered(place: Array, length: float, through_limits: bool) -> bool:
    """Return whether places on a circuit are passed in their order in neither sense."""
    if length == WHOLE or through_limits:
        ways = [np.diff(place) % length, np.diff(-place) % length]
        return all(float(np.sum(way)) > length * (1.0 + ROUNDING) for way in ways)
    steps = np.diff(place)  # on one branch between limits, where the crank turns back
    return not (bool(np.all(steps >= -ROUNDING)) or bool(np.all(steps <= ROUNDING)))


STILL = 1e-14  # relative changes at which least squares ends
SHORTEST, LONGEST = 0.05, 20.0  # of a link, in sizes of what is wanted
SPREAD = 1.5  # of random starts, in these sizes
APART = 1e-12  # of coordinates: places that differ
LEAST_TURN = 0.01  # of the crank between two points that keep their order [rad]


class Synthesis(NamedTuple):
    """A four-bar that was found for a task.

    Parameters
    ----------
    mechanism : FourBar
        The four-bar.
    error : float
        Largest distance of a point from where it is wanted [m]; of a function, largest error of the rocker angle [rad].
    crank : ndarray
        Crank angles (K,) at the wanted points, from the line of the ground pivots [rad].
    on_one_branch : bool
        Whether all points lie on one assembly branch, so that the mechanism need not be taken apart between them.
    starts : int
        Number of starts that were tried.
    defects : Defects
        Branch, circuit and order defect of the wanted positions.
    turn_error : float
        Largest error of the coupler's angle [rad], of a motion; zero for a path and a function.
    """

    mechanism: FourBar
    error: float
    crank: Array
    on_one_branch: bool
    starts: int
    defects: Defects
    turn_error: float = 0.0


class Found(NamedTuple):
    """A four-bar that a start led to, in sizes of one.

    Parameters
    ----------
    score : float
        What is to be least.
    sides : ndarray
        Branch (K,) of every position.
    bar : FourBar
        The four-bar.
    crank : ndarray
        Crank angles (K,) [rad].
    error : float
        Largest distance of a point, or of an angle of the rocker [rad].
    turn_error : float
        Largest error of the angle of the coupler [rad].
    """

    score: float
    sides: Array
    bar: FourBar
    crank: Array
    error: float
    turn_error: float = 0.0


# ---- path -----------------------------------------------------------------------------------------------------------


def path_generator(
    points: ArrayLike, angles: ArrayLike | None = None, starts: int = 40, seed: int = 0, avoid: bool = False
) -> Synthesis:
    """Return the four-bar whose coupler point comes nearest to points.

    Parameters
    ----------
    points : array_like
        Points (K, 2) in their order [m].
    angles : array_like, optional
        Crank angles (K,) at the points from the first one's, for prescribed timing [rad]; free unless given.
    starts : int, default 40
        Number of random starts; the best four-bar is returned.
    seed : int, default 0
        Seed of the random numbers.
    avoid : bool, default False
        Whether a four-bar without defects goes before one that comes nearer.

    Returns
    -------
    Synthesis
        The four-bar with its distance from the points.

    Raises
    ------
    InputError
        For points that are no list of two coordinates, points that are all one, and starts that are no whole number.
    """
    wanted = np.array(points, np.float64)
    if wanted.ndim != 2 or wanted.shape[1] != 2 or len(wanted) < 3 or not np.all(np.isfinite(wanted)):
        raise InputError(f"points are {shown(points)}; they must be at least three rows (x, y) [m]")
    timing = None if angles is None else np.array(angles, np.float64)
    if timing is not None and (timing.shape != (len(wanted),) or not np.all(np.isfinite(timing))):
        raise InputError(f"angles are {shown(angles)}; they must be {len(wanted)} numbers, one for each point [rad]")
    starts = whole_number("starts", starts)
    middle = wanted.mean(axis=0)
    size = float(np.abs(wanted - middle).max())
    if size <= APART * np.abs(wanted).max():
        raise InputError(f"points are {shown(points)}; they are all one point and must lie apart [m]")
    scaled = (wanted[:, 0] + 1j * wanted[:, 1] - complex(*middle)) / size
    senses = (1.0, -1.0) if avoid and timing is None else (0.0,)
    tasks, rng = [PathTask(scaled, timing, sense) for sense in senses], np.random.default_rng(seed)
    tried = (path_start(tasks[k % len(tasks)], rng) for k in range(starts))
    found = [one for one in tried if one is not None]
    still = FourBar(1.0, SHORTEST, 1.0, 1.0, pivot=(0.0 if timing is not None else -SHORTEST, 0.0))
    crank = np.zeros(len(scaled)) if timing is None else timing
    error = float(np.max(np.abs(still.motion(crank).point @ np.array([1.0, 1j]) - scaled)))
    rest = Found(error, np.ones(len(crank)), still, crank, error)
    return chosen(found, rest, size, middle, starts, avoid)


class PathTask:
    """Equations of a path in sizes of one: x = (pivot 2, tilt, g, a, b, c, u, v, crank angles, coupler angles).

    With a ``sense``, 1 or -1, the crank angles are a first one and turns in this sense, so points keep their order.
    """

    LINKS, FIRST = slice(3, 7), 9

    def __init__(self, points: Any, timing: Array | None, sense: float = 0.0) -> None:
        self.points, self.timing, self.K, self.sense = points, timing, len(points), sense
        self.turns = self.K if timing is None else 1  # crank angles that are unknown
        self.sums = np.eye(self.turns)  # from unknowns to crank angles
        if sense:
            self.sums = sense * np.tri(self.turns)
            self.sums[:, 0] = 1.0

    def bounds(self, count: int) -> tuple[Array, Array]:
        """Return the least and the largest values of ``count`` unknowns."""
        low, high = np.full(count, -np.inf), np.full(count, np.inf)
        low[self.LINKS], high[self.LINKS] = SHORTEST, LONGEST
        if self.sense:
            turns = slice(self.FIRST + 1, self.FIRST + self.turns)
            low[turns], high[turns] = LEAST_TURN, 2.0 * np.pi
        return low, high

    def parts(self, x: Array) -> tuple[Any, ...]:
        """Return pivot, tilt's unit vector, lengths, point, and unit vectors of crank and coupler."""
        crank = self.sums @ x[self.FIRST : self.FIRST + self.turns]
        if self.timing is not None:
            crank = crank[0] + self.timing
        e2, e3 = np.exp(1j * crank), np.exp(1j * x[self.FIRST + self.turns :])
        return complex(x[0], x[1]), np.exp(1j * x[2]), x[3:7], complex(x[7], x[8]), e2, e3

    def residuals(self, x: Array) -> Array:
        """Return the misses of all points (2 K,) and of all loops (K,)."""
        A, at, (g, a, b, c), z, e2, e3 = self.parts(x)
        miss = A + at * (a * e2 + z * e3) - self.points
        C = a * e2 + b * e3 - g
        return np.concatenate([miss.real, miss.imag, 0.5 * (np.abs(C) ** 2 - c * c)])

    def jacobian(self, x: Array) -> Array:
        """Return their derivatives (3 K, n)."""
        _, at, (g, a, b, c), z, e2, e3 = self.parts(x)
        K, n, one = self.K, len(x), np.ones(self.K)
        C = a * e2 + b * e3 - g
        by = np.zeros((K, n), np.complex128)  # of the points
        loop = np.zeros((K, n))
        by[:, 0], by[:, 1], by[:, 2] = one, 1j * one, 1j * at * (a * e2 + z * e3)
        by[:, 4], by[:, 7], by[:, 8] = at * e2, at * e3, 1j * at * e3
        for column, part in ((3, -one), (4, e2), (5, e3)):
            loop[:, column] = (C.conj() * part).real
        loop[:, 6] = -c
        rows, first = np.arange(K), self.FIRST + self.turns
        turns = self.FIRST + (rows if self.timing is None else 0 * rows)
        by[rows, turns], loop[rows, turns] = 1j * at * a * e2, (C.conj() * 1j * a * e2).real
        by[rows, first + rows], loop[rows, first + rows] = 1j * at * z * e3, (C.conj() * 1j * b * e3).real
        found = np.concatenate([by.real, by.imag, loop])
        found[:, self.FIRST : first] = found[:, self.FIRST : first] @ self.sums
        return found

    def start(self, rng: np.random.Generator) -> Array:
        """Return a random start."""
        crank = rng.uniform(-np.pi, np.pi) + np.linspace(0.0, 1.9 * np.pi, self.K) * rng.choice([-1.0, 1.0])
        links = np.exp(rng.normal(size=4) * 0.6) * SPREAD
        coupler = rng.uniform(-np.pi, np.pi) + 0.3 * np.sin(crank)
        turns = crank if self.timing is None else crank[:1]
        if self.sense:
            turns = np.concatenate([crank[:1], np.abs(np.diff(crank))])
            crank = self.sums @ turns
        return np.concatenate(
            [SPREAD * rng.normal(size=2), rng.uniform(-3, 3, 1), links, rng.normal(size=2), turns, coupler]
        )


def path_start(task: PathTask, rng: np.random.Generator) -> Found | None:
    """Return the linkage found from one start, in sizes of one; None for links out of range."""
    x0 = task.start(rng)
    found = least_squares(
        task.residuals, x0, task.jacobian, task.bounds(len(x0)), xtol=STILL, ftol=STILL, gtol=STILL, max_nfev=300
    )
    A, _, (g, a, b, c), z, e2, e3 = task.parts(found.x)
    try:
        bar = FourBar(g, a, b, c, (z.real, z.imag), (A.real, A.imag), float(found.x[2]))
    except InputError:
        return None
    crank = np.angle(e2)
    error, best = np.inf, bar
    for branch in (1, -1):
        one = replace(bar, branch=branch)
        miss = one.motion(crank).point @ np.array([1.0, 1j]) - task.points
        if (largest := float(np.max(np.abs(miss)))) < error:
            error, best = largest, one
    if not np.isfinite(error):
        return None
    sides = np.sign(((g - a * e2).conj() * e3).imag) * side_changes(bar.lengths, crank)
    return Found(error, np.where(sides == 0.0, best.branch, sides), best, crank, error)


def judged(one: Found) -> Defects:
    """Return the defects of a four-bar that was found."""
    try:
        return defects(one.bar, one.crank, one.sides)
    except InputError:  # rounding at a limit of the crank
        return Defects(True, True, True)


def chosen(found: list[Found], rest: Found, size: float, middle: Array, starts: int, avoid: bool) -> Synthesis:
    """Return the best of several, in the units of the task; ``avoid``: the best without defects, if there is one.

    ``rest`` is a four-bar that all but stands still in the middle. It is the answer where the best one is worse.
    """
    best = min(found, key=lambda one: (any(judged(one)) if avoid else False, one.score), default=rest)
    if rest.score < best.score:
        best = rest
    bar = best.bar
    links = {name: float(size * getattr(bar, name)) for name in ("ground", "crank", "coupler", "rocker")}
    point = (float(size * bar.point[0]), float(size * bar.point[1]))
    pivot = (float(size * bar.pivot[0] + middle[0]), float(size * bar.pivot[1] + middle[1]))
    return Synthesis(
        FourBar(**links, point=point, pivot=pivot, tilt=bar.tilt, branch=bar.branch),
        size * best.error,
        best.crank,
        bool(np.all(best.sides == bar.branch)),
        starts,
        judged(best),
        best.turn_error,
    )


# ---- function -------------------------------------------------------------------------------------------------------


def function_generator(
    crank: ArrayLike, rocker: ArrayLike, starts: int = 100, seed: int = 0, ground: float = 1.0, avoid: bool = False
) -> Synthesis:
    """Return the four-bar whose rocker turns with its crank as wanted.

    Both angles count from a first position that the synthesis chooses. Up to five pairs can be met exactly.

    Parameters
    ----------
    crank : array_like
        Turns of the crank (K,) [rad].
    rocker : array_like
        Turns of the rocker (K,) [rad].
    starts : int, default 100
        Number of random starts.
    seed : int, default 0
        Seed of the random numbers.
    ground : float, default 1.0
        Distance of the ground pivots, which sets the scale [m].
    avoid : bool, default False
        Whether a four-bar without defects goes before one that comes nearer.

    Returns
    -------
    Synthesis
        The four-bar; ``crank`` holds its crank angles from the ground line.

    Raises
    ------
    InputError
        For lists of different lengths, numbers that are not finite, and starts that are no whole number.
    """
    turn, wanted = np.array(crank, np.float64), np.array(rocker, np.float64)
    if turn.ndim != 1 or turn.shape != wanted.shape or len(turn) < 3:
        raise InputError(
            f"crank and rocker have shapes {turn.shape} and {wanted.shape}; they must be lists of equal length, three"
            " or more"
        )
    if not np.all(np.isfinite([turn, wanted])):
        raise InputError(f"crank and rocker are {shown(crank)} and {shown(rocker)}; they must be finite numbers [rad]")
    starts, ground = whole_number("starts", starts), length("four-bar", "ground", ground)

    def loop(x: Array) -> tuple[Any, Any, Any]:
        e2, e4 = np.exp(1j * (turn + x[3])), np.exp(1j * (wanted + x[4]))
        return x[0] * e2 - 1.0 - x[2] * e4, e2, e4

    def residuals(x: Array) -> Array:
        return 0.5 * (np.abs(loop(x)[0]) ** 2 / x[1] ** 2 - 1.0)  # relative, so that long links are no way out

    def jacobian(x: Array) -> Array:
        d, e2, e4 = loop(x)
        parts = (e2, None, -e4, 1j * x[0] * e2, -1j * x[2] * e4)
        columns = [
            (d.conj() * part).real / x[1] ** 2 if part is not None else -(np.abs(d) ** 2) / x[1] ** 3 for part in parts
        ]
        return np.stack(columns, axis=1)

    rng, found = np.random.default_rng(seed), list[Found]()
    bounds = ([SHORTEST] * 3 + [-np.inf] * 2, [LONGEST] * 3 + [np.inf] * 2)
    for _ in range(starts):
        x0 = np.concatenate([np.exp(0.5 * rng.normal(size=3)), rng.uniform(-np.pi, np.pi, 2)])
        x = least_squares(residuals, x0, jacobian, bounds, xtol=STILL, ftol=STILL, gtol=STILL, max_nfev=300).x
        found += generated(x, turn, wanted)
    still = FourBar(1.0, SHORTEST, 1.0, 1.0)
    swing = still.angles(turn)[1] - wanted
    error = 0.5 * float(np.ptp(swing))
    one = chosen(found, Found(error, np.ones(len(turn)), still, turn, error), ground, np.zeros(2), starts, avoid)
    return one._replace(error=one.error / ground)


def generated(x: Array, turn: Array, wanted: Array) -> Iterator[Found]:
    """Yield the four-bar of unknowns on each branch, with its largest error of the rocker angle."""
    for branch in (1, -1):
        try:
            bar = FourBar(1.0, float(x[0]), float(x[1]), float(x[2]), branch=branch)
        except InputError:
            return
        crank = turn + x[3]
        _, rocker = bar.angles(crank)
        error = float(np.max(np.abs(np.angle(np.exp(1j * (rocker - wanted - x[4]))))))
        if np.isfinite(error):
            yield Found(error, np.full(len(crank), float(branch)), bar, crank, error)


TRIES = 40  # links of random starts
FITTED = 12  # four-bars that are fitted as a whole
EXACT = 1e-9  # of the spread of the poses: nothing to fit
SEATS = 183  # crank angles at which the nearest one to a pose is looked for
AROUND = 6  # steps to the nearest one


class Poses(NamedTuple):
    """Wanted poses in sizes of one, and the errors of a coupler that stands still, which weigh the errors of others."""

    places: Any
    turns: Any
    distance: float
    turn: float

    def errors(self, place: Any, turned: Any) -> tuple[Any, Any]:
        """Return distances, and angles between unit vectors of the coupler and the wanted ones."""
        return np.abs(place - self.places), np.abs(np.angle(turned / self.turns))

    def found(self, bar: FourBar, line: complex, crank: Array) -> Found:
        """Return a four-bar at crank angles with its errors; ``line``: its coupler in axes of a pose."""
        m = bar.motion(crank)
        missed, turned = self.errors(m.point @ np.array([1.0, 1j]), np.exp(1j * (m.coupler + bar.tilt)) / line)
        distance, turn = float(np.max(missed)), float(np.max(turned))
        score = max(distance / self.distance, turn / self.turn)
        return Found(score, np.full(len(crank), float(bar.branch)), bar, crank, distance, turn)


def motion_generator(poses: ArrayLike, starts: int = 40, seed: int = 0, avoid: bool = False) -> Synthesis:
    """Return the four-bar whose coupler goes through poses (rigid-body guidance).

    A link from ground to the coupler meets up to five poses exactly. Two of them make a four-bar. For more poses the
    larger of two ratios is small: distance and turn over those of a coupler that stands still in the middle. The answer
    is no worse in either than such a coupler.

    Parameters
    ----------
    poses : array_like
        Places and angles of the coupler (K, 3): x, y [m] and angle [rad].
    starts : int, default 40
        Number of random starts for links.
    seed : int, default 0
        Seed of the random numbers.
    avoid : bool, default False
        Whether a four-bar without defects goes before one that comes nearer.

    Returns
    -------
    Synthesis
        The four-bar; its coupler point goes through x and y. ``error`` holds the largest distance [m], and
        ``turn_error`` the largest error of the angle [rad].

    Raises
    ------
    InputError
        For poses that are no rows of three numbers, for places that are all one, and starts that are no whole number.
    """
    wanted = np.array(poses, np.float64)
    if wanted.ndim != 2 or wanted.shape[1] != 3 or not len(wanted) >= 2 or not np.all(np.isfinite(wanted)):
        raise InputError(f"poses are {shown(poses)}; they must be at least two rows (x, y, angle) of finite numbers")
    starts = whole_number("starts", starts)
    middle = wanted[:, :2].mean(axis=0)
    size = float(np.abs(wanted[:, :2] - middle).max())
    if size <= APART * np.abs(wanted[:, :2]).max():
        raise InputError(
            f"poses are {shown(poses)}; their places are all one and must lie apart [m]; a coupler that only turns is"
            " a Revolute joint"
        )
    p, turn = (wanted[:, 0] + 1j * wanted[:, 1] - complex(*middle)) / size, np.exp(1j * wanted[:, 2])
    mean = np.exp(1j * np.angle(turn.sum()))
    spread = float(np.abs(np.angle(turn / mean)).max())
    task = Poses(p, turn, float(np.abs(p).max()), spread if spread > EXACT else 1.0)
    rng = np.random.default_rng(seed)
    links = guiding_links(p, turn, rng, starts)
    found = list[tuple[Found, complex]]()
    for i, first in enumerate(links):
        for second in links[:i]:
            for crank, rocker in ((first, second), (second, first)):
                found += [(task.found(*one), one[1]) for one in joined(crank, rocker, p, turn)]
    found = [one for one in found if np.isfinite(one[0].score)]
    still, line = resting(mean)
    rest = task.found(still, line, np.zeros(len(p)))
    fitted = [one for start in starting(found, rest, line, rng) for one in improved(task, *start)]
    return chosen([one for one, _ in found] + fitted, rest, size, middle, starts, avoid)


def resting(mean: complex) -> tuple[FourBar, complex]:
    """Return a four-bar whose coupler point is in the middle at crank angle zero, and its line in axes of a pose."""
    bar = FourBar(1.0, 0.5, 1.0, 1.0, point=(0.5, 0.5))
    m = bar.motion([0.0])
    return FourBar(*bar.lengths, bar.point, (-m.point[0, 0], -m.point[0, 1])), complex(np.exp(1j * m.coupler[0]) / mean)


def starting(
    found: list[tuple[Found, complex]], rest: Found, line: complex, rng: np.random.Generator
) -> Iterator[tuple[Found, complex]]:
    """Yield four-bars to be fitted as a whole, with their lines: the best ones, the one at rest, and random others."""
    ranked = sorted(found, key=lambda one: one[0].score)[:FITTED]
    if ranked and ranked[0][0].score < EXACT:
        return
    yield from ranked
    yield rest, line
    for branch in (1, -1):
        for _ in range(FITTED // 4):
            lengths = np.exp(0.4 * rng.normal(size=4))
            if 2.0 * lengths.max() < lengths.sum():
                g, a, b, c, *rest_of = (*lengths, *rng.normal(size=5))
                u, v, x, y, tilt = rest_of
                bar = FourBar(g, a, b, c, (u, v), (x, y), tilt, branch)
                yield rest._replace(bar=bar), complex(np.exp(1j * rng.uniform(-np.pi, np.pi)))


def improved(task: Poses, start: Found, line: complex) -> Iterator[Found]:
    """Yield a four-bar with its nearest crank angles, and the one that a fit of everything makes of it."""
    seat = task.found(start.bar, line, nearest(task, start.bar, line))
    yield seat
    fit = fitted(task, seat.bar, line, seat.crank)
    if fit is not None:
        bar, line, crank = fit
        yield task.found(bar, line, crank)
        yield task.found(bar, line, nearest(task, bar, line))


def nearest(task: Poses, bar: FourBar, line: complex) -> Array:
    """Return the crank angle (K,) at which a four-bar comes nearest to every pose."""
    angles = bar.crank_angles(SEATS)[1:-1]
    m = bar.motion(angles)
    place, turned = m.point @ np.array([1.0, 1j]), np.exp(1j * (m.coupler + bar.tilt)) / line
    parts = [np.abs(place - task.places[:, None]), np.abs(np.angle(turned / task.turns[:, None]))]
    best = angles[np.argmin(np.maximum(parts[0] / task.distance, parts[1] / task.turn), axis=1)]
    width = 0.5 * (angles[1] - angles[0])
    for _ in range(AROUND):  # thirds of the way to the next angle
        ways = best[:, None] + width * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
        m = bar.motion(np.clip(ways, angles[0], angles[-1]).ravel())
        place, turned = m.point @ np.array([1.0, 1j]), np.exp(1j * (m.coupler + bar.tilt)) / line
        missed = np.abs(place.reshape(ways.shape) - task.places[:, None]) / task.distance
        turn = np.abs(np.angle(turned.reshape(ways.shape) / task.turns[:, None])) / task.turn
        pick = np.argmin(np.maximum(missed, turn), axis=1)
        best = np.clip(ways, angles[0], angles[-1])[np.arange(len(best)), pick]
        width *= 0.5
    return np.asarray(best)


def four_bar_of(x: Array, branch: int) -> FourBar:
    """Return the four-bar of unknowns: g, a, b, c, u, v, pivot 2, tilt, angle of its line, crank angles."""
    g, a, b, c = x[:4]
    return FourBar(g, a, b, c, (x[4], x[5]), (x[6], x[7]), x[8], branch)


def fitted(task: Poses, bar: FourBar, line: complex, crank: Array) -> tuple[FourBar, complex, Array] | None:
    """Return the four-bar, its line and crank angles of least squares from a start; None where the fit cannot begin."""
    K = len(crank)

    def residuals(x: Array) -> Array:
        try:
            m = four_bar_of(x, bar.branch).motion(x[10:])
        except InputError:
            return np.full(3 * K, np.nan)  # no loop: least squares takes a shorter step
        miss = m.point @ np.array([1.0, 1j]) - task.places
        turn = np.angle(np.exp(1j * (m.coupler + x[8] - x[9])) / task.turns)
        return np.concatenate([miss.real / task.distance, miss.imag / task.distance, turn / task.turn])

    def jacobian(x: Array) -> Array:
        one = four_bar_of(x, bar.branch)
        m = one.motion(x[10:])
        by, turn = np.zeros((K, len(x)), np.complex128), np.zeros((K, len(x)))
        by[:, :6], turn[:, :6], _ = one.by_lengths(m)
        by[:, 6], by[:, 7] = 1.0, 1j
        by[:, 8], turn[:, 8], turn[:, 9] = 1j * (m.point @ np.array([1.0, 1j]) - complex(*one.pivot)), 1.0, -1.0
        rows = np.arange(K)
        by[rows, 10 + rows], turn[rows, 10 + rows] = m.velocity @ np.array([1.0, 1j]), m.coupler_rate
        found = np.concatenate([by.real / task.distance, by.imag / task.distance, turn / task.turn])
        return np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)

    low, high = np.full(10 + K, -np.inf), np.full(10 + K, np.inf)
    low[:4], high[:4] = SHORTEST, LONGEST
    x0 = np.concatenate([bar.lengths, bar.point, bar.pivot, [bar.tilt, np.angle(line)], crank])
    x0[:4] = np.clip(x0[:4], SHORTEST * (1.0 + EXACT), LONGEST * (1.0 - EXACT))
    try:
        if not np.all(np.isfinite(residuals(x0))):
            return None
        x = least_squares(residuals, x0, jacobian, (low, high), xtol=1e-10, ftol=1e-10, max_nfev=200).x
    except (ValueError, np.linalg.LinAlgError):  # a start that rounding takes out of reach
        return None
    return four_bar_of(x, bar.branch), complex(np.exp(1j * x[9])), x[10:]


Link = tuple[complex, complex, float]  # pin in the coupler, pivot on ground, miss


def guiding_links(p: Any, turn: Any, rng: np.random.Generator, starts: int) -> list[Link]:
    """Return links whose pin in the coupler stays on a circle about a pivot: (pin, pivot, largest miss)."""

    def arms(x: Array) -> Any:
        return p + complex(x[0], x[1]) * turn - complex(x[2], x[3])

    def residuals(x: Array) -> Array:
        return 0.5 * (np.abs(arms(x)) ** 2 / x[4] ** 2 - 1.0)

    def jacobian(x: Array) -> Array:
        d = arms(x)
        parts = (turn, 1j * turn, -1.0 + 0.0 * turn, -1j + 0.0 * turn)
        columns = [(d.conj() * part).real / x[4] ** 2 for part in parts]
        return np.stack([*columns, -(np.abs(d) ** 2) / x[4] ** 3], axis=1)

    found: list[Link] = []
    bounds = ([-LONGEST] * 4 + [SHORTEST], [LONGEST] * 5)
    for k in range(starts):
        pin = SPREAD * rng.normal(size=2)
        if k % 2:
            x0 = np.concatenate([pin, SPREAD * rng.normal(size=2), np.exp(0.5 * rng.normal(size=1))])
        else:
            x0 = np.concatenate([pin, circle(p + complex(*pin) * turn)])
        x = least_squares(residuals, x0, jacobian, bounds, xtol=STILL, ftol=STILL, gtol=STILL, max_nfev=300).x
        one = (complex(x[0], x[1]), complex(x[2], x[3]), float(np.max(np.abs(residuals(x)))))
        if all(abs(one[0] - pin) + abs(one[1] - pivot) > 1e-4 for pin, pivot, _ in found):
            found.append(one)
    return sorted(found, key=lambda link: link[2])[:TRIES]


def circle(places: Any) -> Array:
    """Return centre and radius (3,) of the circle that fits places best, within the range of links."""
    rows = np.stack([2.0 * places.real, 2.0 * places.imag, np.ones(len(places))], axis=1)
    x, y, rest = np.linalg.lstsq(rows, np.abs(places) ** 2, rcond=None)[0]
    inside = LONGEST * (1.0 - EXACT)
    radius = np.sqrt(max(rest + x * x + y * y, 0.0))
    return np.array([*np.clip([x, y], -inside, inside), np.clip(radius, SHORTEST * (1.0 + EXACT), inside)])


def joined(crank: Link, rocker: Link, p: Any, turn: Any) -> Iterator[tuple[FourBar, complex, Array]]:
    """Yield the four-bar of two links on each branch, its line in axes of a pose, and its crank angles."""
    (pin, A, _), (other, D, _) = crank, rocker
    along, ground = other - pin, D - A
    if min(abs(along), abs(ground)) < SHORTEST:
        return
    B, line = p + pin * turn, along / abs(along)
    a, c = float(np.mean(np.abs(B - A))), float(np.mean(np.abs(p + other * turn - D)))
    point, tilt = -pin / line, float(np.angle(ground))
    for branch in (1, -1):
        try:
            bar = FourBar(abs(ground), a, abs(along), c, (point.real, point.imag), (A.real, A.imag), tilt, branch)
        except InputError:
            return
        yield bar, line, np.angle((B - A) / ground)
