"""Every row of the table of keys: pressed in a window, it does what the table says."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest

from rtmbs.viewer import keys
from rtmbs.viewer.qt.actions import Actions
from rtmbs.viewer.scene.camera import PRESETS
from rtmbs.viewer.scene.theme import DARK, WHITE
from rtmbs.viewer.session import commands
from tests.viewer.windows import activate, follow, open_window

DOCS = Path(__file__).parents[3] / "docs" / "viewer.md"
ALL = [(key.action, keys_) for key in keys.KEYS for keys_ in key.keys]
SENT = {  # actions that are nothing but a command
    "play_or_pause": commands.Play(),
    "step_forward": commands.StepForward(1),
    "step_back": commands.StepBack(1),
    "ten_forward": commands.StepForward(10),
    "ten_back": commands.StepBack(10),
    "faster": commands.SetSpeed(2.0),
    "slower": commands.SetSpeed(0.5),
    "real_time": commands.SetSpeed(1.0),
    "reset": commands.Reset(),
    "reload": commands.Reload(),
}


def press(window, text: str) -> None:
    """Press keys as the window's user does, with the canvas in focus."""
    activate(window)
    window.canvas.setFocus()
    combination = QKeySequence(text)[0]
    QTest.keyClick(window.canvas, combination.key(), combination.keyboardModifiers())


@pytest.fixture
def window(qtbot, sim):
    return open_window(qtbot, sim)


# ---- the table -----------------------------------------------------------------------------------------------------


def test_every_action_exists_and_no_key_has_two_meanings():
    pressed = [QKeySequence(text).toString() for _, text in ALL]
    assert all(pressed), "Qt knows every key"
    assert len(set(pressed)) == len(pressed)
    assert all(callable(getattr(Actions, key.action, None)) for key in keys.KEYS)
    assert {key.group for key in keys.KEYS} == set(keys.GROUPS)


def test_the_keys_that_were_promised():
    promised = {
        "Space": "play_or_pause", "Right": "step_forward", "Left": "step_back", "+": "faster", "-": "slower",
        "1": "real_time", "Backspace": "reset", "Ctrl+L": "reload", "Ctrl+C": "copy_state", "Ctrl+P": "screenshot",
        "F1": "help", "F2": "info", "F3": "profiler", "F4": "plots", "F5": "full_screen",
    }  # fmt: skip
    bound = {text: action for action, text in ALL}
    assert {text: bound.get(text) for text in promised} == promised


def test_the_documents_have_the_same_table():
    assert keys.markdown() in DOCS.read_text(encoding="utf-8"), "put keys.markdown() into docs/viewer.md"


def test_menus_and_help_are_made_of_the_table(window):
    actions = {action.objectName(): action for action in window.findChildren(QAction) if action.objectName()}
    for key in keys.KEYS:
        assert [s.toString() for s in actions[key.action].shortcuts()] == [QKeySequence(k).toString() for k in key.keys]
        assert key.text in window.help.text().replace("&lt;", "<")
    assert all(does in window.help.text() for _, does in keys.MOUSE)


# ---- pressed -------------------------------------------------------------------------------------------------------


def test_a_pressed_key_calls_its_action_and_no_other(window, monkeypatch):
    called = []
    for key in keys.KEYS:
        monkeypatch.setattr(window.act, key.action, lambda name=key.action: called.append(name))
    for action, text in ALL:
        press(window, text)
        assert called == [action], text
        called.clear()


def test_the_command_of_an_action(window):
    for action, command in SENT.items():
        window.speed = 1.0
        window.act[action]()
        assert window.connection.sent == [command]
        window.connection.sent.clear()


def test_play_becomes_pause_while_playing(window):
    window.act.play_or_pause()
    follow(window, 3)
    window.act.play_or_pause()
    assert window.connection.sent == [commands.Play(), commands.Pause()]


def test_speeds_go_up_and_down_and_back(window):
    for _ in range(3):
        window.act.faster()
    window.act.slower()
    window.act.real_time()
    assert [command.factor for command in window.connection.sent] == [2.0, 5.0, 10.0, 5.0, 1.0]
    follow(window)
    assert window.frame.desired_speed == 1.0


def test_stepping_forward_and_back_shows_the_same_picture_again(window):
    start = window.frame.r.copy()
    window.act.ten_forward()
    follow(window)
    there = window.frame.r.copy()
    assert window.frame.step == 10
    window.act.ten_back()
    follow(window)
    assert np.array_equal(window.frame.r, start)
    for _ in range(10):
        window.act.step_forward()
    follow(window)
    assert np.array_equal(window.frame.r, there), "the same numbers bit for bit"


