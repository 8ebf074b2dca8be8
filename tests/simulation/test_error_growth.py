"""The error carried along a run, against the true one: a pendulum on its way down, a loop, a free body."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.own_mechanisms import drawn, error_of
from rtmbs import At, Simulation
from rtmbs.errors import InputError
from rtmbs.simulation import controlled, running


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
    (words,) = [words for words in result.warnings if words.startswith("begun anew with a fifth of the error a step")]
    assert "errors grow in this motion, maybe beyond the tolerance" in words
    assert result.warnings[words] >= 1
    assert result.t[0] == 0.0
    assert np.all(np.diff(result.t) > 0.0)
    fine = upright().run(1.0, tolerance=1e-5)
    assert abs(result["hinge.angle"][-1] - fine["hinge.angle"][-1]) < 3e-3


class Bar:
    """Collects what a progress bar is told."""

    def __init__(self, total: float, unit: str) -> None:
        self.total, self.unit, self.told, self.closed = total, unit, [], False

    def update(self, more: float) -> None:
        self.told.append(more)

    def close(self) -> None:
        self.closed = True


def test_the_bar_of_a_run_that_begins_anew_never_goes_back(monkeypatch):
    bars = []
    monkeypatch.setattr(running, "progress_bar", lambda *given: bars.append(Bar(*given)) or bars[-1])
    result = upright().run(1.0, tolerance=1e-3, progress=True)
    assert sum(count for name, count in result.warnings.items() if name.startswith("begun anew")) >= 1
    (bar,) = bars
    assert (bar.total, bar.unit, bar.closed) == (1.0, "s", True)
    assert len(bar.told) > 3
    assert min(bar.told) > 0.0
    assert sum(bar.told) == pytest.approx(1.0, abs=1e-12)


def test_the_bar_crosses_jumps_and_closes_after_an_error(monkeypatch):
    bars = []
    monkeypatch.setattr(running, "progress_bar", lambda *given: bars.append(Bar(*given)) or bars[-1])
    model = rtmbs.Model("cart")
    model.add_body("cart", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), "ground", "cart")
    model.add_force("push", rtmbs.Motor(rtmbs.Staircase((0.0, 0.1, 0.2), (1.0, -1.0, 2.0))), joint="rail")
    sim = Simulation(model.compile(), 1e-3)
    sim.run(0.3, tolerance=1e-4, progress=True)
    assert sum(bars[-1].told) == pytest.approx(0.3, abs=1e-12)
    assert min(bars[-1].told) > 0.0
    with pytest.raises(rtmbs.errors.InputError):
        sim.run(0.6, tolerance=1e-4, progress=True, when=lambda s: "no number")
    assert bars[-1].closed


def test_a_run_that_was_watched_says_what_it_does_not_keep():
    sim = upright()
    with pytest.raises(InputError, match="is not kept: the errors of steps grow in this motion") as caught:
        sim.run(1.0, tolerance=1e-3, observers=[rtmbs.EnergyMeter()])
    assert caught.value.result.t[-1] == sim.t < 1.0
    assert sim.h == 1e-3
