"""Redundant rows that are all rounding count for no formulation, wherever a mechanism lies."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.turned import mechanism
from rtmbs.formulations import FORMULATIONS, JointCoordinates

ALLOWED = {"penalty": 1e-6, "augmented-lagrangian": 1e-6, "recursive": 1e-6}  # of the largest acceleration
KINDS = {"four-bar": 0, "slider-crank": 1, "five-bar": 2, "door": 3}


@pytest.fixture(scope="module", params=KINDS)
def moving(request):
    """A redundant mechanism on skew axes, moving, with its accelerations."""
    rng = np.random.default_rng((KINDS[request.param], 9))
    turn = Rotation.random(random_state=rng).as_matrix()
    sim = rtmbs.Simulation(mechanism(KINDS[request.param] + 4, turn, rng.normal(size=3)).compile(), h=1e-3)
    sim.run(0.05)
    state = sim.state
    return JointCoordinates(sim.system), state, sim.equations.accelerations(state.z, state.zd, state.R0, state.s)[0]


@pytest.mark.parametrize("name", [name for name, form in FORMULATIONS.items() if form().redundant])
def test_accelerations_are_those_of_the_simulation(name, moving):
    joints, state, expected = moving
    found = FORMULATIONS[name]().accelerations(joints, state.z, state.zd, state.t)[0]
    assert np.abs(found - expected).max() < ALLOWED.get(name, 1e-9) * max(np.abs(expected).max(), 1.0)


def test_rows_of_rounding_are_zero(moving):
    joints, state, _ = moving
    Phi_q, gamma = joints.constraint_jacobian(state.z, 0.0), joints.constraint_rate_terms(state.z, state.zd, 0.0)[1]
    silent = ~Phi_q.any(axis=1)
    assert silent.any() or "rail.turn_1" in joints.row_names  # its rows mix two axes, and none is rounding alone
    assert not gamma[silent].any()
    np.testing.assert_array_equal(joints.sparse_constraint_jacobian(state.z, 0.0).toarray(), Phi_q)
