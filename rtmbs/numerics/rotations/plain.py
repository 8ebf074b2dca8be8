"""Rotation vectors, vectors and matrices in plain arrays of any namespace, and the power series of the rotation group.

Rotations are power series in theta^2 only, so that derivatives at zero need no limit. ``kernels`` is the compiled form.
Each coefficient is the double nearest to its fraction. The functions obey the rules of ``semirecursive/page.py``.
"""

from math import factorial

import numpy as np

TERMS = 28  # rounding only up to theta = 0.9 * 2 pi
INVERSE_TERMS = 30  # the terms fall as (theta / (2 pi))^2: rounding only up to half a turn

SINE = tuple((-1.0) ** k / factorial(2 * k + 1) for k in range(TERMS))  # s = sin(theta) / theta
VERSINE = tuple((-1.0) ** k / factorial(2 * k + 2) for k in range(TERMS))  # c = (1 - cos(theta)) / theta^2
CUBIC = tuple((-1.0) ** k / factorial(2 * k + 3) for k in range(TERMS))  # e = (theta - sin(theta)) / theta^3
HALVINGS = 3  # of half a turn before a logarithm is summed as a series: tan of its 16th part stays below 0.2
ARCTAN = tuple((-1.0) ** k / (2 * k + 1) for k in range(13))  # arctan(x) / x by x^2, rounding only below x = 0.2


def inverse_series(terms: int) -> tuple[float, ...]:
    """Return the coefficients |B_2n| / (2n)!, n from 1, of b = (1 - theta/2 cot(theta/2)) / theta^2.

    B_2n = (-1)^(n - 1) 2 n T_n / (4^n (4^n - 1)) with the tangent numbers T_n, which are integers: fractions would take
    a tenth of a second of every start. Source: Brent and Harvey, Fast computation of Bernoulli, tangent and secant
    numbers, 2013.
    """
    tangent = [0, 1, *(factorial(n) for n in range(1, terms))]
    for k in range(2, terms + 1):
        for n in range(k, terms + 1):
            tangent[n] = (n - k) * tangent[n - 1] + (n - k + 2) * tangent[n]
    return tuple(2 * n * tangent[n] / (4**n * (4**n - 1) * factorial(2 * n)) for n in range(1, terms + 1))


INVERSE = inverse_series(INVERSE_TERMS)


# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls


TURN_TERMS = 16  # of the exponential: rounding only beyond half a turn


def dot(xp, x, y):
    """Return the product of vectors along the last axis, without conjugation."""
    return xp.sum(x * y, axis=-1)


def turn(xp, A, x):
    """Return A x for matrices (..., k, k) and vectors (..., k)."""
    return xp.sum(A * x[..., None, :], axis=-1)


def product(xp, A, B):
    """Return A B for matrices (..., 3, 3)."""
    return xp.sum(A[..., :, :, None] * B[..., None, :, :], axis=-2)


def cross(xp, x, y):
    """Return x cross y along the last axis."""
    x1, x2, x3, y1, y2, y3 = x[..., 0], x[..., 1], x[..., 2], y[..., 0], y[..., 1], y[..., 2]
    return xp.stack((x2 * y3 - x3 * y2, x3 * y1 - x1 * y3, x1 * y2 - x2 * y1), axis=-1)


def tilde(xp, x):
    """Return the matrix x~ with x~ y = x cross y."""
    x1, x2, x3, o = x[..., 0], x[..., 1], x[..., 2], 0 * x[..., 0]
    rows = (xp.stack((o, -x3, x2), axis=-1), xp.stack((x3, o, -x1), axis=-1), xp.stack((-x2, x1, o), axis=-1))
    return xp.stack(rows, axis=-2)


def transposed(xp, A):
    """Return A^T for matrices (..., 3, 3)."""
    return xp.stack([A[..., k] for k in range(3)], axis=-2)


def power_series(q, factors):
    """Return the sum of factors[k] q^k, by Horner's rule."""
    total = 0 * q + factors[-1]
    for factor in factors[-2::-1]:
        total = q * total + factor
    return total


def exponential(xp, d):
    """Return exp(d~) (..., 3, 3) of rotation vectors (..., 3)."""
    q, D = dot(xp, d, d), tilde(xp, d)
    s, c = power_series(q, SINE[:TURN_TERMS]), power_series(q, VERSINE[:TURN_TERMS])
    return np.eye(3) + s[..., None, None] * D + c[..., None, None] * product(xp, D, D)


def logarithm(xp, R):
    """Return d (..., 3) with exp(d~) = R (..., 3, 3), below half a turn.

    Of tan(theta / 4) = v / (1 + cos(theta / 2)) by halving the angle HALVINGS times: no case for small angles.
    """
    half = 0.5 * xp.sqrt(1.0 + R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2])
    skew = (R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1])
    t = xp.stack(skew, axis=-1) / (4.0 * half * (1.0 + half))[..., None]
    for _ in range(HALVINGS - 1):
        t = t / (1.0 + xp.sqrt(1.0 + dot(xp, t, t)))[..., None]
    return 2.0 ** (HALVINGS + 1) * power_series(dot(xp, t, t), ARCTAN)[..., None] * t


def inverse_jacobian(xp, d, x, side=1.0, terms=INVERSE_TERMS):
    """Return T^-1(d) x (..., 3) for ``side`` 1, T^-T(d) x for -1, by so many ``terms`` of b; up to half a turn."""
    y, b = cross(xp, d, x), power_series(dot(xp, d, d), INVERSE[:terms])
    return x + 0.5 * side * y + b[..., None] * cross(xp, d, y)
