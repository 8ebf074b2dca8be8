"""The adapter over SemiRecursiveEquations: derivatives, the same accelerations as a start, Andrews, refusals."""

import numpy as np
import pytest

import rtmbs
from bench.measures.forced import as_bodies
from rtmbs.formulations import (
    FORMULATIONS,
    SVD,
    ConstrainedSystem,
    JointCoordinates,
    ReferencePointCoordinates,
    SystemWithStates,
    consistent_state,
)
from tests.contracts.machines import with_force_states
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


@pytest.mark.parametrize("kind", [JointCoordinates, ReferencePointCoordinates])
def test_states_of_forces_are_those_of_the_simulation(kind):
    """Forces on joints, between frames and on a body, by the accelerations and rates of a start."""
    model = with_force_states()
    sim = rtmbs.Simulation(model.compile(), h=1e-4)
    joints = JointCoordinates(model.compile())
    system = joints if kind is JointCoordinates else kind(model)
    assert isinstance(system, SystemWithStates)
    np.testing.assert_array_equal(system.s, sim.state.s)
    system.s[:] = joints.s[:] = sim.state.s + 0.1 * np.arange(len(system.s))
    q, v, t = sim.state.z, sim.state.zd, 0.0
    a = SVD().accelerations(joints, q, v, t)[0]
    rates = joints.state_rates(q, v, t)
    x, xd, xdd = (q, v, a) if system is joints else as_bodies(model, joints, system, q, v, a, t)
    np.testing.assert_allclose(SVD().accelerations(system, x, xd, t)[0], xdd, atol=1e-9 * np.abs(xdd).max())
    np.testing.assert_allclose(system.state_rates(x, xd, t), rates, rtol=1e-10)
    moved = sim.state.copy()
    moved.s[:] = system.s
    sim.restore(moved)
    zdd, _, sd = sim.equations.accelerations(q, v, moved.R0, moved.s)
    np.testing.assert_allclose(zdd, a, atol=1e-8 * np.abs(a).max())
    np.testing.assert_allclose(sd, rates, rtol=1e-10)


def test_states_go_on_in_a_recentred_system():
    model = rtmbs.library.build("top")
    body = list(model.bodies)[-1]
    model.add_force(
        "drag", lambda t, k, p, s: ((-s["v"] * k.v, 0.0 * k.w), k.v[0] - s["v"]), body=body, states={"v": 0.2}
    )
    system = JointCoordinates(model.compile())
    system.s[:] = 0.7
    fresh, _, _ = system.recentred(np.full(system.n, 0.1), np.ones(system.n))
    np.testing.assert_array_equal(fresh.s, [0.7])
    assert fresh.s is not system.s
