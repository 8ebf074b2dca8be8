"""Contacts with friction that begin within a step, against equations of their own integrated from touch to touch."""

import numpy as np
import pytest

import rtmbs
from bench.touch_begin import HingedArm, TwoBalls, UnevenBall, errors

STEPS, PHASES = (40, 80), 4


@pytest.mark.parametrize(
    ("case", "most"),
    [(UnevenBall(4), 3.5e-5), (UnevenBall(6), 2e-6), (HingedArm(2), 1e-4), (TwoBalls(2), 4e-6)],
    ids=["uneven ball, linear", "uneven ball, Hertz", "arm in millimetres", "two balls"],
)
def test_touches_within_a_step_keep_order_two(case, most):
    """Errors were 2.5e-4, 3e-4 and 7e-4 of the first and third, and fell with h."""
    found = errors(case, STEPS, PHASES)
    order = np.log(found[0] / found[1]) / np.log((2 * STEPS[1] + PHASES - 1) / (2 * STEPS[0] + PHASES - 1))
    assert order > 1.6
    assert found[1] < most


def test_both_forms_of_the_step_begin_bristles_alike():
    """The compiled and the readable step, through a touch and the steps behind it."""
    case = UnevenBall(4)
    ends = []
    for fused in (True, False):
        sim = rtmbs.Simulation(case.system(), h=case.end / 40, method=rtmbs.TRBDF2(fused=fused))
        for _ in range(15):
            sim.step()
        ends.append(np.concatenate((sim.state.z, sim.state.zd, sim.state.s, sim.state.sd)))
    assert np.abs(sim.state.s).max() > 1e-5
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9, atol=1e-11)


def test_a_restart_within_a_touch_has_the_same_bytes():
    """Nothing of a touch is kept beside the State."""
    case = UnevenBall(5)
    whole = rtmbs.Simulation(case.system(), h=case.end / 80, method=rtmbs.TRBDF2())
    for _ in range(40):
        kept = whole.state.copy()
        whole.step()
        again = rtmbs.Simulation(whole.system, h=case.end / 80, method=rtmbs.TRBDF2())
        again.restore(kept)
        again.step()
        assert again.state.z.tobytes() == whole.state.z.tobytes()
        assert again.state.s.tobytes() == whole.state.s.tobytes()
