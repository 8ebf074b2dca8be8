"""Order two in positions, rates and accelerations, and what must go wrong when a part of the method is missing."""

from itertools import pairwise

import numpy as np
import pytest

from bench.measures import orders, work
from bench.measures.mechanisms import five_bar
from bench.measures.orders import LEVELS, PROBLEMS, STEPS, errors
from bench.measures.planar import planar_motion
from rtmbs import PenaltyTrapezoidal, Simulation, library
from rtmbs.library import references
from tests.cases import quick, spread

BAND = (1.9, 2.5)
BROKEN = 1.4  # an order below this is no order two
HIDDEN = ("stacked 2 x 5", "heavy top")  # nothing to project: parallelograms hide it (METHODS 1.8), the top has no loop

BALANCED = ("crank-rocker", "slider-crank", "stacked 2 x 5")  # loops whose energy says how fast they move


def within(order):
    return BAND[0] <= order <= BAND[1]


def all_within(slopes):
    """Positions may be of order three: one degree of freedom and its balance of energy (METHODS 1.7)."""
    return all(within(order) or (level == "position" and 2.9 < order < 3.5) for level, order in slopes.items())


@pytest.mark.parametrize("name", PROBLEMS)
def test_order_two(name):
    found = errors(PROBLEMS[name])
    assert all_within(found.slopes), (found.slopes, found.rms)


@pytest.mark.parametrize("name", quick(PROBLEMS, "stacked 2 x 5", "slider-crank"))  # the top has nothing to project
def test_order_two_with_the_mass_metric(name):
    found = errors(PROBLEMS[name], projection_metric="mass")
    assert all_within(found.slopes), (found.slopes, found.rms)


@pytest.mark.slow
def test_the_work_for_an_error_at_4_by_40():
    """Steps of 40 to 1.25 ms: order two, and four by extrapolation, as the table of docs/performance.md says."""
    plain, extrapolated = work.ladders(halvings=5)
    for ladder, order in ((plain, 2.0), (extrapolated, 4.0)):
        (above, _), (below, _) = ladder[-2:]
        assert np.log2(above / below) == pytest.approx(order, abs=0.2), ladder
    said = [line.strip("| ").split(" | ") for line in work.PAGE.read_text().split(work.NAME)[2].splitlines()]
    table = {float(line[0]): [float(cell) for cell in line[1:]] for line in said if line[0][:2] == "1e"}
    assert work.work_for(1e-3, plain) == pytest.approx(table[1e-3][0], rel=0.02)
    assert work.work_for(1e-6, extrapolated) == pytest.approx(table[1e-6][1], rel=0.05)
    assert np.isnan(work.work_for(1e-9, plain))


def test_uneven_loops_win_one_order_by_extrapolation():
    """Rates are projected at one end of a step only, so errors have odd powers from the third on."""
    system = library.build("crank_rocker").compile()
    ends = []
    for k in range(5):
        sim = Simulation(system, h=1e-2 / 2**k, method=PenaltyTrapezoidal(hold_energy=False))
        sim.run(0.5)
        ends.append(sim.state.z)
    better = [(4.0 * fine - coarse) / 3.0 for coarse, fine in pairwise(ends)]
    steps = [np.abs(fine - coarse).max() for coarse, fine in pairwise(better)]
    assert np.log2(steps[0] / steps[-1]) / (len(steps) - 1) == pytest.approx(3.0, abs=0.3), steps


def test_the_top_turns_through_every_orientation():
    times = np.linspace(0.0, PROBLEMS["heavy top"].t_end, 81)
    turned = orders.matrices(references.top(times).quaternion)
    for axis in range(3):
        assert turned[:, axis, axis].min() < -0.9, "each of its axes points the opposite way at some time"


@pytest.mark.parametrize("name", spread([name for name in PROBLEMS if name not in HIDDEN], 1))
def test_without_acceleration_projection_accelerations_lose_their_order(name):
    found = errors(PROBLEMS[name], project_accelerations=False)
    assert found.slopes["acceleration"] < BROKEN
    assert all_within({level: found.slopes[level] for level in ("position", "rate")})


@pytest.mark.parametrize("name", spread([name for name in PROBLEMS if name not in HIDDEN], 1))
def test_without_velocity_projection_the_loops_drift_in_velocity(name):
    kept, lost = errors(PROBLEMS[name]), errors(PROBLEMS[name], project_velocities=False)
    assert np.all(kept.velocity_violation <= kept.velocity_bound)
    assert np.all(lost.velocity_violation > 1e3 * lost.velocity_bound)
    assert all(within(order) for order in lost.slopes.values()), lost.slopes


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in BALANCED])
def test_a_zero_first_acceleration_costs_every_order(name):
    found = errors(PROBLEMS[name], zero_start=True)
    assert all(order < BROKEN for order in found.slopes.values()), found.slopes


@pytest.mark.parametrize("name", BALANCED)
def test_the_balance_gives_back_what_a_zero_first_acceleration_costs(name):
    slopes = errors(PROBLEMS[name], zero_start=True).slopes
    assert all(order > 1.8 for order in slopes.values()), slopes


def test_the_two_references_agree():
    times = np.linspace(0.0, 1.0, 11)
    reduced = references.crank_rocker(times, rate=6.0)
    cartesian = planar_motion(library.build("crank_rocker", rate=6.0), times)
    for level, ours, theirs in zip(LEVELS, (cartesian.q, cartesian.qd, cartesian.qdd), reduced, strict=True):
        offset = orders.START if level == "position" else 0.0
        np.testing.assert_allclose(ours["crank"][:, 2] + offset, theirs[:, 0], atol=1e-9, err_msg=level)


def test_the_driven_loop_is_driven():
    motion = planar_motion(five_bar(), np.linspace(0.0, 1.0, 11))
    np.testing.assert_allclose(motion.q["near"][:, 2], 0.5 * np.sin(4.0 * np.linspace(0.0, 1.0, 11)), atol=1e-9)
    assert STEPS == (10e-3, 5e-3, 2.5e-3, 1.25e-3)
