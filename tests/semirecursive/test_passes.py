"""Sines and cosines of the positions sweep against NumPy's, over the range of a float."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs.semirecursive.passes import LARGE, sines_and_cosines

ULP = np.finfo(float).eps


@numba.njit(error_model="numpy")
def fill(z, sine, cosine):
    sines_and_cosines(z, sine, cosine)


def both(z):
    """Return sine and cosine of the angles."""
    sine, cosine = np.empty_like(z), np.empty_like(z)
    fill(z, sine, cosine)
    return sine, cosine


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 10.0, 1e3, 0.99 * LARGE, 1e9, 1e15])
def test_two_units_in_the_last_place(scale):
    """Relative to each number itself: near a zero of the sine the reduction keeps its digits."""
    z = scale * np.random.default_rng(1).uniform(-1.0, 1.0, 20_000)
    sine, cosine = both(z)
    assert np.all(np.abs(sine - np.sin(z)) <= 2.0 * np.spacing(np.abs(np.sin(z))))
    assert np.all(np.abs(cosine - np.cos(z)) <= 2.0 * np.spacing(np.abs(np.cos(z))))


def test_near_multiples_of_a_quarter_turn():
    """Where sine or cosine nearly vanish, and where the quadrant changes."""
    k = np.arange(-4000, 4001)
    for shift in (0.0, 1e-12, -1e-9, 0.25 * np.pi):
        z = 0.5 * np.pi * k + shift
        sine, cosine = both(z)
        np.testing.assert_allclose(sine, np.sin(z), rtol=4.0 * ULP, atol=0.0)
        np.testing.assert_allclose(cosine, np.cos(z), rtol=4.0 * ULP, atol=0.0)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_any_float(angles):
    z = np.array(angles, float)
    sine, cosine = both(z)
    np.testing.assert_allclose(sine, np.sin(z), rtol=4.0 * ULP, atol=0.0)
    np.testing.assert_allclose(cosine, np.cos(z), rtol=4.0 * ULP, atol=0.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_angle_has_no_sine(bad):
    sine, cosine = both(np.array([0.5, bad, -2.0]))
    assert np.isnan(sine).tolist() == np.isnan(cosine).tolist() == [False, True, False]
    np.testing.assert_allclose(sine[[0, 2]], np.sin([0.5, -2.0]), rtol=4.0 * ULP)


def test_complex_steps_carry_the_derivative():
    angles = np.random.default_rng(2).uniform(-30.0, 30.0, 1000)
    sine, cosine = both(angles + 1e-40j)
    np.testing.assert_allclose(sine.imag / 1e-40, np.cos(angles), rtol=0.0, atol=8.0 * ULP)
    np.testing.assert_allclose(cosine.imag / 1e-40, -np.sin(angles), rtol=0.0, atol=8.0 * ULP)
