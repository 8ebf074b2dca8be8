"""Energies in the page form against those of the kernels."""

from copy import copy

import numpy as np
import pytest

import rtmbs
from rtmbs.semirecursive.page_elements import recursive
from rtmbs.studies.sensitivities import page_terms

XP = recursive(np)


def machine():
    """A loop with everything that stores energy and has no damper between bodies."""
    model = rtmbs.library.build("crank_rocker")
    model.add_marker("tip", "coupler", (0.0, 0.3, 0.5))
    model.add_marker("post", "ground", (0.0, 0.2, 0.9))
    model.add_force("spring", rtmbs.SpringDamper(stiffness=80.0, damping=0.0, length=0.5), between=("post", "tip"))
    model.add_force("twist", rtmbs.TorsionSpring(stiffness=4.0, damping=0.3), joint="rocker_pivot")
    model.add_force("motor", rtmbs.Motor(1.5), joint="crank_pivot")
    model.add_force("mount", rtmbs.Bushing(stiffness=(50, 60, 70, 5, 6, 7), damping=(0,) * 6), between=("post", "tip"))
    return model


def far_away():
    """A four-bar farther from the world's origin than the grid of its own origin is wide."""
    model = rtmbs.Model("far away")
    here = np.array((0.3, -5.0, 40.0))
    corners = [here + place for place in ((0, 0, 0), (0.1, 0, 0.4), (0.9, 0, 0.8), (1.1, 0, 0))]
    for name, a, b in (("crank", 0, 1), ("coupler", 1, 2), ("rocker", 3, 2)):
        middle = (corners[b] - corners[a]) / 2
        model.add_body(name, mass=1.0, inertia=(0.1,) * 3, position=corners[a], center_of_mass=middle)
    for name, a, b, k in (("a", "ground", "crank", 0), ("b", "crank", "coupler", 1), ("c", "coupler", "rocker", 2)):
        model.add_joint(name, rtmbs.Revolute(axis=(0, 1, 0)), a, b, point=corners[k])
    model.add_joint("d", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "rocker", point=corners[3])
    model.add_force("twist", rtmbs.TorsionSpring(stiffness=4.0, damping=0.3), joint="a")
    return model


def test_a_mechanism_far_from_the_origin_has_the_derivatives_of_one_beside_it():
    sim = rtmbs.Simulation(far_away().compile(), h=1e-3)
    assert np.any(sim.equations.tables.origins.row != -1)
    by, step = "twist.stiffness", 1e-3
    found = rtmbs.sensitivity(sim, 0.02, of=lambda run: run["a.angle"][-1], by=[by])

    def end(stiffness):
        other = copy(sim)
        other.inputs[by] = stiffness
        other.run(0.02)
        return float(other["a.angle"])

    wanted = (end(4.0 + step) - end(4.0 - step)) / (2.0 * step)
    assert found.gradient[0] == pytest.approx(wanted, rel=1e-5)
    assert found.missed < 1e-7


@pytest.mark.parametrize("make", [far_away, machine, lambda: rtmbs.library.build("slider_crank")])
def test_they_are_those_of_the_balance(make):
    sim = rtmbs.Simulation(make().compile(), h=2e-3)
    if "spring.tension" in sim.inputs:
        sim.inputs["spring.tension"] = 3.0
    sim.run(0.1)
    state, tables = sim.state, sim.equations.tables
    wanted, _ = sim.equations.component_energies(state.z, state.zd, state.R0)
    z, zd = state.z[None], state.zd[None]
    found = 0.5 * page_terms.kinetic(XP, tables, state.R0, z, zd, zd) + page_terms.potential(
        XP, tables, state.u, state.R0, z
    )
    np.testing.assert_allclose(found[0], wanted[tables.balance.first], rtol=1e-12)
    exchanged = page_terms.exchange(XP, tables, state.u, state.R0, z)
    np.testing.assert_allclose(exchanged[0], sim.equations.ws.exchange[tables.balance.first], rtol=1e-12)
    assert exchanged[0, 0] > 0.0
    assert len(tables.balance.first) == 1
