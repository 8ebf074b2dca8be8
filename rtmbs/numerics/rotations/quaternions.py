"""Quaternions and rotation vectors in NumPy.

Quaternions (w, x, y, z) in NumPy: rotations of them and back, products, angular velocities.

Rotation vectors in NumPy, many at a time: rotations, right Jacobian, and rates both ways (METHODS 1.34, 2.13).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.numerics.rotations import plain as untyped_plain
from rtmbs.numerics.rotations.plain import CUBIC, INVERSE, VERSINE

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


plain: Any = untyped_plain


def with_slopes(*series: tuple[float, ...]) -> Array:
    """Return a table whose columns are the coefficients of power series, each followed by those of its derivative."""
    columns = [column for one in series for column in (one, (*(k * one[k] for k in range(1, len(one))), 0.0))]
    return np.array(columns).T


JACOBIAN, INVERTED = with_slopes(VERSINE, CUBIC), with_slopes(INVERSE)


def factors(d: Array, table: Array) -> Array:
    """Return the values (..., columns) of the power series of a table at d . d."""
    q = np.sum(d * d, axis=-1, keepdims=True)
    return np.asarray(q ** np.arange(len(table)) @ table)


def turned(R: Array, d: Array) -> Array:
    """Return R exp(d~) (..., 3, 3) for rotations R (..., 3, 3) and vectors d (..., 3)."""
    from scipy.spatial.transform import Rotation  # takes long to load

    flat = Rotation.from_rotvec(d.reshape(-1, 3)).as_matrix()
    return np.asarray(R @ flat.reshape(*d.shape[:-1], 3, 3))


def turn_between(R: Array, after: Array) -> Array:
    """Return d (..., 3) with ``after`` = R exp(d~), at most half a turn long."""
    from scipy.spatial.transform import Rotation

    change = np.swapaxes(R, -1, -2) @ after
    return np.asarray(Rotation.from_matrix(change.reshape(-1, 3, 3)).as_rotvec().reshape(change.shape[:-1]))


def right_jacobian(d: Array) -> Array:
    """Return T(d) (..., 3, 3) of vectors (..., 3), up to 0.9 of a whole turn."""
    c, _, e, _ = np.moveaxis(factors(d, JACOBIAN), -1, 0)[..., None, None]
    D = plain.tilde(np, d)
    return np.asarray(np.eye(3) - c * D + e * (D @ D))


def vector_rates(d: Array, w: Array, wd: Array) -> tuple[Array, Array]:
    """Return d' and d'' (..., 3) of turns ``d`` with body rates ``w`` and their derivatives ``wd``: d' = T^-1(d) w."""
    b, slope = np.moveaxis(factors(d, INVERTED), -1, 0)[..., None]
    once, twice_wd = cross(d, w), cross(d, cross(d, wd))
    twice = cross(d, once)
    rate = w + 0.5 * once + b * twice
    moved = cross(rate, once) + cross(d, cross(rate, w))
    along = 2.0 * np.sum(d * rate, axis=-1, keepdims=True)
    second = wd + 0.5 * cross(d, wd) + b * twice_wd
    return rate, second + 0.5 * cross(rate, w) + b * moved + slope * along * twice


def body_rates(d: Array, rate: Array, second: Array) -> tuple[Array, Array]:
    """Return w and w' (..., 3) in body axes of turns ``d`` with derivatives ``rate`` and ``second``: w = T(d) d'."""
    c, c_slope, e, e_slope = np.moveaxis(factors(d, JACOBIAN), -1, 0)[..., None]
    once = cross(d, rate)
    twice, along = cross(d, once), 2.0 * np.sum(d * rate, axis=-1, keepdims=True)
    w = rate - c * once + e * twice
    across = cross(d, second)
    moved = cross(rate, once) + cross(d, across)
    wd = second - c * across + e * moved + along * (e_slope * twice - c_slope * once)
    return w, wd


def cross(x: Array, y: Array) -> Array:
    """Return x cross y (..., 3); ``numpy.cross`` takes several times as long."""
    return np.asarray(plain.cross(np, x, y))
