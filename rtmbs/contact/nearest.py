"""Nearest points of two features of convex shapes at any pose: their normal, gap and lever arm (METHODS 8.8).

A feature is a face, or a corner, an edge or a line with the curved part of its shape over it. The normal n of a face is
fixed in its shape. Every other normal is across the edges, and along it the gap has no slope otherwise. So the force
along n is the slope of its potential at every pose of a step. Vectors are in axes of the first shape.
"""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.contact.convex_shapes import TINY, Convex, Polytope
from rtmbs.contact.friction import inner
from rtmbs.contact.pairs import Touch, cross

STEPS = 2  # of Newton's method for a normal: the error goes with the fourth power of the turn in a step


class Features(NamedTuple):
    """Features of two shapes that touch at one point."""

    normal: Any  # (3,) nearby, towards the second shape, in axes of the first, or of the second where on_b is 1
    on_b: Any  # 1 where the normal is that of a face of the second shape
    point_a: Any  # (3,) of the first shape [m]
    point_b: Any  # (3,) of the second, in its axes [m]
    edge_a: Any  # (3,) along an edge of the first, zero of a point
    edge_b: Any  # (3,) along an edge of the second, in its axes
    round_a: Any  # 1 where the curved part of the first lies over its point
    round_b: Any  # likewise of the second
    free: Any  # 1 where curved parts choose the normal, 0 where a face or two edges do


def nearest(a: Convex, b: Convex, f: Features, r: Any, R: Any) -> Touch:
    """Return the nearest points of two features; the middle of the second is at ``r`` (3,), turned by ``R`` (3, 3)."""
    turned = [inner(R[k], f.normal) for k in range(3)]
    n = [(1.0 - f.on_b) * x + f.on_b * y for x, y in zip(f.normal, turned, strict=True)]
    one, other = unit(f.edge_a), unit([inner(R[k], f.edge_b) for k in range(3)])
    along = inner(one, other)
    beside = [y - along * x for x, y in zip(one, other, strict=True)]  # of the second edge, across the first
    sine = np.sqrt(inner(beside, beside) + TINY**2)
    beside = [x / sine for x in beside]
    n = across(n, one, beside)
    if not isinstance(a, Polytope) or not isinstance(b, Polytope):
        for _ in range(STEPS):
            n = improved(a, b, f, r, R, n, (one, beside))
    w, arm, _ = between(a, b, f, r, R, n)
    gap, slide = inner(n, w), -inner(w, beside) / sine  # along the second edge to where it is nearest
    aside = [f.on_b * (x - gap * y) for x, y in zip(w, n, strict=True)]  # a face of the second is met where a point is
    return Touch(n, gap, [x + slide * y - z for x, y, z in zip(arm, other, aside, strict=True)])


def between(a: Convex, b: Convex, f: Features, r: Any, R: Any, n: Any) -> tuple[list[Any], list[Any], list[list[Any]]]:
    """Return the way (3,) from point to point for a normal, the arm (3,) of the second, and the slope (3, 3) by n."""
    slope: list[list[Any]] = [[0.0] * 3 for _ in range(3)]
    first, own = [*f.point_a], [*f.point_b]
    if not isinstance(a, Polytope):
        point, bends = a.curved(n)
        first = [x + f.round_a * y for x, y in zip(first, point, strict=True)]
        slope = [[-f.round_a * x for x in row] for row in bends]
    if not isinstance(b, Polytope):
        point, bends = b.curved([-(R[0][k] * n[0] + R[1][k] * n[1] + R[2][k] * n[2]) for k in range(3)])
        own = [x + f.round_b * y for x, y in zip(own, point, strict=True)]
        half = [[inner(R[i], [bends[k][j] for k in range(3)]) for j in range(3)] for i in range(3)]  # R J
        slope = [[slope[i][j] - f.round_b * inner(half[i], R[j]) for j in range(3)] for i in range(3)]
    arm = [inner(R[k], own) for k in range(3)]
    return [x + y - z for x, y, z in zip(r, arm, first, strict=True)], arm, slope


def improved(a: Convex, b: Convex, f: Features, r: Any, R: Any, n: Any, edges: tuple[Any, Any]) -> list[Any]:
    """Return the normal after a step of Newton's method for a gap without slope, across the edges."""
    w, _, slope = between(a, b, f, r, R, n)
    gap = inner(n, w)
    P = [[f.free * ((i == j) - n[i] * n[j] - sum(e[i] * e[j] for e in edges)) for j in range(3)] for i in range(3)]
    bends = [[slope[i][j] - gap * (i == j) for j in range(3)] for i in range(3)]
    half = [[inner(P[i], [bends[k][j] for k in range(3)]) for j in range(3)] for i in range(3)]
    M = [[inner(half[i], P[j]) + (i == j) - P[i][j] for j in range(3)] for i in range(3)]  # P is symmetric
    change = solved(M, [-inner(P[k], w) for k in range(3)])
    return unit([x + inner(P[k], change) for k, x in enumerate(n)])


def across(n: Any, one: Any, other: Any) -> list[Any]:
    """Return the unit vector of ``n`` (3,) without its parts along two unit vectors (3,)."""
    first, second = inner(n, one), inner(n, other)
    return unit([x - first * y - second * z for x, y, z in zip(n, one, other, strict=True)])


def unit(vector: Any) -> list[Any]:
    """Return a vector (3,) of length one, zero of zero."""
    size = np.sqrt(inner(vector, vector) + TINY**2)
    return [x / size for x in vector]


def solved(M: Any, y: Any) -> list[Any]:
    """Return the solution (3,) of a symmetric matrix (3, 3) and a right side (3,)."""
    first, second, third = (cross(M[1], M[2]), cross(M[2], M[0]), cross(M[0], M[1]))
    size = inner(M[0], first)
    return [(first[k] * y[0] + second[k] * y[1] + third[k] * y[2]) / size for k in range(3)]
