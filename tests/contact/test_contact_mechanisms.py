"""Impacts of a slider with clearance against an event-exact integration, and the mechanisms of the bench."""

import numpy as np
import pytest

from bench.contact_mechanisms import clearance, exact_impacts, geneva, slider_crank, woodpecker, woodpecker_toy


def test_a_slider_with_clearance_hits_its_guide_where_lagranges_equations_say():
    wanted = exact_impacts(2)
    impacts = slider_crank(2e-5).run(0.006).impacts
    assert [one.contacts for one in impacts] == [("upper left", "upper right")] * 2
    np.testing.assert_allclose([(one.t, *one.impulses) for one in impacts], wanted, rtol=1e-5)


@pytest.mark.slow
def test_a_contact_whose_force_ends_opens_at_any_step():
    """With this step the interpolation behind the release at 0.36 s dips below zero."""
    impacts = woodpecker_toy(2e-4).run(0.4).impacts
    assert sum("beak" in one.contacts for one in impacts) == 3


@pytest.mark.slow
@pytest.mark.parametrize("figure", [woodpecker, clearance, geneva])
def test_the_figures_of_mechanisms_hold(figure):
    wanted, measured, holds = figure(True)
    assert holds, f"{wanted}: {measured}"
