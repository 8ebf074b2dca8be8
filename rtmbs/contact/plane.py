"""Half space that bodies touch from above."""

from dataclasses import dataclass
from typing import Any

from rtmbs.model.checks import Array, direction, numbers


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