def test_reload_keeps_sliders_and_camera(window):
    window.connection.send(commands.SetInput("gravity", (0.0, 0.0, -1.62)))
    window.canvas.camera.orbit(33.0, 5.0)
    window.canvas.steered.emit()  # the user chose this picture; it follows nothing
    camera = vars(window.canvas.camera).copy()
    window.act.ten_forward()
    follow(window)
    window.act.reload()
    follow(window)
    assert window.frame.t == 0.0
    gravity = next(entry for entry in window.description.inputs if entry.name == "gravity")
    assert window.frame.inputs[gravity.place].tolist() == [0.0, 0.0, -1.62]
    assert all(np.array_equal(vars(window.canvas.camera)[name], value) for name, value in camera.items())


def test_reset_takes_sliders_back(window):
    window.connection.send(commands.SetInput("gravity", (0.0, 0.0, -1.62)))
    follow(window)
    window.act.reset()
    follow(window)
    gravity = next(entry for entry in window.description.inputs if entry.name == "gravity")
    assert window.frame.inputs[gravity.place].tolist() == [0.0, 0.0, -9.81]


def test_the_state_is_copied_as_text(window):
    window.act.step_forward()
    follow(window)
    press(window, "Ctrl+C")
    lines = dict(line.split(" = ", 1) for line in QGuiApplication.clipboard().text().splitlines())
    assert float(lines["t"]) == window.frame.t == 0.005
    motions = [lines[name].split(", rate ") for name in window.description.coordinates]
    assert [float(value) for value, _ in motions] == window.connection.sim.state.z.tolist()
    assert [float(rate) for _, rate in motions] == window.connection.sim.state.zd.tolist()
    assert lines["gravity"] == "[0.0, 0.0, -9.81]"


def test_marks_are_jumped_to(window):
    window.act.ten_forward()
    follow(window)
    window.act.mark()
    window.act.ten_forward()
    follow(window)
    window.act.mark()
    window.act.ten_forward()
    follow(window)
    for action, step in (("mark_before", 20), ("mark_before", 10), ("mark_before", 10), ("mark_after", 20)):
        window.act[action]()
        follow(window)
        assert window.frame.step == step
    window.act.mark()  # takes it away
    assert window.act.marks == {10}


def test_camera_presets(window):
    for preset, angles in PRESETS.items():
        window.canvas.camera.orbit(11.0, 3.0)
        window.act[f"look_{preset}"]()
        assert (window.canvas.camera.azimuth, window.canvas.camera.elevation) == angles


def test_follow_keeps_the_body_in_the_same_place(window):
    window.act.follow()
    assert window.framing.following is None, "nothing is chosen"
    window.select(1)
    window.act.follow()
    before = window.canvas.camera.project(window.scene.center_of(1))[0]
    window.act.ten_forward()
    follow(window)
    assert window.canvas.camera.project(window.scene.center_of(1))[0] == pytest.approx(before)
    window.act.follow()
    assert window.framing.following is None


def test_docks_come_and_go(window):
    for name in ("profiler", "plots", "parameters", "log"):
        for shown in (True, False, True):
            window.act[name]()
            assert window.docks[name].isVisible() is shown, name
        window.act[name]()


def test_overlays_come_and_go(window):
    assert window.info.isVisible()
    window._show_panels()
    folded = window.info.height()
    window.act.info()
    window._show_panels()
    assert window.info.height() > 2 * folded, "three lines become a table"
    window.act.info()
    assert not window.info.isVisible()
    window.act.help()
    assert window.help.isVisible()
    window.act.choose_nothing()
    assert not window.help.isVisible()


def test_theme_changes_and_everything_stays(window):
    window.select(2)
    window.act.theme()
    assert window.theme is DARK
    assert window.scene.theme is DARK
    assert window.scene.selected == 2
    window.act.theme()
    assert window.theme is WHITE


def test_parts_of_the_scene_come_and_go(window):
    everything = len(window.scene.batches()) + len(window.scene.lines())
    for action in ("joints", "forces", "grid"):
        window.act[action]()
        assert len(window.scene.batches()) + len(window.scene.lines()) < everything
        window.act[action]()
    assert len(window.scene.batches()) + len(window.scene.lines()) == everything
    window.act.labels()
    assert window.canvas.labels


def test_trail_of_the_chosen_body(window):
    window.act.trail()
    window.select(3)
    window.act.trail()
    assert 3 in window.scene.trails
    window.act.ten_forward()
    follow(window)
    window.act.theme()
    assert 3 in window.scene.trails, "also in the other theme"


def test_full_screen(window):
    window.act.full_screen()
    assert window.isFullScreen()
    window.act.full_screen()
    assert not window.isFullScreen()


