"""mode="manual": the program steps, the window asks."""

import numpy as np
import pytest

from rtmbs import Outcome, Simulation
from rtmbs.errors import InputError
from rtmbs.viewer.scene.frame import FIRST, T
from rtmbs.viewer.session import commands
from rtmbs.viewer.session.connect import connect
from tests.contracts.machines import contents
from tests.viewer.mechanisms import failing, motored

H = 5e-3


@pytest.fixture
def sim():
    return Simulation(motored().compile(), h=H)


def turns(connection, sim, count):
    """The program's loop; returns how many steps it took."""
    taken = 0
    for _ in range(count):
        if connection.should_step():
            connection.sync(sim, sim.step())
            taken += 1
    return taken


def test_the_loop_of_a_program(sim):
    connection = connect(sim, "manual")
    assert connection.describe().mode == "manual"
    assert connection.latest().t == 0.0
    assert turns(connection, sim, 5) == 5
    frame = connection.latest()
    assert (frame.step, frame.t, frame.z.tobytes()) == (5, sim.t, sim.state.z.tobytes())
    assert frame.steps_taken == 5
    connection.send(commands.Pause())
    assert turns(connection, sim, 5) == 0
    connection.send(commands.StepForward(2))
    assert turns(connection, sim, 5) == 2
    connection.send(commands.Play())
    assert turns(connection, sim, 3) == 3
    connection.close()
    assert connection.over
    assert turns(connection, sim, 3) == 0


def test_commands_take_effect_in_should_step(sim):
    connection = connect(sim, "manual")
    connection.send(commands.SetInput("motor.torque", 3.0))
    connection.send(commands.SetOption("h", 1e-3))
    connection.send(commands.SetOption("jacobian", "complex-step"))
    connection.send(commands.SetInput("motor.trque", 3.0))
    assert (sim.inputs["motor.torque"], sim.h) == (0.0, H)
    connection.should_step()
    assert (sim.inputs["motor.torque"], sim.h, sim._store.options.jacobian) == (3.0, 1e-3, "complex-step")
    kinds = [(message.kind, message.text) for message in connection.messages()]
    assert ("log", "motor.torque = 3") in kinds
    assert any(kind == "warning" and "did you mean 'motor.torque'" in text for kind, text in kinds)


def test_going_back_in_a_program(sim):
    """The steps of the program after going back are those it took before, with the commands it had."""
    connection = connect(sim, "manual")
    turns(connection, sim, 4)
    connection.send(commands.SetInput("motor.torque", 3.0))
    turns(connection, sim, 6)
    last = contents(sim.state)
    connection.send(commands.StepBack(8))
    assert turns(connection, sim, 1) == 0
    assert connection.latest().step == 2
    assert sim.inputs["motor.torque"] == 0.0
    connection.send(commands.StepForward(8))
    assert turns(connection, sim, 9) == 8
    assert contents(sim.state) == last


def test_reset_and_reload_stay_with_the_simulation_of_the_program(sim):
    connection = connect(sim, "manual")
    first = contents(sim.state)
    connection.send(commands.SetInput("motor.torque", 3.0))
    turns(connection, sim, 4)
    connection.send(commands.Reload())
    connection.should_step()
    assert (sim.t, sim.inputs["motor.torque"]) == (0.0, 3.0)
    connection.send(commands.Reset())
    connection.should_step()
    assert contents(sim.state) == first
    connection.send(commands.Rebuild({"length": 2.0}))
    connection.should_step()
    assert any("no parameters" in message.text for message in connection.messages())


def test_a_failed_step_of_the_program_pauses():
    sim = Simulation(failing().compile(), h=H)
    connection = connect(sim, "manual")
    assert turns(connection, sim, 20) == 10  # nine good ones and the one that fails
    frame = connection.latest()
    assert (frame.step, frame.playing, frame.outcome) == (9, False, Outcome.NOT_FINITE)
    assert [message.kind for message in connection.messages()][-1] == "failure"


def test_channels_and_speed(sim):
    connection = connect(sim, "manual", playing=False)
    connection.send(commands.Subscribe(("crank.position[z]", "t"), ticket=2))
    connection.send(commands.SetSpeed(2.0))
    connection.send(commands.Play())
    turns(connection, sim, 4)
    frame = connection.latest()
    assert (frame.ticket, frame.desired_speed, frame.deadline) == (2, 2.0, H / 2)
    rows = connection.strip().read((T, FIRST + 1))
    np.testing.assert_allclose(rows, np.outer(H * np.arange(5), [1.0, 1.0]))


def test_another_simulation_is_refused(sim):
    connection = connect(sim, "manual")
    with pytest.raises(InputError, match="not the Simulation"):
        connection.sync(Simulation(motored().compile()))
