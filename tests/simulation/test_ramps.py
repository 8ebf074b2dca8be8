"""Inputs written before every step: order two for smooth signals, held or ramped, and nothing lost at jumps."""

import math

import numpy as np
import pytest

import rtmbs
from bench.measures.car import car
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.simulation.simulation import store_of
from tests.contracts.machines import everything

T_END = 0.5


def crank_rocker(torque=None):
    model = rtmbs.library.build("crank_rocker")
    model.add_force(
        "motor", rtmbs.Motor(rtmbs.Input(0.0) if torque is None else torque), joint=next(iter(model.joints))
    )
    return model.compile()


def signal(t):
    return 0.4 * math.sin(5.0 * t) + 0.1 * math.cos(9.0 * t)


def final(system, h, ramp):
    """Return z and zd at T_END, the signal written before every step."""
    sim = rtmbs.Simulation(system, h=h)
    sim.inputs["motor.torque"] = signal(0.0)
    if ramp:
        sim.inputs.ramp("motor.torque")
    for _ in range(round(T_END / h)):
        sim.inputs["motor.torque"] = signal(sim.t + (h if ramp else 0.5 * h))
        assert sim.step().outcome.accepted
    return np.concatenate((sim.state.z, sim.state.zd))


@pytest.mark.parametrize("ramp", [True, False])
def test_a_smooth_signal_is_of_order_two(ramp):
    """Ramped to its value at the end of the step, or held at that of its middle."""
    system, timed = crank_rocker(), rtmbs.Simulation(crank_rocker(signal), h=1e-4)
    timed.run(T_END)
    reference = np.concatenate((timed.state.z, timed.state.zd))
    errors = [np.abs(final(system, h, ramp) - reference).max() for h in (4e-3, 2e-3, 1e-3)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[-1] < 2e-4
    assert np.all(orders > 1.8), (errors, orders)


def test_a_ramp_is_a_function_of_time_step_by_step():
    timed, written = rtmbs.Simulation(crank_rocker(signal), h=2e-3), rtmbs.Simulation(crank_rocker(), h=2e-3)
    written.inputs["motor.torque"] = signal(0.0)
    store_of(written).settle()
    written.inputs.ramp("motor.torque")
    for _ in range(100):
        written.inputs["motor.torque"] = signal(written.t + 2e-3)
        assert written.inputs["motor.torque"] == signal(written.t + 2e-3)
        assert written.step().outcome.accepted
        assert timed.step().outcome.accepted
        np.testing.assert_allclose(written.state.u, timed.state.u, rtol=0, atol=1e-15)
    np.testing.assert_allclose(written.state.z, timed.state.z, rtol=0, atol=1e-9)
    np.testing.assert_allclose(written.state.zd, timed.state.zd, rtol=0, atol=1e-9)


def test_nothing_is_lost_at_a_jump():
    """A force that is switched between two steps: the trapezoidal rule is exact for a constant one."""
    m = rtmbs.Model("slider", gravity=(0, 0, 0))
    m.add_body("block", mass=2.0, inertia=(1, 1, 1))
    m.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), m.ground, "block")
    m.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="rail")
    sim, rate = rtmbs.Simulation(m.compile(), h=0.1), 0.0
    for force in (4.0, -2.0, 0.0, 7.0):
        sim.inputs["push.force"] = force
        assert sim["rail.acceleration"] == pytest.approx(0.5 * force, abs=1e-12)
        sim.step()
        rate += 0.1 * 0.5 * force
        assert sim["rail.rate"] == pytest.approx(rate, abs=1e-12)


def braked():
    """The crank-rocker with a stiff spring and a damper at its crank."""
    model = rtmbs.library.build("crank_rocker")
    joint = next(iter(model.joints))
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint=joint)
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=40.0, damping=3.0, angle=0.3), joint=joint)
    return model.compile()


def after_a_jump(h, settled):
    """Return z and zd behind a step that begins with a jump, whose accelerations are solved for before or in it."""
    sim = rtmbs.Simulation(braked(), h=h)
    sim.run(0.08)
    sim.inputs["motor.torque"] = 5.0
    if settled:
        assert store_of(sim).settle().before is None
    assert sim.step().outcome.accepted
    return np.concatenate((sim.state.z, sim.state.zd))


def test_a_step_answers_a_jump_to_third_order():
    """Its Newton matrix answers twice: accelerations are off by h^2 of the jump, and rates by h^3.

    In larger steps, which would leave more, it answers more often.
    """
    steps = 8e-3, 4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4
    off = np.array([np.abs(after_a_jump(h, True) - after_a_jump(h, False)).max() for h in steps])
    assert 0.0 < off[3] < 1e-7
    assert np.all(np.log2(off[3:-1] / off[4:]) > 2.6), off
    assert np.all(off[:3] < 8.0 * off[3]), off


