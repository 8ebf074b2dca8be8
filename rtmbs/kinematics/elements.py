"""Constraints of kinematic analyses alone (gear, screw, rack, curve, driven point): tuples with names of a Model.

To add one: write a NamedTuple here and its rule in ``element_equations.py``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Gear(NamedTuple):
    """Keeps first + ratio * second constant; each is a joint of one coordinate or (joint, coordinate).

    Two angles make a pair of gears, an angle and a displacement a rack and its pinion.

    Parameters
    ----------
    name : str
        Name of the constraint.
    first : str | tuple[str, str]
        First joint, or (joint, coordinate).
    second : str | tuple[str, str]
        Second joint, or (joint, coordinate).
    ratio : float
        Ratio of the second coordinate.
    """

    name: str
    first: str | tuple[str, str]
    second: str | tuple[str, str]
    ratio: float


class Screw(NamedTuple):
    """Keeps displacement - pitch / (2 pi) * angle of a Cylindrical joint constant; pitch [m a turn].

    Parameters
    ----------
    name : str
        Name of the constraint.
    joint : str
        Name of a cylindrical joint.
    pitch : float
        Pitch [m a turn].
    """

    name: str
    joint: str
    pitch: float


class RackAndPinion(NamedTuple):
    """Keeps displacement of the rack - radius * angle of the pinion constant; radius [m].

    Parameters
    ----------
    name : str
        Name of the constraint.
    rack : str | tuple[str, str]
        Joint of the rack, or (joint, coordinate).
    pinion : str | tuple[str, str]
        Joint of the pinion, or (joint, coordinate).
    radius : float
        Radius of the pinion [m].
    """

    name: str
    rack: str | tuple[str, str]
    pinion: str | tuple[str, str]
    radius: float


class PointOnCurve(NamedTuple):
    """Keeps a marker on a curve that a body carries: ``curve(s)`` (3,) in body axes [m], in plain NumPy.

    The parameter s becomes an unknown of its own; ``start`` is where the search for it begins.

    Parameters
    ----------
    name : str
        Name of the constraint.
    marker : str
        Name of the marker.
    body : str
        Name of the body that carries the curve.
    curve : Callable[[object], object]
        Function ``curve(s)`` that returns a point (3,) in body axes [m]. A method ``notes(name, first, last)`` of it
        may return sentences on a motion between two values of s.
    start : float, default 0.0
        Value of s to begin at.
    """

    name: str
    marker: str
    body: str
    curve: Callable[[Any], Any]
    start: float = 0.0


class JointCoordinate(NamedTuple):
    """Makes a coordinate of a joint an unknown of its own, called ``name``: a displacement [m], or an angle [rad].

    The angle of the bodies is told up to whole turns, and the unknown is the one of these angles nearest to itself. So
    it counts turns along a motion.

    Parameters
    ----------
    name : str
        Name of the unknown.
    joint : str
        Name of the joint.
    coordinate : str
        Coordinate of the joint.
    """

    name: str
    joint: str
    coordinate: str


class PointDriver(NamedTuple):
    """Makes a coordinate of a marker in the world follow a function of time.

    Parameters
    ----------
    name : str
        Name of the driver.
    marker : str
        Name of the marker.
    coordinate : str
        "x", "y" or "z".
    profile : Callable[[float], tuple[float, float, float]]
        Value [m] with its first and second derivative at a time [s], such as ``rtmbs.Sine``.
    """

    name: str
    marker: str
    coordinate: str
    profile: Any


Constraint = Gear | Screw | RackAndPinion | PointOnCurve | JointCoordinate | PointDriver
