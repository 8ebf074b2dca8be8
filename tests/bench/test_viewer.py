"""The bench of the viewer counts step times in bins, and says whether memory stayed where it was."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from bench.viewer import BINS, FLAT, StepTimes, grown, memory


class Steps:
    """A connection whose frames show the last 64 of some step times."""

    def __init__(self, times):
        self.times, self.taken = times, 0

    def latest(self):
        last = np.full(64, np.nan)
        known = self.times[max(self.taken - 64, 0) : self.taken]
        last[len(last) - len(known) :] = known
        return SimpleNamespace(steps_taken=self.taken, step_times=last, late_p50=2e-3, late_p99=5e-3)


def test_percentiles_are_those_of_all_steps_to_a_percent():
    times = np.random.default_rng(3).lognormal(-7.0, 0.7, 4000)
    steps = Steps(times)
    counted = StepTimes(steps)
    for taken in np.cumsum([7, 50, 64, *[33] * 116]):
        steps.taken = min(int(taken), len(times))
        counted.take()
    assert counted.counts.sum() == steps.taken
    for q in (1, 50, 99):
        assert counted.percentile(q) == pytest.approx(np.percentile(times[: steps.taken], q), rel=0.015)
    assert counted.late() == {"p50": pytest.approx(2.0, rel=0.01), "p99": pytest.approx(5.0, rel=0.01)}


def test_times_beyond_the_bins_are_in_the_outer_ones():
    counted = StepTimes(Steps(np.zeros(0)))
    assert counted.bins(np.array([0.0, 1e-9, 1e9])).tolist() == [0, 0, BINS - 1]


def test_growth_is_told_in_words():
    assert grown({"window": 100.0}, {"window": 100.0 + FLAT}) == "flat: window +5.0 MB"
    assert grown({"window": 100.0, "session": 50.0}, {"window": 99.0, "session": 58.8}).startswith(
        "not flat: window -1.0"
    )
    assert grown({}, {}).startswith("not measured")


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc here")
def test_memory_grows_with_what_a_process_holds():
    before = memory(None)["window"]
    held = np.ones(5_000_000)
    assert memory(None)["window"] - before == pytest.approx(held.nbytes / 1e6, abs=8.0)
