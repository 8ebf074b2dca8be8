"""Shapes of bodies for pictures, and the mass that a density gives them. No mechanics reads a shape."""

from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, shown
from rtmbs.limits.bounds import BEYOND
from rtmbs.model.checks import Array, Numbers, direction, number, numbers, rotation, shape_of
from rtmbs.model.polyhedra import moments

ORIGIN = (0.0, 0.0, 0.0)


class MassProperties(TypedDict):
    """Arguments of ``Model.add_body``."""

    mass: float  # [kg]
    center_of_mass: Array  # (3,) body axes [m]
    inertia: Array  # (3, 3) about the mass centre, body axes [kg m^2]


class Shape:
    """What every shape can do."""

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
        if np.array_equal(start, end):
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
        Mass, centre of mass and inertia of several solids of one density [kg/m^3], as ``add_body`` takes them.

    Raises
    ------
    ModelError
        For values that do not fit.
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
