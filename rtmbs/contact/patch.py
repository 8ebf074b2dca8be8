"""Patch of two convex shapes that touch: up to four pairs of points, from the nearest features (METHODS 8.8)."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from rtmbs.contact.convex_shapes import NO_EDGE, TINY, Convex, Face, Part, Polytope, Round
from rtmbs.contact.nearest import Features, between, nearest
from rtmbs.model.checks import Array

FACES = 1e-6, 0.05  # of the size, and of the distance: a face touches where it parts the shapes nearly as well
ROUGH = 1e-3  # of the size: the same where no other features are nearest
PARALLEL = 1e-3  # sine of the angle of two edges that touch along a line
HOLDS, EXACT = 1e-9, 1e-13  # what features may be off the nearest points, over the size; what a normal may turn by
TRIES = 4  # rounds of Newton's method for a normal
ON_EDGE = 1.0 + 1e-6  # ways along an edge that end on it, over half its length
AGREES = 1e-4, 0.05  # of the size, and of the distance: what nearest features may part the shapes less than known
MOST = 4  # points of a patch: they hold a body that lies on a face
ALIKE = 1e-9  # of how far points lie apart: of those that are as low or as far, the first is taken


def patch_points(
    a: Convex,
    b: Convex,
    r: Array,
    R: Array,
    normal: Array,
    close: tuple[Array, Array],
    margin: float,
    a_leads: bool = True,
) -> list[Features]:
    """Return the points of shape ``b`` at ``r`` (3,), turned by ``R`` (3, 3), on shape ``a``, in axes of ``a``.

    ``normal`` (3,) and the points (3,) that are ``close`` are nearly those of the least distance, or of the least
    motion that parts the shapes. Points farther apart than ``margin`` [m] are left out. Of two faces that part the
    shapes as well, the points lie on that of ``a`` where ``a_leads``, else on that of ``b``.
    """
    size, apart = min(a.reach, b.reach), float((close[1] - close[0]) @ normal)
    one, own = a.face(normal), b.face(-(R.T @ normal))
    other = None if own is None else Face(r + own.points @ R.T, R @ own.normal)
    of_a = -np.inf if one is None else one.normal @ (r - one.points[0]) - b.extent(-(R.T @ one.normal))
    of_b = -np.inf if other is None else -other.normal @ other.points[0] - a.extent(-other.normal)
    on_b = of_a <= of_b - FACES[0] * size if a_leads else of_b > of_a - FACES[0] * size
    best, face, incident = max(of_a, of_b), other if on_b else one, a if on_b else b
    share = 0.0 if isinstance(incident, Round) else FACES[1]  # a patch holds better than an edge, a point does not
    found: list[Features] = []
    over: list[Features] = []  # points over the face, where the deepest part of the shape is among them
    if face is not None and best > apart - max(FACES[0], ROUGH) * size - share * abs(apart):
        points, lowest = face_points(a, b, r, R, face, on_b, margin)
        over = points if lowest <= best + AGREES[0] * size + AGREES[1] * abs(apart) else []
    if best > apart - FACES[0] * size - share * abs(apart):
        found = over
    found = found or part_points(a, b, r, R, normal, apart) or over
    return found or [Features(normal, 0.0, close[0], (close[1] - r) @ R, NO_EDGE, NO_EDGE, 0.0, 0.0, 0.0)]


def face_points(
    a: Convex, b: Convex, r: Array, R: Array, face: Face, on_b: bool, margin: float
) -> tuple[list[Features], float]:
    """Return the points of one shape that lie over a ``face`` of the other, nearer than ``margin`` [m], and their least
    height [m].
    """
    incident = a if on_b else b
    down = -face.normal if on_b else -(R.T @ face.normal)  # in axes of the incident shape
    kept, heights, rounded = [], [], []
    for outline, is_round in incident.outlines(down):
        points = clipped_polygon(outline if on_b else r + outline @ R.T, face)
        high = (points - face.points[0]) @ face.normal
        kept.append(points[high < margin])
        heights.append(high[high < margin])
        rounded.append(np.full(len(heights[-1]), is_round))
    points, high, over = np.concatenate(kept), np.concatenate(heights), np.concatenate(rounded)
    found = []
    for k in spread(points, high) if len(points) else ():
        foot, point = points[k] - high[k] * face.normal, points[k]
        core = point if on_b else (point - r) @ R
        if over[k]:
            core = core - incident.curved(down)[0]  # type: ignore[union-attr]
        flag = float(over[k])
        if on_b:
            found.append(Features(R.T @ -face.normal, 1.0, core, (foot - r) @ R, NO_EDGE, NO_EDGE, flag, 0.0, 0.0))
        else:
            found.append(Features(face.normal, 0.0, foot, core, NO_EDGE, NO_EDGE, 0.0, flag, 0.0))
    return found, float(high.min(initial=np.inf))


def part_points(a: Convex, b: Convex, r: Array, R: Array, normal: Array, apart: float) -> list[Features]:
    """Return the points of the corners, edges and curved parts that are nearest, none where none is."""
    size, gap = min(a.reach, b.reach), -np.inf
    best: list[Features] = []
    least = apart - AGREES[0] * size - AGREES[1] * abs(apart)
    ones, others = a.parts(normal), b.parts(-(R.T @ normal))
    pairs: Iterator[tuple[Part, Part]] = iter(product(ones, others))
    flat = isinstance(a, Polytope) and isinstance(b, Polytope)
    if isinstance(a, Polytope) and isinstance(b, Polytope):
        pairs = edge_pairs(a, b, ones, others, r, R, normal)
    for one, other in pairs:
        free = float(one.rounded or other.rounded)
        given = Features(
            normal, 0.0, one.point, other.point, one.edge, other.edge, float(one.rounded), float(other.rounded), free
        )
        ends, off = shared_line(given, r, R), 2.0 * PARALLEL
        if ends is None:
            ends, off = [given], HOLDS
        found = [settled(a, b, each, r, R, off * size) for each in ends]
        lowest = min(distance for _, distance in found)
        if lowest > max(gap, least):
            best, gap = [each for each, _ in found], lowest
            if not flat:
                break
    return best


def edge_pairs(
    a: Polytope, b: Polytope, ones: list[Part], others: list[Part], r: Array, R: Array, normal: Array
) -> Iterator[tuple[Part, Part]]:
    """Yield the edges of two polytopes that may touch: beside each other, or crossing where the shapes part.

    ``settled`` judges each of them closer. Two corners, or a corner and an edge, touch in passing alone.
    """
    ones, others = [one for one in ones if one.edge.any()], [other for other in others if other.edge.any()]
    edges, turned = np.array([one.edge for one in ones]), np.array([other.edge for other in others]) @ R.T
    way = r + np.array([other.point for other in others]) @ R.T - np.array([one.point for one in ones])[:, None]
    across = np.cross(edges[:, None], turned)  # (edges of a, edges of b, 3)
    sine, long = np.linalg.norm(across, axis=2), np.linalg.norm(edges, axis=1)[:, None]
    reach, size = long + np.linalg.norm(turned, axis=1), min(a.reach, b.reach)
    parallel = sine <= PARALLEL * long * (reach - long)

    along = edges / long  # of parallel edges: none is beside the other but along the normal
    upright = normal - (along @ normal)[:, None] * along
    upright = (upright / (np.linalg.norm(upright, axis=1)[:, None] + TINY))[:, None]
    aside = way - sum(np.sum(way * one, axis=2)[:, :, None] * one for one in (along[:, None], upright))
    beside = np.linalg.norm(aside, axis=2) <= 4.0 * PARALLEL * (size + reach)

    n = across * (np.sign(across @ normal) / (sine + TINY**2))[:, :, None]  # of others: the ways end on the edges
    parted = n @ r - (n @ a.vertices.T).max(axis=2) + (n @ R @ b.vertices.T).min(axis=2)
    ways = [np.sum(np.cross(way, edge) * across, axis=2) / (sine**2 + TINY**2) for edge in (turned, edges[:, None])]
    meet = np.abs(parted - np.sum(n * way, axis=2)) <= 10.0 * HOLDS * size
    meet &= (np.abs(ways) <= 1.0 + 10.0 * (ON_EDGE - 1.0)).all(axis=0)
    for i, j in np.argwhere(np.where(parallel, beside, meet)):
        yield ones[i], others[j]


def settled(a: Convex, b: Convex, f: Features, r: Array, R: Array, off: float) -> tuple[Features, float]:
    """Return features with their normal and their gap, minus infinity where they are not nearest.

    They are where the gap is the distance of the shapes along the normal, but for ``off`` [m], and where the ways along
    the edges end on the edges.
    """
    place, axes = r.tolist(), R.tolist()
    for _ in range(TRIES):
        touch = nearest(a, b, f, place, axes)
        n = np.array(touch.normal)
        turned, f = float(np.max(np.abs(n - f.normal))), f._replace(normal=n)
        if not turned > EXACT:
            break
    w, arm, _ = between(a, b, f, place, axes, n.tolist())
    beyond = n @ r - a.extent(n) - b.extent(-(R.T @ n)) - touch.gap
    slide = np.subtract(touch.arm, arm)
    left = np.array(w) + slide - touch.gap * n  # along the first edge alone
    edge, own = f.edge_a, R @ f.edge_b
    on_a = float(left @ edge) / (float(edge @ edge) + TINY)
    on_b = float(slide @ own) / (float(own @ own) + TINY)
    missed = float(np.max(np.abs(left - on_a * edge)))
    good = abs(beyond) <= off and missed <= off and abs(on_a) <= ON_EDGE and abs(on_b) <= ON_EDGE
    return f, float(touch.gap) if good else -np.inf


def clipped_polygon(points: Array, face: Face) -> Array:
    """Return the part (k, 3) of a polygon, an edge or a point inside the prism over a face (Sutherland, Hodgman)."""
    corners, closed = face.points, len(points) > 2
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        edge = end - start
        inwards = np.cross(face.normal, edge)
        inwards /= np.linalg.norm(inwards)
        points = half_polygon(points, (points - start) @ inwards, closed)
        if not len(points):
            break
    return points


def half_polygon(points: Array, inside: Array, closed: bool) -> Array:
    """Return the part (k, 3) of a polygon or an edge where the distances ``inside`` (k,) are zero or more."""
    kept: list[Any] = []
    count = len(points)
    for k in range(count):
        if inside[k] >= 0.0:
            kept.append(points[k])
        following = (k + 1) % count
        if (closed or k + 1 < count) and (inside[k] >= 0.0) != (inside[following] >= 0.0):
            share = inside[k] / (inside[k] - inside[following])
            kept.append(points[k] + share * (points[following] - points[k]))
    return np.array(kept).reshape(-1, 3)


def spread(points: Array, heights: Array) -> Any:
    """Return the numbers of up to MOST points: the lowest, then each time the farthest from those taken."""
    if len(points) <= MOST:
        return np.arange(len(points))
    near = ALIKE * float(np.max(np.ptp(points, axis=0)))
    chosen = [first_largest(-heights, near)]
    distance = np.linalg.norm(points - points[chosen[0]], axis=1)
    for _ in range(MOST - 1):
        chosen.append(first_largest(distance, near))
        distance = np.minimum(distance, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return np.array(sorted(chosen))


def first_largest(values: Array, near: float) -> int:
    """Return the number of the first value that is the largest but for ``near``."""
    return int(np.argmax(values >= values.max() - near))


def shared_line(given: Features, r: Array, R: Array) -> list[Features] | None:
    """Return the features at the ends where two parallel edges lie beside each other; None where they do not."""
    one, other = given.edge_a, R @ given.edge_b
    if not one.any() or not other.any():
        return None
    long, own = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    along = one / long
    if np.linalg.norm(np.cross(along, other)) > PARALLEL * own:
        return None
    middle, reach = (r + R @ given.point_b - given.point_a) @ along, float(other @ along)
    low, high = max(-long, middle - abs(reach)), min(long, middle + abs(reach))
    if low >= high:
        return None
    return [
        given._replace(
            point_a=given.point_a + place * along,
            point_b=given.point_b + (place - middle) / reach * given.edge_b,
            edge_b=NO_EDGE,
        )
        for place in (low, high)
    ]
