"""``Mesh``: triangles of a file, read once, when the shape is made."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, numbers, rotation
from rtmbs.model.mesh_file import triangles_of
from rtmbs.model.shapes import ORIGIN, Surface, checked_triangles, keep, positive


@dataclass(frozen=True, eq=False)
class Mesh(Surface):
    """Triangles of an STL, OBJ, PLY, GLB or OFF file, in body axes.

    The triangles are kept, so the file may be gone later.

    Parameters
    ----------
    file : str
        Path of an STL, OBJ, PLY, GLB or OFF file.
    scale : float, default 1.0
        Metres a unit of the file; 0.001 for a drawing in millimetres.
    position : ndarray, default ORIGIN
        (3,) of the file's origin in body axes [m].
    axes : ndarray, optional
        3 x 3 rotation of the file's axes to body axes, or a quaternion (w, x, y, z).

    Raises
    ------
    ModelError
        For a file that is missing or no mesh, and without the package trimesh (extra ``mesh``).

    Examples
    --------
    >>> model.add_body("hull", shape=rtmbs.Mesh("hull.stl", scale=0.001), mass=12.0, inertia=(0.3, 0.4, 0.5))
    """

    vertices: Array = field(init=False, repr=False)
    faces: NDArray[np.int64] = field(init=False, repr=False)
    file: str = field(kw_only=False)
    scale: float = 1.0
    position: Array = ORIGIN  # type: ignore[assignment]
    axes: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.file, str | Path):
            raise ModelError(f"Mesh: file is {shown(self.file)}; it must be the name of a mesh file")
        what = f"Mesh {str(self.file)!r}"
        scale, position = positive(self.scale, f"{what}: scale"), numbers(self.position, f"{what}: position", (3,))
        axes = rotation(np.eye(3) if self.axes is None else self.axes, f"{what}: axes")
        read = triangles_of(Path(self.file), what)
        vertices = scale * np.asarray(read.vertices, float) @ axes.T + position
        keep(self, file=str(self.file), scale=scale, position=position, axes=axes)
        keep(self, **checked_triangles(vertices, read.faces, what))
