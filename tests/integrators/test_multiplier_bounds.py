"""What bounds the error of multipliers for nothing, and what it is compared with."""

import numpy as np
import pytest

from rtmbs.integrators.newton import (
    ENDLESS,
    FOUND,
    MISS,
    impulse_share,
    largest_acceleration,
    largest_imbalance,
    load_floors,
    share_of_floor,
    slack,
    suspicious,
    yet_to_come,
)
from rtmbs.integrators.settings import ITERATIONS, ITERATIONS_TO_TOLERANCE, OPEN, PUSHED, REMAINS, SLOWEST, STATS_SIZE
from tests.integrators.toy import settings

TWO_CLOSURES = {
    "rotation": np.array([False, False, True, False]),
    "scale": np.array([0.5, 0.5, 1.0, 0.5]),
    "mass": np.array([1.0, 2.0, 3.0, 10.0]),
    "first": np.array([True, False, False, True]),
}


def test_a_geometric_row_is_summed():
    for rate in (0.9, 0.5, 1e-6):
        rest = sum(rate**k for k in range(1, 2000))
        assert yet_to_come(rate, 1.0) == pytest.approx(rate * rest)
    assert yet_to_come(1.0, 1.0) == ENDLESS
    assert yet_to_come(0.0, 0.0) == 0.0


def test_a_multiplier_is_compared_within_its_closure_or_with_its_inertia():
    floor, lam = np.zeros(4), np.array([-8.0, 1.0, 3.0, 0.0])
    load_floors(settings(**TWO_CLOSURES), lam, 2.0, floor)
    assert floor.tolist() == [4.0, 4.0, 6.0, 5.0]
    assert share_of_floor(np.array([0.0, 0.8, -1.2, 0.5]), settings(**TWO_CLOSURES), floor) == pytest.approx(0.2)
    assert share_of_floor(np.array([0.0, np.nan, 0.0, 0.0]), settings(**TWO_CLOSURES), floor) == ENDLESS
    assert share_of_floor(np.zeros(4), settings(**TWO_CLOSURES), np.zeros(4)) == 0.0


def test_an_impulse_is_a_multiplier():
    options, alpha, violation = settings(**TWO_CLOSURES), np.full(4, 4e4), np.array([1e-3, 0.0, 0.0, 0.0])
    floor = np.ones(4)
    assert impulse_share(violation, options, alpha, floor) == pytest.approx(options.h**2 / 4.0 * 4e4 * 1e-3 * 0.5)


def test_a_force_is_compared_with_the_smallest_floor():
    assert largest_imbalance(np.array([1.0, -3.0]), settings(), np.array([2.0, 5.0])) == 1.5
    assert largest_imbalance(np.zeros(2), settings(), np.zeros(1)) == 0.0
    assert largest_imbalance(np.array([1.0, 0.0]), settings(), np.zeros(1)) == ENDLESS


def test_what_lies_below_newtons_tolerance_is_no_acceleration():
    assert largest_acceleration(settings(), 3.0, 2.0) == 9.0
    assert largest_acceleration(settings(), 0.0, 0.0) == pytest.approx(4e-9 / 1e-4)


@pytest.mark.parametrize("place", [PUSHED, REMAINS])
def test_suspicion_grows_with_what_was_pushed_and_what_remains(place):
    stats = np.zeros(STATS_SIZE)
    stats[ITERATIONS] = stats[ITERATIONS_TO_TOLERANCE] = 2.0
    assert not suspicious(settings(), stats, 1.0, 1.0, 1.0)
    stats[place] = 0.9 * MISS
    assert not suspicious(settings(), stats, 1.0, 1.0, 1.0)
    stats[place] = 1.1 * MISS
    assert suspicious(settings(), stats, 1.0, 1.0, 1.0)
    if place == PUSHED:
        assert not suspicious(settings(), stats, 1.0, 1.0, 0.0), "without stiff forces an impulse does less"


def test_loops_may_yield_by_what_the_slowest_projection_tells():
    """A pass leaves 1 / (1 + held s^2) where loops hold by s; they bend by gap / s^2, which is looked at in time."""
    options, stats, held = settings(held=2.5e5), np.zeros(STATS_SIZE), 1e-2
    stats[SLOWEST] = 1.0 / (1.0 + options.held * held**2)
    stats[OPEN] = 0.9e-3 * FOUND * held**2
    assert not slack(options, stats)
    stats[OPEN] = 1.1e-3 * FOUND * held**2
    assert slack(options, stats)
    stats[SLOWEST], stats[OPEN] = 0.0, 1e-10
    assert slack(options, stats), "without a pass nothing is known of s"
    stats[SLOWEST], stats[OPEN] = 1.0, 0.0
    assert not slack(options, stats)
