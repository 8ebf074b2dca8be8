"""Linkages in closed form: derivatives against differences, energy, Andrews' published accelerations."""

import numpy as np
import pytest

from bench.methods.problems import ANDREWS_START, Arm, Link, Place, PlanarLinkage, andrews_system, random_linkage
from rtmbs.formulations import ConstrainedSystem, Direct, consistent_state


@pytest.mark.parametrize("seed", range(20))
def test_derivatives_of_random_linkages_against_differences(seed):
    system, q, v = random_linkage(seed)
    assert isinstance(system, ConstrainedSystem)
    h, P = 1e-6, system.constraint_jacobian(q, 0.0)
    np.testing.assert_allclose(system.constraints(q, 0.0), 0.0, atol=1e-12)
    np.testing.assert_allclose(P @ v, 0.0, atol=1e-12)
    slope = (system.constraints(q + h * v, 0.0) - system.constraints(q - h * v, 0.0)) / (2 * h)
    np.testing.assert_allclose(slope, P @ v, atol=1e-8)
    turned = (system.constraint_jacobian(q + h * v, 0.0) - system.constraint_jacobian(q - h * v, 0.0)) @ v / (2 * h)
    np.testing.assert_allclose(-turned, system.constraint_rate_terms(q, v, 0.0)[1], atol=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_velocity_terms_do_no_work(seed):
    """Kinetic energy changes by the applied forces alone, so v^T (F - Q) = -v^T Mdot v / 2."""
    system, q, v = random_linkage(seed)
    still, h = system.force(q, np.zeros(system.n), 0.0), 1e-6
    Mdot = (system.mass(q + h * v, 0.0) - system.mass(q - h * v, 0.0)) / (2 * h)
    np.testing.assert_allclose(v @ (system.force(q, v, 0.0) - still), -0.5 * v @ Mdot @ v, rtol=1e-5, atol=1e-6)


def test_the_published_first_accelerations_of_andrews():
    system = andrews_system()
    q, v = consistent_state(system, ANDREWS_START, np.zeros(7), 0.0)
    np.testing.assert_allclose(q, ANDREWS_START, atol=1e-14)
    a, _ = Direct().accelerations(system, q, v, 0.0)
    np.testing.assert_allclose(a, [14222.4439199541, -10666.8329399656, 0, 0, 0, 0, 0], rtol=1e-9, atol=1e-7)


def test_a_rod_is_a_pendulum():
    system = PlanarLinkage(1, [Link(Place((0.0, 0.0), (Arm(0.5, (1.0,)),)), 2.0, 2.0 / 12, (1.0,))], [])
    np.testing.assert_allclose(system.mass(np.zeros(1), 0.0), 2.0 / 3.0)
    np.testing.assert_allclose(system.force(np.zeros(1), np.ones(1), 0.0), -2.0 * 9.81 * 0.5)
