"""Energies of all elements close with the kinetic energy: order two, and 1e-8 of what was exchanged at small steps."""

import pytest

from bench.power import WANTED, fitting, measured
from tests.cases import spread

QUICK = ("pendulum", "single_joint", "bricard", "loop", "driven_fourbar")


@pytest.mark.parametrize("name", spread(QUICK, 2))
def test_energies_close(name):
    t_end, order, (h, coarse, small, fine) = measured(name)
    assert 1.8 < order < 2.5
    assert coarse > WANTED >= fine
    assert small == fitting(small, t_end) < h
