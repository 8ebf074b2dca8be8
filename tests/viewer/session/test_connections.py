"""Sessions behind a connection: the same contract whether they live in a thread or in a process of their own."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation, State, library, load_result
from rtmbs.errors import InputError, ResultError, RtmbsError, UnknownNameError
from rtmbs.model import Sphere
from rtmbs.viewer.scene.frame import FIRST, KINETIC, POSITION, WIDTH, T
from rtmbs.viewer.session import commands
from rtmbs.viewer.session.connect import connect
from tests.contracts.machines import contents
from tests.patience import LONGEST
from tests.viewer.mechanisms import failing, motored
from tests.viewer.waiting import wait

MOTORED = "tests.viewer.mechanisms:motored"
H = 5e-3
ROOT = Path(__file__).parents[3]


def told(connection, words, kind=None, seconds=LONGEST):
    """Return the first message that holds ``words``."""
    end = time.monotonic() + seconds
    seen = []
    while time.monotonic() < end:
        for message in connection.messages():
            seen.append(message)
            if words in message.text and kind in (None, message.kind):
                return message
        time.sleep(2e-3)
    raise AssertionError(f"{words!r} was not told within {seconds} s, but {seen}")


def sessions():
    """Return the threads of this process that a session lives in."""
    return {thread for thread in threading.enumerate() if thread.name == "rtmbs session"}


@pytest.fixture(scope="module", params=["thread", "process"])
def shared_connection(request):
    """One session a mode for all tests of the contract: starting a process costs seconds."""
    connection = connect(MOTORED, request.param)
    connection.describe()
    yield connection
    connection.close()


@pytest.fixture
def connection(shared_connection):
    """The session at its start, paused, with its first options and parameters."""
    shared_connection.send(commands.Pause())
    shared_connection.send(commands.SetSpeed(1.0))
    generation = shared_connection.describe().generation  # before the rebuild, which may be over at once
    shared_connection.send(commands.Rebuild({"length": 1.0, "torque": 0.0}))
    wait(shared_connection, lambda f: f.generation > generation, "rebuilt")
    for name, value in (("h", H), ("jacobian", "structured"), ("penalty", 1e6), ("max_iterations", 8)):
        shared_connection.send(commands.SetOption(name, value))
    for name, value in (("gravity", (0.0, 0.0, -9.81)), ("motor.torque", 0.0), ("spring.stiffness", 50.0)):
        shared_connection.send(commands.SetInput(name, value))
    shared_connection.send(commands.Reset())
    told(shared_connection, "back at the start")
    return shared_connection


def same_steps(connection, steps):
    """Return the Simulation that a session of the motored four-bar stands for."""
    sim = Simulation(motored().compile(), h=H)
    for _ in range(steps):
        assert sim.step().outcome.accepted
    return sim


# ----------------------------------------------------------------------------------------------------------- contract


def test_the_description(connection):
    scene = connection.describe()
    assert [body.name for body in scene.bodies] == ["ground", "crank", "coupler", "rocker"]
    assert [(joint.name, joint.cut) for joint in scene.joints] == [
        ("base", False), ("knee", False), ("elbow", True), ("foot", False),
    ]  # fmt: skip
    assert [(one.name, one.kind, one.a, one.b) for one in scene.connectors] == [("spring", "spring", 0, 2)]
    units = {one.name: one.unit for one in scene.inputs}
    assert units["motor.torque"] == "N m"
    assert units["spring.stiffness"] == "N/m"
    assert units["gravity"] == "m/s^2"
    assert scene.parameters == {"length": 1.0, "torque": 0.0}
    assert (scene.degrees_of_freedom, scene.equations, scene.live) == (1, 2, True)
    assert "trace" in scene.choices["jacobian"]
    assert "crank.position" in [channel.name for channel in scene.channels]


def test_steps_are_those_of_a_simulation(connection):
    """Twenty-five steps in the session and by hand: the same bytes, and the poses that results give."""
    connection.send(commands.StepForward(25))
    frame = wait(connection, lambda f: f.step == 25, "25 steps")
    sim = same_steps(connection, 25)
    assert frame.z.tobytes() == sim.state.z.tobytes()
    assert (frame.t, frame.h, frame.playing, frame.newest) == (sim.t, H, False, 25)
    result = Simulation(motored().compile(), h=H).run(25 * H)
    np.testing.assert_allclose(frame.r[2], result["coupler.position"][-1], atol=1e-14)
    assert frame.energy == pytest.approx(result["energy.total"][-1], rel=1e-12)
    assert frame.steps_taken >= 25
    assert 0.0 < frame.p50 <= frame.p99
    assert 1 <= frame.iterations[-1] <= 8
    assert 0.0 < frame.position_violation < 1e-5


def test_a_pull_of_the_past_and_the_future(connection):
    connection.send(commands.StepForward(20))
    ahead = wait(connection, lambda f: f.step == 20, "20 steps")
    connection.send(commands.StepBack(15))
    back = wait(connection, lambda f: f.step == 5, "back")
    assert (back.oldest, back.newest) == (0, 20)
    connection.send(commands.StepForward(15))
    again = wait(connection, lambda f: f.step == 20, "again")
    assert again.z.tobytes() == ahead.z.tobytes()
    connection.send(commands.Seek(500))
    told(connection, "step 500 is not remembered")


def test_inputs_take_effect_and_are_logged(connection):
    connection.send(commands.StepForward(3))
    wait(connection, lambda f: f.step == 3, "3 steps")
    connection.send(commands.SetInput("motor.torque", 7.5))
    message = told(connection, "motor.torque = 7.5", "log")
    assert (message.step, message.t) == (3, 3 * H)
    place = next(one.place for one in connection.describe().inputs if one.name == "motor.torque")
    wait(connection, lambda f: f.inputs[place][0] == 7.5, "the input")
    connection.send(commands.StepForward(2))
    frame = wait(connection, lambda f: f.step == 5, "5 steps")
    sim = same_steps(connection, 3)
    sim.inputs["motor.torque"] = 7.5
    sim.step(), sim.step()
    assert frame.z.tobytes() == sim.state.z.tobytes()


def test_options_take_effect(connection):
    choices = connection.describe().choices
    connection.send(commands.SetOption("jacobian", "central-difference"))
    connection.send(commands.SetOption("alpha", 1e7))
    connection.send(commands.SetOption("h", 1e-3))
    frame = wait(connection, lambda f: f.h == 1e-3, "h")
    assert frame.option("jacobian", choices["jacobian"]) == "central-difference"
    assert (frame.option("alpha"), frame.option("penalty"), frame.option("fixed_iterations")) == (1e7, None, False)
    connection.send(commands.StepForward(1))
    wait(connection, lambda f: f.t == 1e-3, "a short step")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (commands.SetInput("motor.trque", 1.0), "did you mean 'motor.torque'"),
        (commands.SetOption("h", -1.0), "h is -1.0"),
        (commands.SetOption("jacobian", "sympy"), "jacobian named 'sympy'"),
        (commands.SetSpeed(0.0), "speed is 0.0"),
        (commands.Subscribe(("crank.colour",)), "channel named 'crank.colour'"),
        (commands.Subscribe(("crank.position",)), "name the ones to plot: crank.position[x], crank.position[y]"),
        (commands.Subscribe(("crank.position[w]",)), "axis of channel 'crank.position'"),
        (commands.Subscribe(("t",) * 17), "at most 16"),
        (commands.SetOption("method", "euler"), "no method named 'euler'"),
        (commands.Rebuild({"width": 2.0}), "parameter"),
        (commands.LoadState("nowhere.npz"), "does not exist"),
        (commands.SaveResults("/no/such/folder/run.npz"), "there is no folder"),
    ],
    ids=str,
)
def test_a_refused_command_is_a_warning(connection, command, words):
    connection.send(command)
    told(connection, words, "warning")
    connection.send(commands.StepForward(1))
    wait(connection, lambda f: f.step == 1, "the session goes on")


def test_play_keeps_real_time_and_pause_stops(connection):
    """Half real time: how near it comes is the machine's business, so only the wish and the pause are judged."""
    connection.send(commands.SetSpeed(0.5))
    connection.send(commands.Play())
    frame = wait(connection, lambda f: f.playing and f.t > 0.3, "0.3 s")
    assert frame.desired_speed == 0.5
    assert frame.deadline == pytest.approx(2 * H)
    assert frame.actual_speed > 0.0
    connection.send(commands.Pause())
    stopped = wait(connection, lambda f: not f.playing, "pause")
    time.sleep(0.05)
    assert connection.latest().step == stopped.step
    assert connection.latest() is connection.latest()


