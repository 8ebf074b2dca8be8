"""Multipliers of steps against equations of motion in extended precision, METHODS 1.12."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.multipliers import errors
from bench.measures.exact_multipliers import exact
from rtmbs import Outcome, PenaltyTrapezoidal, Simulation, library
from rtmbs.integrators.newton import MISS
from rtmbs.simulation.options import by_name
from tests.semirecursive.start.cases import parallelogram


def windows(h, **options):
    return Simulation(library.build("windows", n=2).compile(), h=h, **by_name(**options))


@pytest.fixture(scope="module")
def before_a_singular_pose():
    """Return the state of A02 at 2.6 s."""
    sim = windows(1e-3)
    sim.run(2.6)
    return sim.state


@pytest.mark.parametrize("fused", [True, False])
def test_a_wrong_multiplier_is_said(fused, before_a_singular_pose):
    """A02 in a singular pose: multipliers of one step are wholly wrong, and it used to be CONVERGED."""
    sim = windows(1e-3, fused=fused)
    sim.restore(before_a_singular_pose)
    worst: dict[Outcome, float] = {}
    for _ in range(100):
        report = sim.step()
        worst[report.outcome] = max(worst.get(report.outcome, 0.0), errors(sim)[0])
    assert worst[Outcome.NEAR_SINGULAR] > 0.5
    assert worst[Outcome.CONVERGED] < MISS


def test_the_judge_is_right_where_everything_is_known():
    """A pendulum in a cut joint: the bar carries m (g cos + l w^2)."""
    model = rtmbs.Model("judge", gravity=(0.0, -9.81, 0.0))
    model.add_body("bob", mass=2.0, inertia=(1e-3,) * 3, position=(0.0, -0.5, 0.0))
    model.add_joint("free", rtmbs.Planar((0, 0, 1)), "ground", "bob", point=(0.0, -0.5, 0.0))
    ends = model.add_marker("nail", "ground", (0, 0, 0)), model.add_marker("eye", "bob", (0.0, -0.5, 0.0))
    model.add_rod("bar", ends)
    sim = Simulation(model.compile(), h=1e-3)
    zdd, lam = exact(sim, np.ones(sim.system.m, bool)).solve()
    np.testing.assert_allclose(np.abs(np.float64(lam)), [2.0 * 9.81], rtol=1e-12)
    np.testing.assert_allclose(np.float64(zdd), sim.state.zdd, atol=1e-10)


@pytest.mark.parametrize("fused", [True, False])
def test_rounding_of_agreeing_drivers_is_no_miss(fused):
    """Two sides of a parallelogram turn at one constant rate: accelerations are zero, and Phidd is rounding alone."""
    model = parallelogram()
    for name in ("A", "D"):
        model.add_driver(f"drive {name}", rtmbs.ConstantRate(2.0), joint=name)
    sim = Simulation(model.compile(), h=1e-3, method=PenaltyTrapezoidal(fused=fused))
    assert {sim.step().outcome for _ in range(200)} == {Outcome.CONVERGED}
