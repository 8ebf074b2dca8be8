"""Shapes of links for pictures: boxes, cylinders, spheres, capsules, ellipsoids, and meshes in files.

The place of a mesh is its address, relative to the file, or with a package: ``package://NAME/PATH``,
``model://NAME/PATH``. No file outside of the folder of the description, of its package or of a package that the caller
gives is opened, also not through a link.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.formats.assembly import Array, Placement
from rtmbs.model import Box, Cylinder, Mesh, Sphere, Surface
from rtmbs.model.mesh import triangles_of

PACKAGE_FILES = ("package.xml", "model.config")
MOST_LEVELS = 8  # folders above a file that may be its package
SCHEMES = ("package://", "model://")
LONGEST_NAME = 255  # bytes
DESCRIPTIONS = ("urdf", "sdf", "xacro", "robots", "models")  # folders of a package that hold its descriptions


class MeshFiles:
    """Folders in which the files named by one description may lie."""

    def __init__(self, file: Path, packages: Mapping[str, str | Path]) -> None:
        self.folder = file.resolve().parent
        self.packages = {name: Path(path).resolve() for name, path in packages.items()}
        self.root = next((one for one in self.above() if is_package(one)), self.folder)

    def of(self, file: Path) -> "MeshFiles":
        """Return the folders of another file of the same description, inside the same root."""
        found = MeshFiles(file, self.packages)
        found.root = self.root
        return found

    def above(self) -> list[Path]:
        """Return the folder of the file and those above it, the nearest first."""
        return [self.folder, *self.folder.parents][:MOST_LEVELS]

    def place(self, address: str, folder: Path | None = None) -> Path:
        """Return the path of an address, relative to the folder of the file unless another is given.

        ModelError for one that is outside, or of an unknown package.
        """
        base = self.folder if folder is None else folder
        scheme = next((one for one in SCHEMES if address.startswith(one)), "")
        if scheme:
            package, _, rest = address[len(scheme) :].partition("/")
            if not (package and rest) and package not in self.packages:  # package://FILE, as onshape-to-robot wrote it
                found = resolved(self.folder / (package or rest.lstrip("/")), address)
                if found.is_file() and found.is_relative_to(self.root):
                    return found
            root = self.package(package)
            return inside(root, root / rest, address)
        if "://" in address and not address.startswith("file://"):
            raise ModelError(f"{address!r} is no file of this machine; it must be a path or package://NAME/PATH")
        path = Path(address.removeprefix("file://"))
        for root in (self.root, *self.packages.values()):
            found = resolved(base / path, address)
            if found.is_relative_to(root):
                return found
        return inside(self.root, base / path, address)

    def package(self, name: str) -> Path:
        """Return the folder of a package: one given by name, or one beside or above the file.

        A folder outside of the root counts with ``package.xml`` or ``model.config``, or as NAME of NAME/urdf/FILE.
        """
        if name in self.packages:
            return self.packages[name]
        if name and name not in (".", "..") and len(name.encode()) <= LONGEST_NAME:
            holder = self.folder.parent if self.folder.name in DESCRIPTIONS else self.folder
            for folder in self.above():
                if folder.name == name and (folder == holder or self.counts(folder)):
                    return folder
                if (folder / name).is_dir() and self.counts(folder / name):
                    return inside(folder, folder / name, name)
        raise ModelError(
            f"package {shown(name)} is not near the file with package.xml; give its folder by packages={{NAME: FOLDER}}"
        )

    def counts(self, folder: Path) -> bool:
        """True for a folder of a package, or inside the root."""
        return is_package(folder) or folder.resolve().is_relative_to(self.root)


def is_package(folder: Path) -> bool:
    """True for a folder with the file of a package."""
    return any((folder / name).is_file() for name in PACKAGE_FILES)


def inside(root: Path, path: Path, address: str) -> Path:
    """Return a path without links; ModelError when it is outside of ``root``."""
    found = resolved(path, address)
    if not found.is_relative_to(root):
        raise ModelError(
            f"{address!r} is outside of the folder {str(root)!r} and is not opened; give the folder by packages="
        )
    return found


def resolved(path: Path, address: str) -> Path:
    """Return a path without links; ModelError for a name that is too long and for a circle of links."""
    try:
        found = path.resolve()
        found.is_file()  # fails for names that are too long
    except (OSError, RuntimeError, ValueError):
        raise ModelError(f"{address[:LONGEST_NAME]!r} is no path; it must be one of a file") from None
    return found


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