def test_a_loop_stays_in_the_history(connection):
    connection.send(commands.StepForward(30))
    first = wait(connection, lambda f: f.step == 30, "30 steps")
    connection.send(commands.Loop(True))
    connection.send(commands.Play())
    wait(connection, lambda f: f.step < 10, "from the oldest again")
    wait(connection, lambda f: f.step > 20, "through the stored steps")
    frame = wait(connection, lambda f: f.step < 10, "over and over")
    assert (frame.newest, frame.playing) == (30, True)
    connection.send(commands.Loop(False))
    frame = wait(connection, lambda f: f.step > 35, "and on at the end")
    connection.send(commands.Seek(30))
    assert wait(connection, lambda f: f.step == 30 and not f.playing, "back").z.tobytes() == first.z.tobytes()


def test_slow_motion_listens(connection):
    """At the slowest motion the next step is minutes away; a command does not wait for it."""
    connection.send(commands.SetSpeed(1e-6))
    connection.send(commands.Play())
    wait(connection, lambda f: f.playing, "play")
    connection.send(commands.SetInput("motor.torque", 1.0))
    told(connection, "motor.torque = 1", "log")
    connection.send(commands.Pause())
    wait(connection, lambda f: not f.playing, "pause")


def test_ten_thousand_commands(connection):
    """Sliders and a drag that run hot: taken quickly, only the last counts, and steps go on meanwhile."""
    connection.send(commands.SetSpeed(1.0))
    connection.send(commands.Play())
    wait(connection, lambda f: f.step > 3, "play")
    for k in range(5_000):
        connection.send(commands.SetInput("motor.torque", 1e-3 * k))
        connection.send(commands.MoveGrab((0.0, 0.0, 1e-3 * k)))
    connection.send(commands.Pause())
    place = next(one.place for one in connection.describe().inputs if one.name == "motor.torque")
    frame = wait(connection, lambda f: not f.playing, "pause behind ten thousand commands")
    assert frame.inputs[place][0] == pytest.approx(4.999)


