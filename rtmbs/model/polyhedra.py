"""Volume, centre and inertia of what a closed surface of triangles encloses."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError

Array = NDArray[np.float64]
SAME = 1e-9  # of the size: corners nearer than this are one; files of triangles repeat each corner
FLAT = 1e-12  # of the cube of the size: a volume below is none


def moments(vertices: Array, faces: NDArray[np.int64], what: str = "Surface") -> tuple[float, Array, Array]:
    """Return volume [m^3], its centre (3,) [m] and inertia of density 1 about the centre (3, 3) [m^5].

    The solid is the signed sum of the tetrahedra from one point to each triangle. A tetrahedron with corners 0, a, b, c
    has the volume V = det [a b c] / 6, the centre (a + b + c) / 4, and the second moment
    V / 20 (a a^T + b b^T + c c^T + s s^T) with s = a + b + c.
    Raises ModelError naming ``what`` for a surface with holes, with faces turned inside out, or without volume.
    """
    refuse_open(vertices, faces, what)
    middle = vertices.mean(axis=0)
    corners = vertices[faces] - middle  # about a point near the solid: differences of large numbers lose digits
    volumes = np.linalg.det(corners) / 6.0
    volume = float(volumes.sum())
    if abs(volume) <= FLAT * float(np.max(np.ptp(vertices, axis=0))) ** 3:
        raise ModelError(f"{what}: the surface encloses no volume, so a density gives no mass; give mass= and inertia=")
    sums = corners.sum(axis=1)
    center = volumes @ sums / (4.0 * volume)
    second = np.einsum("k,kci,kcj->ij", volumes, corners, corners) + np.einsum("k,ki,kj->ij", volumes, sums, sums)
    spread = second / 20.0 - volume * np.outer(center, center)
    inertia = np.trace(spread) * np.eye(3) - spread
    return abs(volume), center + middle, inertia * np.sign(volume)


def refuse_open(vertices: Array, faces: NDArray[np.int64], what: str) -> None:
    """Raise ModelError when an edge does not belong to two faces that run along it in opposite directions."""
    welded = weld(vertices)[faces]
    edges = np.concatenate([welded[:, [0, 1]], welded[:, [1, 2]], welded[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]  # of triangles that have shrunk to a line
    count = int(welded.max()) + 1
    there, counts = np.unique(edges[:, 0] * count + edges[:, 1], return_counts=True)
    back = (there % count) * count + there // count
    known = np.searchsorted(there, back).clip(max=len(there) - 1)
    paired = (there[known] == back) & (counts[known] == counts)
    if not np.all(paired):
        raise ModelError(
            f"{what}: the surface is not closed: {int(np.sum(~paired))} edges lack the face on the other side; "
            "mend the mesh, or give mass= and inertia="
        )


def weld(vertices: Array) -> NDArray[np.int64]:
    """Return a number for each vertex (v,) that those at one place share."""
    step = SAME * max(float(np.max(np.ptp(vertices, axis=0))), 1e-300)
    number = np.zeros(len(vertices), np.int64)
    for column in np.round((vertices - vertices.min(axis=0)) / step).T:  # sorting rows at once takes ten times as long
        _, rank = np.unique(column, return_inverse=True)
        _, number = np.unique(number * (int(rank.max()) + 1) + rank, return_inverse=True)
    return np.asarray(number, np.int64)
