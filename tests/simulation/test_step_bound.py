"""A run that would need too many steps says so early, and a stretch of small steps does not end it."""

import pytest

from rtmbs.errors import InputError
from rtmbs.simulation.step_choice import StepBound


def test_a_hopeless_run_ends_after_a_hundredth_of_its_steps():
    bound = StepBound(1000, 1e-6, 1.0)
    for tried in range(11):
        bound.check(tried, 0.0, 1e-9, "x")
    with pytest.raises(InputError, match=r"asks for about 1e\+09 steps to t_end = 1 s.*most_steps = 1000"):
        bound.check(11, 0.0, 1e-9, "the error of 'x'")


def test_a_stretch_of_small_steps_passes():
    bound = StepBound(1000, 1e-6, 1.0)
    for tried in range(100):
        bound.check(tried, 0.0, 1e-3 / 1.5, "x")
    bound.check(100, 0.5, 1e-2, "x")
    bound.check(340, 0.6, 4e-4, "x")


def test_no_run_tries_more_than_it_may():
    bound = StepBound(1000, 1e-6, 1.0)
    for tried in range(991):
        bound.check(tried, 0.0, 1e-1, "x")
    bound.within = 999
    with pytest.raises(InputError, match="a larger most_steps"):
        bound.check(1000, 0.0, 1e-1, "x")