def test_subscribed_channels(connection):
    connection.send(
        commands.Subscribe(("crank.position[y]", "coupler.position[z]", "energy.total", "motor.torque"), ticket=7)
    )
    connection.send(commands.SetInput("motor.torque", 2.0))
    connection.send(commands.StepForward(5))
    frame = wait(connection, lambda f: f.step == 5, "samples")
    assert frame.ticket == connection.strip().ticket == 7
    rows = connection.strip().read(range(WIDTH))
    np.testing.assert_allclose(rows[:, T], H * np.arange(6), atol=1e-15)
    _, z, energy, torque = rows[-1, FIRST : FIRST + 4]
    assert torque == 2.0
    assert z == pytest.approx(frame.r[2, 2], abs=1e-14)
    assert energy == pytest.approx(frame.energy, rel=1e-12)
    assert np.all(np.isnan(rows[-1, FIRST + 4 :]))


def test_every_step_is_watched(connection):
    """Thousands of steps between few pictures: the strip has each, with what a run records, and goes back and forth."""
    names = ("coupler.position[z]", "crank.velocity[y]")
    connection.send(commands.StepForward(300))
    connection.send(commands.Subscribe(names, ticket=8))  # the past too
    connection.send(commands.StepForward(500))
    wait(connection, lambda f: f.step == 800 and f.ticket == 8, "800 steps")
    rows = connection.strip().read(range(FIRST + 2))
    result = Simulation(motored().compile(), h=H).run(800 * H)
    np.testing.assert_allclose(rows[:, T], result.t, atol=1e-12)
    np.testing.assert_allclose(rows[:, FIRST], result["coupler.position"][:, 2], atol=1e-12)
    np.testing.assert_allclose(rows[:, FIRST + 1], result["crank.velocity"][:, 1], atol=1e-11)
    np.testing.assert_allclose(rows[:, KINETIC], result["energy.kinetic"], atol=1e-11)
    assert np.all(np.isfinite(rows[1:, POSITION]))
    connection.send(commands.Seek(400))
    frame = wait(connection, lambda f: f.step == 400, "back")
    assert frame.position_violation == rows[400, POSITION], "the violation of that step, not of nothing"
    assert len(connection.strip().read((T,))) == 801
    connection.send(commands.SetInput("motor.torque", 2.0))  # another story begins there
    connection.send(commands.StepForward(10))
    wait(connection, lambda f: f.step == 410, "another story")
    again = connection.strip().read(range(FIRST + 2))
    assert len(again) == 411
    np.testing.assert_array_equal(again[:401], rows[:401])
    assert np.max(np.abs(again[401:, FIRST] - rows[401:411, FIRST])) > 1e-9


