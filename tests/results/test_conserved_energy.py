"""Warnings of runs whose energy changes though nothing takes or gives any."""

import numpy as np

import rtmbs
from bench.campaigns.variational_energy import ring
from rtmbs import At, Every, Simulation, VariationalMidpoint
from rtmbs.results.conserved_energy import SCATTER, spread_of_means


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


def test_a_mean_energy_that_wanders_by_small_jumps_is_told():
    """Ring 19 at 5 ms: passages of three steps add up to 4e-3 of the kinetic energy; none at 1 ms."""
    system = ring(19).compile()

    def told(h, **record):
        result = Simulation(system, h, VariationalMidpoint()).run(1e5 * h, **record)
        assert not changes(result)
        return [words for words in result.warnings if words.startswith("the mean energy moves by")]

    (words,) = told(5e-3, channels=["energy.total"])
    assert "steps of h = 0.005 s do not resolve the fastest passages" in words
    assert told(5e-3, record=Every(0.25))
    assert not told(1e-3, channels=["energy.total"])


def test_means_of_noise_scatter_as_chance_has_it_and_jumps_stand_out():
    """Against the closed form: a jump by d in the middle spreads the means by d, and their deviation is d / 2."""
    rng = np.random.default_rng(7)
    noise = rng.normal(size=1024)
    assert spread_of_means(noise)[1] < 2.0
    moved, chance = spread_of_means(noise + 3.0 * (np.arange(1024) >= 512))
    assert abs(moved - 3.0) < 1.0
    assert abs(chance / (1.5 * np.sqrt(1024 / 16)) - 1.0) < 0.2
    assert chance > SCATTER
    assert spread_of_means(np.linspace(0.0, 1.0, 1024)) == (0.0, 0.0)  # half a swing tells of nothing
