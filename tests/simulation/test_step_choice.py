"""How the next step follows from the error of the last one."""

import math

import pytest

from rtmbs import library
from rtmbs.simulation.step_choice import GROW, SHRINK, UNJUDGED, StepChoice


@pytest.fixture
def choice():
    return StepChoice(library.build("pendulum").compile(), 1e-6, 0.0, 2.0)


def test_factors_are_bounded_and_fall_with_the_root_of_the_error(choice):
    assert choice.factor(0.0) == GROW
    assert choice.factor(1e9) == SHRINK
    assert choice.factor(math.nan) == SHRINK
    assert choice.factor(math.inf) == SHRINK
    assert choice.factor(1.0) / choice.factor(4.0) == pytest.approx(2.0)
    assert choice.factor(1.0) < 1.0


def test_errors_that_shrink_make_the_step_shrink(choice):
    h = 1e-3
    for _ in range(5):
        smaller = choice.after_refusal(0.5, h, 4.0 * (h / 1e-3) ** 2, 2e-3)
        assert smaller < 0.71 * h
        assert choice.unjudged == 0
        h = smaller


def test_errors_that_do_not_shrink_with_the_step_are_passed_over_in_loops():
    choice = StepChoice(library.build("fourbar").compile(), 1e-6, 0.0, 2.0)
    h = choice.after_refusal(0.5, 1e-3, 4.0, 2e-3)
    assert choice.unjudged == 0
    assert choice.after_refusal(0.5, h, 4.0 * 1e-3 / h, 2e-3) == 2e-3
    assert choice.unjudged == UNJUDGED


def test_a_tree_has_no_steps_off_its_loops(choice):
    h = choice.after_refusal(0.5, 1e-3, 4.0, 2e-3)
    assert choice.after_refusal(0.5, h, 4.0 * 1e-3 / h, 2e-3) < h
    assert choice.unjudged == 0


def test_halves_that_disagree_let_steps_be_judged_after_all():
    choice = StepChoice(library.build("fourbar").compile(), 1e-6, 0.0, 2.0)
    choice.unjudged = UNJUDGED
    choice.excuse(0.5e-6)
    assert choice.unjudged == UNJUDGED
    choice.excuse(0.6e-6)
    assert choice.unjudged == 0
    assert choice.excused < 0.0


def test_refusals_at_other_times_are_not_compared(choice):
    choice.after_refusal(0.5, 1e-3, 4.0, 2e-3)
    choice.after_refusal(0.6, 5e-4, 8.0, 2e-3)
    assert choice.unjudged == 0