def test_rebuild_keeps_options_and_inputs(connection):
    connection.send(commands.SetOption("h", 2e-3))
    connection.send(commands.SetInput("motor.torque", 3.0))
    generation = connection.describe().generation
    connection.send(commands.Rebuild({"length": 1.5}))
    frame = wait(connection, lambda f: f.generation > generation, "rebuilt")
    scene = connection.describe()
    assert scene.generation == frame.generation
    assert scene.parameters == {"length": 1.5, "torque": 0.0}
    assert (frame.h, frame.t) == (2e-3, 0.0)
    place = next(one.place for one in scene.inputs if one.name == "motor.torque")
    wait(connection, lambda f: f.inputs[place][0] == 3.0, "the input stays")
    connection.send(commands.Reload())
    frame = wait(connection, lambda f: f.generation > scene.generation, "reloaded")
    assert connection.describe().parameters["length"] == 1.5


def test_a_rebuild_that_fails_leaves_the_session(connection):
    generation = connection.describe().generation
    connection.send(commands.Rebuild({"length": -1e9}))
    connection.send(commands.Rebuild({"torque": "much"}))
    told(connection, "must be", "warning")
    connection.send(commands.StepForward(1))
    frame = wait(connection, lambda f: f.step == 1, "a step")
    assert frame.generation >= generation


def test_files(connection, tmp_path):
    connection.send(commands.StepForward(10))
    wait(connection, lambda f: f.step == 10, "10 steps")
    connection.send(commands.SaveResults(str(tmp_path / "run.npz")))
    connection.send(commands.SaveState(str(tmp_path / "state.npz")))
    told(connection, "state at t")
    assert len(load_result(tmp_path / "run.npz")) == 11
    sim = same_steps(connection, 10)
    assert contents(State.load(tmp_path / "state.npz")) == contents(sim.state)
    connection.send(commands.StepForward(5))
    wait(connection, lambda f: f.step == 15, "15 steps")
    connection.send(commands.LoadState(str(tmp_path / "state.npz")))
    frame = wait(connection, lambda f: f.step == 0, "loaded")
    assert frame.z.tobytes() == sim.state.z.tobytes()


def test_release_without_a_grab_does_nothing(connection):
    connection.send(commands.Release())
    connection.send(commands.StepForward(1))
    frame = wait(connection, lambda f: f.step == 1, "a step")
    assert frame.grabbed == -1
    assert np.all(np.isnan(frame.grab_point))


# ------------------------------------------------------------------------------------------------------------ failure


@pytest.mark.parametrize(
    ("mode", "factory", "words"),
    [
        ("thread", "tests.viewer.mechanisms:broken", "lost"),
        ("thread", "tests.viewer.mechanisms:raising", "ZeroDivisionError: the factory divides by zero"),
        ("thread", "tests.viewer.mechanisms:nothing", "must return an rtmbs.Model"),
        ("thread", "tests.viewer.mechanisms:absent", "has no function 'absent'"),
        ("thread", "no.such.module:build", "no module 'no.such.module'"),
        ("thread", "no_such_file.py", "does not exist"),
        # The same code runs there; these tell that the sentence comes back.
        ("process", "tests.viewer.mechanisms:broken", "lost"),
        pytest.param("process", "no_such_file.py", "does not exist", marks=pytest.mark.slow),
    ],
)
def test_what_cannot_be_built_is_told(mode, factory, words):
    connection = connect(factory, mode)
    with pytest.raises(RtmbsError, match=words):
        connection.describe()
    connection.close()


@pytest.mark.parametrize("mode", ["thread", "process"])
def test_a_mistake_in_a_file_is_told_and_reload_works_once_it_is_mended(tmp_path, mode):
    """The true sentence and nothing else, the user's own line, and a new start that keeps what was set."""
    file = tmp_path / "mechanism.py"
    text = "from tests.viewer.mechanisms import motored\n\n\ndef build(length=1.0):\n    return motored(lenght)\n"
    file.write_text(text)
    connection = connect(file, mode)
    message = told(connection, "name 'lenght' is not defined", "failure")
    assert "mechanism.py:5)" in message.text
    assert message.offers == ("reload",)
    assert "return motored(lenght)" in message.details
    end = time.monotonic() + LONGEST
    while not connection.ended and time.monotonic() < end:
        time.sleep(1e-2)
    time.sleep(0.3)
    assert connection.ended
    assert connection.messages() == [], "the end of the process adds nothing to the true sentence"
    connection.send(commands.SetInput("motor.torque", 4.0))
    file.write_text(text.replace("lenght", "length"))
    connection.restart()
    assert connection.describe().parameters == {"length": 1.0}
    wait(connection, lambda f: 4.0 in f.inputs, "what was set is set again")
    assert not connection.ended
    connection.close()


