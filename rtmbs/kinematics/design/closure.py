"""Closed form of a four-bar's loop, with exact derivatives by the crank angle, also through change points.

With B the crank pin, D = g the pivot of the rocker and s their distance, coupler and rocker close the triangle B C D if
P = (b + c)^2 - s^2 and Q = s^2 - (b - c)^2 are not below zero. C lies sqrt(P Q) / (2 s) beside the line from B to D.
By half angles P = p0 + 4 g a cos^2(t / 2) and Q = q0 + 4 g a sin^2(t / 2). A change point has p0 = 0 or q0 = 0. There
the root is 2 sqrt(g a) cos(t / 2) or 2 sqrt(g a) sin(t / 2), which changes its sign: coupler and rocker pass smoothly.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Lengths = tuple[float, float, float, float]

CHANGE = 1e-12  # of the sum of the lengths: a change point
ROUNDING = 1e-14  # of its square: a triangle that is flat


class Jet(NamedTuple):
    """Values (S,) with their first and second derivatives by the crank angle."""

    value: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]

    def times(self, other: "Jet") -> "Jet":
        """Return the product."""
        (f, df, ddf), (g, dg, ddg) = self, other
        return Jet(f * g, df * g + f * dg, ddf * g + 2.0 * df * dg + f * ddg)

    def plus(self, other: "Jet", factor: complex = 1.0) -> "Jet":
        """Return the sum with another one times a number."""
        return Jet(*(f + factor * g for f, g in zip(self, other, strict=True)))

    def inverse(self) -> "Jet":
        """Return one over it."""
        f, df, ddf = self
        return Jet(1.0 / f, -df / f**2, 2.0 * df**2 / f**3 - ddf / f**2)

    def root(self) -> "Jet":
        """Return its square root."""
        f, df, ddf = self
        r = np.sqrt(f)
        return Jet(r, df / (2.0 * r), ddf / (2.0 * r) - df**2 / (4.0 * f * r))


def gaps(g: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Return p0 and q0 of lengths, numbers or arrays [m^2]; exactly zero at a change point."""
    least = CHANGE * (g + a + b + c)
    far, near, other = b + c - g - a, g - a - b + c, g - a + b - c
    p0 = np.where(np.abs(far) <= least, 0.0, far * (b + c + g + a))
    q0 = np.where(np.minimum(np.abs(near), np.abs(other)) <= least, 0.0, near * other)
    return p0, q0


def roots(lengths: Lengths, angles: Array) -> tuple[Jet, Jet]:
    """Return the roots of P and Q over crank angles [m]; nan where the loop is open."""
    g, a, _, _ = lengths
    p0, q0 = gaps(*lengths)
    least = ROUNDING * sum(lengths) ** 2
    wave = 2.0 * np.sqrt(g * a)
    cosine, sine = wave * np.cos(0.5 * angles), wave * np.sin(0.5 * angles)
    slope, bend = 2.0 * g * a * np.sin(angles), 2.0 * g * a * np.cos(angles)  # of s^2

    def root(gap: float, own: Array, turned: Array, sense: float) -> Jet:
        if gap == 0.0:
            return Jet(own + 0j, 0.5 * turned + 0j, -0.25 * own + 0j)
        return Jet(flattened(gap + own**2, least) + 0j, sense * slope + 0j, sense * bend + 0j).root()

    return root(p0, cosine, -sine, -1.0), root(q0, sine, cosine, 1.0)


def flattened(square: Array, least: float) -> Array:
    """Return squares, zero where rounding made them negative and nan where they are less."""
    return np.where(square < 0.0, np.where(square >= -least, 0.0, np.nan), square)


def coupler_jets(lengths: Lengths, angles: Array, side: int) -> tuple[Jet, Jet]:
    """Return B to C and D to C as complex jets [m] over crank angles; nan where the loop is open."""
    g, a, b, c = lengths
    with np.errstate(divide="ignore", invalid="ignore"):
        p, q = roots(lengths, angles)
        e2 = np.exp(1j * angles)
        line = Jet(g - a * e2, -1j * a * e2, a * e2)
        if through_pivot(g, a, b, c):
            half = np.exp(0.5j * angles)
            beside = p.times(Jet(side * half, 0.5j * side * half, -0.25 * side * half))
            pin = Jet(*(0.5 * part for part in line.plus(beside)))
        else:
            square = (g - a) ** 2 + 4.0 * g * a * np.sin(0.5 * angles) ** 2
            over = Jet(square + 0j, 2.0 * g * a * np.sin(angles) + 0j, 2.0 * g * a * np.cos(angles) + 0j).inverse()
            factor = p.times(q).times(over)
            along = 0.5 * (b * b - c * c)
            factor = Jet(*(0.5j * side * beside + along * part for beside, part in zip(factor, over, strict=True)))
            pin = line.times(factor._replace(value=factor.value + 0.5))
        return pin, pin.plus(line, -1.0)


def through_pivot(g: Any, a: Any, b: Any, c: Any) -> Any:
    """Return whether the crank pin passes through the pivot of the rocker, for numbers or arrays."""
    return (np.abs(g - a) <= CHANGE * (g + a)) & (np.abs(b - c) <= CHANGE * (b + c))


def crank_limits(lengths: Lengths) -> tuple[float, float]:
    """Return the least and the largest angle between the crank and the ground line, 0 to pi [rad]."""
    g, a, _, _ = lengths
    p0, q0 = gaps(*lengths)
    low = 2.0 * np.arcsin(np.sqrt(min(max(-q0 / (4.0 * g * a), 0.0), 1.0)))
    high = 2.0 * np.arccos(np.sqrt(min(max(-p0 / (4.0 * g * a), 0.0), 1.0)))
    return float(low), float(high)


def side_changes(lengths: Lengths, angles: Array) -> Array:
    """Return 1 or -1 (S,): the side of C at crank angles over that within (0, pi), by change points passed."""
    p0, q0 = gaps(*lengths)
    passed = (q0 == 0.0) * np.floor(angles / (2.0 * np.pi)) + (p0 == 0.0) * np.floor(angles / (2.0 * np.pi) + 0.5)
    return np.asarray(1.0 - 2.0 * (passed % 2.0))
