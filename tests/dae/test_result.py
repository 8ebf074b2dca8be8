"""What a motion holds besides its coordinates."""

import numpy as np

from rtmbs.dae import RungeKutta, integrate
from rtmbs.formulations import Baumgarte
from tests.dae.motions import start_of


def test_violations_are_those_of_the_equations():
    """Phi = (q^T q - 1) / 2 of the pendulum in x, y and its first and second rate, which drift without correction."""
    system, q, v = start_of("pendulum in x, y")
    found = integrate(system, RungeKutta(formulation=Baumgarte(10.0, 10.0)), q, v, 0.4, 2e-2)
    rows = {
        "position": 0.5 * (np.sum(found.q**2, axis=1) - 1.0),
        "velocity": np.sum(found.q * found.v, axis=1),
        "acceleration": np.sum(found.q * found.a + found.v**2, axis=1),
    }
    assert np.abs(rows["position"]).max() > 1e-9
    for k, (level, row) in enumerate(rows.items()):
        np.testing.assert_allclose(found[f"violation.{level}"], np.abs(row), rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(found.violations[:, k], np.abs(row), rtol=0.0, atol=1e-13)
