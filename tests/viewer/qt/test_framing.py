"""What the window keeps in its picture, and what it shows while nothing can be seen yet."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from rtmbs.simulation.simulation import Simulation
from rtmbs.viewer.scene.camera import DIRECTIONS
from rtmbs.viewer.session.connection import Message
from rtmbs.viewer.session.controller import EVERY, CompileNotice
from tests.viewer.mechanisms import motored
from tests.viewer.windows import follow, open_window


def moved(window, way):
    """Show the mechanism moved by ``way`` (3,) [m]."""
    frame = replace(window.frame, r=window.frame.r + np.asarray(way), number=window.frame.number + 1)
    window._show(frame)
    return window.canvas.camera, window.scene.points()


def test_what_would_leave_the_picture_is_held(window):
    for way in ((0.0, 0.8, 0.0), (0.0, -1.5, 0.3), (0.0, 0.0, 2.0)):
        camera, points = moved(window, way)
        assert camera.holds(points, window.framing.covered())
    distance = camera.distance
    moved(window, (0.0, 0.4, -1.0))  # within what was seen: the camera stands still
    assert camera.distance == distance


def test_a_mechanism_that_goes_far_is_followed(window):
    for far in (1e2, 1e4):
        camera, points = moved(window, (far, 0.0, 0.0))
        assert camera.holds(points)
    assert camera.distance < 100.0, "it is no dot"


def test_moving_the_picture_ends_the_hold_until_it_is_fitted(window):
    window.canvas.steered.emit()
    camera, points = moved(window, (0.0, 50.0, 0.0))
    assert not camera.holds(points)
    window.act.fit()
    camera, points = moved(window, (0.0, 1.0, 0.0))
    assert camera.holds(points)


@pytest.mark.usefixtures("opengl")
def test_reactions_stay_in_the_picture(qtbot):
    window = open_window(qtbot, Simulation(motored().compile()))
    window.act.reactions()
    follow(window)
    camera, scene, framing = window.canvas.camera, window.scene, window.framing
    assert scene.has_arrows()
    assert camera.holds(scene.arrow_tips(), framing.covered())
    near = camera.distance
    for _ in range(3):
        window.act.longer_arrows()
        assert camera.holds(scene.arrow_tips(), framing.covered())
    assert camera.distance > 1.2 * near, "longer arrows need more room"
    window.act.reactions()
    window.act.fit()
    assert camera.distance <= near, "a fit without arrows keeps no room for them"


def test_the_way_of_the_first_seconds_is_fitted_when_it_is_known(window):
    way = np.array([0.0, 0.5, 0.0]) + 3.0 * DIRECTIONS
    window._show(replace(window.frame, way=way, number=window.frame.number + 1))
    assert window.canvas.camera.holds(way, window.framing.covered())


def test_what_is_waited_for_stands_in_the_picture(window):
    def told(kind, text):
        window.connection.tell(Message(kind, text))
        window.tick()
        return window.waiting.isVisible(), window.waiting.text.text()

    assert told("busy", "compiling kernels") == (True, "compiling kernels")
    lines = window.log_panel.blockCount()
    places = set()
    for number in range(5):
        assert told("progress", f"compiling kernels: {number}") == (True, f"compiling kernels: {number}")
        places.add(window.waiting.bar.value())
    assert len(places) == 5, "the bar moves"
    assert window.log_panel.blockCount() == lines, "progress is no line of the log"
    assert not told("info", "ready")[0]
    told("busy", "taking the mechanism in hand")
    assert not told("log", "crank is pulled")[0]
    told("busy", "building")
    assert not told("failure", "it broke")[0]


def test_the_progress_of_compiling_is_told_a_few_times_a_second(monkeypatch):
    told, now = [], [0.0]
    monkeypatch.setattr("rtmbs.viewer.session.controller.time.perf_counter", lambda: now[0])
    notice = CompileNotice(told.append)
    now[0] = 10.0
    notice.begin("step")
    for _ in range(100):
        now[0] += 0.05
        notice.end("kernel")
    notice.finished()
    kinds = [message.kind for message in told]
    assert (kinds[0], kinds[-1]) == ("busy", "info")
    assert 0.8 * 5.0 / (EVERY + 0.05) <= kinds.count("progress") <= 5.0 / EVERY
    assert "100 kernels compiled in 5.0 s" in told[-1].text
    assert "of" not in told[1].text, "nobody knows how many there will be"


def test_steps_of_a_session_move_the_window(window):
    window.act.ten_forward()
    follow(window)
    assert window.canvas.camera.holds(window.scene.points())
