"""Dynamic relaxation before the search."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from tests.studies.analysis.cases import chain
from tests.studies.analysis.test_equilibria import truss


def test_a_pendulum_goes_down():
    model = chain(3)
    model.set_initial("hinge_link0", position=3.0, rate=0.0)
    found = rtmbs.equilibrium(model.compile(), relaxation=5.0)
    turns = found.state.z / (2.0 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-9)
    assert found.stable


@pytest.mark.parametrize(("height", "wanted"), [(0.05, 0.4), (-0.05, -0.4)])
def test_a_truss_falls_into_the_valley_that_it_stands_over(height, wanted):
    model = truss()
    model.set_initial("rail", position=height - 0.4, rate=0.0)
    found = rtmbs.equilibrium(model.compile(), relaxation=1.0)
    np.testing.assert_allclose(found.simulation["mass.position"][2], wanted, atol=1e-9)


def test_functions_of_time_stand_still():
    model = chain(1)
    model.add_force("push", rtmbs.Motor(lambda t: 0.5 + 100.0 * t), joint="hinge_link0")
    found = rtmbs.equilibrium(model.compile(), relaxation=0.5)
    np.testing.assert_allclose(np.sin(found.state.z), 0.5 / (0.7 * 9.81 * 0.3), rtol=1e-8)
    assert found.simulation.t == 0.0


@pytest.mark.parametrize("wrong", [0.0, -1.0, True, "long", float("nan")])
def test_bad_input_of_relaxation(wrong):
    with pytest.raises(InputError, match=r"^relaxation is .*; it must be a time in s, such as 2\.0"):
        rtmbs.equilibrium(chain(1).compile(), relaxation=wrong)
