"""What the user lays over the picture is drawn where it belongs: sections, measurements, the chosen joint, words."""

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("OpenGL", reason="PyOpenGL is not installed; pip install 'rtmbs[viewer]' brings it")

from rtmbs.simulation import Simulation
from rtmbs.viewer.film import Flat
from rtmbs.viewer.scene.drawing import section_normal_to
from rtmbs.viewer.scene.elements import BODY, JOINT, Choice
from rtmbs.viewer.scene.theme import WHITE, rgba
from tests.patience import LONGEST_MS
from tests.viewer.mechanisms import motored
from tests.viewer.windows import hide_info, open_window

pytestmark = pytest.mark.usefixtures("opengl")
BACKGROUND = 255.0 * np.array(rgba(WHITE.background)[:3])
DISTINCT = 40.0  # of 255


@pytest.fixture
def window(qtbot):
    """Return a window that looks along x on nothing but the mechanism; y points to the right."""
    window = open_window(qtbot, Simulation(motored().compile()))
    hide_info(window)
    window.act.grid()
    window.act.look_front()
    qtbot.waitUntil(lambda: window.canvas.pictures > 0, timeout=LONGEST_MS)
    return window


def picture(window) -> np.ndarray:
    return window.canvas.picture().astype(float)


def columns(seen: np.ndarray) -> tuple[int, int]:
    """Return the first and the last column of a picture that anything stands in."""
    found = np.flatnonzero(np.any(np.abs(seen - BACKGROUND).max(axis=2) > DISTINCT, axis=0))
    return int(found[0]), int(found[-1])


def column_at(window, y: float) -> float:
    return float(window.canvas.camera.project([[0.0, y, 0.0]])[0, 0])


@pytest.mark.parametrize("painter", ["OpenGL", "matplotlib"])
def test_a_section_leaves_one_side(window, painter):
    def drawn(section):
        scene, camera = window.scene, window.canvas.camera
        scene.section = section
        if painter == "OpenGL":
            return picture(window)
        flat = Flat(camera.width, camera.height)
        return flat.draw(scene.drawing(), camera).astype(float)

    left, right = columns(drawn(None))
    middle, slack = column_at(window, 0.5), 6
    first, last = columns(drawn(section_normal_to("y", 0.5)))
    assert abs(first - left) <= 2
    assert abs(last - middle) <= slack
    first, last = columns(drawn(section_normal_to("y", 0.5, turned=True)))
    assert abs(first - middle) <= slack
    assert abs(last - right) <= 2


def test_the_whole_is_back_without_the_section(window):
    whole = picture(window)
    window.scene.section = section_normal_to("y", 0.5)
    assert np.abs(picture(window) - whole).max() > DISTINCT
    window.scene.section = None
    picture(window)  # a shadow may be one picture late
    np.testing.assert_array_equal(picture(window), whole)


def test_a_ray_begins_and_ends_at_the_section():
    section, x = section_normal_to("x", 1.0), np.array([1.0, 0.0, 0.0])
    start, reach = section.kept(np.array([5.0, 2.0, 0.0]), -x)
    assert (start.tolist(), reach) == ([1.0, 2.0, 0.0], np.inf)
    assert section.kept(np.array([5.0, 2.0, 0.0]), x)[1] == 0.0
    start, reach = section.kept(np.array([-5.0, 2.0, 0.0]), x)
    assert (start.tolist(), reach) == ([-5.0, 2.0, 0.0], 6.0)
    assert section.kept(np.array([-5.0, 2.0, 0.0]), -x)[1] == np.inf


def test_a_measurement_is_a_line_with_its_number(window):
    plain = picture(window)
    window.selection.measure([(Choice(JOINT, "base"), Choice(JOINT, "foot"))])
    changed = np.abs(picture(window) - plain).max(axis=2) > DISTINCT
    found = np.nonzero(changed)[1]
    assert found.min() == pytest.approx(column_at(window, 0.0), abs=30)
    assert found.max() == pytest.approx(column_at(window, 1.0), abs=30)
    ((point, text),) = window.scene.overlays[0].texts()
    assert text == "1.000 m"
    x, y, _ = window.canvas.camera.project(point)[0]
    written = changed[round(y) - 25 : round(y) - 4, round(x) - 40 : round(x) + 40]
    assert written.mean() > 0.02, "the number over the middle of the line"
    window.selection.measure([])
    assert np.array_equal(picture(window), plain), "text leaves the edges smooth"


def test_the_chosen_joint_has_a_ball_about_it(window):
    plain = picture(window)
    window.selection.choose(Choice(JOINT, "foot"))
    rows, found = np.nonzero(np.abs(picture(window) - plain).max(axis=2) > 8.0)
    foot = window.canvas.camera.project([[0.0, 1.0, 0.0]])[0]
    assert (found.mean(), rows.mean()) == pytest.approx((foot[0], foot[1]), abs=12)


def test_a_hidden_body_leaves_the_background(window):
    x, y, _ = window.canvas.camera.project([window.scene.center_of(3)])[0]
    assert np.abs(picture(window)[round(y), round(x)] - BACKGROUND).max() > DISTINCT
    window.selection.hide({Choice(BODY, "rocker")})
    assert np.abs(picture(window)[round(y), round(x)] - BACKGROUND).max() < 2.0


def test_words_are_on_pictures_only_when_they_are_wanted(window):
    plain = window.picture()
    assert np.array_equal(plain, window.canvas.picture())
    window.act.stamp()
    changed = np.argwhere(np.abs(window.picture().astype(float) - plain).max(axis=2) > DISTINCT)
    assert len(changed) > 100
    assert changed.max(axis=0) == pytest.approx((50, 90), abs=50), "in the upper left corner"
