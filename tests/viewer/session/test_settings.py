"""What a session that starts again is given: what stood, whatever was asked for and refused."""

import os
import struct
from multiprocessing import Pipe

import pytest

from rtmbs.viewer.session.commands import (
    KeepHistory,
    LoadState,
    Loop,
    Pause,
    Play,
    Rebuild,
    Reset,
    Seek,
    SetInput,
    SetOption,
    SetSpeed,
    StepForward,
)
from rtmbs.viewer.session.connect import connect
from rtmbs.viewer.session.process_connection import Outgoing
from tests.patience import LONGEST
from tests.viewer.waiting import wait

MOTORED = "tests.viewer.mechanisms:motored"
MOON = (0.0, 0.0, -1.6)


def value(connection, frame, name):
    entry = next(one for one in connection.describe().inputs if one.name == name)
    return tuple(frame.inputs[entry.place].tolist())


@pytest.fixture
def connection():
    opened = connect(MOTORED, "thread", playing=True)
    opened.describe()
    yield opened
    opened.close()


def test_what_was_refused_is_not_set_again(connection, tmp_path):
    sent = (
        *(SetInput("gravity", MOON), SetSpeed(0.1), SetInput("gravity", (0.0, 0.0, float("nan"))), SetSpeed(-1.0)),
        *(SetOption("h", 4e-3), SetOption("h", -1.0)),
        *(SetOption("method", "runge-kutta"), SetOption("method", "euler")),
        *(KeepHistory(5e6, str(tmp_path / "kept")), KeepHistory(1.0, str(tmp_path / "no"))),
    )
    for command in sent:
        connection.send(command)
    wait(connection, lambda f: f.taken == len(sent))
    connection.restart()
    frame = wait(connection, lambda f: f.taken == 5)
    assert value(connection, frame, "gravity") == MOON
    words = connection.describe().choices["method"]
    assert (frame.h, frame.desired_speed, frame.option("method", words)) == (4e-3, 0.1, "runge-kutta")
    assert frame.disk_limit == 5e6
    assert not frame.playing
    assert not [message for message in connection.messages() if message.kind in ("failure", "warning")]
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["run_0001", "run_0002"]


def test_what_was_not_yet_taken_is_sent_again(connection):
    connection.send(Pause())
    connection.send(SetInput("gravity", MOON))
    wait(connection, lambda f: f.taken == 2)
    connection.restart()
    connection.restart()  # before the first of them has shown anything
    wait(connection, lambda f: value(connection, f, "gravity") == MOON)


def test_parameters_outlive_every_start(connection):
    connection.send(Rebuild({"length": 1.5}))
    wait(connection, lambda f: connection.describe().parameters["length"] == 1.5)
    for _ in range(2):
        connection.restart()
    assert connection.describe().parameters["length"] == 1.5, "the first build has them"
    wait(connection, lambda f: f.generation == 1)


def test_an_input_that_a_build_changes_is_that_of_the_build(connection):
    """The parameter torque is the model's own value of the input that was set; that of the spring it leaves alone."""
    connection.send(SetInput("motor.torque", 4.0))
    connection.send(SetInput("spring.stiffness", 70.0))
    connection.send(Rebuild({"torque": 2.0}))
    frame = wait(connection, lambda f: f.generation == 2 and value(connection, f, "spring.stiffness") == (70.0,))
    assert value(connection, frame, "motor.torque") == (2.0,)
    connection.send(Reset())
    wait(connection, lambda f: value(connection, f, "spring.stiffness") == (50.0,))


@pytest.mark.parametrize("command", [StepForward(2.5), StepForward(-0.5), StepForward(True)], ids=str)
def test_steps_are_whole(connection, command):
    connection.send(command)
    connection.send(SetSpeed(2.0))
    frame = wait(connection, lambda f: f.desired_speed == 2.0)
    assert frame.playing, "nothing has changed"
    (message,) = [message for message in connection.messages() if message.kind == "warning"]
    assert "is no number of steps" in message.text
    assert (message.offers, message.details) == ((), "")


@pytest.mark.parametrize("refused", [SetOption("max_iterations", 2.5), SetOption("fixed_iterations", "yes")], ids=str)
def test_a_refused_option_is_no_mistake_in_a_file(connection, refused):
    connection.send(refused)
    wait(connection, lambda f: f.taken == 1)
    (message,) = [message for message in connection.messages() if message.kind == "warning"]
    assert (message.offers, message.details) == ((), "")


