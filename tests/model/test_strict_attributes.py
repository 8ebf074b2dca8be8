"""Objects that take no attributes but their own."""

import pytest

import rtmbs


def test_the_article_goes_with_the_name():
    inputs = rtmbs.Simulation(rtmbs.library.build("pendulum").compile()).inputs
    with pytest.raises(AttributeError, match=r"^an Inputs has no attribute 'torque'"):
        inputs.torque = 1.0
    with pytest.raises(AttributeError, match=r"^a Model has no attribute 'gravty'; did you mean 'gravity'"):
        rtmbs.Model("m").gravty = 1.0