def test_a_killed_worker_is_told_and_starts_again():
    connection = connect(MOTORED, "process", options={"h": 2e-3})
    connection.describe()
    connection.send(commands.SetOption("jacobian", "trace"))
    connection.send(commands.StepForward(3))
    wait(connection, lambda f: f.step == 3, "3 steps")
    os.kill(connection.pid, signal.SIGKILL)
    message = told(connection, "signal 9", "failure")
    assert "Ctrl+L" in message.text
    assert message.offers == ("reload",)
    assert connection.ended
    connection.send(commands.StepForward(1))  # to nobody
    connection.restart()
    words = connection.describe().choices["jacobian"]
    frame = wait(connection, lambda f: f.option("jacobian", words) == "trace", "the option is set again")
    assert (frame.step, frame.h, connection.ended) == (0, 2e-3, False)
    connection.send(commands.StepForward(2))
    wait(connection, lambda f: f.step == 2, "2 steps")
    assert not [message for message in connection.messages() if message.kind == "failure"]
    connection.close()


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_a_session_that_starts_again_has_the_parameters_that_were_built(mode):
    connection = connect(MOTORED, mode)
    connection.describe()
    connection.send(commands.Rebuild({"length": 1.5}))
    wait(connection, lambda f: connection.describe().parameters["length"] == 1.5, "the build")
    connection.send(commands.Rebuild({"length": 1.2, "torque": "much"}))
    told(connection, "must be", "warning")
    connection.restart()
    assert connection.describe().parameters["length"] in (1.0, 1.5)
    wait(connection, lambda f: connection.describe().parameters["length"] == 1.5, "the accepted build again")
    assert not [message for message in connection.messages() if message.kind in ("failure", "warning")]
    connection.close()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="shared memory has no folder here")
def test_a_killed_worker_leaves_no_memory_behind():
    before = set(os.listdir("/dev/shm"))
    connection = connect(MOTORED, "process")
    connection.describe()
    names = [name.lstrip("/") for name in connection._names]
    assert len(names) == 2
    assert set(names) <= set(os.listdir("/dev/shm")) - before
    os.kill(connection.pid, signal.SIGKILL)
    connection.close()
    assert not set(names) & set(os.listdir("/dev/shm"))


def test_a_failed_step_pauses_with_its_sentence():
    connection = connect(Simulation(failing().compile(), h=H), "thread", playing=True)
    message = told(connection, "not finite", "failure")
    assert (message.step, "motor" in message.text) == (9, True)
    frame = wait(connection, lambda f: not f.playing, "pause")
    assert (frame.step, frame.outcome.name) == (9, "NOT_FINITE")
    connection.send(commands.StepBack(4))
    assert wait(connection, lambda f: f.step == 5, "back").outcome.accepted
    connection.send(commands.StepForward(10))
    told(connection, "not finite", "failure")
    assert wait(connection, lambda f: f.step == 9, "the same end").outcome.name == "NOT_FINITE"
    connection.close()


def test_a_function_that_raises_pauses_and_the_session_lives():
    model = motored()

    def torque(t):
        if t > 0.02:
            raise ValueError("no more current")
        return 1.0

    del model.forces["motor"]
    model.add_force("motor", rtmbs.Motor(torque), joint="base")
    connection = connect(model, "thread", playing=True)
    message = told(connection, "no more current", "failure")
    assert "function of time 'motor.torque'" in message.text
    assert wait(connection, lambda f: not f.playing, "pause").step == 4
    connection.send(commands.StepBack(2))
    wait(connection, lambda f: f.step == 2, "back")
    connection.close()


def test_a_function_of_time_that_answers_wrongly_pauses_once():
    """An error of rtmbs raised by a step is no refused command: it is told once, not at every deadline."""
    model = motored()
    model.add_force("wind", rtmbs.Wrench(force=lambda t: (0.0, 0.0, 0.0) if t < 0.03 else (1.0,)), body="rocker")
    connection = connect(model, "thread", playing=True)
    told(connection, "it must return 3 numbers", "failure")
    wait(connection, lambda f: not f.playing, "pause")
    time.sleep(0.1)
    assert [message for message in connection.messages() if message.kind in ("warning", "failure")] == []
    connection.close()


