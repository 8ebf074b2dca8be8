"""Placement of one frame in another, and the angles and quaternions by which the formats write it."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.numerics.rotations.quaternions import rotations

Array = NDArray[np.float64]
LOCKED = 1e-14  # cosine of the pitch below which roll and yaw turn about one axis


class Placement(NamedTuple):
    """Position and rotation of a frame B in a frame A: a point x of B stands at position + rotation x in A."""

    position: Array  # (3,) [m]
    rotation: Array  # (3, 3) axes of B to axes of A

    def then(self, inner: "Placement") -> "Placement":
        """Return the placement in A of a frame that stands at ``inner`` in B."""
        return Placement(self.position + self.rotation @ inner.position, self.rotation @ inner.rotation)

    def inverse(self) -> "Placement":
        """Return the placement of A in B."""
        turned = self.rotation.T
        return Placement(-(turned @ self.position), turned)


def here() -> Placement:
    """Return the placement of a frame in itself."""
    return Placement(np.zeros(3), np.eye(3))


def rotation_of_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), turns about fixed axes [rad], as URDF and SDF write them."""
    if roll == pitch == yaw == 0.0:
        return np.eye(3)
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])  # fmt: skip


def rpy_of_rotation(R: Array) -> tuple[float, float, float]:
    """Return roll, pitch and yaw [rad] of a rotation; yaw is zero where the pitch is a right angle.

    Roll and pitch are those of Rz(-yaw) R, so they make up for the rounding of a yaw near a right angle of the pitch.
    """
    yaw = math.atan2(R[1, 0], R[0, 0]) if math.hypot(R[0, 0], R[1, 0]) > LOCKED else 0.0
    turned = rotation_of_rpy(0.0, 0.0, -yaw) @ R
    return math.atan2(-turned[1, 2], turned[1, 1]), math.atan2(-turned[2, 0], turned[0, 0]), yaw


def placement_of_rpy(numbers: tuple[float, ...]) -> Placement:
    """Return the placement of x, y, z [m], roll, pitch, yaw [rad]."""
    return Placement(np.array(numbers[:3]), rotation_of_rpy(*numbers[3:6]))


def placement_of_quaternion(position: Array, quaternion: Array) -> Placement:
    """Return the placement of a position (3,) [m] and a quaternion (w, x, y, z) of any length but zero."""
    unit = np.asarray(quaternion, float) / np.linalg.norm(quaternion)
    return Placement(np.array(position, float), np.asarray(rotations(unit)))
