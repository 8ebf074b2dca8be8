"""Corrections as long as the step: refused with a sentence, and cured by a shorter step."""

import numpy as np
import pytest

from bench.methods.problems import random_linkage
from rtmbs.dae import RK4, AdamsBashforthMoulton, HalfExplicit, MotionError, RungeKutta, SolveIVP, integrate
from rtmbs.dae.contract import Point
from rtmbs.dae.dynamics import demand_small_correction
from rtmbs.formulations import QR, SVD, NullSpace, Partitioning
from tests.cases import spread
from tests.dae.motions import start_of
from tests.formulations.systems import system_of

GUESS = np.array([1.2, 2.0]), np.array([3.0, 0.5])
OLD = Point(1.0, np.array([1.0, 2.0]), np.array([3.0, 0.0]), np.zeros(2), np.zeros(1))
METHODS = [
    *[RungeKutta(RK4, form()) for form in (Partitioning, QR, SVD, NullSpace)],
    AdamsBashforthMoulton(4),
    HalfExplicit(),
]


@pytest.mark.parametrize(
    ("q", "v", "says"),
    [
        ([0.0, 0.21], [0.0, 0.0], "correction of q at t = 1.1 is 0.21 and the step itself is 0.2"),
        ([0.0, 0.0], [0.0, -0.9], "correction of v at t = 1.1 is 0.9 and the step itself is 0.5.* h = 0.1 s"),
        ([np.nan, 0.0], [0.0, 0.0], "correction of q at t = 1.1 is nan"),
        ([np.inf, 0.0], [0.0, 0.0], "correction of q at t = 1.1 is inf"),
    ],
)
def test_a_correction_longer_than_the_step_is_refused(q, v, says):
    with pytest.raises(MotionError, match=says):
        demand_small_correction(OLD, GUESS, (GUESS[0] + q, GUESS[1] + v), 1.1)


def test_a_shorter_correction_passes():
    right = GUESS[0] + np.array([0.0, 0.19]), GUESS[1] + np.array([0.49, 0.0])
    assert demand_small_correction(OLD, GUESS, right, 1.1) is right


def test_rounding_of_large_coordinates_is_no_alarm():
    """A step at rest, 1000 km from the origin: 1e-8 of the coordinate, 1 cm, is what rounding may correct."""
    rest = np.array([1e6, 0.0]), np.zeros(2)
    old = Point(1.0, *rest, np.zeros(2), np.zeros(1))
    right = rest[0] + np.array([0.0, 0.009]), rest[1]
    assert demand_small_correction(old, rest, right, 1.1) is right
    with pytest.raises(MotionError, match=r"correction of q at t = 1\.1 is 0\.011 and the step itself is 0;"):
        demand_small_correction(old, rest, (rest[0] + np.array([0.0, 0.011]), rest[1]), 1.1)


@pytest.mark.parametrize(
    "method", METHODS, ids=lambda method: f"{type(method).__name__}-{getattr(method, 'formulation', '')}"
)
def test_rest_and_steady_motion_are_no_alarm(method):
    """A step that moves nothing, or that changes no rate, is corrected by rounding."""
    for q, v in ((np.array([0.0, -1.0]), np.zeros(2)), (np.array([0.0, 1.0]), np.zeros(2))):
        found = integrate(system_of("pendulum in x, y"), method, q, v, 0.2, 1e-2)
        np.testing.assert_allclose(found.q, [q] * 21, atol=1e-12)
    system, q, v = start_of("four-bar in joints")
    if not isinstance(method, HalfExplicit):
        integrate(system, method, q, 1e-9 * v, 0.05, 1e-2)


@pytest.mark.parametrize("seed", [5, 6, 26])
def test_a_whip_ends_the_motion_with_a_sentence(seed):
    """Accelerations rise to 50000 rad/s^2 for some milliseconds; steps of 10 ms lose the motion."""
    system, q, v = random_linkage(seed)
    with pytest.raises(MotionError, match=r"the correction of v .*take a step shorter|stays open.*a shorter") as caught:
        integrate(system, RungeKutta(RK4, Partitioning()), q, v, 1.0, 1e-2)
    assert np.abs(caught.value.result.v).max() < 200.0  # [rad/s]; 1e5 to 1e8 unless corrections are judged


@pytest.mark.parametrize("seed", spread([5, 6, 26], 1))
@pytest.mark.parametrize("method", METHODS[1:4], ids=lambda method: type(method.formulation).__name__)
def test_a_lost_motion_is_never_returned(method, seed):
    """The least change stays shorter than the step that ran away; the next step then overflows."""
    system, q, v = random_linkage(seed)
    with pytest.raises(MotionError, match="stopped after t = 0"):
        integrate(system, method, q, v, 1.0, 1e-2)


@pytest.mark.slow
def test_a_shorter_step_follows_the_whip():
    """Against DOP853: the error falls from 1.2 rad at 5 ms with the order of the method."""
    system, q, v = random_linkage(26)
    right = integrate(system, SolveIVP("DOP853", Partitioning(), rtol=1e-10, atol=1e-12), q, v, 0.9, 0.9).q[-1]
    found = [
        np.abs(integrate(system, RungeKutta(RK4, Partitioning()), q, v, 0.9, h).q[-1] - right).max()
        for h in (2.5e-3, 1.25e-3)
    ]
    assert found[0] < 0.2
    assert found[1] < found[0] / 8
