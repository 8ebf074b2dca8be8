"""Measures of a model file as channels of a result: coordinates, distances and angles of axes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.language.document import Document
from rtmbs.model import Body, Driver, Joint, Marker, Model
from rtmbs.model.constraints import BODY_COORDINATES, MARKER_AXES, PLACES
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results.channel import Source
from rtmbs.results.result import Result

Array = NDArray[np.float64]

NEAR = 1e-6  # [rad] an angle that begins so near to 0 or pi counts as either


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
    found = {name: source(result, document.model, target) for name, target in document.measures.items()}
    return result.extended(found) if found else result


def source(result: Result, model: Model, target: Mapping[str, Any]) -> Source:
    """Return a measure as a channel."""
    ground = model.ground.name
    if "between" in target:
        return Source((), "m", partial(distance, result, ground, *target["between"]))
    if "axes" in target:
        return Source((), "rad", partial(angle, result, model, *target["axes"]))
    if "marker" in target:
        marker, axis = target["marker"]
        return Source((), "m", lambda: place(result, ground, marker)[..., PLACES.index(axis)])
    if "body" in target:
        body, coordinate = target["body"]
        return Source((), BODY_COORDINATES[coordinate], partial(of_body, result, model, body, coordinate))
    joint, coordinate = target["joint"]
    unit = result.about(f"{joint.name}.{coordinate}")[1]
    return Source((), unit, partial(of_joint, result, model, joint, coordinate, unit))


def of_joint(result: Result, model: Model, joint: Joint, coordinate: str, unit: str) -> Array:
    """Return a joint coordinate (S,), with the whole turns of its driver."""
    values = np.asarray(result[f"{joint.name}.{coordinate}"])
    k = joint.type.coordinates.index(coordinate)
    driver = driver_of(model, lambda one: one.joint == (joint, k))
    return as_driven(values, driver, result.t) if driver and unit == "rad" else values


def driver_of(model: Model, drives: Callable[[Driver], bool]) -> Driver | None:
    """Return the driver of a quantity, or None."""
    return next((one for one in model.drivers.values() if drives(one)), None)


def as_driven(angles: Array, driver: Driver, t: Array) -> Array:
    """Return angles (S,) with the whole turns of their driver."""
    return driven(driver, t) + off(angles, driver, t)


def driven(driver: Driver, t: Array) -> Array:
    """Return the value of a driver at times (S,)."""
    return np.array([driver.profile(one)[0] for one in np.asarray(t).tolist()], dtype=np.float64).reshape(len(t))


def off(angles: Array, driver: Driver, t: Array) -> Array:
    """Return angles (S,) less their driver, within half a turn."""
    left = angles - driven(driver, t)
    return np.asarray(left - 2.0 * np.pi * np.round(left / (2.0 * np.pi)))


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


def angle(result: Result, model: Model, a: tuple[Marker, str], b: tuple[Marker, str]) -> Array:
    """Return the angle of two axes (S,) [rad].

    About an axis that joints keep in both bodies it counts turns, as a driver does: it has the sense and the turns of
    its driver, and begins between 0 and pi without one. Otherwise it is from 0 to pi.
    """
    from rtmbs.kinematics.element_equations import common_axis  # a file that is only read loads no kernels

    ends = tuple((marker, MARKER_AXES.index(which)) for marker, which in (a, b))
    driver = driver_of(model, lambda one: one.axes is not None and one.axes in (ends, ends[::-1]))
    if driver is not None and driver.axes != ends:
        a, b = b, a
    ground = model.ground.name
    u, v = axis(result, ground, *a), axis(result, ground, *b)
    (first, k), (second, l) = ((marker, MARKER_AXES.index(which)) for marker, which in (a, b))
    kept = None if first.body is second.body else common_axis(model, first, k, second, l)
    if kept is None:
        return np.asarray(np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), np.sum(u * v, axis=1)))
    about = kept if first.body.name == ground else turned(result, first.body.name) @ kept
    found = np.arctan2(np.sum(np.cross(about, u) * v, axis=1), np.sum(u * v, axis=1))
    if driver is not None and len(found):
        return as_driven(
            min((found, -found), key=lambda one: np.abs(off(one, driver, result.t)).max()), driver, result.t
        )
    rates = [rate_of(result, ground, marker.body.name) for marker in (first, second)]
    return begun(counted(found, rates[1] - rates[0], about, result.t))


def begun(angles: Array) -> Array:
    """Return counted angles (S,) in the sense, and with the turn, that begins between 0 and pi."""
    if not len(angles) or angles[0] > -NEAR:
        return angles
    return angles + 2.0 * np.pi if angles[0] < NEAR - np.pi else -angles


def rate_of(result: Result, ground: str, body: str) -> Array:
    """Return the angular velocity of a body (S, 3) [rad/s], not a number where the result does not have it."""
    if body == ground:
        return np.zeros((len(result.t), 3))
    name = named(result, body, "angular_velocity")
    return np.asarray(result[name]) if name in result.names() else np.full((len(result.t), 3), np.nan)


def counted(angles: Array, rates: Array, about: Array, t: Array) -> Array:
    """Return angles (S,) without jumps: by their rates about an axis, or from sample to sample where these fail."""
    from rtmbs.results.motion_channels import unwrap

    rate = np.sum(rates * about, axis=1)
    return unwrap(angles, rate, t) if np.isfinite(rate).all() else np.unwrap(angles)


def of_body(result: Result, model: Model, body: Body, coordinate: str) -> Array:
    """Return a coordinate of a body in the world (S,); R = Rz(yaw) Ry(pitch) Rx(roll).

    Yaw and roll count turns. A driven angle has the turns of its driver.
    """
    if coordinate in PLACES:
        return np.asarray(result[named(result, body.name, "position")][:, PLACES.index(coordinate)])
    R = turned(result, body.name)
    yaw, cosine = np.arctan2(R[:, 1, 0], R[:, 0, 0]), np.hypot(R[:, 0, 0], R[:, 1, 0])
    angles = {"yaw": yaw, "pitch": np.arctan2(-R[:, 2, 0], cosine), "roll": np.arctan2(R[:, 2, 1], R[:, 2, 2])}
    if driver := driver_of(model, lambda one: one.body == (body, coordinate)):
        return as_driven(angles[coordinate], driver, result.t)
    if coordinate == "pitch":
        return np.asarray(angles["pitch"])
    with np.errstate(all="ignore"):  # at a pitch of a right angle there is no yaw
        level = np.stack([np.cos(yaw), np.sin(yaw), np.zeros(len(yaw))], axis=1) / cosine[:, None]
    about = level if coordinate == "roll" else np.array([0.0, 0.0, 1.0]) - R[:, 2, :1] * level
    return counted(angles[coordinate], rate_of(result, model.ground.name, body.name), about, result.t)
