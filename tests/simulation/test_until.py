"""A run that ends when a function of the Simulation says so."""

import pytest

import rtmbs
from rtmbs.errors import InputError


def pendulum():
    return rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-2)


def test_a_run_ends_behind_the_first_step_at_which_until_is_true():
    sim = pendulum()
    start = sim["pivot.angle"]
    result = sim.run(5.0, until=lambda sim: sim["pivot.angle"] * start < 0.0)
    angles = result["pivot.angle"] * start
    assert len(result) > 2
    assert angles[-1] < 0.0
    assert (angles[:-1] >= 0.0).all()
    assert sim.t == pytest.approx(result.t[-1])
    more = sim.run(sim.t + 0.1)
    assert len(more) == 11


def test_a_run_without_the_event_goes_to_its_end():
    assert pendulum().run(0.2, until=lambda sim: False).t[-1] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("until", "words"),
    [
        (3.0, "until is 3.0; it must be a function of the Simulation"),
        (lambda sim: None, "until at t = 0.01 s returned None"),
        (lambda sim: sim["pivot.angle"], "it must return True or False"),
        (lambda sim: sim["pivot.angel"], r"did you mean 'pivot.angle'"),
        (lambda sim: 1 / 0, "until at t = 0.01 s raised ZeroDivisionError: division by zero\n"),
    ],
)
def test_what_cannot_end_a_run_is_refused(until, words):
    with pytest.raises(InputError, match=words):
        pendulum().run(0.5, until=until)


def test_with_a_tolerance_events_are_exact():
    with pytest.raises(InputError, match="with a tolerance write when="):
        pendulum().run(0.5, tolerance=1e-6, until=lambda sim: True)
