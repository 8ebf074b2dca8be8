"""Shapes and looks of bodies in pictures, and mass properties of shapes with a density. No mechanics reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import ModelError, UnknownNameError, shown, unknown_name
from rtmbs.model.checks import Array, Numbers, direction, number, numbers, rotation, shape_of, switch

SAME = 1e-9  # of the size: corners nearer than this are one; files of triangles repeat each corner
FLAT = 1e-12  # of the cube of the size: a volume below is none
SHORTEST = 1e-150  # [m] of a bar: the square of a shorter length is no number


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
    """Raise ModelError where an edge lacks the face on the other side."""
    if count := open_edges(vertices, faces):
        raise ModelError(
            f"{what}: the surface is not closed: {count} edges lack the face on the other side; mend the mesh, or give "
            "mass= and inertia="
        )


def open_edges(vertices: Array, faces: NDArray[np.int64]) -> int:
    """Return how many edges do not belong to two faces that run along them in opposite directions."""
    welded = weld(vertices)[faces]
    edges = np.concatenate([welded[:, [0, 1]], welded[:, [1, 2]], welded[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]  # of triangles that have shrunk to a line
    count = int(welded.max()) + 1
    there, counts = np.unique(edges[:, 0] * count + edges[:, 1], return_counts=True)
    back = (there % count) * count + there // count
    known = np.searchsorted(there, back).clip(max=len(there) - 1)
    return int(np.sum((there[known] != back) | (counts[known] != counts)))


def weld(vertices: Array) -> NDArray[np.int64]:
    """Return a number for each vertex (v,) that those at one place share."""
    step = SAME * max(float(np.max(np.ptp(vertices, axis=0))), 1e-300)
    number = np.zeros(len(vertices), np.int64)
    for column in np.round((vertices - vertices.min(axis=0)) / step).T:  # sorting rows at once takes ten times as long
        _, rank = np.unique(column, return_inverse=True)
        _, number = np.unique(number * (int(rank.max()) + 1) + rank, return_inverse=True)
    return np.asarray(number, np.int64)


ORIGIN = (0.0, 0.0, 0.0)


class MassProperties(TypedDict):
    """Arguments of ``Model.add_body``."""

    mass: float  # [kg]
    center_of_mass: Array  # (3,) body axes [m]
    inertia: Array  # (3, 3) about the mass centre, body axes [kg m^2]


class Shape:
    """A shape of a body in pictures."""

    def inertia(self, density: Numbers) -> MassProperties:
        """Return mass, centre of mass and inertia of the solid with this density [kg/m^3], as ``add_body`` takes them.

        Parameters
        ----------
        density : float
            Density [kg/m^3].

        Returns
        -------
        MassProperties
            Mass, centre of mass and inertia of the solid with this density [kg/m^3], as ``add_body`` takes them.

        Raises
        ------
        ModelError
            For a density that is not positive, and for a surface that encloses no volume.

        Examples
        --------
        >>> hull = rtmbs.Box(size=(0.4, 0.2, 0.1))
        >>> model.add_body("hull", shape=hull, **hull.inertia(2700.0))
        """
        return mass_properties((self,), density)

    def solid(self) -> tuple[float, Array, Array]:
        """Return volume [m^3], its centre (3,) [m] and inertia of density 1 about the centre (3, 3) [m^5]."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Box(Shape):
    """Box in body axes.

    Parameters
    ----------
    size : ndarray
        Edges (3,) [m].
    center : ndarray, default ORIGIN
        Centre (3,) in body axes [m].
    axes : ndarray, optional
        Rotation (3, 3) of box to body axes, or a quaternion (w, x, y, z).
    """

    size: Array
    center: Array = ORIGIN  # type: ignore[assignment]
    axes: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        size = numbers(self.size, "Box: size", (3,))
        if not np.all(size > 0.0):
            raise ModelError(f"Box: size is {shown(self.size)}; every edge must be positive")
        axes = rotation(np.eye(3) if self.axes is None else self.axes, "Box: axes")
        keep(self, size=size, center=numbers(self.center, "Box: center", (3,)), axes=axes)

    def solid(self) -> tuple[float, Array, Array]:
        volume, squares = float(np.prod(self.size)), self.size**2
        principal = volume / 12.0 * (np.sum(squares) - squares)
        return volume, self.center, (self.axes * principal) @ self.axes.T


