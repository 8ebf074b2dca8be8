"""Own equations of Andrews' squeezer and of Bricard's mechanism: against derivatives by arms, and published ends."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bench.methods.problems import ANDREWS_END, ANDREWS_START
from bench.own_equations import FINE, Andrews, Bricard

PERIOD = 4.991711513690  # [s] of Bricard's mechanism, published
PUBLISHED = 1e-8  # [rad] of the end of the test set


@pytest.mark.slow
def test_andrews_accelerates_as_its_arms_do_and_ends_as_published():
    own, rng = Andrews(), np.random.default_rng(1)
    at = own.linkage
    for _ in range(20):
        q, v = rng.normal(size=7), rng.normal(size=7)
        J, gamma = at.constraint_jacobian(q, 0.0), at.constraint_rate_terms(q, v, 0.0)[1]
        saddle = np.block([[at.mass(q, 0.0), J.T], [J, np.zeros((at.m, at.m))]])
        wanted = np.linalg.solve(saddle, np.concatenate((at.force(q, v, 0.0), gamma)))[:7]
        found = own.rates(0.0, np.concatenate((q, v)))
        np.testing.assert_allclose(found, np.concatenate((v, wanted)), rtol=0, atol=1e-10 * np.abs(wanted).max())
    np.testing.assert_allclose(own.reference() + ANDREWS_START, ANDREWS_END, rtol=0, atol=PUBLISHED)


@pytest.mark.slow
def test_bricard_comes_back_after_its_period():
    own = Bricard()
    found = solve_ivp(own.rates, (0.0, PERIOD), own.start(), "DOP853", rtol=FINE, atol=FINE).y[:, -1]
    np.testing.assert_allclose(found, own.start(), rtol=0, atol=1e-8)
