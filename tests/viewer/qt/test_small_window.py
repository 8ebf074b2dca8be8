"""What lies over a small picture stays readable, and what the user marked or followed stays seen."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from rtmbs.viewer.qt.plot_widgets import EXPORTS, with_ending
from rtmbs.viewer.qt.profiler import phases_title
from rtmbs.viewer.qt.widgets import missed_deadlines, run_rows, worth_rows
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.legend import LEFT, RIGHT, Word, legend, meanings
from rtmbs.viewer.scene.scene import traceable, trail_color
from rtmbs.viewer.scene.theme import THEMES
from rtmbs.viewer.session.commands import Seek, StepBack, StepForward
from tests.patience import LONGEST_MS
from tests.viewer.windows import follow


def test_the_map_of_keys_scrolls_in_a_small_window(window, qtbot):
    window.act.help()
    whole = window.help.height()
    assert window.help.verticalScrollBar().maximum() == 0
    window.resize(500, 400)
    qtbot.wait(50)
    window.place_overlays()
    assert window.rect().contains(window.help.geometry())
    assert window.help.height() < whole
    assert window.help.verticalScrollBar().maximum() > 0
    assert window.help.horizontalScrollBar().maximum() > 0


def test_the_map_of_keys_lies_over_the_panels_too(window, qtbot):
    window.resize(1250, 700)
    window.act.model()
    window.act.plots()
    qtbot.wait(50)
    window.act.help()
    assert window.help.width() > window.canvas.width()
    assert (window.help.verticalScrollBar().maximum(), window.help.horizontalScrollBar().maximum()) == (0, 0)


@pytest.mark.parametrize(("width", "beside"), [(1200, True), (300, False)])
def test_the_legend_leaves_the_scales_their_place(window, width, beside):
    window.act.legend()
    window.act.reactions()
    follow(window)
    scene, camera = window.scene, Camera(width=width, height=400)
    words = [one for one in legend(scene, camera) if isinstance(one, Word)]
    lowest = max(one.y for one in words if one.anchor == LEFT)
    assert (lowest > min(one.y for one in words if one.anchor == RIGHT)) == beside


@pytest.mark.parametrize("height", [330, 420, 700])
def test_the_info_has_room_in_a_low_picture(window, qtbot, height):
    window.act.info()
    window._show_panels()
    qtbot.waitUntil(lambda: window.info.height() > 100, timeout=LONGEST_MS)
    window.resize(900, height)
    qtbot.wait(50)
    window.info.setText("")
    window._show_panels()
    assert window.info.geometry().bottom() <= window.canvas.height() or window.info._size == 7
    assert (window.info._size == 12) == (height == 700)


def test_marks_stand_on_the_slider(window):
    window.connection.send(StepForward(40))
    follow(window)
    window.connection.send(Seek(10))
    follow(window)
    window.transport.show_frame(window.frame)
    before = window.transport.slider.grab().toImage()
    window.act.mark()
    slider = window.transport.slider
    assert slider.marks == {10}
    assert slider.grab().toImage() != before
    (place,) = slider.places()
    assert 0.2 < place / slider.width() < 0.3
    window.act.mark()
    assert slider.grab().toImage() == before


def test_a_trail_stays_where_time_goes_back(window):
    window.scene.follow(["eye"])
    for _ in range(30):
        window.connection.send(StepForward(1))
        follow(window)
    points = window.scene.trails.segments(lambda body, name: (0, 0, 0, 1))[0]
    assert len(points) > 25
    window.connection.send(StepBack(1))
    follow(window)
    shorter = window.scene.trails.segments(lambda body, name: (0, 0, 0, 1))[0]
    np.testing.assert_array_equal(shorter, points[:-1])
    window.connection.send(StepForward(1))
    follow(window)
    np.testing.assert_array_equal(window.scene.trails.segments(lambda body, name: (0, 0, 0, 1))[0], points)
    window.connection.send(Seek(10))
    follow(window)
    assert 5 <= len(window.scene.trails.segments(lambda body, name: (0, 0, 0, 1))[0]) <= 10


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_a_trail_has_the_colour_of_a_page_and_not_that_of_its_body(window, theme):
    """stage.js: wayColor."""
    points = traceable(window.description)
    for number, point in enumerate(points):
        color = trail_color(window.description, theme, point.body, point.name)
        assert color == theme.plots[(number + 1) % len(theme.plots)]
        assert color not in theme.bodies


def test_no_two_meanings_share_a_colour(window):
    window.act.reactions()
    window.act.legend()
    scene = window.scene
    scene.shown["forces"] = True
    for theme in THEMES.values():
        scene.theme = theme
        colors = [row.color for row in meanings(scene) if row.color]
        assert len(set(colors)) == len(colors)


def test_the_legend_stands_beside_the_info(window):
    window.act.legend()
    scene, camera = window.scene, window.canvas.camera
    rows = [row.words for row in meanings(scene)]

    def left(taken):
        return min(
            word.x for word in legend(scene, camera, taken=taken) if isinstance(word, Word) and word.text in rows
        )

    free = left((0.0, 0.0))
    assert left((300.0, 50.0)) == free, "it is lower than the info"
    assert left((300.0, camera.height - 40.0)) == free + 300.0
    window.info.show()
    assert window.canvas.taken() == (window.info.geometry().right() + 1, window.info.geometry().bottom() + 1)
    window.info.hide()
    assert window.canvas.taken() == (0.0, 0.0)


def test_another_size_of_the_picture_shows_the_whole_while_paused(window, qtbot):
    window.toggle("model")
    window.resize(1200, 500)
    qtbot.wait(100)
    window.act.fit()
    window.toggle("model")
    window.resize(700, 700)
    qtbot.wait(100)
    camera = window.canvas.camera
    assert camera.width == window.canvas.width()
    assert camera.holds(window.scene.whole(), window.framing.covered())


def test_going_back_from_an_explosion_fits_the_mechanism(window):
    window.connection.send(StepForward(20))
    follow(window)
    scene = window.scene
    scene.seen = np.array([[-1e4, -1e4, -1e4], [1e4, 1e4, 1e4]])
    window.framing.fit()
    far = window.canvas.camera.distance
    window.connection.send(StepBack(10))
    follow(window)
    assert window.canvas.camera.distance < 0.01 * far
    assert window.canvas.camera.holds(scene.points(), window.framing.covered())


def test_names_of_what_is_counted(window):
    frame = window.frame
    assert missed_deadlines(frame) == "no deadline yet"
    assert missed_deadlines(dataclasses.replace(frame, deadlines=50, missed=2), " (4.0 %)") == "2 of 50 (4.0 %)"
    recorded, program = (
        dataclasses.replace(window.description, **one) for one in ({"live": False}, {"mode": "manual"})
    )
    assert dict(row[:2] for row in run_rows(frame, 30.0, recorded))["sample"] == "0"
    assert "speed wanted" not in dict(row[:2] for row in run_rows(frame, 30.0, program)), "a program sets it itself"
    window.transport.describe(dataclasses.replace(window.description, live=False))
    window.transport.show_frame(frame)
    assert window.transport.time.text().endswith("sample 0")


def test_the_profiler_says_where_the_rest_of_a_step_goes():
    assert (
        phases_title(13.1e-6, 183e-6) == "phases together 13.1 \N{MICRO SIGN}s, 170 \N{MICRO SIGN}s Python around them"
    )
    assert phases_title(0.0, 183e-6) == "phases together 0 s"


@pytest.mark.parametrize(
    ("path", "kind", "found"),
    [("plot", 0, "plot.pdf"), ("a/plot", 2, "a/plot.png"), ("plot", 1, "plot.svg"), ("plot.png", 3, "plot.png")],
)
def test_an_export_has_the_ending_of_the_chosen_kind(path, kind, found):
    assert with_ending(path, EXPORTS.split(";;")[kind]) == found


def test_a_mechanism_without_loops_tells_nothing_of_them(window):
    frame, description = window.frame, window.description
    assert "loops: position" in dict(row[:2] for row in worth_rows(frame, description))
    open_chain = dataclasses.replace(description, equations=0)
    assert [row[0] for row in worth_rows(frame, open_chain)] == ["energy"]
