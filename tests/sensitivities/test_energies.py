"""Energies in the page form against those of the kernels."""

import numpy as np
import pytest

import rtmbs
from rtmbs.semirecursive.page_arrays import recursive
from rtmbs.sensitivities import energies

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


@pytest.mark.parametrize("make", [machine, lambda: rtmbs.library.build("slider_crank")])
def test_they_are_those_of_the_balance(make):
    sim = rtmbs.Simulation(make().compile(), h=2e-3)
    if "spring.tension" in sim.inputs:
        sim.inputs["spring.tension"] = 3.0
    sim.run(0.1)
    state, tables = sim.state, sim.equations.tables
    wanted, _ = sim.equations.component_energies(state.z, state.zd, state.R0)
    z, zd = state.z[None], state.zd[None]
    found = 0.5 * energies.kinetic(XP, tables, state.R0, z, zd, zd) + energies.potential(
        XP, tables, state.u, state.R0, z
    )
    np.testing.assert_allclose(found[0], wanted[tables.balance.first], rtol=1e-12)
    exchanged = energies.exchange(XP, tables, state.u, state.R0, z)
    np.testing.assert_allclose(exchanged[0], sim.equations.ws.exchange[tables.balance.first], rtol=1e-12)
    assert exchanged[0, 0] > 0.0
    assert len(tables.balance.first) == 1
