"""A car that a person drives: controls, scripts, the window with keys and views, and the command."""

import warnings

import numpy as np
import pytest

import rtmbs
from rtmbs.commands.cli import main
from rtmbs.drive.origin import DriveOrigin, cones_of
from rtmbs.drive.person import (
    GamePad,
    Keyboard,
    Mouse,
    Script,
    Wishes,
    drive_by_script,
    increasing,
    read_script,
    strongest,
    write_script,
)
from rtmbs.vehicle import DrivenCar, HeldSteering, PedalTable, read

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")


class Stick:
    """A game pad whose axes a test moves."""

    def __init__(self):
        self.axes = [0.0] * 6

    def get_axis(self, number):
        return self.axes[number]


@pytest.fixture(scope="module")
def driving():
    """The sedan at 20 m/s with the cones of ISO 3888-1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DriveOrigin("sedan", "from_models", speed=20.0).driving()


@pytest.fixture
def start(driving):
    """The same car at its start."""
    state = driving.simulation.snapshot()
    yield driving
    driving.script = None
    driving.simulation.restore(state)


def test_keyboard():
    """Held keys turn and press by rates; released ones go back; the other key turns back faster."""
    keys = Keyboard()
    keys.held = {"left", "throttle"}
    assert keys.wishes(0.25) == pytest.approx((0.4, 0.625, 0.0))
    assert keys.wishes(5.0) == pytest.approx((1.0, 1.0, 0.0))
    keys.held = {"right", "brake"}
    assert keys.wishes(0.1) == pytest.approx((0.7, 0.5, 0.25))
    keys.held = set()
    assert keys.wishes(9.0) == pytest.approx((0.0, 0.0, 0.0))


def test_mouse_and_pad():
    """Right of the middle steers right; triggers count once they were moved; the strongest wish counts."""
    mouse = Mouse()
    mouse.place, mouse.right = 0.5, True
    assert mouse.wishes(0.1) == pytest.approx((-0.25, 0.0, 0.25))
    stick = Stick()
    pad = GamePad(stick)
    assert pad.wishes(0.01) == (0.0, 0.0, 0.0)
    stick.axes[0], stick.axes[5] = -1.0, 1.0
    assert pad.wishes(0.01) == pytest.approx((1.0, 1.0, 0.0))
    stick.axes[0], stick.axes[5], stick.axes[2] = 0.05, -1.0, 0.0
    assert pad.wishes(0.01) == pytest.approx((0.0, 0.0, 0.0))  # within the dead zone
    assert strongest([Wishes(-0.5, 0.2, 0.0), Wishes(0.4, 0.3, 1.0)]) == (-0.5, 0.3, 1.0)


def test_cones():
    """The cones of ISO 3888-1 stand beside its lanes: three on each side of each of three lanes."""
    cones = np.array(cones_of("iso-3888-1", 1.85))
    assert len(cones) == 18
    assert np.ptp(cones[:, 0]) == pytest.approx(125.0)
    entry = cones[cones[:, 0] < 96.0]
    assert np.max(entry[:, 1]) == pytest.approx(0.5 * (1.1 * 1.85 + 0.25) + 0.14)
    assert len(cones_of("slalom", 1.85)) == 10
    assert cones_of("road", 1.85) == []


def test_script(start):
    """A steering wish turns the car, the brake slows it down, and wishes are held beyond the script."""
    wishes = np.array([[0.0, 0, 0], [0.3, 0, 0], [0.0, 0, 1.0]])
    record = drive_by_script(start, Script(np.array((0.0, 0.2, 0.4)), wishes), 0.6)
    assert np.max(record["chassis.angular_velocity"][:, 2]) > 0.05
    speed = np.linalg.norm(record["chassis.velocity"], axis=1)
    assert speed[20] > 19.5
    assert speed[-1] < speed[40] - 0.5


@pytest.mark.slow
def test_a_script_is_a_driver(start):
    """Full throttle by a script is that of a pedal table."""
    record = drive_by_script(start, Script(np.array((0.0, 9.0)), np.array([[0.0, 1.0, 0.0]] * 2)), 0.5)
    car = read("sedan", variant="from_models", impossible_inertia="nearest")
    pedals = PedalTable(lambda t: 1.0, lambda t: 0.0)
    other = DrivenCar(car, 20.0, pedals, HeldSteering(0.0), h=2e-3).run(0.5, every=0.01)
    assert record["chassis.position"] == pytest.approx(other["chassis.position"], abs=1e-9)


def test_window(start, qtbot, display):
    """Keys become wishes of the session; the views go with the car; the panel shows speed and loads."""
    from PySide6.QtCore import Qt

    from rtmbs.drive.window import DriveWindow
    from rtmbs.viewer.scene.theme import WHITE
    from tests.viewer.windows import Watched, activate

    connection = Watched(start.simulation)
    connection.turn()
    window = DriveWindow(connection, WHITE)
    window._timer.stop()
    qtbot.addWidget(window)
    window.show()
    qtbot.waitExposed(window)
    activate(window)
    window.tick()
    from rtmbs.viewer.session.commands import Play

    connection.send(Play())
    qtbot.keyPress(window.canvas, Qt.Key.Key_Up)
    qtbot.keyPress(window.canvas, Qt.Key.Key_A)
    for _ in range(6):
        window._looked -= 0.1  # a tenth of a second passes
        window.tick()
        connection.turn(15)
        window.latest.again()
    window.tick()
    inputs = start.simulation.inputs
    assert inputs["person.throttle"] == pytest.approx(1.0)
    assert inputs["person.steering"] == pytest.approx(0.96, abs=0.05)
    assert start.simulation["chassis.angular_velocity"][2] > 0.02
    assert window.instruments.speed == pytest.approx(20.0, abs=0.3)
    assert np.sum(window.instruments.forces[:, 2]) == pytest.approx(16464.0, rel=0.2)
    assert window.log[-1][1:] == pytest.approx((1.0, 1.0, 0.0), abs=0.06)
    place = start.simulation["chassis.position"]
    behind = window.canvas.camera.eye() - window.frame.r[1]
    assert np.linalg.norm(behind) == pytest.approx(np.hypot(7.5, 2.4), abs=0.2)
    qtbot.keyClick(window.canvas, Qt.Key.Key_C)
    window.latest.again()
    connection.turn(1)
    window.tick()
    assert window.view == "driver"
    assert np.linalg.norm(window.canvas.camera.eye() - place) < 2.0
    qtbot.keyRelease(window.canvas, Qt.Key.Key_Up)
    assert window.keyboard.held == {"left"}
    window.close()


def test_scripts_on_disk(tmp_path):
    """A recorded script is read back; rows of before a return to the start are left out."""
    rows = increasing([(0.1, 0.0, 1.0, 0.0), (0.5, 1.0, 1.0, 0.0), (0.2, 0.5, 0.0, 0.0)])
    assert [row[0] for row in rows] == [0.1, 0.2]
    write_script(tmp_path / "a.csv", rows)
    assert read_script(tmp_path / "a.csv").at(0.15) == pytest.approx((0.25, 0.5, 0.0))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,a\n0,1\n", "its first line must be t,steering,throttle,brake"),
        ("t,steering,throttle,brake\n0,0,x,0\n", "every line must be four numbers"),
        ("t,steering,throttle,brake\n1,0,0,0\n1,0,0,0\n", "increasing times"),
    ],
)
def test_bad_scripts(tmp_path, text, words):
    (tmp_path / "bad.csv").write_text(text, encoding="utf-8")
    with pytest.raises(rtmbs.errors.InputError, match=words):
        read_script(tmp_path / "bad.csv")


@pytest.mark.slow
def test_command(tmp_path, capsys):
    """The command drives a script without a window and keeps the record."""
    (tmp_path / "a.csv").write_text("t,steering,throttle,brake\n0,0,1,0\n0.3,0,1,0\n", encoding="utf-8")
    words = ["sedan", "--speed", "15", "--course", "road", "--script", str(tmp_path / "a.csv")]
    assert main(["drive", *words, "--out", str(tmp_path / "run.npz")]) == 0
    assert "0.30 s, 5" in capsys.readouterr().out
    assert rtmbs.load_result(tmp_path / "run.npz")["t"][-1] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: DriveOrigin("sedan", course="rally"), "course named 'rally'"),
        (lambda: DriveOrigin("sedan", speed=-1.0), "speed is -1.0; it must be zero or more"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(rtmbs.errors.RtmbsError, match=words):
        make()
