"""Quaternions (w, x, y, z) in NumPy: rotations of them and back, products, angular velocities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rotation_entries(q: Any) -> list[list[Any]]:
    """Return the entries R[i][j] (...) of the rotations of unit quaternions (..., 4), arrays of any kind."""
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    return [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]


def rotations(q: Array) -> Array:
    """Return the rotations (..., 3, 3) of unit quaternions (..., 4)."""
    return np.moveaxis(np.array(rotation_entries(q)), (0, 1), (-2, -1))


def quaternions(R: Array) -> Array:
    """Return the quaternions (S, 4) of rotations (S, 3, 3), without jumps of sign; w >= 0 in the first.

    The largest component comes from the diagonal, the others are divided by it (Shepperd).
    """
    diagonal = np.diagonal(R, axis1=1, axis2=2)
    trace = diagonal.sum(axis=1)
    squares = np.concatenate((trace[:, None], 2.0 * diagonal - trace[:, None]), axis=1)  # 4 q_k^2 - 1
    table = np.empty((len(R), 4, 4))  # 4 q q^T
    for k in range(4):
        table[:, k, k] = 1.0 + squares[:, k]
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        table[:, 0, k + 1] = table[:, k + 1, 0] = R[:, j, i] - R[:, i, j]
        table[:, i + 1, j + 1] = table[:, j + 1, i + 1] = R[:, j, i] + R[:, i, j]
    row = table[np.arange(len(R)), np.argmax(squares, axis=1)]
    q = row / np.linalg.norm(row, axis=1, keepdims=True)
    first = q[:1, :1] < 0.0
    turn = np.where(np.einsum("sk,sk->s", q[1:], q[:-1]) < 0.0, -1.0, 1.0)
    return np.asarray(q * np.cumprod(np.concatenate((np.where(first[:, 0], -1.0, 1.0), turn)))[:, None])


def normalised(q: Array) -> Array:
    """Return quaternions (..., 4) divided by their lengths."""
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


def product(p: Array, q: Array) -> Array:
    """Return the products p q (..., 4) of quaternions.

    With q' the derivative of a unit quaternion, conj(q) q' is half the angular velocity in axes that turn with it, and
    q' conj(q) half that in axes that stand still; both as the vector of a quaternion.
    """
    w, v, u = p[..., :1] * q[..., :1], p[..., 1:], q[..., 1:]
    vector = p[..., :1] * u + q[..., :1] * v + np.cross(v, u)
    return np.concatenate((w - np.sum(v * u, axis=-1, keepdims=True), vector), axis=-1)


def conjugate(q: Array) -> Array:
    """Return the quaternions (..., 4) of the inverse rotations."""
    return q * np.array((1.0, -1.0, -1.0, -1.0))


def world_rates(q: Array) -> Array:
    """Return 2 E (k, 3, 4) of quaternions (k, 4): 2 E q' is the angular velocity in world axes, 2 E q'' its rate."""
    w, x, y, z = q.T
    rows = np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])
    return 2.0 * np.moveaxis(rows, -1, 0)
