"""Warnings of runs whose energy changes though nothing takes or gives any."""

import numpy as np

import rtmbs
from bench.campaigns.variational_energy import ring
from rtmbs import At, Every, Simulation, VariationalMidpoint


def changes(result):
    return [words for words in result.warnings if words.startswith("the energy changes by")]


def test_a_ring_whose_dead_centres_are_not_resolved_is_told():
    """Ring 0 loses a third of its energy at 5 ms (measurements 6); at 1 ms it swings by a thousandth."""
    system = ring(0).compile()
    coarse = Simulation(system, 5e-3, VariationalMidpoint()).run(100.0, record=Every(1.0))
    energy = coarse["energy.total"]
    assert np.ptp(energy) > 0.02 * coarse["energy.kinetic"].max()
    (words,) = changes(coarse)
    assert "steps of h = 0.005 s do not resolve the motion" in words
    assert not changes(Simulation(system, 1e-3, VariationalMidpoint()).run(10.0, record=Every(0.1)))


def test_forces_drivers_and_inputs_may_change_the_energy():
    model = rtmbs.library.build("pendulum")
    model.add_force("brake", rtmbs.TorsionSpring(stiffness=0.0, damping=0.5), joint="pivot")
    result = Simulation(model.compile(), 1e-3).run(2.0, record=At([0.5, 1.0, 2.0]))
    assert np.ptp(result["energy.total"]) > 0.0
    assert not changes(result)
