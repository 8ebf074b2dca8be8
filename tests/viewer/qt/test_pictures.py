"""Pictures of a mechanism that has moved: supports, floor, sections and words stand where they belong."""

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("OpenGL", reason="PyOpenGL is not installed; pip install 'rtmbs[viewer]' brings it")

import rtmbs
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.legend import font_of_size
from tests.patience import LONGEST_MS
from tests.viewer.windows import follow, open_window

pytestmark = pytest.mark.usefixtures("opengl")
GRAY = 40.0  # of 255: what two pictures may differ in where nothing changed


@pytest.fixture(scope="module")
def level():
    """A pendulum that is released level."""
    model = rtmbs.Model("level")
    model.add_body("bob", mass=1.0, center_of_mass=(0.5, 0.0, 0.0), inertia=(0.01, 0.02, 0.02), color="#ff0000")
    model.add_joint("hinge", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "bob")
    model.add_marker("tip", "bob", (1.0, 0.0, 0.0))
    return model.compile()


@pytest.fixture
def swung(qtbot, level):
    """A window on the pendulum after it has swung down and beyond."""
    window = open_window(qtbot, Simulation(level, h=0.01))
    window.act.look_side()
    window.act.parallel()
    qtbot.waitUntil(lambda: window.canvas.pictures > 0, timeout=LONGEST_MS)
    for _ in range(7):
        window.act.ten_forward()
        follow(window)
    return window


def picture(window):
    return window.canvas.picture().astype(float)


def test_supports_stay_when_the_theme_changes_after_a_motion(swung):
    before = picture(swung)
    swung.act.theme()
    assert np.abs(picture(swung) - before).max() > GRAY
    swung.act.theme()
    assert np.abs(picture(swung) - before).max() < GRAY


def test_the_floor_is_below_the_lowest_place_of_the_motion(swung):
    scene, camera = swung.scene, swung.canvas.camera
    floor = camera.project([scene._floor.corner])[0, 1]
    seen = picture(swung)
    red = np.argwhere((seen[:, :, 0] > 120.0) & (seen[:, :, 1] < 60.0) & (seen[:, :, 2] < 60.0))
    assert len(red) > 100
    assert red[:, 0].max() < floor


def test_a_section_begins_in_the_middle_and_shows_its_plane(swung):
    swung.toggle("model")
    cutting, seen = swung.panels.model.cutting, []
    whole = picture(swung)
    for axis in ("x", "y", "z"):
        cutting.axis.setCurrentText(axis)
        seen.append(picture(swung))
    cutting.axis.setCurrentText("nothing")
    for one in seen:
        left = np.count_nonzero((one[:, :, 0] > 120.0) & (one[:, :, 1] < 60.0))
        all_of_it = np.count_nonzero((whole[:, :, 0] > 120.0) & (whole[:, :, 1] < 60.0))
        assert 0.1 * all_of_it < left
        assert np.abs(one - whole).max() > GRAY
    cutting.axis.setCurrentText("x")
    cutting.place.spin.setValue(cutting.place.low)
    assert swung.statusBar().currentMessage() == "the section takes the whole mechanism away; move the plane"


SIGNS = "\N{MICRO SIGN}\N{SUPERSCRIPT TWO}\N{MINUS SIGN}\N{MULTIPLICATION SIGN}\N{RIGHTWARDS ARROW}\N{DEGREE SIGN}"


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_of_a_unit_is_no_box(sign):
    font = font_of_size(24)
    assert bytes(font.getmask(sign)) != bytes(font.getmask("\uffff"))
