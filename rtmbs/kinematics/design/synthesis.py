"""Synthesis of four-bars for a path or a function, by least squares from many starts, and the defects it must avoid.

The loop is kept as an equation, with the angles of the links at every point as unknowns beside the lengths. So no start
leads to a four-bar that does not close, and every derivative is a product of a length and a unit vector.

Defects are positions on two branches, on two circuits, or passed in another order. A circuit holds all positions that
the linkage reaches without being taken apart. A branch is the part of a circuit on which the transmission angle keeps
its sign; between two branches the crank cannot drive the linkage.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import least_squares

from rtmbs.errors import InputError, shown
from rtmbs.kinematics.design.arguments import length, whole_number
from rtmbs.kinematics.design.closure import crank_limits, gaps, side_changes
from rtmbs.kinematics.design.four_bar import FourBar

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