def test_a_frame_says_what_plays_over_and_over(connection):
    connection.send(Loop(True))
    wait(connection, lambda f: f.looping)
    connection.restart()
    assert not wait(connection, lambda f: True).looping
    connection.send(Play())
    wait(connection, lambda f: f.playing)


def drain(pipe):
    """Read for ever."""
    while True:
        assert pipe.poll(10.0), "nobody else holds the writing end"
        pipe.recv()


def test_a_message_that_a_killed_process_began_is_no_hang():
    """Its pipe ends with it, in the middle of a message too."""
    connection = connect(MOTORED, "process")
    connection.describe()
    reader, writer = Pipe(duplex=False)
    os.write(writer.fileno(), struct.pack("!i", 1000) + b"the beginning")
    writer.close()
    own, connection._outbox = connection._outbox, reader
    connection._read(0.0)
    connection._read(LONGEST)  # returns at the end of the pipe
    connection._outbox = own
    connection._process.kill()
    connection._process.join()
    with pytest.raises(EOFError):
        drain(own)
    connection.close()


def test_what_is_said_never_waits_for_a_full_pipe():
    reader, writer = Pipe(duplex=False)
    outgoing = Outgoing(writer)
    for number in range(3):
        outgoing.put((number, bytes(1_000_000)))
    assert [reader.recv()[0] for _ in range(3)] == [0, 1, 2]
    outgoing.close()
    reader.close()
    Outgoing(writer).close()


@pytest.mark.parametrize("paused", [True, False])
@pytest.mark.parametrize(
    "refused",
    [SetInput("gravity", (0.0, 0.0, float("nan"))), LoadState("nowhere.npz"), Rebuild({"length": "long"})],
    ids=str,
)
def test_a_refused_command_takes_nothing_with_it(connection, paused, refused):
    connection.send(SetInput("gravity", MOON))
    connection.send(Pause() if paused else Play())
    wait(connection, lambda f: f.taken == 2)
    connection.send(refused)
    wait(connection, lambda f: f.taken == 3)
    connection.restart()
    wait(connection, lambda f: value(connection, f, "gravity") == MOON)


def test_the_good_history_stays(connection, tmp_path):
    good = KeepHistory(5e6, str(tmp_path / "kept"))
    (tmp_path / "file").touch()
    bad = [KeepHistory(1.0), KeepHistory(2.0), KeepHistory(5e6, str(tmp_path / "file" / "no"))]
    for command in (good, *bad):
        connection.send(command)
    wait(connection, lambda f: f.taken == 4)
    connection.restart()
    wait(connection, lambda f: f.disk_limit == 5e6)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["run_0001", "run_0002"]


def test_no_frame_of_a_new_build_has_other_inputs(connection):
    """The first one has what was set, and so a kill at any time loses nothing."""
    connection.send(Pause())
    connection.send(SetInput("gravity", MOON))
    wait(connection, lambda f: f.taken == 2)
    seen, publish = [], connection.publish
    connection.publish = lambda frame: (seen.append(frame), publish(frame))
    connection.send(Rebuild({"length": 1.5}))
    wait(connection, lambda f: f.taken == 3 and f.generation == 2)
    assert {value(connection, frame, "gravity") for frame in seen if frame.generation == 2} == {MOON}


def test_inputs_of_a_step_that_was_left_do_not_come_back(connection):
    for number in (4.0, 6.0):
        connection.send(SetInput("motor.torque", number))
        connection.send(StepForward(5))
    wait(connection, lambda f: f.step == 10)
    connection.send(Seek(2))
    wait(connection, lambda f: value(connection, f, "motor.torque") == (4.0,))
    connection.send(Rebuild({"length": 1.5}))
    frame = wait(connection, lambda f: f.generation == 2)
    assert value(connection, frame, "motor.torque") == (4.0,)


def test_a_description_that_cannot_be_sent_is_told(tmp_path):
    """A default of the factory that is no number and no word is no parameter of the window."""
    file = tmp_path / "arm.py"
    head = "from tests.viewer.mechanisms import motored\n\n\n"
    text = f"{head}def build(law=lambda x: x, length=1.0):\n    return motored(length)\n"
    file.write_text(text)
    opened = connect(file, "process")
    assert opened.describe().parameters == {"length": 1.0}
    opened.close()
    reader, writer = Pipe(duplex=False)
    outgoing = Outgoing(writer)
    outgoing.put(lambda x: x)
    outgoing.put("more")
    assert "cannot be sent to the window" in reader.recv().text
    assert reader.recv() == "more"
    outgoing.close()