def test_wheels_that_are_not_driven_answer_a_torque_in_time():
    """Their answers fall by half and by a quarter in turns; steps whose accelerations are solved for are the reference.

    A step that gives up its answers is such a step to the byte.
    """
    system, off, moved = car().compile(), [], []
    sim, settled = rtmbs.Simulation(system, h=1e-3), rtmbs.Simulation(system, h=1e-3)
    for k in range(320):
        torque = 50.0 * np.sin(0.04 * k)
        if k >= 300:
            settled.restore(sim.snapshot())
            settled.inputs["drive_2.torque"] = torque
            before, wanted = settled.state.zd.copy(), store_of(settled).settle().zdd.copy()
            settled.step()
        sim.inputs["drive_2.torque"] = torque
        sim.step()
        if k >= 300:
            off.append(np.abs(sim.state.zd - settled.state.zd).max())
            moved.append(np.abs(settled.state.zd - before).max())
            assert np.abs(wanted).max() > 0.1
    assert min(off) > 0.0
    assert max(off) < 1e-6 * max(moved)


METHODS = [rtmbs.PenaltyTrapezoidal(), rtmbs.TRBDF2(), rtmbs.VariationalMidpoint(), rtmbs.AdamsBashforth()]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_bytes_do_not_tell_who_looked_or_what_was_set_before(method, tmp_path):
    system = braked()
    plain, *others = (rtmbs.Simulation(system, h=1e-3, method=method) for _ in range(7))
    for k in range(8):
        value = 2.0 * math.sin(0.3 * k)
        for sim in (plain, *others):
            sim.inputs["motor.torque"] = value
        assert others[0]["crank_pivot.acceleration"] != 0.0
        assert others[1].reaction("crank_pivot") is not None
        assert others[2].state.zdd is not None
        others[3].inputs["motor.torque"] = 7.0
        assert others[3]["crank_pivot.acceleration"] != 0.0
        others[3].inputs["motor.torque"] = value
        others[4].restore(others[4].snapshot())
        others[5].state.save(tmp_path / "state")
        others[5].restore(tmp_path / "state")
        for sim in (plain, *others):
            assert sim.step().outcome.accepted
    assert len({str(everything(sim)) for sim in (plain, *others)}) == 1


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_an_input_that_is_set_back_was_never_set(method):
    system = braked()
    plain, back, seen = (rtmbs.Simulation(system, h=1e-3, method=method) for _ in range(3))
    for _ in range(5):
        for sim in (back, seen):
            sim.inputs["motor.torque"] = 3.0
        assert seen["crank_pivot.acceleration"] != 0.0
        for sim in (back, seen):
            sim.inputs["motor.torque"] = 0.0
        for sim in (plain, back, seen):
            assert sim.step().outcome.accepted
    assert everything(plain) == everything(back) == everything(seen)


def test_a_step_that_fails_behind_a_change_leaves_the_state_as_it_was():
    sim = rtmbs.Simulation(braked(), h=1e-3)
    sim.run(0.02)
    sim.inputs["motor.torque"] = 1e99
    before = everything(sim)
    assert not sim.step().outcome.accepted
    assert everything(sim) == before
    sim.inputs["motor.torque"] = 0.0
    other = rtmbs.Simulation(braked(), h=1e-3)
    other.run(0.02)
    for one in (sim, other):
        assert one.step().outcome.accepted
    assert everything(sim) == everything(other)


def test_what_was_stepped_before_leaves_no_trace():
    """A state from elsewhere goes on as the run that it is of."""
    sim, other = (rtmbs.Simulation(braked(), h=1e-3) for _ in range(2))
    sim.run(0.05)
    kept = sim.state.copy()
    for one in (sim, other):
        one.run(0.1 if one is sim else 0.02)
        one.restore(kept)
        one.inputs["motor.torque"] = 5.0
        assert one.step().outcome.accepted
    assert everything(sim) == everything(other)


def test_a_ramp_acts_in_the_first_step_of_a_run():
    one, other = rtmbs.Simulation(crank_rocker(), h=1e-3), rtmbs.Simulation(crank_rocker(), h=1e-3)
    for sim in (one, other):
        sim.inputs.ramp("motor.torque")
        sim.inputs["motor.torque"] = 0.5
    one.run(0.02)
    for _ in range(20):
        other.step()
    assert everything(one) == everything(other)
    held = rtmbs.Simulation(crank_rocker(), h=1e-3)
    held.inputs["motor.torque"] = 0.5
    held.run(0.02)
    assert held["a.rate" if "a" in held.system.joints else f"{next(iter(held.system.joints))}.rate"] != 0.0
    assert np.abs(held.state.zd - one.state.zd).max() > 1e-6


