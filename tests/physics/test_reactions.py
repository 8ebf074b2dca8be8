"""Multipliers and reactions of real runs: they satisfy the equations of motion, carry every body, and do not depend on
which joint was cut."""

import numpy as np
import pytest

from bench.measures.mechanisms import JOINTS, crank_rocker, five_bar
from bench.measures.orders import matrices, rotated
from rtmbs import PenaltyTrapezoidal, Simulation, library

BUILD = {
    "crank-rocker": crank_rocker,
    "driven five-bar": five_bar,
    "spatial slider-crank": lambda: library.build("slider_crank"),
    "bricard": lambda: library.build("bricard"),
    "stacked 2 x 3": lambda: library.build("fourbar", ny=2, nz=3),
}


@pytest.mark.parametrize("refactor", ["every-iteration", "every-step", "adaptive"])
@pytest.mark.parametrize("name", BUILD)
def test_multipliers_satisfy_the_equations_of_motion(name, refactor):
    """M zdd - Q + Phi_z^T lam of the state after projection falls with h^2 or faster, and no rounding takes over."""
    system = BUILD[name]().compile()
    steps, left = (1e-2, 5e-3, 2.5e-3, 1.25e-3), []
    for h in steps:
        sim, worst = Simulation(system, h, method=PenaltyTrapezoidal(refactor=refactor)), 0.0
        for _ in range(round(0.2 / h)):
            assert sim.step().outcome.accepted
            state, equations = sim.state, sim.equations
            equations.residual(state.z, state.zd, state.zdd, state.R0)
            worst = max(worst, float(np.max(np.abs(equations.ws.tau + equations.pull_back(state.lam)))))
        left.append(worst / max(1.0, float(np.max(np.abs(sim.state.lam)))))
    assert left[1] < 1e-4
    assert np.polyfit(np.log(steps), np.log(left), 1)[0] > 1.8, left


@pytest.mark.parametrize("tangent_terms", ["paper", "inertia", "lagged", "exact"])
def test_the_multipliers_of_a_start_live_on(tangent_terms):
    """No jump from the first multipliers, which come from the constrained equations, to those of the first step."""
    sim = Simulation(crank_rocker().compile(), h=1e-3, method=PenaltyTrapezoidal(tangent_terms=tangent_terms))
    first = sim.state.lam.copy()
    sim.step()
    np.testing.assert_allclose(sim.state.lam, first, atol=0.05 * np.abs(first).max())


@pytest.mark.parametrize("joint", JOINTS)
def test_the_reaction_of_a_joint_does_not_depend_on_the_cut(joint):
    """In the tree it is a sum of inverse dynamics, in the cut a multiplier; their distance falls with h^2."""
    found = {}
    for cut in JOINTS:
        result = Simulation(crank_rocker(cut=cut).compile(), h=1e-3).run(0.3)
        found[cut] = result[f"{joint}.reaction"]
    size = np.abs(found["knee"]).max()
    for cut in JOINTS:
        np.testing.assert_allclose(found[cut], found["knee"], atol=2e-4 * size, err_msg=cut)


@pytest.mark.parametrize("name", ["crank-rocker", "stacked 2 x 3"])
def test_ground_carries_the_weight_and_the_inertia(name):
    """The sum of all forces from ground is the mass times the acceleration of the mass centres, less gravity."""
    model = BUILD[name]()
    result = Simulation(model.compile(), h=2.5e-3).run(0.5)
    wanted = np.zeros((len(result.t), 3))
    for body in list(model.bodies.values())[1:]:
        R, omega = matrices(result[f"{body.name}.orientation"]), result[f"{body.name}.angular_velocity"]
        arm = rotated(R, np.tile(body.center_of_mass, (len(R), 1)))
        spin = np.cross(result[f"{body.name}.angular_acceleration"], arm) + np.cross(omega, np.cross(omega, arm))
        wanted += body.mass * (result[f"{body.name}.acceleration"] + spin - model.gravity)
    found = sum(result[f"{j.name}.reaction"][:, :3] for j in model.joints.values() if j.a.name == model.ground.name)
    np.testing.assert_allclose(found, wanted, atol=1e-3 * np.abs(wanted).max())
