"""Rotation vectors in NumPy, many at a time: rotations, right Jacobian, and rates both ways (METHODS 1.34, 2.13)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.numerics.rotations import plain as untyped_plain
from rtmbs.numerics.rotations.plain import CUBIC, INVERSE, VERSINE

Array = NDArray[np.float64]
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
