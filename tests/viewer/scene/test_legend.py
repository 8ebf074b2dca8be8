"""What is written into the picture, and the keys that go with it; shapes on their way through a worker."""

import pickle
import time

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
import rtmbs
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.legend import WIDE, scale_bar
from rtmbs.viewer.session.commands import ShowReactions
from rtmbs.viewer.session.connect import connect, playback
from rtmbs.viewer.text import metric
from tests.patience import LONGEST, LONGEST_MS
from tests.viewer.mechanisms import motored
from tests.viewer.windows import follow, hide_info, open_window


@pytest.mark.parametrize(
    ("length", "text"), [(20.0, "20 m"), (1.0, "1 m"), (0.5, "50 cm"), (0.002, "2 mm"), (5e-5, "50 µm")]
)
def test_lengths_are_written_in_a_unit_that_fits(length, text):
    assert metric(length) == text


@pytest.mark.parametrize("parallel", [True, False])
def test_a_scale_bar_is_as_long_as_it_says(parallel):
    """Its pixels are those between two points at the middle of the picture, so far apart."""
    camera = Camera(center=np.array([1.0, 2.0, 3.0]), distance=7.3, parallel=parallel)
    length, pixels = scale_bar(camera)
    ends = camera.project(camera.center + np.array([-0.5, 0.5])[:, None] * length * camera.axes()[0])
    assert ends[1, 0] - ends[0, 0] == pytest.approx(pixels, rel=1e-9)
    assert WIDE / 2.6 < pixels <= WIDE


@pytest.mark.usefixtures("opengl")
def test_the_grid_comes_with_its_scale_and_the_names_of_the_axes(qtbot):
    window = open_window(qtbot, Simulation(motored().compile()))
    hide_info(window)
    with_legend = window.canvas.picture().astype(float)
    corner = with_legend[-30:, -170:]
    assert np.ptp(corner.mean(axis=2)) > 60.0, "the bar"
    window.act.grid()
    assert np.ptp(window.canvas.picture().astype(float)[-30:, -170:].mean(axis=2)) < 60.0


@pytest.mark.usefixtures("opengl")
def test_keys_of_the_scene(qtbot):
    window = open_window(qtbot, Simulation(motored().compile()))
    window.act.transparent()
    assert window.scene.color_of(1)[3] == pytest.approx(0.35)
    window.act.transparent()
    assert window.scene.color_of(1)[3] == 1.0
    window.act.reactions()
    assert window.connection.sent[-1] == ShowReactions(True)
    follow(window)
    assert np.all(np.isfinite(window.frame.reactions))
    assert window.scene.has_arrows()
    before = window.scene.scale.newtons
    window.act.longer_arrows()
    assert window.scene.scale.newtons < before
    window.act.shorter_arrows()
    window.act.arrow_scale(123.0)
    assert window.scene.scale.newtons == 123.0
    window.act.theme()
    assert window.scene.scale.newtons == 123.0, "another theme keeps the scale"
    window.act.reactions()
    assert not window.scene.has_arrows()


@pytest.mark.usefixtures("opengl")
def test_trails_of_markers(qtbot):
    window = open_window(qtbot, Simulation(motored(torque=5.0).compile()))
    window.act.marker_trails()
    for _ in range(4):
        window.act.ten_forward()
        follow(window)
    points, _ = window.scene.trails.segments(lambda body, name: (1.0, 0.0, 0.0, 1.0))
    assert len(points) >= 3
    assert len(window.scene._trails) == len(points)
    eye = window.scene.description.markers[1]
    place = window.frame.r[eye.body] + window.frame.A[eye.body] @ eye.point
    assert np.linalg.norm(points[:, 1] - place, axis=1).min() < 1e-9
    window.act.marker_trails()
    assert len(window.scene.trails) == 0


@pytest.mark.usefixtures("opengl")
def test_a_model_without_markers_says_so(qtbot):
    window = open_window(qtbot, Simulation(rtmbs.library.build("fourbar").compile()))
    window.act.marker_trails()
    assert "no markers" in window.statusBar().currentMessage()


@pytest.mark.usefixtures("opengl")
def test_a_name_is_shown_where_the_mouse_rests(qtbot):
    from PySide6.QtCore import QPoint
    from PySide6.QtWidgets import QToolTip

    window = open_window(qtbot, Simulation(motored().compile()))
    canvas = window.canvas
    x, y, _ = canvas.camera.project(window.scene.center_of(3))[0]
    qtbot.mouseMove(canvas, QPoint(round(x), round(y)))
    qtbot.waitUntil(lambda: QToolTip.text() != "", timeout=LONGEST_MS)
    assert QToolTip.text() in ("rocker", "coupler", "crank", "spring (strut)", "spring (spring)")
    qtbot.mouseMove(canvas, QPoint(4, canvas.height() - 4))
    qtbot.waitUntil(lambda: QToolTip.text() == "", timeout=LONGEST_MS)


# -------------------------------------------------------------------------------------------------- shapes on their way


def styled_scene() -> rtmbs.Model:
    """A pendulum with a given shape, colour and opacity."""
    model = rtmbs.Model("styled_scene")
    shape = rtmbs.Box((0.1, 0.2, 0.9), center=(0, 0, -0.5))
    model.add_body("bob", shape=shape, color="brass", opacity=0.5, edges=False, **shape.inertia(500.0))
    model.add_joint("pin", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "bob")
    model.set_looks("ground", shape=rtmbs.Sphere(0.2))
    return model


def check(scene):
    body = scene.bodies[1]
    assert isinstance(body.shapes[0], rtmbs.Box)
    assert (body.color, body.opacity, body.edges) == ("#c9a84c", 0.5, False)
    assert isinstance(scene.bodies[0].shapes[0], rtmbs.Sphere)


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_the_looks_of_a_model_come_through_a_session_and_its_reload(mode):
    from rtmbs.viewer.session.commands import Reload

    connection = connect(styled_scene(), mode)
    try:
        check(connection.describe())
        first = connection.describe().generation
        connection.send(Reload())
        end = time.monotonic() + LONGEST
        while connection.describe().generation == first and time.monotonic() < end:
            time.sleep(0.05)
        assert connection.describe().generation > first
        check(connection.describe())
    finally:
        connection.close()


def test_a_simulation_a_recording_and_shapes_of_one_window(tmp_path):
    sim = Simulation(styled_scene().compile())
    result = sim.run(0.02)
    result.save(tmp_path / "run.npz")
    connection = connect(sim, "thread")
    try:
        check(connection.describe())
    finally:
        connection.close()
    check(playback(tmp_path / "run.npz", styled_scene()).describe())
    for part in (result, result[::2]):
        check(playback(part).describe())
    assert playback(pickle.loads(pickle.dumps(result))).describe().joints == (), "the way of a file: without a System"
    other = connect(sim, "manual", shapes={"bob": rtmbs.Sphere(0.1)})
    other.should_step()
    assert isinstance(other.describe().bodies[1].shapes[0], rtmbs.Sphere)
    assert other.describe().bodies[1].color == "#c9a84c", "the colour stays the model's"
