"""The main client: Q(z, zd) of mechanisms, written for any array namespace, goes through every source."""

import numpy as np
import pytest

from rtmbs.ad.function_sources import Autograd, ComplexStep
from rtmbs.ad.trace import Traced
from rtmbs.ad.traced import recorder
from rtmbs.semirecursive import page, page_elements
from tests.mechanisms import random_motion, random_tables

SEEDS = (1, 2, 3)


def force_of(mechanism):
    """Return Q of x = (z, zd) with the inputs and reference rotations as parameters p, batched."""
    tables, nu = mechanism.tables, len(mechanism.u)

    def Q(x, p, xp=np):
        n = x.shape[1] // 2
        tree = page_elements.recursive(xp) if xp is recorder else xp
        return page.force(tree, tables, p[:nu], p[nu:].reshape(-1, 3, 3), x[:, :n], x[:, n:])

    return Q


@pytest.mark.parametrize("seed", SEEDS)
def test_recorded_forces_have_the_derivatives_of_all_sources(seed):
    mechanism = random_tables(seed, n=(5, 12, 30)[seed - 1])
    Q, p = force_of(mechanism), np.concatenate((mechanism.u, mechanism.R0.ravel()))
    traced = None
    for shift in (0, 100):  # evaluated at another state and with other parameters
        motion = random_motion(seed + shift, mechanism.tables)
        x, p = np.concatenate((motion.z, motion.zd)), p * (1.0 + 0.1 * shift)
        traced = traced or Traced(Q, len(x), k=len(p), batched=True)
        exact = ComplexStep(Q, len(x), batched=True)
        np.testing.assert_allclose(traced.value(x, p), exact.value(x, p), rtol=1e-11, atol=1e-10)
        expected = exact.jacobian(x, p)
        for found in (traced.jacobian(x, p), Autograd(Q, len(x), batched=True).jacobian(x, p)):
            assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
        w = np.linspace(-1.0, 1.0, traced.m)
        assert np.abs(traced.reverse(x, w, p) - w @ expected).max() < 1e-12 * np.abs(expected).max()
