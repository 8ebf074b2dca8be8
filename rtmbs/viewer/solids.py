"""Unit meshes laid onto bodies: shapes of a description, joints, and what holds the ground."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.model.shapes import Bar, Box, Cylinder, Shape, Sphere, Surface
from rtmbs.viewer import meshes
from rtmbs.viewer.batch import GROUND, Batch, between
from rtmbs.viewer.description import JointDescription, SceneDescription
from rtmbs.viewer.meshes import Mesh
from rtmbs.viewer.theme import Color

Array = NDArray[np.float64]

THIN = 0.02  # half the thickness of things where no bar says one, in characteristic lengths
PIN_RADIUS, PIN_LENGTH = 1.35, 3.4  # of a pin, in radii of a bar
BALL_RADIUS = 1.7
RAIL = np.array([2.6, 2.6, 6.0])  # edges of a slider, in radii of a bar
FOOT = np.array([3.2, 3.2, 3.2])  # edges of the block that carries a joint on ground


WIDE, SWELL = 10.0, 3.0  # a mechanism wider than so many characteristic lengths has thicker bars, so much at most


class Placed(NamedTuple):
    """One mesh on one body."""

    mesh: Mesh
    body: int
    local: Array  # (3, 4)


def batches(placed: Iterable[Placed], color_of: Callable[[int], Color]) -> list[Batch]:
    """Return one batch for each mesh among ``placed``, coloured by body."""
    by_mesh: dict[int, list[Placed]] = {}
    for one in placed:
        by_mesh.setdefault(id(one.mesh), []).append(one)
    return [
        Batch(group[0].mesh, [one.body for one in group], [one.local for one in group], colors)
        for group in by_mesh.values()
        for colors in [[color_of(one.body) for one in group]]
    ]


def swell(description: SceneDescription, size: float) -> float:
    """Return by how much bars and joints are thickened so that they are still seen in a picture of ``size`` [m]."""
    return min(max(size / (WIDE * description.length), 1.0), SWELL)


def thickness(description: SceneDescription) -> float:
    """Return the radius that joints are drawn for: the usual one of the bars [m]."""
    radii = [shape.radius for body in description.bodies for shape in body.shapes if isinstance(shape, Bar)]
    return float(np.median(radii)) if radii else THIN * description.length


def families(description: SceneDescription) -> list[int]:
    """Return a number for each body; bodies whose names differ only in digits share one, and so a colour."""
    stems = [re.sub(r"[\W\d_]+", " ", body.name).strip() for body in description.bodies]
    known = {stem: number for number, stem in enumerate(dict.fromkeys(stems[1:]))}
    return [known.get(stem, 0) for stem in stems]


def body_solids(description: SceneDescription, thicker: float = 1.0) -> list[Placed]:
    """Return the shapes of all bodies, bars ``thicker``."""
    found = []
    for i, body in enumerate(description.bodies):
        for shape in body.shapes:
            mesh, local = laid(shape)
            if isinstance(shape, Bar):
                local[:, :2] *= thicker
            found.append(Placed(mesh, i, local))
    return found


def laid(shape: Shape) -> tuple[Mesh, Array]:
    """Return the mesh of a shape and its placement (3, 4) in body axes."""
    if isinstance(shape, Bar):
        return meshes.cylinder(), between(shape.start[None], shape.end[None], shape.radius)[0]
    if isinstance(shape, Cylinder):
        half = 0.5 * shape.length * shape.axis
        return meshes.cylinder(), between((shape.center - half)[None], (shape.center + half)[None], shape.radius)[0]
    if isinstance(shape, Box):
        return meshes.cube(), np.column_stack([shape.axes * shape.size, shape.center])
    if isinstance(shape, Sphere):
        return meshes.sphere(), np.column_stack([shape.radius * np.eye(3), shape.center])
    assert isinstance(shape, Surface)
    return meshes.mesh(shape.vertices, shape.faces), np.eye(3, 4)


def joint_solids(description: SceneDescription, radius: float, cut: bool) -> list[Placed]:
    """Return pins, sliders and balls of the joints in the tree, or of the cut ones."""
    return [joint_solid(joint, radius) for joint in description.joints if joint.cut == cut]


def joint_solid(joint: JointDescription, radius: float) -> Placed:
    """Return what a joint looks like on its first body: a pin, a slider along its axis, or a ball."""
    if joint.drawn_as == "pin":
        half = 0.5 * PIN_LENGTH * radius * joint.axes_a[0]
        ends = (joint.point_a - half)[None], (joint.point_a + half)[None]
        return Placed(meshes.cylinder(), joint.a, between(*ends, PIN_RADIUS * radius)[0])
    if joint.drawn_as == "rail":
        along = between(joint.point_a[None], (joint.point_a + joint.axes_a[0])[None], 1.0)[0]
        return Placed(meshes.cube(), joint.a, np.column_stack([along[:, :3] * (RAIL * radius), joint.point_a]))
    return Placed(meshes.sphere(), joint.a, np.column_stack([BALL_RADIUS * radius * np.eye(3), joint.point_a]))


def ground_solids(description: SceneDescription, radius: float) -> list[Placed]:
    """Return a block behind every place where ground carries a joint, one a place."""
    ends = [(joint.a, joint.point_a) for joint in description.joints]
    ends += [(joint.b, joint.point_b) for joint in description.joints]
    points = {tuple(np.round(point / radius, 3)): point for body, point in ends if body == GROUND}
    size = np.diag(FOOT * radius)
    return [Placed(meshes.cube(), GROUND, np.column_stack([size, point])) for point in points.values()]


def outline(description: SceneDescription) -> tuple[NDArray[np.int64], Array]:
    """Return bodies (k,) and points (k, 3) in their axes that a picture must hold."""
    body: list[int] = []
    points: list[Array] = []
    for i, one in enumerate(description.bodies):
        ends = [corners(shape) for shape in one.shapes]
        own = np.concatenate([one.points.reshape(-1, 3), *ends])
        points.append(own if len(own) or i == GROUND else one.center_of_mass[None])
        body += [i] * len(points[-1])
    return np.array(body, np.int64), np.concatenate(points)


def corners(shape: Shape) -> Array:
    """Return the corners (8, 3) of the box about a shape, body axes."""
    mesh, local = laid(shape)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    box = np.array([(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    return np.asarray(box @ local[:, :3].T + local[:, 3])
