"""Functions of the user that a step or a run asks may not use the Simulation that waits for them."""

import math

import numpy as np
import pytest

import rtmbs
from bench.campaigns.machines import contents
from rtmbs.errors import BusyError, RtmbsError


def numbers_of(sim):
    """The bytes of the state; the fingerprint tells functions that call different things."""
    return contents(sim.state) | {"fingerprint": ""}


def set_h(sim):
    sim.h = 2e-3


def set_input(sim):
    sim.inputs["push"] = 3.0


ACTS = {
    "step": lambda sim: sim.step(),
    "run": lambda sim: sim.run(sim.t + sim.h),
    "set": lambda sim: sim.set("j.angle", 0.1),
    "restore": lambda sim: sim.restore(STATES[0]),
    "change": lambda sim: sim.change(max_iterations=4),
    "h": set_h,
    "inputs": set_input,
    "attach": lambda sim: sim.attach("f", "a"),
}
LOOKS = {
    "state": lambda sim: sim.state,
    "[...]": lambda sim: sim["a.position"],
    "read": lambda sim: sim.read(["a.position"]),
    "reaction": lambda sim: sim.reaction("j"),
}
STATES: list = []


def machine(where="", act=None):
    """A pendulum whose law or torque calls ``act`` of its Simulation once, behind the first step."""
    held = {}

    def call(who):
        if who == where and "sim" in held:
            held["called"] = True
            act(held.pop("sim"))

    def law(t, k, p):
        call("law")
        return -0.1 * k.v, np.zeros(3)

    def torque(t):
        call("torque")
        return 0.2 * math.sin(t)

    model = rtmbs.Model("m")
    model.add_body("a", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0, 0, -0.5))
    model.add_joint("j", rtmbs.Revolute(axis=(0, 1, 0)), model.ground, "a")
    model.set_initial("j", position=0.5)
    model.add_force("f", law, body="a", point=(0, 0, -1), trace=False)
    model.add_force("motor", rtmbs.Motor(torque), joint="j")
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="j")
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    sim.step()
    return sim, held


@pytest.mark.parametrize("by_run", [False, True])
@pytest.mark.parametrize("where", ["law", "torque"])
@pytest.mark.parametrize("act", [*ACTS, *LOOKS])
def test_a_law_and_a_function_of_time_may_use_only_their_arguments(act, where, by_run):
    sim, held = machine(where, {**ACTS, **LOOKS}[act])
    reference, _ = machine()
    STATES[:] = [sim.state.copy()]
    held["sim"] = sim
    with pytest.raises(RtmbsError, match=r"Simulation\..* was called by a force law, or a function of time"):
        sim.run(sim.t + 3e-3) if by_run else sim.step()
    assert held["called"]
    assert numbers_of(sim) == numbers_of(reference)
    for one in (sim, reference):
        one.step()
        one.run(one.t + 2e-3)
    assert numbers_of(sim) == numbers_of(reference)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("tolerance", [None, 1e-4])
def test_an_observer_only_looks(act, tolerance):
    class Meddling(rtmbs.Observer):
        def look(self, sim, report):
            for look in LOOKS.values():
                look(sim)
            ACTS[act](sim)

    sim, _ = machine()
    STATES[:] = [sim.state.copy()]
    with pytest.raises(BusyError, match=r"called by an observer.* may only look at the Simulation"):
        sim.run(sim.t + 5e-3, observers=[Meddling()], tolerance=tolerance)
    assert sim.step().outcome.accepted


@pytest.mark.parametrize("act", ["step", "set", "inputs"])
def test_until_and_event_functions_only_look(act):
    sim, _ = machine()
    with pytest.raises(RtmbsError, match="called by until"):
        sim.run(sim.t + 5e-3, until=lambda one: bool(ACTS[act](one)))
    with pytest.raises(RtmbsError, match="called by an event function"):
        sim.run(sim.t + 5e-3, tolerance=1e-4, when=lambda s: ACTS[act](sim) or 1.0)
