"""Steps that Newton's plain iteration does not do: dry friction, further tries, projections that end too soon."""

from collections import Counter

import numpy as np
import pytest

import rtmbs
from bench.measures.friction import FRICTION, chain, slider, wheel
from rtmbs import Outcome, PenaltyTrapezoidal, Simulation, library
from rtmbs.integrators.newton import MOST_BY_SLOPE, MOST_EVALUATIONS
from rtmbs.integrators.settings import MOST_TRIES
from rtmbs.simulation.running import retry

SMOOTHED = 1e-4


@pytest.mark.parametrize("h", [1e-3, 1e-2])
@pytest.mark.parametrize("model", [slider, wheel, chain])
def test_dry_friction_runs(model, h):
    """Smoothed within 1e-4 m/s (rad/s): every step is taken, one in 100 in parts at most."""
    result = Simulation(model(SMOOTHED).compile(), h=h).run(2.0)
    assert set(result.outcomes) == {"CONVERGED"}
    assert result.warnings["taken by a further try"] > 0
    assert result.warnings.get("taken in parts", 0) <= 0.01 * len(result)


@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_a_slider_stops_where_coulomb_stops_it(h):
    """1 m/s against mu m g: at v^2 / (2 mu g), but for what one step may add."""
    result = Simulation(slider(SMOOTHED, stiffness=0.0).compile(), h=h).run(1.0)
    assert result["rail.displacement"][-1] == pytest.approx(1.0 / (2.0 * FRICTION * 9.81), abs=1.0 * h + 1e-3)
    assert abs(result["rail.rate"][-1]) < SMOOTHED


def test_a_step_that_needs_help_says_what_helped():
    sim = Simulation(slider(SMOOTHED).compile(), h=1e-2)
    reports = [sim.step() for _ in range(200)]
    helped = [report for report in reports if report.tries]
    assert helped
    assert all(report.outcome is Outcome.CONVERGED for report in reports)
    for report in helped:
        assert len(report.tried) == report.tries <= MOST_TRIES
        assert report.tried[-1] in str(report)
        assert report.iterations <= report.evaluations <= 8 + 4 * MOST_EVALUATIONS + MOST_BY_SLOPE
    assert all(report.evaluations == report.iterations for report in reports if not report.tries)
    assert Simulation(slider(SMOOTHED).compile(), h=1e-2).run(2.0).warnings["taken by a further try"] == len(helped)


def test_a_step_in_parts_says_so():
    sim = Simulation(
        library.build("crank_rocker").compile(), h=0.3, method=PenaltyTrapezoidal(max_iterations=6, tries=0)
    )
    result = sim.run(0.6)
    assert result.warnings["taken in parts"] >= 1
    assert len(result) == 3
    again = Simulation(
        library.build("crank_rocker").compile(), h=0.3, method=PenaltyTrapezoidal(max_iterations=6, tries=0)
    )
    report = retry(again, again.step(), "halve", 6)
    assert report.parts in (2, 4, 8)
    assert f"in {report.parts} parts" in str(report)
    assert report.t == 0.3


def test_fixed_iterations_keep_their_work():
    """However hard the step, so many residuals at most and no more."""
    for most in (2, 3, 5, 8):
        sim = Simulation(
            slider(SMOOTHED).compile(), h=1e-2, method=PenaltyTrapezoidal(max_iterations=most, fixed_iterations=True)
        )
        reports = [sim.step() for _ in range(200)]
        assert all(report.evaluations <= most for report in reports)
        assert all(report.outcome.accepted for report in reports)
    plain, helped = (
        Simulation(
            slider(SMOOTHED).compile(),
            h=1e-2,
            method=PenaltyTrapezoidal(max_iterations=8, fixed_iterations=True, tries=tries),
        )
        for tries in (0, 5)
    )
    unfinished = [sum(sim.step().outcome is Outcome.UNFINISHED for _ in range(200)) for sim in (plain, helped)]
    assert unfinished[1] < unfinished[0]


# ----------------------------------------------------------------------------------------------- truthful projections


@pytest.mark.parametrize("fused", [True, False])
def test_projections_that_end_too_soon_are_no_success(fused):
    """A02 at 10 ms in its singular poses: some steps leave accelerations of loops, and say so; rows say the same.

    No reaction jumps there, and samples of these steps are marked.
    """
    sim = Simulation(library.build("windows", n=2).compile(), h=1e-2, method=PenaltyTrapezoidal(fused=fused))
    outcomes = [sim.step() for _ in range(600)]
    left = [report for report in outcomes if report.outcome is Outcome.NEAR_SINGULAR]
    doubtful = [k for k, report in enumerate(outcomes) if report.outcome is not Outcome.CONVERGED]
    assert left
    usual = np.median([report.acceleration_violation for report in outcomes])
    assert all(report.acceleration_violation > 1e3 * usual for report in left)
    whole = Simulation(library.build("windows", n=2).compile(), h=1e-2, method=PenaltyTrapezoidal(fused=fused)).run(6.0)
    assert np.array_equal(np.flatnonzero(whole["cut_0.reaction_doubtful"][:, 0] >= 2.0) - 1, doubtful)
    assert max(np.abs(whole[f"cut_{j}.reaction"]).max() for j in (0, 1)) < 400.0
    assert whole.outcomes == Counter(report.outcome.name for report in outcomes)


@pytest.mark.parametrize("weight", ["tangent", "mass"])
@pytest.mark.parametrize("fused", [True, False])
def test_a_singular_pose_takes_no_speed(fused, weight):
    """A02 turns on through its singular poses, its posts slowest where it stands; either weight projects its rates."""
    sim = Simulation(
        library.build("windows", n=2).compile(),
        h=1e-2,
        method=PenaltyTrapezoidal(fused=fused, projection_metric=weight),
    )
    reports, slowest = [], np.inf
    for _ in range(600):
        reports.append(sim.step())
        slowest = min(slowest, np.abs(sim.state.zd).max())
    assert any(report.outcome is Outcome.NEAR_SINGULAR for report in reports)
    assert slowest > 0.999


@pytest.mark.parametrize("name", ["fourbar", "crank_rocker", "bricard", "governor", "slider_crank"])
def test_ordinary_runs_are_finished(name):
    options = {"ny": 4, "nz": 10} if name == "fourbar" else {}
    result = Simulation(library.build(name, **options).compile(), h=2e-3).run(0.4)
    assert result.outcomes == {"CONVERGED": 200}
    assert result.warnings == {}


def test_further_tries_end_near_their_predictor():
    """What a damped try finds far from where constant accelerations lead is not believed."""
    from rtmbs.integrators.newton import (
        FAR,
        too_far,
    )

    ones, zero = np.ones(2), np.zeros(2)
    assert not too_far(0.1, 0.1 * ones, ones, zero, ones)
    assert too_far(0.1, (0.1 + 1.01 * FAR) * ones, ones, zero, ones)
    assert too_far(0.1, np.full(2, np.nan), ones, zero, ones)
    assert rtmbs.Simulation is Simulation
