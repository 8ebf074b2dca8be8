"""The slider-crank of the paper against its closed form (BENCHMARKS 4)."""

import numpy as np
import pytest

from bench.measures.driven import X, Z, paper_slider_crank, random_triad
from rtmbs import Model, Prismatic, Revolute, Spherical
from rtmbs.kinematics import Analysis
from rtmbs.model import Sine


def closed_form(t):
    """Return x, theta and its first two derivatives: cos(theta) = (x^2 - 64) / (12 x)."""
    x, xd, xdd = 8.0 + 3.0 * np.sin(4.0 * t), 12.0 * np.cos(4.0 * t), -48.0 * np.sin(4.0 * t)
    c = (x**2 - 64.0) / (12.0 * x)
    slope = (1.0 + 64.0 / x**2) / 12.0
    cd, cdd = slope * xd, slope * xdd - 128.0 / (12.0 * x**3) * xd**2
    theta = np.arccos(c)
    thetad = -cd / np.sin(theta)
    return x, theta, thetad, -(cdd + c * thetad**2) / np.sin(theta)


@pytest.mark.parametrize("options", [{}, {"method": "freeze", "pivot": "row"}, {"method": "freeze"}])
@pytest.mark.parametrize("interval", [0.1, 0.02])
def test_the_motion_is_that_of_the_closed_form(options, interval):
    motion = Analysis(paper_slider_crank(), **options).run(0.0, 8.0, interval)
    x, theta, thetad, thetadd = closed_form(motion.t)
    np.testing.assert_allclose(motion["block.position"], np.outer(x, (1, 0, 0)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion["pend1.angle"], theta, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion["rev1.angle"], theta - np.pi / 2, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion["rev1.rate"], thetad, rtol=0, atol=1e-7)
    np.testing.assert_allclose(motion["rev1.acceleration"], thetadd, rtol=0, atol=1e-7)
    assert len(motion) == round(8.0 / interval) + 1
    assert motion.mobility.degrees_of_freedom == 1


def test_the_table_is_that_of_the_paper():
    text = Analysis(paper_slider_crank()).check()
    counts = {words[0]: int(words[-1]) for words in map(str.split, text.splitlines()[1:12]) if words[-1].isdigit()}
    assert "28 generalised coordinates" in text
    assert counts == {
        "Euler": 4, "ground": 6, "revolute": 5, "spherical": 3, "prismatic": 5, "driver": 1,
        "equations": 27, "rank": 27, "free": 1, "redundant": 0,
    }  # fmt: skip
    assert "free: pend2 turns about" in text


def spin(motion):
    """Return the rate at which the rod spins about itself (S,): from the crank's end to the block."""
    along = motion["block.position"] - motion["pend1.position"] * 2.0
    return np.einsum("sk,sk->s", motion["pend2.angular_velocity"], along) / 10.0


def test_counters_count_what_was_done():
    motion = Analysis(paper_slider_crank()).run(0.0, 1.0, 0.02)
    counters = motion.counters
    assert len(counters.iterations) == 51
    assert counters.total_iterations == sum(counters.iterations) > 51
    assert counters.evaluations["second derivatives"] == 52  # the first step is taken twice, for what is free
    assert counters.factorisations >= counters.total_iterations


def spun_slider_crank():
    """Return the same mechanism with body axes at random: the rod's spin shows in all its Euler parameters."""
    rng, model = np.random.default_rng(1), Model("spun")
    for name, place in (("pend1", (0, 3, 0)), ("pend2", (4, 3, 0)), ("block", (8, 0, 0))):
        model.add_body(name, mass=0.0, position=place, orientation=random_triad(rng))
    model.add_joint("rev1", Revolute(axis=Z), "ground", "pend1", point=(0, 0, 0))
    model.add_joint("sph1", Spherical(), "pend1", "pend2", point=(0, 6, 0))
    model.add_joint("sph2", Spherical(), "pend2", "block", point=(8, 0, 0))
    model.add_joint("tran1", Prismatic(axis=X), "block", "ground", point=(8, 0, 0))
    model.add_driver("d1", Sine(3.0, 4.0, offset=8.0), body=("block", "x"))
    return model


@pytest.mark.parametrize("interval", [0.1, 0.01])
def test_the_free_spin_of_the_rod_is_smooth(interval):
    """Second differences of the spin's rate: below 1e-3 of those of the freeze rule; the angle drifts as little."""
    rough, smooth = (
        spin(Analysis(spun_slider_crank(), **options).run(0.0, 8.0, interval))
        for options in ({"method": "freeze", "pivot": "row"}, {})
    )
    assert np.abs(np.diff(rough, 2)).max() > 1e-3
    assert np.abs(np.diff(smooth, 2)).max() < 1e-3 * np.abs(np.diff(rough, 2)).max()
    assert np.abs(smooth).max() < 1e-9
    assert np.abs(rough).max() > 0.1
