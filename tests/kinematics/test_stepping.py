"""A pose on the other branch of a dead centre is no answer, however well it meets the equations."""

from itertools import pairwise

import numpy as np
import pytest

import rtmbs
from bench.campaigns.kinematics import SAMPLES, T_END, driven
from rtmbs.kinematics import Analysis
from rtmbs.kinematics.continuation import SHARE, misses
from rtmbs.model import ConstantRate, Function, Revolute

TIMES = np.linspace(0.0, T_END, SAMPLES)
FINER = 20


def bar(profile):
    """Return one bar whose hinge is driven."""
    model = rtmbs.Model("bar", gravity=(0.0, 0.0, 0.0))
    model.add_body("bar", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1.0, 0.0, 0.0))
    model.add_joint("hinge", Revolute((0.0, 0.0, 1.0)), "ground", "bar", point=(0.0, 0.0, 0.0))
    model.add_driver("turn", profile, joint="hinge")
    return model


@pytest.mark.parametrize("seed", [15, 536])
def test_samples_far_apart_stay_on_the_branch_of_samples_close_together(seed):
    model = driven(seed)
    analysis = Analysis(model)
    coarse = analysis.run_at(TIMES)
    fine = analysis.run_at(np.linspace(0.0, T_END, (SAMPLES - 1) * FINER + 1))
    assert coarse.counters.refined > 0  # Newton alone converges to another branch
    np.testing.assert_allclose(coarse.samples.q, fine.samples.q[::FINER], rtol=0, atol=1e-9)
    np.testing.assert_allclose(coarse.samples.qd, fine.samples.qd[::FINER], rtol=0, atol=1e-7)


@pytest.mark.parametrize("turn", [0.01, 0.5, 1.5])
def test_the_miss_of_a_turn_at_constant_rate(turn):
    analysis = Analysis(bar(ConstantRate(turn)))
    samples = analysis.run(0.0, 4.0, 1.0).samples
    missed, distance = misses(samples, analysis.equations.sizes())
    half = 0.5 * turn  # chord of a circle against half the sum of its end tangents
    chord = 1.0 - half / np.tan(half)
    assert np.all(missed <= chord * distance + 1e-12)
    assert np.max(missed / distance) == pytest.approx(chord, rel=0.5)
    assert chord < SHARE


def zigzag(t):
    """A rate of 1 and -1 rad/s in turns, each for 0.3 s."""
    phase = t % 0.6
    return (phase, 1.0, 0.0) if phase < 0.3 else (0.6 - phase, -1.0, 0.0)


def jump(t):
    """A jump of 0.3 rad."""
    return (0.3 if t > 0.55 else 0.0), 0.0, 0.0


@pytest.mark.parametrize("law", [zigzag, jump])
def test_corners_and_jumps_of_a_driver_are_followed_without_pieces(law):
    model = bar(Function(*(lambda t, k=k: law(t)[k] for k in range(3))))
    motion = Analysis(model).run(0.0, 1.0, 0.1)
    assert motion.counters.refined == 0
    expected = [law(t)[0] for t in motion.t]
    np.testing.assert_allclose(motion["hinge.angle"], expected, rtol=0, atol=1e-9)


def test_each_of_many_turns_within_a_sample_is_followed():
    motion = Analysis(bar(ConstantRate(50.0))).run(0.0, 1.0, 0.25)
    np.testing.assert_allclose(motion["hinge.angle"], 50.0 * motion.t, rtol=0, atol=1e-9)
    assert motion.counters.refined > 0
    assert all(b > a for a, b in pairwise(motion["hinge.angle"]))
