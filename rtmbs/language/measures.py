"""Measures of a model file as channels of a result: coordinates, distances and angles of axes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.language.document import Document
from rtmbs.model import Marker
from rtmbs.model.constraints import BODY_COORDINATES, MARKER_AXES, PLACES
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results.channel import Source
from rtmbs.results.result import Result

Array = NDArray[np.float64]


def with_measures(document: Document, result: Result) -> Result:
    """Return a result with a channel for each measure of its file [m, rad].

    Parameters
    ----------
    document : Document
        The file.
    result : Result
        Result of its analysis.

    Returns
    -------
    Result
        The same result, with the measures by name.
    """
    ground = document.model.ground.name
    found = {name: source(result, ground, target) for name, target in document.measures.items()}
    return result.extended(found) if found else result


def source(result: Result, ground: str, target: Mapping[str, Any]) -> Source:
    """Return a measure as a channel."""
    if "between" in target:
        return Source((), "m", partial(distance, result, ground, *target["between"]))
    if "axes" in target:
        return Source((), "rad", partial(angle, result, ground, *target["axes"]))
    if "marker" in target:
        marker, axis = target["marker"]
        return Source((), "m", lambda: place(result, ground, marker)[..., PLACES.index(axis)])
    if "body" in target:
        body, coordinate = target["body"]
        return Source((), BODY_COORDINATES[coordinate], partial(of_body, result, body.name, coordinate))
    joint, coordinate = target["joint"] if isinstance(target["joint"], tuple) else (target["joint"], None)
    name = f"{joint.name}.{coordinate or joint.type.coordinates[0]}"
    return Source((), result.about(name)[1], lambda: result[name])


def turned(result: Result, body: str) -> Array:
    """Return the axes of a body over the samples (S, 3, 3)."""
    return rotations(result[named(result, body, "orientation")])


def named(result: Result, body: str, what: str) -> str:
    """Return the channel of a body, which has its kind in front where a joint has the same name."""
    name = f"body:{body}.{what}"
    return name if name in result.names() else f"{body}.{what}"


def place(result: Result, ground: str, marker: Marker) -> Array:
    """Return where a marker is over the samples (S, 3) [m]."""
    if marker.body.name == ground:
        return np.broadcast_to(marker.reference(), (len(result.t), 3))
    body = marker.body.name
    return np.asarray(result[named(result, body, "position")] + turned(result, body) @ marker.point)


def axis(result: Result, ground: str, marker: Marker, which: str) -> Array:
    """Return where an axis of a marker points over the samples (S, 3)."""
    local = marker.axes[:, MARKER_AXES.index(which)]
    if marker.body.name == ground:
        return np.broadcast_to(local, (len(result.t), 3))
    return np.asarray(turned(result, marker.body.name) @ local)


def distance(result: Result, ground: str, a: Marker, b: Marker) -> Array:
    return np.asarray(np.linalg.norm(place(result, ground, b) - place(result, ground, a), axis=1))


def angle(result: Result, ground: str, a: tuple[Marker, str], b: tuple[Marker, str]) -> Array:
    """Return the angle of two axes (S,), from 0 to pi [rad]."""
    u, v = axis(result, ground, *a), axis(result, ground, *b)
    return np.asarray(np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), np.sum(u * v, axis=1)))


def of_body(result: Result, body: str, coordinate: str) -> Array:
    """Return a coordinate of a body in the world (S,); R = Rz(yaw) Ry(pitch) Rx(roll)."""
    if coordinate in PLACES:
        return np.asarray(result[named(result, body, "position")][:, PLACES.index(coordinate)])
    R = turned(result, body)
    angles: dict[str, Callable[[], Array]] = {
        "yaw": lambda: np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0])),
        "pitch": lambda: np.arctan2(-R[:, 2, 0], np.hypot(R[:, 0, 0], R[:, 1, 0])),
        "roll": lambda: np.unwrap(np.arctan2(R[:, 2, 1], R[:, 2, 2])),
    }
    return angles[coordinate]()
