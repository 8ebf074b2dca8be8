"""Pacing on a clock of our own: exact, and without waiting."""

import pytest

from rtmbs.pacing import Pacer

TICK = 1e-4


class Clock:
    """Time that passes by being slept, worked, or looked at while spinning."""

    def __init__(self):
        self.now = 100.0
        self.slept = 0.0
        self.tick = 0.0

    def read(self):
        self.now += self.tick
        return self.now

    def sleep(self, seconds):
        self.now += seconds
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
