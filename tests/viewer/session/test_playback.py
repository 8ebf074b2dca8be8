"""Playback of a recorded result: samples on a clock of the test, without its model, beside another design."""

import importlib
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import rtmbs
from bench.measures.driven import four_bar, paper_slider_crank
from rtmbs import Simulation, library, load_result
from rtmbs.commands.cli import main
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.kinematics import Analysis
from rtmbs.model import Bar
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results.result import Result
from rtmbs.viewer.scene.frame import FIRST, T
from rtmbs.viewer.session.commands import Loop, Pause, Play, Seek, SetInput, SetSpeed, StepBack, StepForward, Subscribe
from rtmbs.viewer.session.connect import connect, playback
from rtmbs.viewer.session.describe import describe
from rtmbs.viewer.session.playback import PLAIN, PlaybackConnection, Recording
from tests.patience import LONGEST
from tests.viewer.mechanisms import motored

H = 5e-3
RESULT = Simulation(motored().compile(), h=H).run(0.5)


class Clock:
    """Wall time that the test moves."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def connection(clock):
    return PlaybackConnection(RESULT, clock=clock)


def test_poses_are_those_of_the_result(connection):
    connection.send(Seek(37))
    frame, scene = connection.latest(), connection.describe()
    assert (scene.mode, scene.live, scene.samples) == ("playback", False, 101)
    assert [body.name for body in scene.bodies] == ["ground", "crank", "coupler", "rocker"]
    assert (frame.step, frame.t, frame.h) == (37, RESULT.t[37], pytest.approx(H))
    np.testing.assert_array_equal(frame.r[2], RESULT["coupler.position"][37])
    center = frame.r[2] + frame.A[2] @ scene.bodies[2].center_of_mass
    np.testing.assert_allclose(center, RESULT["coupler.mass_center"][37], atol=1e-13)
    np.testing.assert_array_equal(frame.A[0], np.eye(3))
    assert frame.energy == pytest.approx(RESULT["energy.total"][37])


def test_transport(connection, clock):
    """Play follows the wall clock at its speed and pauses at the end."""
    connection.send(Play())
    clock.now += 0.1
    assert connection.latest().step == pytest.approx(20, abs=1)
    connection.send(SetSpeed(0.5))
    clock.now += 0.1
    assert connection.latest().step == pytest.approx(30, abs=1)
    connection.send(Pause())
    step = connection.latest().step
    clock.now += 1.0
    assert connection.latest().step == step
    connection.send(StepForward(3))
    connection.send(StepBack(1))
    assert connection.latest().step == step + 2
    connection.send(Play())
    clock.now += 10.0
    assert (connection.latest().step, connection.latest().playing) == (100, False)
    connection.send(Play())  # from the beginning again
    assert (connection.latest().step, connection.latest().playing) == (0, True)
    connection.send(Seek(-5))
    assert connection.latest().step == 0


def test_the_same_frame_until_something_changes(connection):
    assert connection.latest() is connection.latest()
    first = connection.latest()
    connection.send(StepForward())
    assert connection.latest().number == first.number + 1


WHOLE = (
    "crank.position",
    "channel 'crank.position' has several numbers; name the ones to plot: crank.position[x], crank.position[y], ",
)


def test_channels(connection):
    connection.send(Subscribe(("motor.torque", "crank.position[z]", "coupler.velocity[y]"), ticket=5))
    connection.send(Seek(10))
    frame = connection.latest()
    assert (frame.ticket, frame.step) == (5, 10)
    rows = connection.strip().read((T, FIRST + 2, FIRST + 3))
    np.testing.assert_array_equal(rows[:, 0], RESULT.t)
    np.testing.assert_array_equal(rows[:, 1], RESULT["coupler.velocity"][:, 1])
    assert np.all(np.isnan(rows[:, 2]))
    for name, words in (("crank.colour", "crank.colour"), ("crank.position[w]", "axis of channel"), WHOLE):
        connection.send(Subscribe((name,)))
        assert words in connection.messages()[-1].text
    assert connection.latest().ticket == 5


def test_a_loop_plays_over_and_over():
    now = [0.0]
    connection = PlaybackConnection(RESULT, clock=lambda: now[0])
    connection.send(Loop(True))
    assert connection.latest().playing, "also in pause"
    connection.send(Play())
    seen = []
    for now[0] in np.arange(0.0, 3.3 * (RESULT.t[-1] - RESULT.t[0]), 0.01):
        frame = connection.latest()
        seen.append(frame.t)
        assert frame.playing
    assert np.sum(np.diff(seen) < 0.0) == 3
    connection.send(Loop(False))
    now[0] += 2.0 * RESULT.t[-1]
    assert (connection.latest().playing, connection.latest().t) == (False, RESULT.t[-1])


def test_nothing_can_be_changed(connection):
    connection.send(SetInput("motor.torque", 1.0))
    plain, message = connection.messages()
    assert plain.kind == "info"
    assert plain.text == PLAIN, "a result without its model says why bodies are rods"
    assert (message.kind, "recorded result" in message.text) == ("warning", True)


def test_a_file_with_its_model(tmp_path):
    """Shapes and joints come from the model; another model is refused."""
    RESULT.save(tmp_path / "run.npz")
    connection = playback(tmp_path / "run.npz", motored())
    scene, own = connection.describe(), describe(Simulation(motored().compile()))
    assert [joint.name for joint in scene.joints] == [joint.name for joint in own.joints]
    assert scene.inputs == ()
    assert connection.latest().r.shape == (4, 3)
    other = motored()
    other.add_body("more", mass=1.0)
    other.add_joint("held", __import__("rtmbs").Fixed(), "ground", "more")
    with pytest.raises(InputError, match="another mechanism"):
        playback(load_result(tmp_path / "run.npz"), other)


def test_what_is_no_recording_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no body"):
        PlaybackConnection(Result({}))
    with pytest.raises(InputError, match="does not exist"):
        playback(tmp_path / "none.npz")


def test_rotations_of_quaternions():
    """A turn about an axis, and orthonormal for any unit quaternion."""
    c, s = np.cos(0.3), np.sin(0.3)
    turn = rotations(np.array([[c, 0.0, 0.0, s]]))[0]
    np.testing.assert_allclose(turn[:2, :2], [[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]], atol=1e-15)
    q = np.random.default_rng(3).normal(size=(20, 4))
    R = rotations(q / np.linalg.norm(q, axis=1, keepdims=True))
    np.testing.assert_allclose(R @ np.swapaxes(R, 1, 2), np.broadcast_to(np.eye(3), (20, 3, 3)), atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(R), 1.0)


def test_unknown_names_are_refused_by_kind(connection):
    with pytest.raises(UnknownNameError):
        connection.columns(("crank.position[w]",))


def test_a_picture_holds_the_whole_motion():
    """A slide of 3 m in a mechanism of 8 m is in the picture, one of 3 km is not looked for."""
    motion = Analysis(paper_slider_crank()).run(0.0, 1.6, 0.02)
    way = PlaybackConnection(motion).describe().way
    assert way[:, 0].max() > motion["block.position"][:, 0].max() - 0.02
    far = Recording(motion)
    far.positions = far.positions + np.linspace(0.0, 3000.0, len(motion))[:, None, None]
    assert far.way().shape == (0, 3)


@pytest.mark.parametrize(("words", "plays"), [([], True), (["--paused"], False)])
def test_a_recorded_result_plays_when_its_window_opens(monkeypatch, tmp_path, words, plays):
    seen = []

    class Application:
        def exec(self):
            return 0

    class Window:
        def __init__(self, connection, *_):
            self.connection = connection

        def show(self):
            seen.append(self.connection.latest().playing)

        def close(self):
            pass

        def deleteLater(self):
            pass

    RESULT.save(tmp_path / "run.h5")
    view = importlib.import_module("rtmbs.viewer.view")
    for check in ("check_qt", "check_display", "check_opengl"):
        monkeypatch.setattr(view, check, lambda: None)
    for module in (view, importlib.import_module("rtmbs.viewer.qt.application")):
        monkeypatch.setattr(module, "application", Application)
    window = SimpleNamespace(Window=Window, window_settings=dict, restore_window=lambda *_, **__: None)
    window.save_window = lambda *_: None
    window.keep_on_screen_once_framed = lambda window: None
    monkeypatch.setitem(sys.modules, "rtmbs.viewer.qt.window", window)
    monkeypatch.setattr(PlaybackConnection, "close", lambda connection: seen.append(connection.latest().playing))
    assert main(["view", str(tmp_path / "run.h5"), *words]) == 0
    assert seen == [False, plays]


def test_a_name_of_its_own_is_that_of_the_window():
    """As a mode has, which is named with its frequency."""
    motion = Simulation(motored().compile()).run(0.02)
    motion.name = "motored, mode 1: 2.5 Hz"
    assert playback(motion, motored()).describe().name == "motored, mode 1: 2.5 Hz"


# ---- without a model -------------------------------------------------------------------------------------------------


def test_markers_belong_to_the_bodies_in_which_they_rest():
    model = four_bar()
    model.add_marker("pivot", "ground", point=(0.0, 0.0, 0.0))  # rests in ground and in the crank, which turns about it
    recording = Recording(Analysis(model).run(0.0, 1.0, 0.05))
    points = dict(zip(recording.names[1:], recording.points, strict=True))
    np.testing.assert_allclose(points["crank"], [(0.0, 0.0, 0.0)], atol=1e-9)
    pin = np.array(model.markers["pin"].point)  # on the knee: in the coupler and in the rocker
    assert len(points["coupler"]) == len(points["rocker"]) == 1
    np.testing.assert_allclose(points["coupler"][0], pin, atol=1e-9)


def test_bars_lead_to_them():
    bodies = {body.name: body for body in Recording(Analysis(four_bar()).run(0.0, 1.0, 0.05)).plain().bodies}
    assert [type(shape) for shape in bodies["coupler"].shapes].count(Bar) == 1


def test_a_motion_is_filmed_by_matplotlib_without_qt_and_opengl(tmp_path):
    path = tmp_path / "motion.h5"
    Analysis(four_bar()).run(0.0, 1.0, 0.05).save(path)
    program = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("PySide6", "pyqtgraph", "OpenGL"):
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
from rtmbs.commands.cli import main
sys.exit(main(["view", {str(path)!r}, "--headless", "--frames", "2", "--out", {str(tmp_path / "f_%02d.png")!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    assert "matplotlib" in done.stdout
    assert len(list(tmp_path.glob("f_*.png"))) == 2


# ---- beside a model --------------------------------------------------------------------------------------------------


def slider(tilt: float = 0.0, mass: float = 1.0, axis: float = 1.0) -> rtmbs.Model:
    """A block on a rail through the point (0, tilt, 0) of the ground."""
    model = rtmbs.Model("slider")
    model.add_body("block", mass=mass, inertia=(0.1, 0.1, 0.1), position=(0.0, tilt, 0.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(axis, 0.0, 1.0)), "ground", "block", point=(0.0, tilt, 0.0))
    return model


def arm(length: float = 0.6, foot: bool = False, place: float = 0.6) -> rtmbs.Model:
    """Two links with their mass centres at their pins; a foot holds the second one too."""
    model = rtmbs.Model("arm")
    model.add_body("upper", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_body("lower", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.0, 0.0, -length))
    pin = rtmbs.Revolute(axis=(0.0, 1.0, 0.0))
    model.add_joint("shoulder", pin, "ground", "upper", point=(0.0, 0.0, 0.0))
    model.add_joint("elbow", pin, "upper", "lower", point=(0.0, 0.0, -length))
    model.set_initial("elbow", rate=2.0)
    if foot:
        model.add_joint("foot", rtmbs.Spherical(), "ground", "lower", point=(0.0, 0.0, -place), cut=True)
    return model


def run_of(model, t=0.1):
    return Simulation(model.compile()).run(t)


@pytest.mark.parametrize("name", ["bricard", "governor", "slider_crank", "top", "pendulum", "windows", "fourbar"])
def test_the_model_of_the_run_fits(name):
    connection = playback(run_of(library.build(name), 0.02), library.build(name))
    assert connection.messages() == []
    assert connection.describe().live is False


OTHERS = {  # run, model, what the refusal names
    "a link of a four-bar": (motored(), lambda: motored(length=0.9), "mass centre of body 'coupler' is off by 0.05 m"),
    "a tree": (arm(), lambda: arm(0.3), "joint 'elbow' is torn apart by 0.3 m"),
    "a cut joint": (arm(foot=True), lambda: arm(foot=True, place=0.7), "joint 'foot' is torn apart by 0.0"),
    "a rail": (slider(), lambda: slider(tilt=0.2), "joint 'rail' is torn apart by 0.2 m"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_another_design_is_refused_by_name(case):
    run, other, words = OTHERS[case]
    with pytest.raises(InputError, match=words) as caught:
        playback(run_of(run), other())
    assert "another design" in str(caught.value)
    assert "build the model with the parameters of the run" in str(caught.value)


def test_other_numbers_of_the_same_shape_are_told():
    (message,) = playback(run_of(slider()), slider(mass=2.0)).messages()
    assert message.kind == "warning"
    assert "recorded from a model with other numbers than 'slider'" in message.text


def test_the_command_says_what_the_model_was_built_with(tmp_path, capsys):
    run_of(motored()).save(tmp_path / "run.npz")
    words = ["view", str(tmp_path / "run.npz"), "--of", "tests.viewer.mechanisms:motored", "--length", "0.9"]
    assert main([*words, "--headless", "--out", str(tmp_path / "a.png"), "--frames", "1"]) == 2
    told = capsys.readouterr().err
    assert "another design" in told
    assert "The model of --of was built with length = 0.9, torque = 0.0" in told
    assert main([*words[:-1], "1.0", "--headless", "--out", str(tmp_path / "a.png"), "--frames", "1"]) == 0


def results_of(tmp_path):
    """Return Results with bodies of every kind, and one of a file, with what they are drawn with besides."""
    model = library.build("pendulum")
    sim = Simulation(model.compile(), h=1e-2)
    plain = sim.run(0.1)
    plain.save(tmp_path / "run.npz")
    return {
        "run": (plain, None),
        "part": (plain[2:8], None),
        "events": (sim.run(0.2, when=lambda s: s.t - 0.155), None),
        "tolerance": (sim.run(sim.t + 0.1, tolerance=1e-4), None),
        "refined": (rtmbs.refined(model.compile(), 1e-2, 0.1), None),
        "kinematics": (Analysis(four_bar()).run(0.0, 0.1, 0.01), four_bar()),
        "loaded": (load_result(tmp_path / "run.npz"), model),
        "file": (tmp_path / "run.npz", model),
    }


def test_connect_takes_every_result_with_bodies(tmp_path):
    for kind, (result, model) in results_of(tmp_path).items():
        connection = connect(result, model=model)
        scene = connection.describe()
        assert len(scene.bodies) > 1, kind
        assert scene.joints, kind
        connection.send(Seek(0))
        recorded = load_result(result) if kind == "file" else result
        name = scene.bodies[1].name
        np.testing.assert_allclose(connection.latest().r[1], recorded[f"{name}.position"][0], err_msg=kind)


WRONG = (({"mode": "manual"}, "mode='manual'"), ({"options": {"h": 1e-3}}, "options"), ({"disk": 1e9}, "disk"))


@pytest.mark.parametrize(("wrong", "named"), WRONG)
def test_connect_refuses_what_a_replay_does_not_take(wrong, named):
    with pytest.raises(InputError, match=f"{named}: a recorded result is played back as it is"):
        connect(RESULT, **wrong)


def test_connect_refuses_a_result_without_bodies():
    with pytest.raises(InputError, match="holds no body"):
        connect(Result({}))
