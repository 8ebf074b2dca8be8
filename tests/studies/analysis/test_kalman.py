"""Regulator and Kalman filter of apps/kalman.py: gains and covariances against Riccati's equation, errors of a run."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import rtmbs

APP = Path(__file__).parents[3] / "apps" / "kalman.py"


@pytest.fixture(scope="module")
def app():
    return runpy.run_path(str(APP))


@pytest.fixture(scope="module")
def found(app):
    return app["regulated"](9.0, seed=5)


def test_the_covariance_of_the_filter_ends_at_that_of_riccati(found):
    np.testing.assert_allclose(found.covariance, found.steady, rtol=0.0, atol=1e-9 * np.abs(found.steady).max())
    assert np.linalg.eigvalsh(found.steady)[0] > 0.0


def test_estimates_are_as_near_as_their_covariance_says(app, found):
    errors = (found.true - found.estimates)[app["SETTLED"] :]
    size = np.einsum("ki,ij,kj->k", errors, np.linalg.inv(found.steady), errors).mean()
    assert 2.5 < size < 5.5
    assert np.all(np.sqrt(np.mean(errors[:, :2] ** 2, axis=0)) < 0.8 * np.array(list(app["NOISE"].values())))
    assert np.abs(found.true[app["SETTLED"] :, 1]).max() < 0.05  # the pole stays upright


def test_the_gain_is_that_of_python_control(app):
    control = pytest.importorskip("control")
    model = app["cart_pendulum"]()
    plant = app["sampled_plant"](rtmbs.Simulation(model.compile(), h=app["PERIOD"]))
    regulator = app["Regulator"](model, plant, 1, 0)
    gain, _, poles = control.dlqr(plant.A, plant.B, app["DESIRED"], app["EFFORT"])
    np.testing.assert_allclose(regulator.gain, gain, rtol=1e-8)
    assert np.abs(poles).max() < 1.0


@pytest.mark.slow
def test_the_program_agrees_with_its_prediction(app):
    assert app["main"]() == 0
