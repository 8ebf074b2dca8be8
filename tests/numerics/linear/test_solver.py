"""A matrix that LAPACK cannot factorise is refused by the name of the calculation."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, RtmbsError
from rtmbs.numerics.linear.solver import refuses_unfactorised


@refuses_unfactorised(InputError, "sample")
def factor(matrix):
    """Return the factor."""
    return np.linalg.cholesky(matrix)


def test_the_calculation_is_named_and_the_function_stays_itself():
    assert np.allclose(factor(np.eye(2)), np.eye(2))
    assert factor.__doc__ == "Return the factor."
    with pytest.raises(InputError, match="sample: a matrix of the mechanism cannot be factorised"):
        factor(-np.eye(2))


def test_inertia_that_vanishes_about_an_axis():
    model = rtmbs.Model("ball", gravity=(0.0, 0.0, 0.0))
    model.add_body("rod", mass=1.3, inertia=(1e-74,) * 3, position=(-0.71, -0.28, -0.15))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "rod", point=(0.0, 0.0, 0.0))
    far, near = model.add_marker("far", "ground", point=(1.0, 0.0, 0.0)), model.add_marker("near", "rod")
    model.add_force("spring", rtmbs.SpringDamper(stiffness=1.0, length=0.1), between=(far, near))
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    with pytest.raises(RtmbsError):  # never LinAlgError
        rtmbs.equilibrium(sim)
