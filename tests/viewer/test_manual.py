"""mode="manual": the program steps, the window asks."""

import numpy as np
import pytest

from rtmbs import Outcome, Simulation
from rtmbs.errors import InputError
from rtmbs.viewer.commands import (
    Pause,
    Play,
    Rebuild,
    Reload,
    Reset,
    SetInput,
    SetOption,
    SetSpeed,
    StepBack,
    StepForward,
    Subscribe,
)
from rtmbs.viewer.connect import connect
from tests.contracts.machines import contents
from tests.viewer.mechanisms import failing, motored

H = 5e-3


@pytest.fixture
def sim():
    return Simulation(motored().compile(), h=H)


def turns(link, sim, count):
    """The program's loop; returns how many steps it took."""
    taken = 0
    for _ in range(count):
        if link.should_step():
            link.sync(sim, sim.step())
            taken += 1
    return taken


def test_the_loop_of_a_program(sim):
    link = connect(sim, "manual")
    assert link.describe().mode == "manual"
    assert link.latest().t == 0.0
    assert turns(link, sim, 5) == 5
    frame = link.latest()
    assert (frame.step, frame.t, frame.z.tobytes()) == (5, sim.t, sim.state.z.tobytes())
    assert frame.steps_taken == 5
    link.send(Pause())
    assert turns(link, sim, 5) == 0
    link.send(StepForward(2))
    assert turns(link, sim, 5) == 2
    link.send(Play())
    assert turns(link, sim, 3) == 3
    link.close()
    assert link.over
    assert turns(link, sim, 3) == 0


def test_commands_take_effect_in_should_step(sim):
    link = connect(sim, "manual")
    link.send(SetInput("motor.torque", 3.0))
    link.send(SetOption("h", 1e-3))
    link.send(SetOption("jacobian", "complex-step"))
    link.send(SetInput("motor.trque", 3.0))
    assert (sim.inputs["motor.torque"], sim.h) == (0.0, H)
    link.should_step()
    assert (sim.inputs["motor.torque"], sim.h, sim.jacobian) == (3.0, 1e-3, "complex-step")
    kinds = [(message.kind, message.text) for message in link.messages()]
    assert ("log", "motor.torque = 3") in kinds
    assert any(kind == "warning" and "did you mean 'motor.torque'" in text for kind, text in kinds)


def test_going_back_in_a_program(sim):
    """The steps of the program after going back are those it took before, with the commands it had."""
    link = connect(sim, "manual")
    turns(link, sim, 4)
    link.send(SetInput("motor.torque", 3.0))
    turns(link, sim, 6)
    last = contents(sim.state)
    link.send(StepBack(8))
    assert turns(link, sim, 1) == 0
    assert link.latest().step == 2
    assert sim.inputs["motor.torque"] == 0.0
    link.send(StepForward(8))
    assert turns(link, sim, 9) == 8
    assert contents(sim.state) == last


def test_reset_and_reload_stay_with_the_simulation_of_the_program(sim):
    link = connect(sim, "manual")
    first = contents(sim.state)
    link.send(SetInput("motor.torque", 3.0))
    turns(link, sim, 4)
    link.send(Reload())
    link.should_step()
    assert (sim.t, sim.inputs["motor.torque"]) == (0.0, 3.0)
    link.send(Reset())
    link.should_step()
    assert contents(sim.state) == first
    link.send(Rebuild({"length": 2.0}))
    link.should_step()
    assert any("no parameters" in message.text for message in link.messages())


def test_a_failed_step_of_the_program_pauses():
    sim = Simulation(failing().compile(), h=H)
    link = connect(sim, "manual")
    assert turns(link, sim, 20) == 10  # nine good ones and the one that fails
    frame = link.latest()
    assert (frame.step, frame.playing, frame.outcome) == (9, False, Outcome.NOT_FINITE)
    assert [message.kind for message in link.messages()][-1] == "failure"


def test_channels_and_speed(sim):
    link = connect(sim, "manual", playing=False)
    link.send(Subscribe(("crank.position[z]", "t"), ticket=2))
    link.send(SetSpeed(2.0))
    link.send(Play())
    turns(link, sim, 4)
    frame = link.latest()
    assert (frame.ticket, frame.desired_speed, frame.deadline) == (2, 2.0, H / 2)
    np.testing.assert_allclose(frame.plots[-3:, 2], [2 * H, 3 * H, 4 * H])


def test_another_simulation_is_refused(sim):
    link = connect(sim, "manual")
    with pytest.raises(InputError, match="not the Simulation"):
        link.sync(Simulation(motored().compile()))
