"""Coefficients of linear multistep formulas of equal steps, exact fractions turned to floats."""

from fractions import Fraction
from functools import cache
from math import comb

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
