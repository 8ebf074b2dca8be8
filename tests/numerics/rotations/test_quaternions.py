"""Rotation vectors and their rates, against differences of rotations."""

import numpy as np
import pytest

from rtmbs.numerics.rotations.quaternions import body_rates, turn_between, turned, vector_rates

STEP = 1e-5


@pytest.mark.parametrize("size", [0.0, 1e-4, 0.0999, 0.1001, 0.3, 1.0, 3.0])
def test_rates_are_those_of_the_rotation_and_back(size):
    rng = np.random.default_rng(int(1e4 * size))
    d = rng.normal(size=(20, 3))
    d *= size / np.linalg.norm(d, axis=1, keepdims=True)
    rate, second = rng.normal(size=(2, 20, 3))
    w, wd = body_rates(d, rate, second)
    found = vector_rates(d, w, wd)
    assert np.abs(found[0] - rate).max() < 1e-13
    assert np.abs(found[1] - second).max() < 1e-12

    def later(t):
        return d + rate * t + 0.5 * second * t * t

    one = np.broadcast_to(np.eye(3), (20, 3, 3))
    difference = turn_between(turned(one, later(-STEP)), turned(one, later(STEP))) / (2.0 * STEP)
    assert np.abs(difference - w).max() < 1e-8
    ahead, behind = (body_rates(later(t), rate + t * second, second)[0] for t in (STEP, -STEP))
    assert np.abs((ahead - behind) / (2.0 * STEP) - wd).max() < 1e-8


def test_turns_come_back():
    d = np.random.default_rng(3).normal(size=(50, 3))
    d /= np.maximum(np.linalg.norm(d, axis=1, keepdims=True) / 3.0, 1.0)
    R = turned(np.broadcast_to(np.eye(3), (50, 3, 3)), np.random.default_rng(4).normal(size=(50, 3)))
    assert np.abs(turn_between(R, turned(R, d)) - d).max() < 1e-12
