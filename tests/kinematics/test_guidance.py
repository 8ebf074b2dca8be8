"""Four-bars for motions with more poses than can be met, and tasks that are none."""

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.kinematics.design import (
    FourBar,
    SliderCrank,
    four_bars,
    function_generator,
    motion_generator,
    path_generator,
)


def random_poses(seed, count, turn):
    rng = np.random.default_rng(seed)
    return np.c_[rng.normal(size=(count, 2)), rng.uniform(-turn, turn, count)]


@pytest.mark.parametrize(("seed", "count", "turn"), [(5, 8, 1.5), (9, 12, 3.0)])
def test_no_motion_is_worse_than_a_coupler_at_rest(seed, count, turn):
    poses = random_poses(seed, count, turn)
    for size in (1e-3,):
        found = motion_generator(poses * [size, size, 1.0], starts=4)
        bar, places = found.mechanism, size * poses[:, :2]
        m = bar.motion(found.crank)
        distance = np.linalg.norm(m.point - places, axis=1)
        assert found.error == pytest.approx(distance.max(), rel=1e-9)
        assert found.error <= np.linalg.norm(places - places.mean(axis=0), axis=1).max() * (1.0 + 1e-9)
        apart = np.exp(1j * (m.coupler + bar.tilt - poses[:, 2]))
        lines = np.exp(1j * np.linspace(-np.pi, np.pi, 20001))  # the coupler's line in axes of a pose
        least = np.abs(np.angle(apart[:, None] / lines)).max(axis=0).min()
        assert least - 4e-4 <= found.turn_error <= turn


def test_the_motion_of_a_four_bar_in_small_units_keeps_its_turns():
    bar = FourBar(4.0, 1.0, 3.5, 2.5, point=(1.5, 1.0))
    m = bar.motion(np.linspace(0.0, 5.0, 7))
    noise = 0.01 * np.random.default_rng(1).normal(size=(7, 3))
    poses = np.c_[m.point, m.coupler] + noise
    for size in (1e-3,):
        found = motion_generator(poses * [size, size, 1.0], starts=10)
        assert found.error < 0.025 * size
        assert found.turn_error < 0.025


def test_paths_and_functions_of_few_starts_are_no_worse_than_rest():
    points = np.random.default_rng(2).normal(size=(12, 2))
    rest = np.linalg.norm(points - points.mean(axis=0), axis=1).max()
    for seed in range(3):
        assert path_generator(points, starts=1, seed=seed).error <= rest * (1.0 + 1e-9)
    wanted = np.array([0.0, 2.0, -1.0, 2.0, 0.0])
    assert function_generator(np.arange(5.0), wanted, starts=1).error <= 1.5 + 0.06


def test_tasks_that_are_none_are_told_in_one_sentence():
    for task, words in (
        (lambda: path_generator([[2.0, 3.0]] * 4), "they are all one point and must lie apart"),
        (lambda: motion_generator([[0.0, 0.0, k] for k in range(3)]), "their places are all one"),
        (lambda: motion_generator([[0.0, 0.0, np.nan], [1.0, 1.0, 1.0]]), "of finite numbers"),
        (lambda: path_generator(np.eye(3)[:, :2], starts=0), "starts is 0; it must be a whole number from 1 on"),
        (lambda: motion_generator(np.eye(3), starts=2.5), "starts is 2.5; it must be a whole number"),
        (lambda: function_generator([0, 1, 2], [0, 1, np.inf]), "they must be finite numbers"),
        (lambda: function_generator([0, 1, 2], [0, 1, 2], ground=0.0), "ground is 0.0; it must be a length"),
        (lambda: FourBar(4, 1, 3, 2.5, point=(1, 2, 3)), r"point is \(1, 2, 3\); it must be two finite numbers"),
        (lambda: FourBar(4, 1, 3, 2.5, pivot=(np.nan, 0)), "pivot is .*; it must be two finite numbers"),
        (lambda: FourBar(4, 1, 3, 2.5, tilt=np.nan), "tilt is nan; it must be a finite number"),
        (lambda: FourBar(True, 1, 1, 1), "ground is True; it must be a length above zero"),
        (lambda: SliderCrank(1, 2, np.nan), "offset is nan; it must be a finite number"),
        (lambda: SliderCrank(1, 2, point=(0, np.inf)), "point is .*; it must be two finite numbers"),
        (lambda: four_bars([[4, 1, 3, 2.5]], [0.0], points=(np.nan, 0)), "points are .*; they must be two finite"),
        (lambda: four_bars([[4, 1, 3, np.inf]], [0.0]), "rows of four lengths above zero"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            task()


def test_numbers_of_numpy_are_lengths():
    bar = FourBar(np.float32(4), np.int64(1), np.float64(3), 2.5, point=np.array([1, 2]), branch=np.int64(-1))
    assert bar == FourBar(4.0, 1.0, 3.0, 2.5, point=(1.0, 2.0), branch=-1)
    assert all(type(value) is float for value in (*bar.lengths, *bar.point))
    assert SliderCrank(np.int64(1), np.float32(3)).stroke == 2.0
