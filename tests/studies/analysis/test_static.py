"""Equilibria of mechanisms under controllers that integrate."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.integrating import controlled
from rtmbs.studies.analysis.static import NoEquilibrium
from tests.studies.analysis.cases import G, chain


def pid(target, p=60.0, i=40.0, d=8.0, weight=1.0):
    """A law on a hinge with the state ``sum``, the integral of the error."""

    def law(t, kinematics, parameters, states):
        error = target - kinematics.z
        return p * error + i * states["sum"] - d * kinematics.zd, weight * error

    return law


def arm(*targets, **gains):
    """Point masses on links, a controller in every hinge."""
    model = chain(len(targets), 0.4, 0.8)
    for k, target in enumerate(targets):
        model.add_force(f"pid{k}", pid(target, **gains), joint=f"hinge_link{k}", states={"sum": 0.0})
    return model


def test_a_controller_reaches_its_target_and_its_integral_holds_the_weight():
    found = rtmbs.equilibrium(arm(1.1).compile())
    np.testing.assert_allclose(found.state.z, [1.1], atol=1e-9)
    np.testing.assert_allclose(found.state.s, [0.8 * G * 0.4 * np.sin(1.1) / 40.0], rtol=1e-9)
    assert found.residual < 1e-7
    assert found.stable


def test_two_controllers_against_a_long_run():
    targets = (0.7, -0.4)
    found = rtmbs.equilibrium(arm(*targets).compile())
    np.testing.assert_allclose(found.state.z, targets, atol=1e-9)
    sim = rtmbs.Simulation(arm(*targets).compile(), h=5e-3)
    sim.run(60.0)
    np.testing.assert_allclose(sim.state.z, found.state.z, atol=1e-9)
    np.testing.assert_allclose(sim.state.s, found.state.s, atol=1e-8)


def test_a_loop_under_a_controller():
    model = rtmbs.library.build("crank_rocker")
    joint = next(iter(model.joints))
    model.add_force("pid", pid(0.9, p=200.0, i=100.0, d=20.0), joint=joint, states={"sum": 0.0})
    found = rtmbs.equilibrium(model.compile())
    np.testing.assert_allclose(found.simulation[f"{joint}.angle"], 0.9, atol=1e-9)
    state = found.state
    zdd = found.simulation.equations.accelerations(state.z, np.zeros_like(state.z), state.R0, state.s)[0]
    assert np.abs(zdd).max() < 1e-6


def test_a_five_bar_that_newton_does_not_reach_settles_before():
    model, target = controlled(138)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    with pytest.raises(NoEquilibrium, match=r"settle before, by relaxation=2.0 \[s\]"):
        rtmbs.equilibrium(sim)
    found = rtmbs.equilibrium(sim, relaxation=2.0)
    assert float(found.simulation["a.angle"]) == pytest.approx(target, abs=1e-9)


def test_gains_that_destabilise_are_told():
    assert not rtmbs.equilibrium(arm(0.5, p=60.0, i=4000.0, d=2.0).compile()).stable


def test_a_target_out_of_reach_is_named():
    """A rocker that cannot turn so far: no pose satisfies the controller."""
    model = rtmbs.library.build("crank_rocker")
    rocker = list(model.joints)[-2]
    model.add_force("pid", pid(100.0), joint=rocker, states={"sum": 0.0})
    with pytest.raises(NoEquilibrium, match=r"^no equilibrium near this pose"):
        rtmbs.equilibrium(model.compile())
