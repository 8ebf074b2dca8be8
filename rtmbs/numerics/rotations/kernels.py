"""Rotation vectors on tuples, compiled: exponential, logarithm, inverse right Jacobian and its variation.

The same text runs for real and complex numbers.
"""

import numpy as np

from rtmbs.jit.compiled import inner_kernel
from rtmbs.numerics.rotations import plain
from rtmbs.numerics.rotations.plain import ARCTAN, HALVINGS
from rtmbs.numerics.spatial import add3, cross3, dot3, scale3

FEW, TERMS = 6, 14  # of sine and versine: rounding only below SMALL, and below SERIES
SMALL, SERIES = 0.1, 10.0  # [rad^2]; beyond SERIES the closed form loses nothing
INVERSE_TERMS, NEAR = 8, 0.5  # of b: rounding only below NEAR [rad^2]; the closed form loses three bits there
SINE, VERSINE = plain.SINE[:TERMS], plain.VERSINE[:TERMS]
INVERSE = plain.INVERSE[:INVERSE_TERMS]


@inner_kernel
def turn_factors(q):
    """Return s and c of exp(d~) for q = d . d."""
    if q.real > SERIES:
        theta = np.sqrt(q)
        return np.sin(theta) / theta, (1.0 - np.cos(theta)) / q
    s, c = 0.0 * q, 0.0 * q
    if q.real > SMALL:
        for k in range(TERMS - 1, FEW - 1, -1):
            s, c = SINE[k] + q * s, VERSINE[k] + q * c
    for k in range(FEW - 1, -1, -1):
        s, c = SINE[k] + q * s, VERSINE[k] + q * c
    return s, c


@inner_kernel
def turned(R, d):
    """Return R exp(d~) for three row tuples R: a row a becomes a + s a x d + c (a x d) x d."""
    s, c = turn_factors(dot3(d, d))
    return turned_row(R[0], d, s, c), turned_row(R[1], d, s, c), turned_row(R[2], d, s, c)


@inner_kernel
def turned_row(a, d, s, c):
    """Return one row of R exp(d~)."""
    x = cross3(a, d)
    return add3(a, add3(scale3(s, x), scale3(c, cross3(x, d))))


@inner_kernel
def logarithm(R):
    """Return d with exp(d~) = R, given by its columns, below half a turn.

    Of tan(theta / 4) = v / (1 + cos(theta / 2)) by halving the angle HALVINGS times: no case for small angles.
    """
    half = 0.5 * np.sqrt(1.0 + R[0][0] + R[1][1] + R[2][2])
    v = scale3(0.25 / half, (R[1][2] - R[2][1], R[2][0] - R[0][2], R[0][1] - R[1][0]))
    t = scale3(1.0 / (1.0 + half), v)
    for _ in range(HALVINGS - 1):
        t = scale3(1.0 / (1.0 + np.sqrt(1.0 + dot3(t, t))), t)
    s = dot3(t, t)
    total = 0.0 * s
    for k in range(len(ARCTAN) - 1, -1, -1):
        total = total * s + ARCTAN[k]
    return scale3(2.0 ** (HALVINGS + 1) * total, t)


@inner_kernel
def inverse_factor(q):
    """Return b of T^-1(d) for q = d . d, theta below 2 pi."""
    if q.real > NEAR:
        half = 0.5 * np.sqrt(q)
        return (1.0 - half * np.cos(half) / np.sin(half)) / q
    b = 0.0 * q + INVERSE[INVERSE_TERMS - 1]
    for k in range(INVERSE_TERMS - 2, -1, -1):
        b = INVERSE[k] + q * b
    return b


@inner_kernel
def inverse_slope(q, b):
    """Return the derivative of b by q; ``b`` is ``inverse_factor(q)``."""
    if q.real > NEAR:
        half = 0.5 * np.sqrt(q)
        sine = np.sin(half)
        return ((half / sine - np.cos(half)) / (8.0 * half * sine) - b) / q
    slope = 0.0 * q
    for k in range(INVERSE_TERMS - 1, 0, -1):
        slope = k * INVERSE[k] + q * slope
    return slope


@inner_kernel
def inverse_excess(d, b, x, side):
    """Return (T^-1(d) - 1) x for ``side`` 1, (T^-T(d) - 1) x for -1; ``b`` is ``inverse_factor(d . d)``."""
    y = cross3(d, x)
    return add3(scale3(0.5 * side, y), scale3(b, cross3(d, y)))


@inner_kernel
def inverse_jacobian(d, b, x, side):
    """Return T^-1(d) x for ``side`` 1, T^-T(d) x for -1."""
    return add3(x, inverse_excess(d, b, x, side))


@inner_kernel
def inverse_change(d, b, slope, change, x, side):
    """Return the variation of T^-1(d) x, or T^-T(d) x, with d by ``change``, x fixed."""
    y, dy = cross3(d, x), cross3(change, x)
    far = add3(cross3(change, y), cross3(d, dy))
    along = 2.0 * slope * dot3(d, change)
    return add3(scale3(0.5 * side, dy), add3(scale3(b, far), scale3(along, cross3(d, y))))
