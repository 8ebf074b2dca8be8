"""Counts of operations of a tape and of its derivatives, against counts by hand."""

import numpy as np

from bench.derivative_costs import count
from rtmbs.ad import Traced


def test_counts_of_a_product_of_three():
    """x y z: two products; partial derivatives are values; every edge is one product more, every pair one sum."""
    found = count(Traced(lambda x: np.stack([x[0] * x[1] * x[2]]), 3).tape)
    assert (found.value, found.linear, found.direction) == (2, 2, 6)
    assert found.forward(1) == 4.0


def test_tangents_of_zero_are_left_out():
    """Two functions of one input each: a tangent of one of them has nothing to do in the other."""
    found = count(Traced(lambda x: np.stack([np.sin(x[0]), np.sin(x[1])]), 2).tape)
    assert (found.value, found.linear) == (2, 4)  # the cosines
    assert (found.direction, found.adjoint, found.active) == (2, 2, 2)


def test_a_factor_of_one_is_no_product():
    found = count(Traced(lambda x: np.stack([x[0] + x[1]]), 2).tape)
    assert (found.value, found.linear, found.direction, found.adjoint) == (1, 1, 1, 0)
