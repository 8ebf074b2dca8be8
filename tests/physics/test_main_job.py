"""The main job at its full size: stacked and parallel 4 x 40 against the exact reference. Wall times are not tested."""

from bench.measures.main_job import measure


def check(found):
    assert found["error_theta_max"] <= 2e-4
    assert found["newton_iterations"] <= 410
    assert found["max_position_violation"] <= 1e-6
    assert found["max_velocity_violation"] <= 1e-9
    assert found["dense_steps"] == 0


def test_stacked():
    found = measure()
    check(found)
    assert (found["bodies"], found["coordinates"], found["degrees_of_freedom"]) == (361, 360, 40)


def test_stacked_with_the_fixed_penalty_of_the_paper():
    found = measure(penalty=None, alpha=1e9)
    check(found)
    assert found["sweeps"] <= 200 * (10 + 10), "at most 10 for velocities and 10 for accelerations"


def test_halving_the_step_quarters_the_error():
    coarse, fine = (measure(h=h)["error_theta_max"] for h in (5e-3, 2.5e-3))
    assert 3.8 < coarse / fine < 4.2


def test_parallel():
    found = measure(layout="parallel")
    assert found["error_theta_max"] < 1e-5
    assert found["newton_iterations"] <= 410
    assert found["max_position_violation"] <= 1e-6
    assert found["max_velocity_violation"] <= 1e-9
