"""Shapes that only contacts have: the half space below a plane, and the ellipsoid."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, direction, numbers, rotation


@dataclass(frozen=True, eq=False)
class Plane:
    """Half space of a body, or of ground: solid below ``point`` against ``normal``.

    Parameters
    ----------
    point : ndarray, default (0.0, 0.0, 0.0)
        Point (3,) of the plane in body axes [m].
    normal : ndarray, default (0.0, 0.0, 1.0)
        Direction (3,) out of the half space in body axes.

    Raises
    ------
    ModelError
        For a point or normal that is no vector.

    Examples
    --------
    >>> floor = rtmbs.contact.Plane()
    >>> ramp = rtmbs.contact.Plane(normal=(0.5, 0.0, 1.0))
    """

    point: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    normal: Array = (0.0, 0.0, 1.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "point": numbers(self.point, "Plane: point", (3,)),
            "normal": direction(self.normal, "Plane: normal"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Ellipsoid of a body.

    Parameters
    ----------
    half_axes : ndarray
        Half axes (3,) [m].
    center : ndarray, default (0.0, 0.0, 0.0)
        Centre (3,) in body axes [m].
    axes : ndarray, optional
        Rotation (3, 3) from axes of the ellipsoid to body axes; body axes unless given.

    Raises
    ------
    ModelError
        For half axes that are not above zero.

    Examples
    --------
    >>> egg = rtmbs.contact.Ellipsoid((0.03, 0.03, 0.04))
    """

    half_axes: Array
    center: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    axes: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        half = numbers(self.half_axes, "Ellipsoid: half_axes", (3,))
        if not np.min(half) > 0.0:
            raise ModelError(f"Ellipsoid: half_axes has {np.min(half):g}; it must be above zero")
        checked: dict[str, Any] = {
            "half_axes": half,
            "center": numbers(self.center, "Ellipsoid: center", (3,)),
            "axes": np.eye(3) if self.axes is None else np.array(rotation(self.axes, "Ellipsoid: axes")),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
