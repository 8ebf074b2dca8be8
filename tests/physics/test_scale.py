"""The same mechanism in other units of mass and length moves the same way, with the same number of iterations."""

import pytest

from bench.measures.scaling import MECHANISMS, SCALES, sameness
from tests.cases import spread


@pytest.mark.parametrize("scale", spread([(scale,) for scale in SCALES], 3))
@pytest.mark.parametrize("name", MECHANISMS)
def test_motion_has_no_units(name, scale):
    found = sameness(MECHANISMS[name](), *scale)
    assert found.motion < 1e-6
    assert found.iterations < 0.1


@pytest.mark.parametrize("scale", [(1e-6, 1e3), (1e6, 1e-3)])
def test_nor_has_it_with_the_mass_metric(scale):
    found = sameness(MECHANISMS["slider-crank cut at the slide"](), *scale, projection_metric="mass")
    assert found.motion < 1e-6
    assert found.iterations < 0.1