@dataclass(frozen=True, eq=False)
class Cylinder(Shape):
    """A cylinder in body axes: ``radius`` and ``length`` [m], its middle ``center`` (3,) [m], its ``axis`` (3,).

    Parameters
    ----------
    radius : float
        Radius [m].
    length : float
        Length [m].
    center : ndarray, default ORIGIN
        Centre (3,) in body axes [m].
    axis : ndarray, default (0.0, 0.0, 1.0)
        Direction (3,) in body axes.
    """

    radius: float
    length: float
    center: Array = ORIGIN  # type: ignore[assignment]
    axis: Array = (0.0, 0.0, 1.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        radius, length = positive(self.radius, "Cylinder: radius"), positive(self.length, "Cylinder: length")
        center, axis = numbers(self.center, "Cylinder: center", (3,)), direction(self.axis, "Cylinder: axis")
        keep(self, radius=radius, length=length, center=center, axis=axis)

    def solid(self) -> tuple[float, Array, Array]:
        volume = float(np.pi * self.radius**2 * self.length)
        around, across = 0.5 * self.radius**2, self.radius**2 / 4.0 + self.length**2 / 12.0
        along = np.outer(self.axis, self.axis)
        return volume, self.center, volume * (across * np.eye(3) + (around - across) * along)


@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    """A ball of ``radius`` [m] about ``center`` (3,) in body axes [m].

    Parameters
    ----------
    radius : float
        Radius [m].
    center : ndarray, default ORIGIN
        Centre (3,) in body axes [m].
    """

    radius: float
    center: Array = ORIGIN  # type: ignore[assignment]

    def __post_init__(self) -> None:
        keep(self, radius=positive(self.radius, "Sphere: radius"), center=numbers(self.center, "Sphere: center", (3,)))

    def solid(self) -> tuple[float, Array, Array]:
        volume = float(4.0 / 3.0 * np.pi * self.radius**3)
        return volume, self.center, 0.4 * volume * self.radius**2 * np.eye(3)


@dataclass(frozen=True, eq=False)
class Bar(Shape):
    """A round bar between the points ``start`` and ``end`` (3,) in body axes [m], of ``radius`` [m].

    Parameters
    ----------
    start : ndarray
        First end (3,) in body axes [m].
    end : ndarray
        Second end (3,) in body axes [m].
    radius : float
        Radius [m].
    """

    start: Array
    end: Array
    radius: float

    def __post_init__(self) -> None:
        start, end = numbers(self.start, "Bar: start", (3,)), numbers(self.end, "Bar: end", (3,))
        if not np.linalg.norm(end - start) > SHORTEST:
            raise ModelError(f"Bar: start and end are both {shown(self.start)}; they must be two points")
        keep(self, start=start, end=end, radius=positive(self.radius, "Bar: radius"))

    def solid(self) -> tuple[float, Array, Array]:
        """Return volume [m^3], its centre (3,) [m] and inertia of density 1 about the centre (3, 3) [m^5].

        Returns
        -------
        tuple[float, ndarray, ndarray]
            Volume [m^3], its centre (3,) [m] and inertia of density 1 about the centre (3, 3) [m^5].
        """
        along = self.end - self.start
        return Cylinder(self.radius, float(np.linalg.norm(along)), 0.5 * (self.start + self.end), along).solid()


@dataclass(frozen=True, eq=False)
class Surface(Shape):
    """Closed or open surface of triangles in body axes.

    Parameters
    ----------
    vertices : ndarray
        Vertices (v, 3) in body axes [m].
    faces : ndarray of int
        Indices (k, 3) of the vertices of each triangle, counter-clockwise as seen from outside.
    """

    vertices: Array
    faces: NDArray[np.int64]

    def __post_init__(self) -> None:
        keep(self, **checked_triangles(self.vertices, self.faces, "Surface"))

    def solid(self) -> tuple[float, Array, Array]:
        return moments(self.vertices, self.faces, type(self).__name__)


def checked_triangles(vertices: Any, faces: Any, what: str) -> dict[str, Any]:
    """Return vertices and faces as arrays; ModelError naming ``what`` for a wrong shape, index or number."""
    size = shape_of(vertices, f"{what}: vertices", "finite numbers of shape (v, 3) are needed")
    points = numbers(vertices, f"{what}: vertices", (*size[:1], 3))
    try:
        corners = np.asarray(faces)
    except ValueError:  # a ragged list
        raise ModelError(f"{what}: faces is {shown(faces)}; whole numbers of shape (k, 3) are needed") from None
    if corners.ndim != 2 or corners.shape[1] != 3 or corners.dtype.kind not in "iu" or not len(corners):
        raise ModelError(f"{what}: faces have shape {corners.shape}; whole numbers of shape (k, 3) are needed")
    if corners.min() < 0 or corners.max() >= len(points):
        wrong = corners.min() if corners.min() < 0 else corners.max()
        raise ModelError(f"{what}: a face names vertex {wrong}, but there are {len(points)} vertices, counted from 0")
    corners = corners.astype(np.int64)
    corners.flags.writeable = False
    return {"vertices": points, "faces": corners}


def keep(shape: Shape, **values: Any) -> None:
    """Write checked values into a frozen shape that is being made."""
    for name, value in values.items():
        object.__setattr__(shape, name, value)


def positive(value: Numbers, what: str) -> float:
    """Return a positive number; ModelError for another."""
    size = number(value, what)
    if size <= 0.0:
        raise ModelError(f"{what} is {size:g}; it must be positive")
    return size


def checked_shapes(what: str, given: Any) -> tuple[Shape, ...]:
    """Return one shape or several as a tuple; ModelError when one is no shape."""
    shapes = tuple(given) if isinstance(given, list | tuple) else (given,)
    for shape in shapes:
        if not isinstance(shape, Shape) or type(shape) is Shape:
            known = "a Bar, Box, Cylinder, Sphere, Surface or Mesh"
            raise ModelError(f"{what}: shape is {shown(shape)}; it must be {known}")
    return shapes


def mass_properties(shapes: tuple[Shape, ...] | list[Shape], density: Numbers) -> MassProperties:
    """Return mass, centre of mass and inertia of several solids of one density [kg/m^3], as ``add_body`` takes them.

    Where two solids overlap, the material counts twice. Raises as ``Shape.inertia``.

    Parameters
    ----------
    shapes : tuple[Shape, ...] | list[Shape]
        Shapes of the solids.
    density : float
        Density [kg/m^3].

    Returns
    -------
    MassProperties
        ``mass`` [kg], ``center_of_mass`` (3,) [m] and ``inertia`` (3, 3) about it [kg m^2].

    Raises
    ------
    ModelError
        For a density or a volume out of range, no shape, or a surface that is open.
    """
    rho = positive(density, "density")
    with np.errstate(over="ignore", invalid="ignore"):  # told below
        parts = [shape.solid() for shape in checked_shapes("mass_properties", shapes)]
    if not parts:
        raise ModelError("mass_properties needs at least one shape")
    volume = sum(part[0] for part in parts)
    if not 0.0 < volume < BEYOND:
        raise ModelError(f"the volume of the shapes is {volume:g} m^3, too far from 1 to tell a mass; check their unit")
    center = np.asarray(sum(part[0] * part[1] for part in parts) / volume)
    inertia = np.zeros((3, 3))
    for own, middle, about in parts:
        d = middle - center
        inertia += about + own * (d @ d * np.eye(3) - np.outer(d, d))  # Steiner
    return {"mass": rho * volume, "center_of_mass": center, "inertia": rho * inertia}


Shapes = Shape | Sequence[Shape]

# Colours by name. They keep some distance from black and white, so that both themes show them.
COLORS = {
    "aluminium": "#b8bec6",
    "black": "#2a2d31",
    "blue": "#2f6fd0",
    "brass": "#c9a84c",
    "brown": "#8a5a35",
    "copper": "#c07848",
    "cyan": "#2aa5b5",
    "gray": "#8a929b",
    "green": "#2e9a58",
    "grey": "#8a929b",
    "magenta": "#c0459f",
    "orange": "#e0812c",
    "pink": "#e38fa8",
    "purple": "#8258a8",
    "red": "#c8382c",
    "steel": "#7f8b98",
    "white": "#eef0f2",
    "yellow": "#e3b92e",
}


@dataclass(frozen=True, eq=False)
class Looks:
    """Shapes, colour, opacity and edges of a body; without shapes the viewer draws bars between joints.

    Parameters
    ----------
    shapes : tuple[Shape, ...], optional
        Shapes in body axes.
    color : str, optional
        Colour "#rrggbb"; the colour of the theme unless given.
    opacity : float, default 1.0
        Opacity, above 0 and at most 1.
    edges : bool, default True
        True to draw sharp edges as lines.
    """

    shapes: tuple[Shape, ...] = ()
    color: str = ""  # "#rrggbb", "" for the theme's
    opacity: float = 1.0
    edges: bool = True  # sharp edges are drawn as lines


def make_looks(what: str, shape: Any, color: Any, opacity: Numbers, edges: Any) -> Looks:
    """Return checked looks; ModelError naming ``what``."""
    seen = number(opacity, f"{what}: opacity")
    if not 0.0 < seen <= 1.0:
        raise ModelError(f"{what}: opacity is {seen:g}; it must be above 0 and at most 1")
    if isinstance(shape, list | tuple) and not shape:
        raise ModelError(f"{what}: shape is {shown(shape)}; give at least one, or None for a bar between the joints")
    return Looks(
        () if shape is None else checked_shapes(what, shape),
        checked_color(what, color),
        seen,
        switch(edges, f"{what}: edges"),
    )


def checked_color(what: str, color: Any) -> str:
    """Return a colour as "#rrggbb", "" for none; ModelError for anything else."""
    if color is None or color == "":
        return ""
    if isinstance(color, str):
        text = color.strip().lower()
        if text in COLORS:
            return COLORS[text]
        if len(text) == 7 and text[0] == "#" and set(text[1:]) <= set("0123456789abcdef"):
            return text
        if text and text[0] != "#":
            raise UnknownNameError(f"{what}: {unknown_name('color', color, COLORS)}")
    raise ModelError(f"{what}: color is {shown(color)}; it must be '#rrggbb' or a name such as 'steel'")
