"""A mechanism moved by the mouse in the window, by mouse events: loops kept, time stands still, history remembers."""

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("OpenGL", reason="PyOpenGL is not installed; pip install 'rtmbs[viewer]' brings it")
from PySide6.QtCore import QPoint, Qt

import rtmbs
from rtmbs.simulation import Simulation
from rtmbs.viewer.session.commands import Drag, Grab
from tests.viewer.windows import follow, open_window

pytestmark = pytest.mark.usefixtures("opengl")
KEYS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def crank_angle(sim):
    """Return the angle of the crank by the places of two bodies, rad."""
    rod = sim["rod.position"]
    return np.arctan2(rod[2], rod[1])


def test_the_mouse_moves_a_slider_crank_through_half_a_turn(qtbot, tmp_path):
    sim = Simulation(rtmbs.library.build("planar_slider_crank").compile(), h=1e-3)
    window = open_window(qtbot, sim)
    window.act.look_front()
    window.act.fit()
    canvas = window.canvas
    sim = window.connection.sim
    index = [body.name for body in window.description.bodies].index("crank")
    pins = np.array(sim["rod.position"])  # the pin of crank and rod
    x, y = pixel(canvas, pins)
    pick = canvas.pick(x, y)
    assert pick is not None
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, KEYS, QPoint(round(x), round(y)))
    seen = []
    for angle in np.linspace(np.arctan2(pins[2], pins[1]), 2.6, 12):
        goal = 0.3 * np.array([0.0, np.cos(angle), np.sin(angle)])
        send_move(qtbot, canvas, QPoint(*np.round(pixel(canvas, goal)).astype(int)))
        follow(window)
        seen.append(crank_angle(sim))
        assert np.abs(sim.equations.close(sim.state.z, sim.state.R0)).max() < 1e-9
        place = sim["slider.position"][1]
        turn = seen[-1]
        assert place == pytest.approx(0.3 * np.cos(turn) + np.sqrt(1.0 - (0.3 * np.sin(turn)) ** 2), abs=1e-8)
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, KEYS, QPoint(round(x), round(y)))
    assert index >= 0
    assert seen[-1] == pytest.approx(2.6, abs=0.05)  # a pixel is some hundredths
    assert np.all(np.diff(seen) > 0.0)
    assert sim.t == 0.0
    kinds = {type(one) for one in window.connection.sent}
    assert Drag in kinds
    assert Grab not in kinds
    check_history(window, sim, seen[-1])
    picture = canvas.picture()
    assert np.ptp(picture.astype(float)) > 100.0


def check_history(window, sim, angle):
    """Let the session step and go back: the pose of the drag is there again, bit for bit."""
    dragged = sim.state.z.copy()
    window.act.ten_forward()
    follow(window)
    assert sim.t > 0.0
    window.act.ten_back()
    follow(window)
    assert sim.state.z.tobytes() == dragged.tobytes()
    assert crank_angle(sim) == pytest.approx(angle, abs=1e-12)


def pixel(canvas, point):
    """Return the pixel of a point of the world."""
    return canvas.camera.project(np.asarray(point)[None])[0][:2]


def send_move(qtbot, canvas, place):
    """Move the mouse with the left button and both keys held."""
    from PySide6.QtCore import QEvent, QPointF
    from PySide6.QtGui import QMouseEvent
    from PySide6.QtWidgets import QApplication

    left = Qt.MouseButton.LeftButton
    here = QPointF(place)
    event = QMouseEvent(QEvent.Type.MouseMove, here, canvas.mapToGlobal(here), Qt.MouseButton.NoButton, left, KEYS)
    QApplication.sendEvent(canvas, event)