def test_a_process_that_dies_is_told():
    connection = connect(MOTORED, "process")
    connection.describe()
    connection._process.kill()
    told(connection, "process was ended by signal 9", "failure")
    connection.close()
    connection.close()


ORPHAN = """
import time
from rtmbs.viewer.session.connect import connect
from rtmbs.viewer.session.commands import Play

if __name__ == "__main__":
    connection = connect("tests.viewer.mechanisms:motored", "process", playing=True)
    connection.describe()
    print(connection.pid, flush=True)
    time.sleep(3600.0)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
def test_a_session_ends_with_the_window_that_was_killed(tmp_path):
    """Nobody is left who could want it; an orphan would compute for ever."""
    script = tmp_path / "orphan.py"
    script.write_text(ORPHAN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    window = subprocess.Popen([sys.executable, str(script)], cwd=ROOT, env=environment, stdout=subprocess.PIPE)
    pid = int(window.stdout.readline())
    window.kill()
    window.wait()
    window.stdout.close()
    end = time.monotonic() + LONGEST
    while lives(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not lives(pid)


def lives(pid):
    """True while a process runs; one that has ended and waits to be buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# ------------------------------------------------------------------------------------------------------------ targets


@pytest.mark.slow
def test_what_cannot_be_sent_runs_in_a_thread():
    model = motored()
    model.add_force("local", rtmbs.Wrench(force=lambda t: (0.0, 0.0, t)), body="rocker")
    connection = connect(model, "process")
    message = told(connection, "runs in a thread of this one", "warning")
    assert "motored cannot go to a process of its own" in message.text
    assert connection.describe().mode == "thread"
    connection.close()


def test_a_model_without_local_functions_goes_to_a_process():
    connection = connect(motored(), "process", shapes={"crank": Sphere(0.1)}, options={"h": 2e-3})
    scene = connection.describe()
    assert scene.mode == "process"
    assert isinstance(scene.bodies[1].shapes[0], Sphere)
    assert wait(connection, lambda f: True, "a frame").h == 2e-3
    connection.close()


def test_a_file_is_read_anew_by_reload(tmp_path):
    """The user edits the model; sliders stay."""
    file = tmp_path / "mechanism.py"
    text = "from tests.viewer.mechanisms import motored\n\n\ndef build(length=1.0):\n    return motored(length)\n"
    file.write_text(text)
    connection = connect(file, "thread")
    assert connection.describe().parameters == {"length": 1.0}
    connection.send(commands.SetInput("motor.torque", 4.0))
    file.write_text(text.replace("length=1.0", "length=1.25"))
    connection.send(commands.Reload())
    wait(connection, lambda f: f.generation == 2, "reloaded")
    assert connection.describe().parameters["length"] == 1.25
    frame = wait(connection, lambda f: 4.0 in f.inputs, "the slider stays")
    assert frame.generation == 2
    connection.close()


@pytest.mark.parametrize(
    ("target", "options", "error", "words"),
    [
        ("fourbr", {}, UnknownNameError, "did you mean 'fourbar'"),
        (42, {}, InputError, "cannot be viewed"),
        ("run.npz", {}, ResultError, "does not exist"),
        ("fourbar", {"mode": "fork"}, UnknownNameError, "mode named 'fork'"),
        (motored(), {"parameters": {"a": 1}}, InputError, "built already"),
        (motored(), {"mode": "manual"}, InputError, "takes the Simulation"),
        ("fourbar", {"disk": -1}, InputError, "disk is -1; it must be a number of bytes"),
        ("fourbar", {"disk": "2GB"}, InputError, "disk is '2GB'; it must be a number of bytes"),
        ("fourbar", {"disk": (float("nan"), "folder")}, InputError, "it must be a number of bytes"),
    ],
    ids=["misspelt", "a number", "a result", "no mode", "a model with parameters", "manual", "disk", "word", "nan"],
)
def test_what_is_no_target_is_refused(target, options, error, words):
    with pytest.raises(error, match=words):
        connect(target, **options)


def test_a_mechanism_of_the_library():
    others = sessions()  # the shared connection of this file may still live in this process
    connection = connect("fourbar", "thread", parameters={"ny": 2, "nz": 1, "layout": "parallel"}, playing=True)
    assert connection.describe().parameters["ny"] == 2
    assert set(connection.describe().parameters) == set(library.defaults("fourbar"))
    wait(connection, lambda f: f.step > 5, "it plays")
    connection.close()
    assert sessions() <= others
