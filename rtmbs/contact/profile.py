"""Planar profiles of cams and Geneva wheels: outlines of lines and arcs, and the distance of a disc from them.

A closed outline runs counterclockwise about the solid. Every point outside has a nearest point on a line, an arc or a
convex corner. Pieces claim the points between the normals at their ends, so the nearest piece that claims a point tells
its distance and its normal (METHODS 8.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rtmbs.contact.friction import DryFriction
from rtmbs.contact.normal_force import NormalForce
from rtmbs.contact.pairs import Touch, TouchLaw
from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, numbers, rotation
from rtmbs.model.forces import Kinematics

SMOOTH = 1e-6  # sine between tangents that makes a corner
FAR = 1e9  # [m] distance where no piece claims a point
TINY = 1e-12  # [m] keeps directions defined at the centre of an arc
SLACK = 1e-9  # of a piece: rounding at its ends leaves no gap between two pieces
MOST_PIECES = 1000  # the law of an outline is recorded piece by piece
SPLINE_PIECES = 6  # pairs of arcs from one point of a spline to the next
CHORDS, MOST_CHORDS = 16, 2000  # of one arc, and of an outline, in the search for crossings
HALF_TURN = 1.0  # bulge of half a circle
FLAT = 1e-12  # of the square of the longest chord: no area; and cosine beyond -1 of two lines that are one


class Piece(NamedTuple):
    """A line, an arc, or a corner, which is an arc of radius zero."""

    start: Array  # (2,) [m]
    end: Array  # (2,) [m]
    center: Array | None  # (2,) of an arc [m]; None: a line
    radius: float  # [m] above zero for a convex arc, below for a concave one
    first: Array  # (2,) outward normal at the start
    last: Array  # (2,) outward normal at the end


@dataclass(frozen=True, eq=False)
class Profile:
    """Outline of a solid in a plane of a body: lines and arcs, corners, slots.

    It touches balls, whose centres lie in the plane or slide beside it: the outline is that of a prism along z.

    Parameters
    ----------
    points : ndarray
        Corners (k, 2) in the plane, counterclockwise about the solid [m].
    bulges : ndarray, optional
        Tangent (k,) of a quarter of the angle of the arc from each point to the next, as in drawings in DXF: 0 a line,
        1 half a circle to the right of the way, -1 half a circle to the left. Lines unless given.
    center : ndarray, default (0.0, 0.0, 0.0)
        Origin (3,) of the plane in body axes [m].
    axes : ndarray, optional
        Rotation (3, 3) from axes of the plane, z its normal, to body axes; body axes unless given.

    Raises
    ------
    ModelError
        For points that run clockwise or coincide, fewer than two, lines that run back on themselves, outlines without
        area, and arcs of more than half a circle.

    Examples
    --------
    >>> eccentric = rtmbs.contact.Profile([(0.05, 0.01), (-0.05, 0.01)], bulges=[1.0, 1.0])
    >>> len(eccentric.pieces)
    2
    """

    points: Array
    bulges: Array | None = None
    center: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    axes: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        points = np.array(self.points, np.float64)
        if points.ndim != 2 or points.shape[1] != 2 or not np.all(np.isfinite(points)) or len(points) < 2:
            raise ModelError(
                f"Profile: points has the shape {points.shape}; it must be (k, 2) finite numbers, k from 2"
            )
        bulges = np.zeros(len(points)) if self.bulges is None else np.array(self.bulges, np.float64)
        if bulges.shape != (len(points),) or not np.max(np.abs(bulges)) <= HALF_TURN:
            raise ModelError("Profile: bulges must be one number from -1 to 1 for every point; divide longer arcs")
        if len(points) > MOST_PIECES:
            raise ModelError(f"Profile: points has {len(points)} rows; at most {MOST_PIECES} may touch; simplify it")
        ahead = np.roll(points, -1, axis=0)
        chord = np.linalg.norm(ahead - points, axis=1)
        if np.min(chord) <= 1e-12 * np.max(np.abs(points)):
            raise ModelError(f"Profile: points {int(np.argmin(chord))} and the next coincide; leave one out")
        size = area(points, bulges)
        if abs(size) <= FLAT * float(np.max(chord)) ** 2:
            raise ModelError("Profile: the outline has no area; it must be the edge of one solid")
        if size < 0.0:
            raise ModelError(
                "Profile: the points run clockwise about the solid; it must be counterclockwise, so reverse them"
            )
        along = (ahead - points) / chord[:, None]
        lines = (bulges == 0.0) & (np.roll(bulges, -1) == 0.0)
        back = lines & (np.sum(along * np.roll(along, -1, axis=0), axis=1) < FLAT - 1.0)
        if np.any(back):
            raise ModelError(
                f"Profile: the outline runs back on itself behind point {int(np.argmax(back))}; it must be the edge of "
                "one solid"
            )
        if crossing := first_crossing([piece(*one) for one in zip(points, ahead, bulges, strict=True)]):
            raise ModelError(
                f"Profile: the outline crosses itself, the pieces behind points {crossing[0]} and {crossing[1]}; it "
                "must be the edge of one solid"
            )
        checked: dict[str, Any] = {
            "points": points,
            "bulges": bulges,
            "center": numbers(self.center, "Profile: center", (3,)),
            "axes": np.eye(3) if self.axes is None else np.array(rotation(self.axes, "Profile: axes")),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def spline(cls, points: Any, *, center: Any = (0.0, 0.0, 0.0), axes: Any = None) -> "Profile":
        """Return the outline of a closed cubic spline, of pairs of arcs with its points and tangents.

        Parameters
        ----------
        points : array_like
            Points (k, 2) of the spline, counterclockwise [m]; k from 3.
        center : ndarray, default (0.0, 0.0, 0.0)
            Origin (3,) of the plane in body axes [m].
        axes : ndarray, optional
            Rotation (3, 3) from axes of the plane to body axes.

        Returns
        -------
        Profile
            Outline of arcs. It is off the spline by the fourth power of the distance of points at most.

        Raises
        ------
        ModelError
            For fewer than three points.
        """
        given = np.array(points, np.float64)
        if given.ndim != 2 or given.shape[1:] != (2,) or len(given) < 3:
            raise ModelError(f"Profile: points has the shape {given.shape}; it must be (k, 2) finite numbers, k from 3")
        closed = np.vstack((given, given[:1]))
        length = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))))
        from scipy.interpolate import CubicSpline  # it takes long to load

        curve = CubicSpline(length, closed, bc_type="periodic")
        s = np.concatenate([np.linspace(a, b, SPLINE_PIECES, endpoint=False) for a, b in pairwise(length)])
        tangents = curve(s, 1)
        corners, bulges = biarcs(curve(s), tangents / np.linalg.norm(tangents, axis=1)[:, None])
        return cls(corners, bulges, center, axes)

    @property
    def pieces(self) -> list[Piece]:
        """Lines and arcs in order, corners between them."""
        assert self.bulges is not None
        ends = np.roll(self.points, -1, axis=0)
        whole = [piece(*one) for one in zip(self.points, ends, self.bulges, strict=True)]
        found: list[Piece] = []
        for before, after in zip(whole, np.roll(np.arange(len(whole)), -1), strict=True):
            found.append(before)
            follows = whole[after]
            turn, corner = cross(before.last, follows.first), before.end
            if abs(turn) > SMOOTH:
                size = 0.0 if turn > 0.0 else -TINY  # from within the solid a corner that points inwards is the nearest
                found.append(Piece(corner, corner, corner, size, before.last, follows.first))
        return found


def cross(a: Any, b: Any) -> Any:
    """Return the cross product of two vectors of the plane."""
    return a[0] * b[1] - a[1] * b[0]


def area(points: Array, bulges: Array) -> float:
    """Return the area of an outline [m^2], below zero when it runs clockwise."""
    ahead = np.roll(points, -1, axis=0)
    flat = 0.5 * np.sum(points[:, 0] * ahead[:, 1] - points[:, 1] * ahead[:, 0])
    angle, chord = 4.0 * np.arctan(bulges), np.linalg.norm(ahead - points, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.where(bulges == 0.0, 0.0, chord / (2.0 * np.sin(0.5 * np.abs(angle))))
    return float(flat + np.sum(0.5 * radius**2 * (angle - np.sin(angle))))


def first_crossing(pieces: Sequence[Piece]) -> tuple[int, int] | None:
    """Return two pieces, not neighbours, that cross; arcs count as CHORDS straight ones."""
    chords = max(2, min(CHORDS, MOST_CHORDS // len(pieces)))
    counts = [1 if one.center is None else chords for one in pieces]
    ways = [points_of(one, count) for one, count in zip(pieces, counts, strict=True)]
    a, b = np.concatenate([way[:-1] for way in ways]), np.concatenate([way[1:] for way in ways])
    owner = np.repeat(np.arange(len(pieces)), counts)
    size = float(np.max(np.abs(a - a.mean(axis=0))))

    def sides(point: Array) -> Array:
        """Return on which side of every chord (s,) points (s, 2) lie, (s, s) [m^2]."""
        along, off = (b - a)[:, None], point[None] - a[:, None]
        return np.asarray(along[..., 0] * off[..., 1] - along[..., 1] * off[..., 0])

    apart = sides(a) * sides(b) < -((SLACK * size) ** 4)  # ends of the other lie on both sides
    found = apart & apart.T
    step = (owner[None] - owner[:, None]) % len(pieces)
    found &= (step != 0) & (step != 1) & (step != len(pieces) - 1)
    if not np.any(found):
        return None
    first, second = np.argwhere(found)[0]
    return int(min(owner[first], owner[second])), int(max(owner[first], owner[second]))


def points_of(one: Piece, count: int) -> Array:
    """Return points (count + 1, 2) along a piece, its ends among them."""
    if one.center is None:
        return np.array((one.start, one.end))
    angle = turn_of(one.first, one.last)
    if angle * one.radius < 0.0:  # half a circle, whose normals are opposite
        angle = -angle
    turns = np.linspace(0.0, angle, count + 1)
    x, y = np.array((np.cos(turns), np.sin(turns)))
    n = one.first
    spokes = np.stack((n[0] * x - n[1] * y, n[1] * x + n[0] * y), axis=1)
    return np.asarray(one.center + one.radius * spokes)


def piece(start: Array, end: Array, bulge: float) -> Piece:
    """Return the line or arc from a point to the next; a bulge above zero turns left, so it is convex."""
    chord = end - start
    along = chord / np.linalg.norm(chord)
    right = np.array((along[1], -along[0]))
    if bulge == 0.0:
        return Piece(start, end, None, 0.0, right, right)
    radius = float(np.linalg.norm(chord)) * (1.0 + bulge**2) / (4.0 * bulge)
    center = 0.5 * (start + end) - right * (radius - 0.5 * bulge * float(np.linalg.norm(chord)))
    return Piece(start, end, center, radius, (start - center) / radius, (end - center) / radius)


def turn_of(a: Array, b: Array) -> float:
    """Return the angle from one vector of the plane to another [rad]."""
    return float(np.arctan2(cross(a, b), a @ b))


def biarcs(points: Array, tangents: Array) -> tuple[Array, Array]:
    """Return the points (2k, 2) and bulges (2k,) of two arcs between neighbours, tangent to each other and the ends."""
    corners, bulges = [], []
    for p, q, t, u in zip(points, np.roll(points, -1, axis=0), tangents, np.roll(tangents, -1, axis=0), strict=True):
        v, both = q - p, t + u
        spare = 2.0 * (1.0 - t @ u)
        if spare < 1e-12:
            d = v @ v / (2.0 * (v @ both))
        else:
            d = (-(v @ both) + np.sqrt((v @ both) ** 2 + spare * (v @ v))) / spare
        middle = 0.5 * (p + q + d * (t - u))
        for start, half in ((p, turn_of(t, middle - p)), (middle, turn_of(q - middle, u))):
            corners.append(start)
            bulges.append(np.tan(0.5 * half))
    return np.array(corners), np.array(bulges)


@dataclass(frozen=True)
class BallOnProfile(TouchLaw):
    """A ball of ``radius`` [m] about marker b beside an outline in the plane x, y of marker a."""

    radius: float
    pieces: tuple[Piece, ...]
    normal: NormalForce
    friction: DryFriction | None

    def spans(self) -> tuple[float, float, float]:
        """Return how far the shapes reach from their markers, and the radius of the ball [m]."""
        ends = np.array([point for one in self.pieces for point in (one.start, one.end)])
        return 2.0 * float(np.linalg.norm(ends, axis=1).max()), self.radius, self.radius

    def touch(self, kinematics: Kinematics) -> Touch:
        """Return where the shapes are nearest."""
        distance, x, y = nearest(self.pieces, kinematics.r[0], kinematics.r[1])
        n = [x, y, 0.0 * x]
        arm = [-self.radius * one for one in n]
        return Touch(n, distance - self.radius, arm)


def nearest(pieces: Sequence[Piece], x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return the distance of a point from an outline [m], below zero inside, and the outward normal there."""
    best: Any = FAR
    distance, nx, ny = FAR + 0.0 * x, 1.0 + 0.0 * x, 0.0 * x
    for one in pieces:
        d, ox, oy, before, behind = line_distance(one, x, y) if one.center is None else arc_distance(one, x, y)
        size = np.where(np.minimum(before, behind) >= -SLACK, np.where(d < 0.0, -d, d), FAR)
        nearer = size < best
        distance, nx, ny = np.where(nearer, d, distance), np.where(nearer, ox, nx), np.where(nearer, oy, ny)
        best = np.minimum(size, best)
    return distance, nx, ny


def line_distance(one: Piece, x: Any, y: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return distance and normal of a line, and how far a point lies behind its start and before its end."""
    n, chord = one.first, one.end - one.start
    length = float(np.linalg.norm(chord))
    ex, ey = chord / length
    dx, dy = x - one.start[0], y - one.start[1]
    s = (ex * dx + ey * dy) / length
    return n[0] * dx + n[1] * dy, n[0] + 0.0 * x, n[1] + 0.0 * x, s, 1.0 - s


def arc_distance(one: Piece, x: Any, y: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return what ``line_distance`` does for an arc, with sines from the normals at its ends."""
    assert one.center is not None
    dx, dy = x - one.center[0], y - one.center[1]
    rho = np.sqrt(dx * dx + dy * dy + TINY**2)
    sign = -1.0 if one.radius < 0.0 else 1.0
    ox, oy = sign * dx / rho, sign * dy / rho
    before, behind = one.first[0] * oy - one.first[1] * ox, ox * one.last[1] - oy * one.last[0]
    return sign * rho - one.radius, ox, oy, sign * before, sign * behind
