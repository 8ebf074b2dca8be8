"""The hand in the window: wheel, time slider, drags in pause with undo, measuring, menus, keyboard, dropped files."""

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("OpenGL", reason="PyOpenGL is not installed; pip install 'rtmbs[viewer]' brings it")
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QLabel

from rtmbs.simulation import Simulation
from rtmbs.viewer.qt.parameters import build_rows
from rtmbs.viewer.qt.window import system_theme
from rtmbs.viewer.scene.camera import cube_faces
from rtmbs.viewer.scene.elements import BODY, JOINT, Choice
from rtmbs.viewer.scene.theme import DARK
from rtmbs.viewer.session.commands import Drag, Play, Redo, SetInput, SetOption, Undo
from rtmbs.viewer.session.connection import Message
from tests.viewer.mechanisms import motored
from tests.viewer.windows import follow, open_window

pytestmark = pytest.mark.usefixtures("opengl")
LEFT, CONTROL = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier


def pixel(window, body):
    """Return the pixel of the mass centre of a body."""
    scene = window.scene
    number = [one.name for one in scene.description.bodies].index(body)
    return window.canvas.camera.project([scene.center_of(number)])[0, :2]


@pytest.mark.parametrize("parallel", [False, True])
def test_the_wheel_comes_closer_to_the_mouse(window, parallel):
    window.canvas.camera.parallel = parallel
    window.act.fit()
    before = pixel(window, "coupler")
    distance = window.canvas.camera.distance
    place = QPointF(*before)
    turned = QPoint(0, 360)
    event = QWheelEvent(
        place, window.canvas.mapToGlobal(place), QPoint(), turned, Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(window.canvas, event)
    assert window.canvas.camera.distance < 0.7 * distance
    assert pixel(window, "coupler") == pytest.approx(before, abs=12.0), "the surface is under the mouse, not the centre"


def test_a_click_on_the_view_cube_looks_along_its_axis(window, qtbot):
    canvas = window.canvas
    window.act.look_isometric()
    face = next(one for one in cube_faces(canvas.camera.axes()) if one.label == "z")
    chosen = window.selection.choice
    x, y = np.rint(face.corners.mean(axis=0) + canvas.cube()).astype(int).tolist()
    qtbot.mouseClick(canvas, LEFT, pos=QPoint(x, y))
    np.testing.assert_allclose(canvas.camera.axes()[2], (0.0, 0.0, 1.0), atol=1e-9)
    assert window.selection.choice == chosen, "what lies behind the cube is not chosen"
    window.scene.shown["axes"] = False
    assert canvas.cube() is None


def test_a_click_beside_the_handle_jumps_there(window, qtbot):
    window.act.ten_forward()
    window.act.ten_forward()
    follow(window)
    window._show_panels()
    slider = window.transport.slider
    qtbot.mouseClick(slider, LEFT, pos=QPoint(slider.width() // 2, slider.height() // 2))
    follow(window)
    assert window.frame.step == pytest.approx(10, abs=1)


def test_a_planar_mechanism_is_seen_in_its_plane(window):
    assert window.canvas.camera.axes()[2] == pytest.approx((1.0, 0.0, 0.0)), "the pins lie along x"
    window.act.look_isometric()
    window.act.look_planar()
    assert window.canvas.camera.axes()[2] == pytest.approx((1.0, 0.0, 0.0))


def test_in_pause_the_mouse_poses_and_undo_brings_the_motion_back(window, qtbot):
    window.act.ten_forward()
    follow(window)
    sim = window.connection.sim
    window.framing.stop_following()
    moving, seen = sim.state.copy(), window.canvas.picture().astype(float)
    x, y = np.round(pixel(window, "coupler")).astype(int)
    for dx in (0, 120):  # two gestures
        qtbot.mousePress(window.canvas, LEFT, CONTROL, QPoint(x + dx // 4, y))
        follow(window)
        drag_to(window, QPoint(x + dx, y))
        follow(window)
        qtbot.mouseRelease(window.canvas, LEFT, CONTROL, QPoint(x + dx, y))
    assert any(isinstance(one, Drag) for one in window.connection.sent)
    posed = sim.state.copy()
    assert not np.array_equal(posed.z, moving.z)
    assert np.all(posed.zd == 0.0)
    window.act.choose_nothing()
    while window.connection._controller.live.changes.done:
        window.act.undo()
        follow(window)
    assert sim.state.z.tobytes() == moving.z.tobytes()
    assert sim.state.zd.tobytes() == moving.zd.tobytes()
    assert np.abs(window.canvas.picture() - seen).max() < 60.0
    while window.connection._controller.live.changes.undone:
        window.act.redo()
        follow(window)
    assert sim.state.z.tobytes() == posed.z.tobytes()


def drag_to(window, place):
    """Move the mouse with the left button and Ctrl held."""
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QMouseEvent

    here, none = QPointF(place), Qt.MouseButton.NoButton
    event = QMouseEvent(QEvent.Type.MouseMove, here, window.canvas.mapToGlobal(here), none, LEFT, CONTROL)
    QApplication.sendEvent(window.canvas, event)


def test_undo_takes_back_inputs_and_options(window):
    h = window.frame.h
    window.send(SetInput("motor.torque", 3.0))
    window.send(SetOption("h", 2e-3))
    follow(window)
    sim = window.connection.sim
    assert (float(sim.inputs["motor.torque"]), sim.h) == (3.0, 2e-3)
    for command, torque, step in ((Undo(), 3.0, h), (Undo(), 0.0, h), (Redo(), 3.0, h), (Redo(), 3.0, 2e-3)):
        window.send(command)
        follow(window)
        assert (float(sim.inputs["motor.torque"]), sim.h) == (torque, step)
    window.send(Redo())
    follow(window)
    assert "nothing to redo" in window.statusBar().currentMessage()


def test_two_clicks_measure(window, qtbot):
    window.select(2)  # what was chosen before is no end
    window.act.measure()
    assert window.statusBar().currentMessage() == "measure: click the first body or joint, or press D again for coupler"
    for body in ("crank", "rocker"):
        qtbot.mouseClick(window.canvas, LEFT, pos=QPoint(*np.round(pixel(window, body)).astype(int)))
    (reading,) = window.selection.readings()
    assert reading.reading.distance == pytest.approx(1.0)
    assert "crank to rocker: 1.000 m" in window.statusBar().currentMessage()
    window.act.forget_measures()
    assert window.selection.readings() == []


def test_a_measured_line_is_seen_dashed_inside_of_a_body(window):
    unmarked = window.canvas.picture().astype(float)
    window.selection.measure([(Choice(BODY, "crank"), Choice(JOINT, "base"))])
    (one,) = window.selection.readings()
    ends = window.canvas.camera.project([one.reading.start, one.reading.start + one.reading.vector])[:, :2]
    x, y = np.round(np.linspace(0.8 * ends[0] + 0.2 * ends[1], ends[1], 200)).astype(int).T
    changed = np.abs(window.canvas.picture().astype(float) - unmarked)[y, x].max(axis=1) > 20.0
    assert 0.2 < changed.mean() < 0.95


def test_the_keyboard_alone_measures(window):
    window.act.choose_next()
    first = window.selection.choice
    window.act.measure()
    window.act.measure()
    assert window.statusBar().currentMessage() == f"measure from {first.name}: click the other body or joint"
    window.act.choose_next()
    window.act.measure()
    ((start, end),) = window.selection.pairs
    assert (start, end) == (first, window.selection.choice)
    window.act.measure()
    window.act.choose_nothing()
    window.act.measure()
    assert window.statusBar().currentMessage() == "measured nothing"


def test_the_pull_says_its_newtons(window):
    frame = window.frame
    assert window.scene.pull_text() == []
    from dataclasses import replace

    window.scene.show(replace(frame, grabbed=1, grab_point=np.zeros(3), grab_target=np.ones(3), grab_force=12.3456))
    ((place, text),) = window.scene.pull_text()
    assert (place.tolist(), text) == ([1.0, 1.0, 1.0], "12.3 N")


def test_menus_have_letters_lines_and_quit_last(window):
    bar = window.menuBar().actions()
    assert [one.text().replace("&", "") for one in bar] == ["File", "Edit", "Camera", "Show", "Run", "Help"]
    for one in bar:
        texts = [action.text() for action in one.menu().actions()]
        letters = [text[text.index("&") + 1].lower() for text in texts if "&" in text]
        assert len(set(letters)) == len(letters), "each letter once"
    files = bar[0].menu().actions()
    assert files[-1].objectName() == "quit"
    assert any(one.isSeparator() for one in files)


def test_the_keyboard_alone_chooses_turns_and_reaches_panels(window, qtbot):
    eye = window.canvas.camera.eye()
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Up):
        qtbot.keyClick(window, key, CONTROL)
    assert np.linalg.norm(window.canvas.camera.eye() - eye) > 0.1
    qtbot.keyClick(window, Qt.Key.Key_E)
    assert window.selection.choice.name == "crank"
    window.act.parameters()
    for inside in (True, False):
        qtbot.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_E, CONTROL)
        assert window.docks["parameters"].isAncestorOf(QApplication.focusWidget()) == inside


def test_a_chosen_body_has_an_outline(window):
    before = window.canvas.picture().astype(float)
    window.select(2)
    (outline,) = [one for one in window.scene.overlays if one.lines and not one.batches]
    x, y = np.round(window.canvas.camera.project(outline.lines[0].points.mean(axis=1))[:, :2]).astype(int).T
    after = window.canvas.picture().astype(float)
    assert len(outline.lines[0].points) >= 12
    changed = np.abs(after - before).max(axis=2) > 60.0
    seen = [changed[b - 3 : b + 4, a - 3 : a + 4].any() for a, b in zip(x, y, strict=True)]
    assert sum(seen) >= 2, "edges that nothing hides"


def test_a_dropped_file_is_opened(window, monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr(window, "open", opened.append)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "run.npz"))])
    event = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, LEFT, Qt.KeyboardModifier.NoModifier)
    window.dropEvent(event)
    assert opened == [str(tmp_path / "run.npz")]


