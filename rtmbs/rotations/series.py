"""Coefficients of the power series in theta^2 of the rotation group; each is the double nearest to its fraction."""

from fractions import Fraction
from math import comb, factorial

TERMS = 28  # rounding only up to theta = 0.9 * 2 pi
INVERSE_TERMS = 30  # the terms fall as (theta / (2 pi))^2: rounding only up to half a turn

SINE = tuple((-1.0) ** k / factorial(2 * k + 1) for k in range(TERMS))  # s = sin(theta) / theta
VERSINE = tuple((-1.0) ** k / factorial(2 * k + 2) for k in range(TERMS))  # c = (1 - cos(theta)) / theta^2
CUBIC = tuple((-1.0) ** k / factorial(2 * k + 3) for k in range(TERMS))  # e = (theta - sin(theta)) / theta^3
HALVINGS = 3  # of half a turn before a logarithm is summed as a series: tan of its 16th part stays below 0.2
ARCTAN = tuple((-1.0) ** k / (2 * k + 1) for k in range(13))  # arctan(x) / x by x^2, rounding only below x = 0.2


def inverse_series(terms: int) -> tuple[float, ...]:
    """Return the coefficients |B_2n| / (2n)!, n from 1, of b = (1 - theta/2 cot(theta/2)) / theta^2."""
    bernoulli = [Fraction(1)]
    for m in range(1, 2 * terms + 1):
        bernoulli.append(-sum((comb(m + 1, k) * bernoulli[k] for k in range(m)), Fraction(0)) / (m + 1))
    return tuple(float(abs(bernoulli[2 * n]) / factorial(2 * n)) for n in range(1, terms + 1))


INVERSE = inverse_series(INVERSE_TERMS)