def test_several_ramps_at_once():
    """The same bytes as one by one; a held input, and numbers that are none, are treated as by name."""
    one, other = rtmbs.Simulation(crank_rocker(), h=1e-3), rtmbs.Simulation(crank_rocker(), h=1e-3)
    for sim in (one, other):
        sim.inputs.ramp("motor.torque")
    for k in range(20):
        one.inputs["motor.torque"] = 0.1 * k
        other.inputs.ramp_to({"motor.torque": 0.1 * k})
        assert one.inputs["motor.torque"] == other.inputs["motor.torque"]
        one.step()
        other.step()
    assert everything(one) == everything(other)
    other.inputs.hold("motor.torque")
    other.inputs.ramp_to({"motor.torque": 3.0})
    assert other.state.u[other.system.inputs["motor.torque"]][0] == 3.0
    for values, words in (({"motor.torque": np.nan}, "must be finite"), ({"motor.tork": 1.0}, "motor.tork")):
        with pytest.raises(rtmbs.RtmbsError, match=words):
            other.inputs.ramp_to(values)
    for values in (["motor.torque"], "motor.torque", None, 3.0):
        with pytest.raises(rtmbs.errors.InputError, match="takes values by names of inputs"):
            other.inputs.ramp_to(values)


def test_a_hold_after_a_ramp_takes_effect_at_once():
    sim = rtmbs.Simulation(crank_rocker(), h=1e-3)
    sim.inputs.ramp("motor.torque")
    sim.inputs["motor.torque"] = 0.5
    sim.inputs.hold("motor.torque")
    before = sim.state.zdd.copy()
    sim.inputs["motor.torque"] = 0.25
    assert np.abs(sim.state.zdd - before).max() > 1e-3
    sim.step()
    assert sim.inputs["motor.torque"] == sim.state.u[sim.system.inputs["motor.torque"]][0] == 0.25


def test_a_step_that_fails_keeps_the_end_of_the_ramp():
    sim = rtmbs.Simulation(crank_rocker(), h=1e-3)
    sim.inputs.ramp("motor.torque")
    sim.inputs["motor.torque"] = 1e308
    before = everything(sim)
    assert not sim.step().outcome.accepted
    assert everything(sim) == before
    assert sim.inputs["motor.torque"] == 1e308
    sim.inputs["motor.torque"] = 0.1
    assert sim.step().outcome.accepted
    assert sim.inputs["motor.torque"] == 0.1


@pytest.mark.parametrize(("name", "error"), [("motor.torqe", UnknownNameError), (3, UnknownNameError)])
def test_a_ramp_of_an_unknown_input_is_refused(name, error):
    sim = rtmbs.Simulation(crank_rocker(), h=1e-3)
    for say in (sim.inputs.ramp, sim.inputs.hold):
        with pytest.raises(error):
            say(name)


def test_a_ramp_of_a_function_of_time_is_refused():
    sim = rtmbs.Simulation(crank_rocker(signal), h=1e-3)
    with pytest.raises(InputError, match=r"'motor.torque' is a function of time"):
        sim.inputs.ramp("motor.torque")


@pytest.mark.parametrize("mechanism", ["crank_rocker", "fourbar", "top", "slider_crank", "governor", "bricard"])
def test_accelerations_that_follow_are_those_that_are_solved_for(mechanism):
    """The kernel, which goes on from the accelerations before, against the solution from nothing."""
    sim = rtmbs.Simulation(rtmbs.library.build(mechanism).compile(), h=1e-3)
    for _ in range(10):
        sim.step()
    for gravity in ((1.0, -3.0, -20.0), (0.0, 0.0, 0.0), (0.3, 0.2, -9.81)):
        sim.inputs["gravity"] = gravity
        found = sim.state.copy()
        zdd, lam, _ = sim.equations.accelerations(found.z, found.zd, found.R0, found.s)
        np.testing.assert_allclose(found.zdd, zdd, rtol=0, atol=1e-8 * max(1.0, np.abs(zdd).max()))
        forces = [sim.equations.pull_back(each) for each in (found.lam, lam)]
        np.testing.assert_allclose(*forces, rtol=0, atol=1e-8 * max(1.0, np.abs(lam).max(initial=0.0)))
