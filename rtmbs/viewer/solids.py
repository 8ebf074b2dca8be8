"""Unit meshes laid onto bodies: the shapes of a description, and how thick joints are beside them."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.model.shapes import Bar, Box, Cylinder, Shape, Sphere, Surface
from rtmbs.viewer import meshes
from rtmbs.viewer.batch import GROUND, Batch, between
from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.meshes import Mesh
from rtmbs.viewer.theme import Color

Array = NDArray[np.float64]

THIN = 0.02  # half the thickness of things where no bar says one, in characteristic lengths
KEPT = 64  # meshes of surfaces
WIDE, SWELL = 10.0, 3.0  # a mechanism wider than so many characteristic lengths has thicker bars, so much at most


class Placed(NamedTuple):
    """One mesh on one body."""

    mesh: Mesh
    body: int
    local: Array  # (3, 4)
    edges: bool = True
    name: str = ""  # of whom points at it


def batches(placed: Iterable[Placed], color_of: Callable[[int], Color]) -> list[Batch]:
    """Return one batch for each mesh among ``placed``, coloured by body."""
    alike: dict[tuple[int, bool, bool], list[Placed]] = {}
    for one in placed:  # what can be seen through is drawn apart
        alike.setdefault((id(one.mesh), one.edges, color_of(one.body)[3] < 1.0), []).append(one)
    found = []
    for group in alike.values():
        bodies = [one.body for one in group]
        colors = [color_of(body) for body in bodies]
        found.append(Batch(group[0].mesh, bodies, [one.local for one in group], colors, group[0].edges))
        found[-1].names = [one.name for one in group]
    return found


def swell(description: SceneDescription, size: float) -> float:
    """Return by how much bars and joints are thickened so that they are still seen in a picture of ``size`` [m]."""
    return min(max(size / (WIDE * description.length), 1.0), SWELL)


def thickness(description: SceneDescription) -> float:
    """Return the radius that joints are drawn for: the usual one of the bars [m]."""
    radii = [shape.radius for body in description.bodies for shape in body.shapes if isinstance(shape, Bar)]
    return float(np.median(radii)) if radii else THIN * description.length


def body_solids(description: SceneDescription, thicker: float = 1.0) -> list[Placed]:
    """Return the shapes of all bodies, bars ``thicker``."""
    found = []
    for i, body in enumerate(description.bodies):
        for shape in body.shapes:
            mesh, local = laid(shape)
            if isinstance(shape, Bar):
                local[:, :2] *= thicker
            found.append(Placed(mesh, i, local, body.edges and not isinstance(shape, Bar), body.name))
    return found


def laid(shape: Shape) -> tuple[Mesh, Array]:
    """Return the mesh of a shape and its placement (3, 4) in body axes."""
    if isinstance(shape, Bar):
        return meshes.cylinder(), between(shape.start[None], shape.end[None], shape.radius)[0]
    if isinstance(shape, Cylinder):
        half = 0.5 * shape.length * shape.axis
        ends = (shape.center - half)[None], (shape.center + half)[None]
        return meshes.cylinder(meshes.FINE), between(*ends, shape.radius)[0]
    if isinstance(shape, Box):
        return meshes.cube(), np.column_stack([shape.axes * shape.size, shape.center])
    if isinstance(shape, Sphere):
        return meshes.sphere(meshes.FINE), np.column_stack([shape.radius * np.eye(3), shape.center])
    assert isinstance(shape, Surface)
    return surface_mesh(shape), np.eye(3, 4)


@lru_cache(KEPT)
def surface_mesh(shape: Surface) -> Mesh:
    """Return the mesh of a surface; large ones take seconds, and another theme wants the same one."""
    return meshes.mesh(shape.vertices, shape.faces)


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
