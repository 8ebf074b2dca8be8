"""Coefficients of linear multistep formulas: exact fractions for equal steps, floats for uneven ones.

Formulas of uneven steps have variable coefficients: the interpolating polynomial goes through the points as they lie
(Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, III.5).
"""

from fractions import Fraction
from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError

Array = NDArray[np.float64]


@cache
def integration_weights(nodes: tuple[int, ...]) -> tuple[float, ...]:
    """Return w with: integral over [0, 1] of f = sum w_i f(node_i), exact for polynomials of degree len(nodes) - 1."""
    size = len(nodes)
    rows = [[Fraction(node) ** k for node in nodes] + [Fraction(1, k + 1)] for k in range(size)]
    for i in range(size):
        pivot = next(j for j in range(i, size) if rows[j][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(size):
            if j != i and rows[j][i] != 0:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return tuple(float(row[-1]) for row in rows)


def adams_bashforth(k: int) -> tuple[float, ...]:
    """Return b of y_{n+1} = y_n + h sum b_i f_{n-i}, i = 0 .. k - 1, of order k."""
    return integration_weights(tuple(-i for i in range(k)))


def adams_moulton(k: int) -> tuple[float, ...]:
    """Return b of y_{n+1} = y_n + h sum b_i f_{n+1-i}, i = 0 .. k - 1, of order k; the first belongs to n + 1."""
    return integration_weights(tuple(1 - i for i in range(k)))


def backward_difference(k: int) -> tuple[tuple[float, ...], float]:
    """Return a and b of y_{n+1} = sum a_i y_{n-i} + h b f_{n+1}, i = 0 .. k - 1, of order k up to 6.

    From the sum of the first k backward differences over their numbers, which is h f_{n+1}.
    """
    if not 1 <= k <= 6:
        raise InputError(f"order of a backward difference formula is {k}; 1 to 6 is wanted, others are unstable")
    c = [Fraction(0)] * (k + 1)
    for j in range(1, k + 1):
        for i in range(j + 1):
            c[i] += Fraction((-1) ** i * comb(j, i), j)
    return tuple(float(-x / c[0]) for x in c[1:]), float(1 / c[0])


LARGEST_GROWTH = {1: 5.0, 2: 2.0, 3: 1.5, 4: 1.25, 5: 1.12}  # of a step by order: formulas of steps that grow faster
# are unstable (Grigorieff; Calvo, Grande and Grigorieff, Numer. Math. 57 (1990) 39)
EVEN = 1e-9  # of a step: a smaller difference of steps is rounding of times


class UnevenFormula(NamedTuple):
    """x_new = sum a_i x_{n-i} + sum b_i f_{n-i} + b f_new, and its local error as ``part`` of x_new - predicted."""

    a: Array  # (k,), the newest point first
    b: Array  # (k,) [s]
    last: float  # b of the new point [s]
    part: float
    predictor_a: Array  # (j,)
    predictor_b: Array  # (j,) [s]

    def known(self, places: Array, slopes: Array) -> Array:
        """Return what the points behind give; rows are points, the newest first."""
        return np.asarray(self.a @ places[: len(self.a)] + self.b @ slopes[: len(self.b)])

    def estimate(self, new: Array, places: Array, slopes: Array) -> Array:
        """Return the local error of ``new``."""
        a, b = self.predictor_a, self.predictor_b
        return np.asarray(self.part * (new - a @ places[: len(a)] - b @ slopes[: len(b)]))


def is_even(times: Array, t: float) -> bool:
    """Return whether ``times``, the newest first, and ``t`` behind them are evenly spaced."""
    gaps = -np.diff(np.concatenate(([t], times)))
    return bool(np.all(np.abs(gaps - gaps[0]) <= EVEN * np.abs(gaps[0])))


def extrapolation_weights(times: Array, t: float) -> Array:
    """Return w (k,): the polynomial through the points at ``times`` has the value sum w_i x_i at ``t``."""
    apart = times[:, None] - times
    np.fill_diagonal(apart, 1.0)
    ahead = np.tile(t - times, (len(times), 1))
    np.fill_diagonal(ahead, 1.0)
    return np.asarray(np.prod(ahead / apart, axis=1))


def uneven_backward_difference(order: int, times: Array, t: float) -> UnevenFormula:
    """Return the backward difference formula at ``t`` behind ``times`` (order + 1,), the newest first.

    Its local error is x - x_new = -(x - p) / (c (t - t_{n-k})), c = sum 1 / (t - t_{n-i}), with p of the polynomial
    through the k + 1 points behind. With ``order`` points only there is no estimate, and ``part`` is not a number.
    """
    near = times[:order]
    c = float(np.sum(1.0 / (t - near)))
    a = extrapolation_weights(near, t) / ((t - near) * c)
    none = np.zeros(0)
    if len(times) <= order:
        return UnevenFormula(a, none, 1.0 / c, np.nan, none, none)
    whole = -1.0 / (c * (t - times[order]))  # of x - p, and x differs from x_new by the error itself
    return UnevenFormula(a, none, 1.0 / c, whole / (1.0 - whole), extrapolation_weights(times[: order + 1], t), none)


def uneven_adams(order: int, times: Array, t: float) -> UnevenFormula:
    """Return the implicit Adams formula at ``t`` behind ``times`` (order,), the newest first.

    The explicit formula of the same order predicts. Both have errors D I, I the integral of the product of the
    distances from their nodes. The error of the implicit one is I_m / (I_b - I_m) of the difference (Milne).
    """
    h = t - times[0]
    behind = (times[:order] - times[0]) / h
    ahead = np.concatenate(([1.0], behind[: order - 1]))
    explicit, implicit = uneven_integration(behind), uneven_integration(ahead)
    I_b, I_m = node_integral(behind), node_integral(ahead)
    one = np.ones(1)
    return UnevenFormula(one, h * implicit[1:], h * implicit[0], I_m / (I_b - I_m), one, h * explicit)


def uneven_integration(nodes: Array) -> Array:
    """Return w: the integral over [0, 1] of the polynomial through f at the nodes is sum w_i f_i."""
    powers = np.arange(len(nodes))
    return np.asarray(np.linalg.solve(nodes[None, :] ** powers[:, None], 1.0 / (powers + 1.0)))


def node_integral(nodes: Array) -> float:
    """Return the integral over [0, 1] of the product of (x - node_i)."""
    coefficients = np.poly(nodes)
    return float(np.sum(coefficients / np.arange(len(coefficients), 0, -1)))
