"""When observers look."""

import numpy as np
import pytest

import rtmbs
from rtmbs.simulation.observers import AtRate, Every, EveryStep


def looks(schedule, times):
    """Return the times at which a schedule that starts at 0 is due."""
    schedule.start(0.0)
    return [t for t in times if schedule.due(t)]


def test_every_step():
    assert looks(EveryStep(), [0.1, 0.2, 0.3]) == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(("h", "dt"), [(1e-3, 0.01), (1e-3, 0.0025), (5e-3, 0.1), (0.003, 0.01)])
def test_every_dt_looks_after_the_first_step_at_or_past_each_multiple(h, dt):
    times = h * np.arange(1, 5001)
    seen = looks(Every(dt), times)
    expected = [int(np.ceil(k * dt / h - 1e-6)) - 1 for k in range(1, int(times[-1] / dt + 1e-6) + 1)]
    np.testing.assert_array_equal(seen, times[expected])


def test_a_dt_shorter_than_the_step_looks_after_every_step():
    assert len(looks(Every(1e-4), 1e-3 * np.arange(1, 101))) == 100


def test_every_dt_counts_from_the_start():
    schedule = Every(0.1)
    schedule.start(0.05)
    assert [t for t in (0.1, 0.14, 0.15, 0.2, 0.25) if schedule.due(t)] == [0.15, 0.25]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_rate_of_wall_time_drops_looks_and_never_makes_up_for_them():
    clock = Clock()
    schedule = AtRate(10.0, clock)
    schedule.start(0.0)
    seen = []
    for now in np.concatenate((np.arange(0.01, 1.0, 0.01), [2.5], np.arange(2.51, 3.0, 0.01))):  # a pause of 1.5 s
        clock.now = now
        if schedule.due(0.0):
            seen.append(round(now, 2))
    assert seen[:9] == pytest.approx(np.arange(1, 10) * 0.1, abs=0.011)
    assert seen[9] == 2.5
    assert np.diff(seen).min() >= 0.08


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_an_interval_must_be_a_positive_number(value):
    with pytest.raises(rtmbs.RtmbsError, match=r"dt is .*; it must be a positive number"):
        Every(value)
    with pytest.raises(rtmbs.RtmbsError, match=r"rate is .*; it must be a positive number"):
        AtRate(value)
