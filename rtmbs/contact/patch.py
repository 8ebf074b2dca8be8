"""Patch of two convex shapes that touch: up to four pairs of points, from the nearest features (METHODS 8.8)."""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.contact.convex_shapes import Convex, Feature, Round
from rtmbs.model.checks import Array

FACES = 1e-3, 0.05  # of the size, and of the distance: a face touches where it parts the shapes nearly as well
PARALLEL = 1e-3  # sine of the angle of two edges that touch along a line
EXACT, POLISHES = 1e-13, 10  # of the size: what is left across a normal; steps of Newton's method
MOST = 4  # points of a patch: they hold a body that lies on a face


class PatchPoints(NamedTuple):
    """Pairs of points in axes of the first shape. A face of one of the shapes gives the normal."""

    normal: Array  # (3,) towards the second shape
    on_second: bool  # the normal is that of a face of the second shape, and turns with it
    first: Array  # (k, 3) on the first shape [m]
    second: Array  # (k, 3) on the second shape [m]


def patch_points(
    a: Convex, b: Convex, r: Array, R: Array, normal: Array, nearest: tuple[Array, Array], margin: float
) -> PatchPoints:
    """Return the patch of shape ``b`` at ``r`` (3,), turned by ``R`` (3, 3), on shape ``a``, in axes of ``a``.

    ``normal`` (3,) and the ``nearest`` points (3,) are those of the least distance, or of the least motion that parts
    the shapes. Points farther apart than ``margin`` [m] are left out.
    """
    if isinstance(a, Round) and isinstance(b, Round):
        normal = polished(a, b, r, R, normal)
        first, second = a.feature(normal).points, r + b.feature(-(R.T @ normal)).points @ R.T
        return PatchPoints(normal, False, first, second)
    one, own = a.feature(normal), b.feature(-(R.T @ normal))
    other = Feature(r + own.points @ R.T, R @ own.normal)
    apart = float((nearest[1] - nearest[0]) @ normal)
    least = apart - FACES[0] * min(a.reach, b.reach) - FACES[1] * abs(apart)
    of_a = of_b = -np.inf  # distances along the normals of the faces
    if one.normal.any():
        of_a = one.normal @ (r - one.points[0]) - b.extent(-(R.T @ one.normal))
    if own.normal.any():
        of_b = -other.normal @ other.points[0] - a.extent(-other.normal)
    if max(of_a, of_b) > least:
        on_second = not of_a > least
        reference, incident = (other, one) if on_second else (one, other)
        own_points = clipped_polygon(incident.points, reference)
        heights = (own_points - reference.points[0]) @ reference.normal
        own_points, heights = own_points[heights < margin], heights[heights < margin]
        if len(own_points):
            chosen = spread(own_points, heights)
            foot = (own_points - heights[:, None] * reference.normal)[chosen]
            first, second = (own_points[chosen], foot) if on_second else (foot, own_points[chosen])
            return PatchPoints(-reference.normal if on_second else reference.normal, on_second, first, second)
    if len(one.points) == len(other.points) == 2 and (line := shared_line(one.points, other.points)) is not None:
        return PatchPoints(normal, False, *line)
    return PatchPoints(normal, False, nearest[0][None], nearest[1][None])


def polished(a: Round, b: Round, r: Array, R: Array, normal: Array) -> Array:
    """Return the normal (3,) along which two ellipsoids are nearest, by Newton's method from one nearby.

    The normal n holds where the gap between the farthest points p(n), q(-n) has no part across n. Of an ellipsoid with
    the matrix B = A diag(h^2) A^T, p = B n / sqrt(n B n).
    """
    B = R @ np.diag(b.half**2) @ R.T
    n = normal
    for _ in range(POLISHES):
        gap, slope = r.copy(), np.zeros((3, 3))
        for M in (np.diag(a.half**2), B):
            pulled, size = M @ n, float(np.sqrt(n @ M @ n))
            gap -= pulled / size
            slope -= M / size - np.outer(pulled, pulled) / size**3
        along = float(gap @ n)
        across = np.eye(3) - np.outer(n, n)
        missed = across @ gap
        if np.linalg.norm(missed) <= EXACT * max(a.reach, b.reach):
            break
        change = np.linalg.solve(across @ (slope - along * np.eye(3)) @ across + np.outer(n, n), -missed)
        moved = n + across @ change
        n = moved / np.linalg.norm(moved)
    return np.asarray(n)


def clipped_polygon(points: Array, face: Feature) -> Array:
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
    chosen = [int(np.argmin(heights))]
    distance = np.linalg.norm(points - points[chosen[0]], axis=1)
    for _ in range(MOST - 1):
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return np.array(sorted(chosen))


def shared_line(one: Array, other: Array) -> tuple[Array, Array] | None:
    """Return the two pairs of points (2, 3) where two parallel edges lie beside each other; None where they do not."""
    along = one[1] - one[0]
    length = float(np.linalg.norm(along))
    along = along / length
    of_other = other[1] - other[0]
    if np.linalg.norm(np.cross(along, of_other)) > PARALLEL * np.linalg.norm(of_other):
        return None
    places = (other - one[0]) @ along
    low, high = max(0.0, float(places.min())), min(length, float(places.max()))
    if low >= high:
        return None
    share = (np.array((low, high)) - places[0]) / (places[1] - places[0])
    return one[0] + np.outer((low, high), along), other[0] + np.outer(share, of_other)
