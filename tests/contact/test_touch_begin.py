"""Contacts with friction that begin within a step, against equations of their own integrated from touch to touch."""

from dataclasses import replace

import numpy as np
import pytest

import rtmbs
from bench.touch_begin import HingedArm, TwoBalls, UnevenBall, errors
from rtmbs.ad import no_seats

STEPS, PHASES = (40, 80), 4


@pytest.mark.parametrize(
    ("case", "most"),
    [
        (UnevenBall(4), 3.5e-5),
        (UnevenBall(6), 2e-6),
        (HingedArm(2), 1e-4),
        (TwoBalls(2), 4e-6),
        (UnevenBall(4, in_set=True), 3.5e-5),
        (TwoBalls(2, in_set=True), 4e-6),
    ],
    ids=["uneven ball, linear", "uneven ball, Hertz", "arm in millimetres", "two balls", "ball of a set", "set"],
)
def test_touches_within_a_step_keep_order_two(case, most):
    """Errors were 2.5e-4, 3e-4 and 7e-4 of the first and third, and fell with h."""
    found = errors(case, STEPS, PHASES)
    order = np.log(found[0] / found[1]) / np.log((2 * STEPS[1] + PHASES - 1) / (2 * STEPS[0] + PHASES - 1))
    assert order > 1.6
    assert found[1] < most


@pytest.mark.parametrize("in_set", [False, True])
def test_both_forms_of_the_step_begin_bristles_alike(in_set):
    """The compiled and the readable step, through a touch and the steps behind it."""
    case = UnevenBall(4, in_set)
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


def test_contacts_without_a_lane_have_the_same_bytes():
    """Where too many begin at once, the rates of all laws are evaluated."""
    case, ends = TwoBalls(1), []
    system = case.system()
    laws = system.tables.laws
    none = laws._replace(begins=no_seats(laws.begins.program))
    for one in (system, replace(system, tables=system.tables._replace(laws=none))):
        sim = rtmbs.Simulation(one, h=case.end / 40, method=rtmbs.TRBDF2())
        sim.run(case.end)
        ends.append(b"".join(part.tobytes() for part in (sim.state.z, sim.state.zd, sim.state.s, sim.state.sd)))
    assert np.abs(sim.state.z).max() > 0.0
    assert ends[0] == ends[1]
