"""Shapes of links for pictures: boxes, cylinders, spheres, capsules, ellipsoids and meshes of URDF, SDF and MJCF."""

from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.formats.placement import Array, Placement
from rtmbs.model import Box, Cylinder, Mesh, Sphere, Surface
from rtmbs.model.mesh import triangles_of

AROUND, ALONG = 24, 12  # triangles around and along an ellipsoid


def box(size: Any, place: Placement) -> Box:
    """Return a box of edges (3,) [m]."""
    return Box(size, place.position, place.rotation)


def cylinder(radius: float, length: float, place: Placement) -> Cylinder:
    """Return a cylinder along z."""
    return Cylinder(radius, length, place.position, place.rotation[:, 2])


def sphere(radius: float, place: Placement) -> Sphere:
    """Return a ball."""
    return Sphere(radius, place.position)


def capsule(radius: float, length: float, place: Placement) -> list[Any]:
    """Return a cylinder along z of this length with half balls at its ends."""
    half = 0.5 * length * place.rotation[:, 2]
    ends = [Sphere(radius, place.position + side * half) for side in (-1.0, 1.0)]
    return [cylinder(radius, length, place), *ends] if length > 0.0 else ends[:1]


def ellipsoid(radii: Any, place: Placement) -> Surface:
    """Return the surface of an ellipsoid with half axes (3,) [m]."""
    rows, columns = np.meshgrid(np.linspace(0.0, np.pi, ALONG + 1), 2.0 * np.pi * np.arange(AROUND) / AROUND,
                                indexing="ij")  # fmt: skip
    unit = np.stack((np.sin(rows) * np.cos(columns), np.sin(rows) * np.sin(columns), np.cos(rows)), axis=-1)
    points = (unit.reshape(-1, 3) * np.asarray(radii, float)) @ place.rotation.T + place.position
    faces = []
    for i in range(ALONG):
        for j in range(AROUND):
            k = (j + 1) % AROUND
            a, b, c, d = i * AROUND + j, i * AROUND + k, (i + 1) * AROUND + j, (i + 1) * AROUND + k
            faces += [(a, c, d)] if i == 0 else [(a, c, b)] if i == ALONG - 1 else [(a, c, d), (a, d, b)]
    return Surface(points, np.array(faces))


def mesh(path: Path, scale: tuple[float, ...], place: Placement) -> Any:
    """Return the triangles of a file with three scales; a mirror image keeps its outside outside."""
    if scale[0] == scale[1] == scale[2] > 0.0:
        return Mesh(str(path), scale[0], place.position, place.rotation)
    found = triangles_of(path, f"Mesh {str(path)!r}")
    return surface(found.vertices * np.asarray(scale), found.faces, float(np.prod(scale)) < 0.0, place)


def surface(vertices: Array, faces: Any, mirrored: bool, place: Placement) -> Surface:
    """Return a surface of vertices (v, 3) in a frame that stands at ``place``."""
    return Surface(vertices @ place.rotation.T + place.position, faces[:, ::-1] if mirrored else faces)


def hex_color(rgba: Any) -> str:
    """Return "#rrggbb" of red, green, blue from 0 to 1."""
    return "#" + "".join(f"{round(255 * min(max(float(one), 0.0), 1.0)):02x}" for one in list(rgba)[:3])
