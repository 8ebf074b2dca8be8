"""The adapter over SemiRecursiveEquations: derivatives, the same accelerations as a start, Andrews, refusals."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.formulations import FORMULATIONS, ConstrainedSystem, JointCoordinates, consistent_state
from tests.formulations.systems import MAKERS, REDUNDANT, T, states, system_of

JOINTS = [name for name in (*MAKERS, *REDUNDANT) if isinstance(system_of(name), JointCoordinates)]


def rate_at(system, q, v, t):
    """Return Phid (m,)."""
    return system.constraint_jacobian(q, t) @ v + system.constraint_rate_terms(q, v, t)[0]


@pytest.mark.parametrize("where", JOINTS)
def test_rate_terms_against_differences(where):
    system, h = system_of(where), 1e-5
    assert isinstance(system, ConstrainedSystem)
    for q, v in states(where, 5):
        gamma = system.constraint_rate_terms(q, v, T)[1]
        before, after = (system.constraints(q + s * h * v, T + s * h) for s in (-1.0, 1.0))
        np.testing.assert_allclose((after - before) / (2 * h), rate_at(system, q, v, T), atol=1e-6)
        before, after = (rate_at(system, q + s * h * v, v, T + s * h) for s in (-1.0, 1.0))
        np.testing.assert_allclose((after - before) / (2 * h), -gamma, atol=1e-5 * (1 + np.abs(gamma).max(initial=0.0)))


def test_andrews_first_accelerations():
    """BENCHMARKS 2, A03: the published first accelerations of the crank and of its neighbour."""
    model = rtmbs.library.build("andrews")
    sim = rtmbs.Simulation(model.compile(), h=1e-5)
    system = JointCoordinates(model.compile())
    q, v = consistent_state(system, sim.state.z, sim.state.zd, 0.0)
    for name, kind in FORMULATIONS.items():
        if kind().redundant:
            a = kind().accelerations(system, q, v, 0.0)[0]
            assert np.abs(np.abs(a) - 14222.4439199541).min() < 1e-4, name
            np.testing.assert_allclose(a, sim.state.zdd, rtol=1e-7, atol=1e-3)


def test_a_force_law_with_states_is_refused_by_name():
    model = rtmbs.Model("motor")
    model.add_body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 0, 1)), model.ground, "arm")

    def law(t, kinematics, parameters, states):
        return -states["lag"], kinematics.z - states["lag"]

    model.add_force("drag", law, joint="pin", states={"lag": 0.0})
    with pytest.raises(InputError, match=r"^state 'lag' of force 'drag'"):
        JointCoordinates(model.compile())
