"""Frames from three points, and joints between two triads."""

from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError
from rtmbs.model import JOINT_TYPES, JointType, Marker
from rtmbs.model.checks import unit_vector

Array = NDArray[np.float64]

COLLINEAR = 1e-9  # sine of an angle that is none
X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def frame_of(p: Array, q: Array, r: Array, what: str) -> Array:
    """Return the axes f, g, h (3, 3) as columns: h from p to q, f the part of r - p across it, g = h x f."""
    along, across = q - p, r - p
    if not np.any(along):
        raise ModelError(f"{what}: p and q of pqr are one point; q lies on the h axis, away from p")
    h = unit_vector(along)
    across = unit_vector(across) if np.any(across) else across
    return with_h(h, across, f"{what}: p, q and r of pqr lie on one line; r must stand off the line from p to q")


class Placing(NamedTuple):
    """Where two triads put a joint, as ``Model.add_joint`` takes it."""

    point_a: Array  # (3,) body axes of a [m]
    point_b: Array  # (3,) body axes of b [m]
    axes_a: Array  # (3, 3) joint axes to body axes of a
    axes_b: Array  # (3, 3) joint axes to body axes of b


def place_joint(kind: type[JointType], first: Marker, second: Marker, what: str) -> tuple[JointType, Placing]:
    """Return the joint of two triads, its coordinates zero at the reference pose.

    The first field of a joint type is the h axis, its second one the f axis; of a universal joint the second is the h
    axis of the second triad. The h axes stay those of the triads where the reference pose does not fit.
    """
    universal = kind is JOINT_TYPES["Universal"]
    joint_type = kind(*(Z, X)[: len(fields(kind))]).checked(what)
    a, b = first.body, second.body
    to_b = b.orientation.T @ a.orientation
    h_a, h_b = first.axes[:, 2], second.axes[:, 2]
    if universal:
        parallel = f"{what}: the axes of its triads are parallel; those of a universal joint are at a right angle"
        axes_a = with_h(h_a, to_b.T @ h_b, parallel)
        side = with_h(h_b, to_b @ h_a, parallel)
        axes_b = np.column_stack((h_b, np.cross(side[:, 0], h_b), side[:, 0]))
    else:
        axes_a = first.axes
        if not joint_type.aligned():
            axes_b = to_b @ axes_a
        elif (to_b @ h_a) @ h_b <= COLLINEAR:
            raise ModelError(
                f"{what}: the h axes of triads {first.name!r} and {second.name!r} point against or across each other "
                "at the reference pose; turn one triad"
            )
        else:
            axes_b = with_h(h_b, to_b @ axes_a[:, 0], f"{what}: the axes of its triads cannot be aligned")
    gap = axes_a.T @ (a.local(second.reference()) - first.point)
    slides = [dof.axis for dof in joint_type.dofs() if dof.kind == "prismatic"]
    point_a = first.point + axes_a @ sum(((gap @ axis) * axis for axis in slides), np.zeros(3))
    return joint_type, Placing(point_a, second.point, axes_a, axes_b)


def with_h(h: Array, f: Array, wrong: str) -> Array:
    """Return axes f, g, h (3, 3) as columns, with this h, and f as near as it can be; ModelError(wrong) along h."""
    across = f - (f @ h) * h
    if np.linalg.norm(across) <= COLLINEAR:
        raise ModelError(wrong)
    across = across - (across @ h) * h
    across /= np.linalg.norm(across)
    return np.column_stack((across, np.cross(h, across), h))