def test_files_are_asked_for_by_command(window, tmp_path):
    window.act.save_results(str(tmp_path / "run.npz"))
    window.act.save_state(str(tmp_path / "state.npz"))
    window.act.load_state(str(tmp_path / "state.npz"))
    assert [type(command) for command in window.connection.sent] == [
        commands.SaveResults,
        commands.SaveState,
        commands.LoadState,
    ]
    follow(window)
    assert (tmp_path / "run.npz").is_file()
    assert (tmp_path / "state.npz").is_file()


def test_files_ask_for_a_path_and_take_no_for_an_answer(window, monkeypatch):
    from PySide6.QtWidgets import QFileDialog

    for name in ("getOpenFileName", "getSaveFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_: ("", ""))
    for text in ("Ctrl+S", "Ctrl+Shift+S", "Ctrl+O", "Ctrl+Shift+O"):
        press(window, text)
    assert window.connection.sent == []


def test_quit(window):
    press(window, "Ctrl+Q")
    assert not window.isVisible()
    assert window.connection.over


# ---- the mouse -----------------------------------------------------------------------------------------------------


def drag(window, button, modifiers, start: QPoint, end: QPoint) -> None:
    QTest.mousePress(window.canvas, button, modifiers, start)
    for share in (0.5, 1.0):
        here = QPoint(
            round(start.x() + share * (end.x() - start.x())), round(start.y() + share * (end.y() - start.y()))
        )
        send_move(window, button, modifiers, here)
    QTest.mouseRelease(window.canvas, button, modifiers, end)


def send_move(window, button, modifiers, here: QPoint) -> None:
    """QTest's own moves carry no buttons."""
    from PySide6.QtCore import QEvent, QPointF
    from PySide6.QtGui import QMouseEvent

    point = QPointF(here)
    event = QMouseEvent(QEvent.Type.MouseMove, point, window.canvas.mapToGlobal(point), button, button, modifiers)
    window.canvas.mouseMoveEvent(event)


NONE, CONTROL = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


def test_left_drag_turns_and_right_drag_moves(window):
    camera = window.canvas.camera
    azimuth, center = camera.azimuth, camera.center.copy()
    drag(window, LEFT, NONE, QPoint(300, 200), QPoint(340, 220))
    assert camera.azimuth != azimuth
    assert np.array_equal(camera.center, center)
    azimuth = camera.azimuth
    drag(window, RIGHT, NONE, QPoint(300, 200), QPoint(340, 220))
    assert camera.azimuth == azimuth
    assert not np.array_equal(camera.center, center)


def test_arrow_keys_do_not_turn_the_camera(window):
    camera = vars(window.canvas.camera).copy()
    for text in ("Left", "Right"):
        press(window, text)
    assert all(np.array_equal(vars(window.canvas.camera)[name], value) for name, value in camera.items())
    assert window.connection.sent == [commands.StepBack(1), commands.StepForward(1)]


def pixel_of(window, body: int) -> QPoint:
    x, y, _ = window.canvas.camera.project(window.scene.center_of(body))[0]
    return QPoint(round(x), round(y))


def test_a_click_chooses_and_a_click_beside_lets_go(window):
    QTest.mouseClick(window.canvas, LEFT, NONE, pixel_of(window, 2))
    assert window.scene.selected == 2
    QTest.mouseClick(window.canvas, LEFT, NONE, QPoint(5, 5))
    assert window.scene.selected is None


def test_a_double_click_turns_about_the_body(window):
    QTest.mouseDClick(window.canvas, LEFT, NONE, pixel_of(window, 2))
    assert window.canvas.camera.center == pytest.approx(window.scene.center_of(2), abs=0.05)


def test_control_drag_grabs_moves_and_releases(window):
    camera = vars(window.canvas.camera).copy()
    window.canvas.paused = False  # in pause the mouse moves the body itself
    start = pixel_of(window, 1)
    drag(window, LEFT, CONTROL, start, start + QPoint(40, 10))
    kinds = [type(command).__name__ for command in window.connection.sent]
    assert kinds == ["Grab", "MoveGrab", "MoveGrab", "Release"]
    grab, move = window.connection.sent[0], window.connection.sent[2]
    assert grab.body == window.body_name(1)
    point = window.frame.r[1] + window.frame.A[1] @ np.array(grab.point)
    assert point == pytest.approx(grab.target)
    assert window.canvas.camera.project(np.array(move.target))[0, :2] == pytest.approx((start.x() + 40, start.y() + 10))
    assert all(np.array_equal(vars(window.canvas.camera)[name], value) for name, value in camera.items())


def test_control_drag_beside_the_bodies_does_nothing(window):
    camera = vars(window.canvas.camera).copy()
    drag(window, LEFT, CONTROL, QPoint(5, 5), QPoint(60, 60))
    assert window.connection.sent == []
    assert all(np.array_equal(vars(window.canvas.camera)[name], value) for name, value in camera.items())
