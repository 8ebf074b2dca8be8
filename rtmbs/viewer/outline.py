"""What a body looks like when nobody says: bars between the points that hold it, or a solid of its inertia."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.model.shapes import Bar, Box, Cylinder, Shape, Sphere
from rtmbs.system.system import BodyInfo

Array = NDArray[np.float64]

THICKNESS = 0.022  # radius of a bar in characteristic lengths
SAME = 1e-6  # points nearer than this, in characteristic lengths, are one
EQUAL = 1e-3  # relative difference of two principal moments that are taken as equal
REACH = 0.1  # share of its size by which a solid may miss the point that holds it
SLENDER = 8.0  # length in radii from which a round solid is a bar


def outline(info: BodyInfo, points: Array, length: float) -> tuple[Shape, ...]:
    """Return the shapes of a body held at ``points`` (k, 3) in body axes; ``length`` is the characteristic one [m]."""
    radius, center = THICKNESS * length, info.center_of_mass
    ends = distinct(points, SAME * length)
    if len(ends) >= 2:
        return skeleton(ends, radius, SAME * length)
    solid = solid_of_inertia(info, radius)
    apart = len(ends) == 1 and np.linalg.norm(ends[0] - center) > SAME * length
    if apart and not reaches(solid, ends[0]):
        return (Bar(ends[0], center, radius), solid)
    return (solid,)


def distinct(points: Array, near: float) -> Array:
    """Return the points without those that repeat another one."""
    kept: list[Array] = []
    for point in points:
        if all(np.linalg.norm(point - other) > near for other in kept):
            kept.append(point)
    return np.array(kept).reshape(-1, 3)


def skeleton(points: Array, radius: float, near: float) -> tuple[Shape, ...]:
    """Return one bar through points of a line, the edges of a triangle, or a star from the middle of more points."""
    middle = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - middle)
    if len(points) == 2 or sizes[1] <= near:
        along = (points - middle) @ axes[0]
        return (Bar(points[int(np.argmin(along))], points[int(np.argmax(along))], radius),)
    if len(points) == 3:
        return tuple(Bar(points[k], points[(k + 1) % 3], radius) for k in range(3))
    return tuple(Bar(middle, point, radius) for point in points)


def solid_of_inertia(info: BodyInfo, radius: float) -> Bar | Box | Cylinder | Sphere:
    """Return the homogeneous cylinder, bar, box or ball with the principal radii of gyration of a body.

    A cylinder of radius r and length L has m r^2 / 2 and m (3 r^2 + L^2) / 12; a box of edges a, b, c has
    m (b^2 + c^2) / 12 and so on. ``radius`` is the least one that can be seen.
    """
    center = info.center_of_mass
    moments, axes = np.linalg.eigh(info.inertia)
    if info.mass <= 0.0 or moments[2] <= info.mass * radius**2:
        return Sphere(2.0 * radius, center)
    squares = moments / info.mass
    for axial, (i, j) in ((0, (1, 2)), (2, (0, 1))):
        if abs(squares[i] - squares[j]) <= EQUAL * squares[2] and squares[2] - squares[0] > EQUAL * squares[2]:
            around, along = np.sqrt(2.0 * squares[axial]), np.sqrt(max(12.0 * squares[i] - 6.0 * squares[axial], 0.0))
            if along > SLENDER * around:
                half = 0.5 * along * axes[:, axial]
                return Bar(center - half, center + half, max(float(around), radius))
            return Cylinder(float(around), max(float(along), radius), center, axes[:, axial])
    edges = np.sqrt(np.maximum(6.0 * (squares.sum() - 2.0 * squares), (2.0 * radius) ** 2))
    right_handed = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
    return Box(edges, center, right_handed)


def reaches(solid: Bar | Box | Cylinder | Sphere, point: Array) -> bool:
    """True when a bar ends at ``point``, or a solid has its middle there: no bar is needed to join them."""
    if isinstance(solid, Bar):
        gaps = [np.linalg.norm(point - end) for end in (solid.start, solid.end)]
        return bool(min(gaps) <= REACH * np.linalg.norm(solid.end - solid.start))
    return bool(np.linalg.norm(point - solid.center) <= solid_radius(solid) * REACH)


def solid_radius(solid: Box | Cylinder | Sphere) -> float:
    """Return the half width of a solid [m]."""
    return float(solid.size.min()) / 2.0 if isinstance(solid, Box) else solid.radius
