"""Zeros of a smooth function within a step, by values at Chebyshev points and the polynomial through them.

The number of looks doubles until the polynomial is resolved, at most MOST of them (METHODS 1.34; J. P. Boyd,
Computing zeros on a real interval through Chebyshev expansion, SIAM J. Numer. Anal. 40 (2002)).
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import brentq, minimize_scalar

from rtmbs.system.tables import Array

FEWEST, MOST = 4, 32  # parts of a step between looks
RESOLVED = 1e-9  # of the largest coefficient: what the last two may be
GRAZE = 1e-6  # of the largest value: extrema nearer to zero are looked for exactly
TOUCH = 1e-13  # of the largest value: an extremum nearer to zero touches it
FINEST = 1e-9  # of a bracket: how exactly an extremum is found
EARLY = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # shares of a step that begins at a zero, where looks are added
EPS = float(np.finfo(float).eps)

Value = Callable[[float], float]


class Zero(NamedTuple):
    """A zero within a step: a change of sign, or a touch."""

    t: float  # [s]
    side: int  # sign of the function before it


class Found(NamedTuple):
    """Zeros, signs and sizes of an event function within a step."""

    zeros: list[Zero]
    last: float  # value at the end of the step
    side: int  # its sign; 0: at a zero
    first: int  # first sign seen behind the start; 0: none
    scale: float  # largest value


class Look(NamedTuple):
    """The function at a time; an extremum nearer to zero than rounding has the sign 0 and ``touches``."""

    t: float  # [s]
    value: float
    touches: bool = False


def zeros_within(value: Value, start: float, end: float, first: float, at_zero: bool) -> Found:
    """Return the zeros of ``value`` behind ``start`` and up to ``end`` [s].

    ``first`` is the value at the start. A start ``at_zero`` has no sign: values as small as rounding behind it have
    none either, and the zero at the start itself is not among those found.
    """
    looks = [Look(start, first)]
    coefficients = np.zeros(0)
    parts = FEWEST
    while True:
        looks = refined_looks(value, looks, start, end, parts)
        values = [look.value for look in looks]
        scale = max(map(abs, values))
        coefficients = transform(parts) @ values
        size = np.abs(coefficients).tolist()
        tail = size[-1] + size[-2]
        if not at_zero and 2.0 * size[0] > sum(size) + 2.0 * tail:
            side = 1 if first > 0.0 else -1
            return Found([], values[-1], side, side, scale)
        if tail <= RESOLVED * max(size) or parts == MOST:
            break
        parts *= 2
    band = rounding(first, scale) if at_zero else 0.0
    looks = sorted([*looks, *extrema(value, looks, coefficients, GRAZE * scale + 10.0 * tail, scale)])
    if at_zero:
        times = {look.t for look in looks}
        added = [start + share * (end - start) for share in EARLY]
        looks = sorted([*looks, *(Look(t, value(t)) for t in added if t not in times)])
    return along(value, looks, at_zero, band, scale)


def refined_looks(value: Value, looks: list[Look], start: float, end: float, parts: int) -> list[Look]:
    """Return looks at ``parts + 1`` Chebyshev points, those known before among them."""
    known = {look.t: look.value for look in looks}
    times = (start + (end - start) * shares(parts)).tolist()
    times[0], times[-1] = start, end
    return [Look(t, known[t] if t in known else value(t)) for t in times]


@cache
def shares(parts: int) -> Array:
    """Return the Chebyshev points of the second kind as shares of a step; those of twice as many parts hold them."""
    share = 0.5 - 0.5 * np.cos(np.pi * np.arange(parts + 1) / parts)
    share[parts // 2] = 0.5
    if parts > FEWEST:
        share[::2] = shares(parts // 2)
    return np.asarray(share)


@cache
def transform(parts: int) -> Array:
    """Return the matrix from values at the points to coefficients of Chebyshev polynomials."""
    return np.asarray(np.linalg.inv(chebyshev.chebvander(2.0 * shares(parts) - 1.0, parts)))


def rounding(residual: float, scale: float) -> float:
    """Return how large values are that rounding makes, near a zero that was found with a ``residual``."""
    return min(4.0 * abs(residual), GRAZE * scale) + TOUCH * scale


def extrema(value: Value, looks: list[Look], coefficients: Array, near: float, scale: float) -> list[Look]:
    """Return looks at the extrema of the polynomial, refined on the function where it comes near to zero."""
    slope = chebyshev.chebtrim(chebyshev.chebder(coefficients), EPS * float(np.abs(coefficients).max()))
    if len(slope) < 2:
        return []
    start, end = looks[0].t, looks[-1].t
    roots = chebyshev.chebroots(slope)
    inner = np.sort(roots.real[(np.abs(roots.imag) < 1e-6) & (np.abs(roots.real) < 1.0)])
    times = [t for t in (start + (end - start) * 0.5 * (1.0 + inner)).tolist() if start < t < end]
    points = [Look(t, value(t)) for t in times]
    border = sorted([*looks, *points])
    return [refined_extremum(value, border, point, scale) if abs(point.value) <= near else point for point in points]


def refined_extremum(value: Value, border: list[Look], point: Look, scale: float) -> Look:
    """Return an extremum near to zero as found on the function, where that tells whether it reaches zero."""
    place = next(k for k, look in enumerate(border) if look.t == point.t)
    before, after = border[max(place - 1, 0)], border[min(place + 1, len(border) - 1)]
    sign = np.sign(before.value)
    if sign == 0.0 or sign != np.sign(after.value):
        return point
    options = {"xatol": FINEST * (after.t - before.t), "maxiter": 60}
    if point.value * sign > TOUCH * scale:
        answer = minimize_scalar(
            lambda t: sign * value(t), bounds=(before.t, after.t), method="bounded", options=options
        )
        if answer.fun < sign * point.value:
            point = Look(float(answer.x), float(sign * answer.fun))
    return point._replace(touches=abs(point.value) <= TOUCH * scale)


def along(value: Value, looks: list[Look], at_zero: bool, band: float, scale: float) -> Found:
    """Return the changes of sign between looks in their order."""
    zeros, side, first = list[Zero](), 0 if at_zero else int(np.sign(looks[0].value)), 0
    last = looks[0]  # with the sign ``side``
    for look in looks[1:]:
        sign = int(np.sign(look.value))
        if look is looks[-1] and abs(look.value) <= TOUCH * scale:
            sign = 0
        if side == 0:
            if abs(look.value) > band:
                side, first, last = sign, first or sign, look
            continue
        first = first or side
        if look.touches:
            zeros.append(Zero(look.t, side))
            continue
        if sign != side:
            zeros.append(Zero(root(value, last, look if sign else look._replace(value=0.0)), side))
            side, band = sign, 0.0
        last = look
    return Found(zeros, looks[-1].value, side, first, scale)


def root(value: Value, before: Look, after: Look) -> float:
    """Return the time at which the sign of ``before`` ends [s]; ``after`` has another sign, or none."""
    near = 1e-15 * (after.t - before.t)

    def bent(t: float) -> float:
        found = before.value if t == before.t else after.value if t == after.t else value(t)
        return found if found != 0.0 or after.value != 0.0 else -before.value

    return float(brentq(bent, before.t, after.t, xtol=max(near, 5e-324), rtol=4.0 * EPS))
