"""The error carried along a run, against the true one: a pendulum on its way down, a loop, a free body."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.own_mechanisms import drawn, error_of
from rtmbs import At, Simulation
from rtmbs.errors import InputError
from rtmbs.simulation import controlled


@pytest.mark.parametrize(("kind", "seed"), [("rotor", 1), ("chain", 2), ("crank_rocker", 3), ("floating", 5)])
def test_the_carried_error_is_the_true_one(kind, seed, monkeypatch):
    seen = []
    follow = controlled.ErrorGrowth.follow

    def watched(self, *args):
        follow(self, *args)
        seen.append(self.size)

    monkeypatch.setattr(controlled.ErrorGrowth, "follow", watched)
    case = drawn(np.random.default_rng(seed), kind, 6.0)
    sim, end = Simulation(case.model.compile(), 1e-3), np.array([0.6])
    exact = case.exact(sim, end, 1e-11)
    result = sim.run(0.6, tolerance=1e-3, record=At(end))
    true = error_of(result, exact, sim.system.length, slice(1, None))
    assert 0.3 * true < seen[-1] < 3.0 * true


def upright():
    """Return a pendulum that barely swings over its top: there errors grow e^6 times a second."""
    model = rtmbs.Model("stick", gravity=(0.0, 0.0, -36.0))
    model.add_body("stick", mass=1.0, center_of_mass=(0.0, 0.0, -1.0), inertia=(1e-6,) * 3)
    model.add_joint("hinge", rtmbs.Revolute((0, 1, 0)), "ground", "stick")
    model.set_initial("hinge", rate=12.01)
    return Simulation(model.compile(), 1e-3)


def test_a_run_whose_errors_grow_begins_anew_and_keeps_its_tolerance():
    sim = upright()
    result = sim.run(1.0, tolerance=1e-3)
    assert result.warnings["begun anew with a fifth of the error a step: errors grow in this motion"] >= 1
    assert result.t[0] == 0.0
    assert np.all(np.diff(result.t) > 0.0)
    fine = upright().run(1.0, tolerance=1e-5)
    assert abs(result["hinge.angle"][-1] - fine["hinge.angle"][-1]) < 3e-3


def test_a_run_that_was_watched_says_what_it_does_not_keep():
    sim = upright()
    with pytest.raises(InputError, match="is not kept: the errors of steps grow in this motion") as caught:
        sim.run(1.0, tolerance=1e-3, observers=[rtmbs.EnergyMeter()])
    assert caught.value.result.t[-1] == sim.t < 1.0
    assert sim.h == 1e-3
