"""Rotation vectors: logarithm, exponential and rates on the rotation group, for many at a time (METHODS 1.34).

A rotation is R = R0 exp(d~); its rate in body axes is w = T(d) d', with T the right Jacobian of the exponential.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]

TERMS = 16  # of the power series in d . d, rounding only up to half a turn
SECOND = [(-1.0) ** k / float(np.prod(np.arange(1.0, 2 * k + 3))) for k in range(TERMS)]  # (1 - cos) / d^2
THIRD = [(-1.0) ** k / float(np.prod(np.arange(1.0, 2 * k + 4))) for k in range(TERMS)]  # (d - sin) / d^3
INVERSE = [1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000]  # of b(q), Bernoulli numbers
FEW = 1e-2  # [rad^2], below which these are enough


def turned(R: Array, d: Array) -> Array:
    """Return R exp(d~) (..., 3, 3) for rotations R (..., 3, 3) and vectors d (..., 3)."""
    flat = Rotation.from_rotvec(d.reshape(-1, 3)).as_matrix()
    return np.asarray(R @ flat.reshape(*d.shape[:-1], 3, 3))


def turn_between(R: Array, after: Array) -> Array:
    """Return d (..., 3) with ``after`` = R exp(d~), at most half a turn long."""
    change = np.swapaxes(R, -1, -2) @ after
    return np.asarray(Rotation.from_matrix(change.reshape(-1, 3, 3)).as_rotvec().reshape(change.shape[:-1]))


def vector_rates(d: Array, w: Array, wd: Array) -> tuple[Array, Array]:
    """Return d' and d'' (..., 3) of turns ``d`` with body rates ``w`` and their derivatives ``wd``.

    d' = T^-1(d) w, with T^-1(d) w = w + d x w / 2 + b(d . d) d x (d x w).
    """
    q = np.sum(d * d, axis=-1, keepdims=True)
    b, slope = bend(q)
    twice = np.cross(d, np.cross(d, w))
    rate = w + 0.5 * np.cross(d, w) + b * twice
    moved = np.cross(rate, np.cross(d, w)) + np.cross(d, np.cross(rate, w))
    along = 2.0 * np.sum(d * rate, axis=-1, keepdims=True)
    second = wd + 0.5 * np.cross(d, wd) + b * np.cross(d, np.cross(d, wd))
    return rate, second + 0.5 * np.cross(rate, w) + b * moved + slope * along * twice


def body_rates(d: Array, rate: Array, second: Array) -> tuple[Array, Array]:
    """Return w and w' (..., 3) in body axes of turns ``d`` with derivatives ``rate`` and ``second``.

    w = d' - c d x d' + e d x (d x d'), with c = (1 - cos) / d^2 and e = (d - sin) / d^3.
    """
    q = np.sum(d * d, axis=-1, keepdims=True)
    (c, c_slope), (e, e_slope) = series(SECOND, q), series(THIRD, q)
    once = np.cross(d, rate)
    twice, along = np.cross(d, once), 2.0 * np.sum(d * rate, axis=-1, keepdims=True)
    w = rate - c * once + e * twice
    moved = np.cross(rate, once) + np.cross(d, np.cross(d, second))
    wd = second - c * np.cross(d, second) + e * moved + along * (e_slope * twice - c_slope * once)
    return w, wd


def series(factors: list[float], q: Array) -> tuple[Array, Array]:
    """Return a power series in q and its derivative."""
    powers = np.polynomial.Polynomial(factors)
    return powers(q), powers.deriv()(q)


def bend(q: Array) -> tuple[Array, Array]:
    """Return b(q) = (1 - s/2 cot(s/2)) / q with s^2 = q, and its derivative; s is at most half a turn."""
    wide = np.maximum(q, FEW)
    half = 0.5 * np.sqrt(wide)
    cot = 1.0 / np.tan(half)
    b = (1.0 - half * cot) / wide
    slope = ((half * (1.0 + cot * cot) - cot) / (8.0 * half) - b) / wide
    few, few_slope = series(INVERSE, q)
    return np.where(q < FEW, few, b), np.where(q < FEW, few_slope, slope)