def test_every_advice_has_a_button(window):
    window._show_message(Message("failure", "try a smaller step h", offers=("back", "halve")))
    banner = window.banner
    assert banner.halve_button.isVisible()
    assert not banner.back_button.isVisible(), "there is no step to go back to"
    h = window.frame.h
    banner.halve_button.click()
    assert window.connection.sent == [SetOption("h", 0.5 * h), Play()]


def test_the_palette_of_the_system_counts_until_the_user_chooses(window, monkeypatch):
    monkeypatch.setattr("rtmbs.viewer.qt.window.system_theme", lambda: DARK)
    window._follow_system()
    assert window.theme is DARK
    window.act.theme()
    window._follow_system()
    assert window.theme is not DARK
    assert system_theme().name in ("white", "dark")


def test_rows_of_parameters_have_units_tips_and_room(qtbot):
    from rtmbs import library

    window = open_window(qtbot, Simulation(motored().compile()))
    window.resize(1200, 700)
    window.act.parameters()
    qtbot.wait(20)
    panel = window.panels.parameters
    rows = [row for group in panel.root.children() for row in group.children()]
    assert all(row.opts.get("tip") or row.hasChildren() for row in rows)
    gravity = panel.root.child("Inputs", "gravity", "z")
    (item,) = gravity.items
    assert item.widget.slider.width() > 150
    assert "m/s\N{SUPERSCRIPT TWO}" in item.widget.spin.lineEdit().text()
    from rtmbs.viewer.session.origin import parameter_notes

    assert parameter_notes(library.MECHANISMS["crank_rocker"])["rate"] == "Rate of the crank at the start [rad/s]."
    for name, factory in library.MECHANISMS.items():
        units = {row["name"]: row.get("suffix") for row in build_rows(library.defaults(name), parameter_notes(factory))}
        lacking = [one for one, value in library.defaults(name).items() if isinstance(value, float) and not units[one]]
        assert not lacking, f"{name}: parameters without units: {lacking}"


def test_values_of_parameters_look_like_the_fields_that_they_are(window):
    """They looked like text, and nobody saw that a click opens them."""
    window.act["parameters"]()
    tree = window.panels.parameters
    labels = [one for one in tree.viewport().findChildren(QLabel) if one.isVisible() and one.text()]
    assert labels
    image, seen = tree.viewport().grab().toImage(), []
    for label in labels:
        edge = label.mapTo(tree.viewport(), QPoint(0, label.height() // 2))
        if tree.viewport().rect().contains(edge):
            seen.append(image.pixelColor(edge).name())
    assert seen
    assert set(seen) == {window.theme.border}
