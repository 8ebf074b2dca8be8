"""Synthesis of four-bars for a motion: links that meet the poses, and the best four-bars of them fitted as a whole.

A pin of the coupler goes through places that a circle fits; centre and radius are those of a link. Links are fitted one
by one, joined in pairs, and then all lengths, angles and crank angles of the four-bar are fitted to the poses at once.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import least_squares

from rtmbs.errors import InputError, shown
from rtmbs.kinematics.design.arguments import whole_number
from rtmbs.kinematics.design.four_bar import FourBar
from rtmbs.kinematics.design.synthesis import APART, LONGEST, SHORTEST, SPREAD, STILL, Found, Synthesis, chosen

Array = NDArray[np.float64]

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
