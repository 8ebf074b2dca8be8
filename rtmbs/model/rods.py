"""A massless rod between two points: one equation, and no body."""

from dataclasses import dataclass

from rtmbs.errors import ModelError
from rtmbs.model.checks import Numbers, number
from rtmbs.model.markers import Marker, reference_distance


@dataclass(frozen=True, eq=False)
class Rod:
    """Keeps the distance of two markers."""

    name: str
    between: tuple[Marker, Marker]
    length: float  # [m]


def make_rod(name: str, between: tuple[Marker, Marker], length: Numbers) -> Rod:
    """Return a checked rod; ``length`` None is the distance at the reference pose."""
    what = f"rod {name!r}"
    metres = reference_distance(*between) if length is None else number(length, f"{what}: length")
    if metres <= 0.0:
        where = "its markers coincide at the reference pose" if length is None else f"length is {metres}"
        raise ModelError(
            f"{what}: {where}; a rod needs a length above zero (one point on another is a Spherical joint)"
        )
    return Rod(name, between, metres)
