"""Pacing on a clock of our own: exact, and without waiting."""

import gc

import numpy as np
import pytest

from rtmbs.simulation.pacing import Pacer, paced, quiet_collector

TICK = 1e-4


class Clock:
    """Time that passes by being slept, worked, or looked at while spinning."""

    def __init__(self):
        self.now = 100.0
        self.slept = 0.0
        self.tick = 0.0
        self.oversleep = 0.0

    def read(self):
        self.now += self.tick
        return self.now

    def sleep(self, seconds):
        self.now += seconds + self.oversleep
        self.slept += seconds


@pytest.fixture
def clock():
    return Clock()


def pacer_on(clock, period=0.01, **options):
    return Pacer(period, clock=clock.read, sleep=clock.sleep, **options)


def test_sleeps_up_to_the_spin_and_spins_to_the_deadline(clock):
    pacer = pacer_on(clock, spin=1e-3)
    clock.tick = TICK
    start = clock.now
    assert pacer.wait() == 0.0
    assert clock.slept == pytest.approx(0.009, abs=3 * TICK)
    assert start + 0.01 <= clock.now <= start + 0.01 + 3 * TICK
    assert pacer.punctuality().missed == 0


def test_deadlines_do_not_drift(clock):
    pacer = pacer_on(clock, spin=0.0)
    start = clock.now
    for _ in range(1000):
        clock.now += 0.004  # work
        clock.tick = TICK
        pacer.wait()
        clock.tick = 0.0
    assert clock.now == pytest.approx(start + 10.0, abs=3 * TICK)


def test_a_late_loop_is_counted_and_catches_up(clock):
    pacer = pacer_on(clock, spin=0.0)
    clock.now += 0.025
    assert pacer.wait() == pytest.approx(0.015)
    assert pacer.wait() == pytest.approx(0.005)
    clock.tick = TICK
    assert pacer.wait() == 0.0
    punctuality = pacer.punctuality()
    assert (punctuality.deadlines, punctuality.missed, punctuality.moved) == (3, 2, 0)
    assert punctuality.max_lateness == pytest.approx(0.015)
    assert punctuality.mean_lateness == pytest.approx(0.02 / 3, abs=3 * TICK)
    assert "2 missed" in str(punctuality)


def test_a_loop_far_behind_gets_new_deadlines(clock):
    pacer = pacer_on(clock, spin=0.0, backlog=5)
    clock.now += 1.0
    assert pacer.wait() == pytest.approx(0.99)
    now = clock.now
    clock.tick = TICK
    assert pacer.wait() == 0.0
    assert clock.now == pytest.approx(now + 0.01, abs=3 * TICK)
    assert pacer.punctuality().moved == 1


def test_restart_forgets(clock):
    pacer = pacer_on(clock)
    clock.now += 3.0
    pacer.wait()
    pacer.restart()
    punctuality = pacer.punctuality()
    assert (punctuality.deadlines, punctuality.missed, punctuality.mean_lateness) == (0, 0, 0.0)
    assert "0 deadlines" in str(punctuality)


@pytest.mark.parametrize("period", [0.0, -1.0, float("nan"), float("inf")])
def test_a_period_that_is_no_duration_is_refused(period):
    with pytest.raises(ValueError, match="period"):
        Pacer(period)


def test_on_the_real_clock_no_wait_returns_early():
    import time

    pacer = Pacer(2e-3)
    start = time.perf_counter()
    for _ in range(5):
        pacer.wait()
    assert time.perf_counter() - start >= 0.0099


# ---------------------------------------------------------------------------------------------- percentiles, paced runs


def test_percentiles_are_those_of_every_wait(clock):
    pacer = pacer_on(clock, spin=0.0)
    lates = [0.001 * (k % 7) for k in range(50)]
    for late in lates:
        clock.oversleep = late
        pacer.wait()
    found = pacer.punctuality()
    np.testing.assert_allclose(np.sort(pacer.lateness()), np.sort(lates), atol=1e-9)
    expected = np.percentile(lates, (50.0, 99.0, 99.9))
    np.testing.assert_allclose((found.p50, found.p99, found.p999), expected, atol=1e-9)
    assert found.max_lateness == pytest.approx(0.006, abs=1e-9)
    for word in ("p50", "p99", "p99.9"):
        assert word in str(found)


def test_only_the_last_waits_are_kept(clock, monkeypatch):
    monkeypatch.setattr("rtmbs.simulation.pacing.KEPT", 4)
    pacer = pacer_on(clock, spin=0.0)
    for k in range(10):
        clock.oversleep = 0.001 * k
        pacer.wait()
    np.testing.assert_allclose(np.sort(pacer.lateness()), (0.006, 0.007, 0.008, 0.009), atol=1e-9)
    assert pacer.punctuality().deadlines == 10


def test_a_paced_run_times_its_work_and_goes_on_counting(clock):
    pacer = pacer_on(clock, spin=0.0)

    def work():
        clock.now += 0.004

    durations = paced(work, pacer, 5)
    np.testing.assert_allclose(durations, 0.004, atol=3 * TICK)
    clock.now += 100.0  # a pause is no backlog
    paced(work, pacer, 3)
    found = pacer.punctuality()
    assert (found.deadlines, found.missed, found.moved) == (8, 0, 0)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_and_is_as_before_afterwards(enabled):
    was, frozen = gc.isenabled(), gc.get_freeze_count()
    try:
        gc.enable() if enabled else gc.disable()
        with quiet_collector():
            assert not gc.isenabled()
            assert gc.get_freeze_count() > frozen
        assert gc.isenabled() is enabled
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable() if was else gc.disable()
