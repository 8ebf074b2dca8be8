"""The window under Xvfb with OpenGL: pictures are checked by statistics, against where the camera says things are."""

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("OpenGL", reason="PyOpenGL is not installed; pip install 'rtmbs[viewer]' brings it")
import rtmbs
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.theme import DARK, WHITE, rgba
from rtmbs.viewer.session.commands import Grab, MoveGrab, Release
from rtmbs.viewer.session.mouse_spring import compiled_with_mouse_spring
from tests.cases import spread
from tests.patience import LONGEST_MS
from tests.viewer.mechanisms import motored
from tests.viewer.windows import follow, hide_info, open_window

ffmpeg = pytest.importorskip(
    "imageio_ffmpeg", reason="imageio-ffmpeg is not installed; pip install 'rtmbs[viewer]' brings it"
)
pytestmark = pytest.mark.usefixtures("opengl")

RECOLORED = 8.0  # of 255: the same place in another colour, also where it lies in the shade
DISTINCT = 40.0  # of 255: a pixel this far from the background belongs to something


def fourbar(layout: str, ny: int = 4, nz: int = 10) -> Simulation:
    return Simulation(rtmbs.library.build("fourbar", ny=ny, nz=nz, layout=layout).compile())


def shoot(qtbot, window) -> np.ndarray:
    """Return a picture (height, width, 3) of the scene alone, floating point."""
    qtbot.waitUntil(lambda: window.canvas.pictures > 0, timeout=LONGEST_MS)
    if window.shown["grid"]:
        window.act.grid()
    return window.canvas.picture().astype(float)


def covered(picture: np.ndarray, theme=WHITE) -> np.ndarray:
    """Return which pixels are not background (height, width)."""
    background = 255.0 * np.array(rgba(theme.background)[:3])
    return np.abs(picture - background).max(axis=2) > DISTINCT


@pytest.mark.parametrize("layout", spread(["stacked", "parallel"], 1))
def test_both_layouts_fill_the_picture_and_stay_inside(qtbot, layout):
    window = open_window(qtbot, fourbar(layout))
    hide_info(window)
    window.act.grid()
    window.act.fit()
    seen = covered(shoot(qtbot, window))
    assert 0.01 < seen.mean() < 0.6
    rows, columns = np.nonzero(seen)
    assert max(np.ptp(rows) / seen.shape[0], np.ptp(columns) / seen.shape[1]) > 0.8
    border = np.concatenate([seen[0], seen[-1], seen[:, 0], seen[:, -1]])
    assert not border.any()


@pytest.mark.parametrize("theme", [WHITE, DARK])
def test_a_colored_body_is_drawn_where_the_camera_says(qtbot, theme):
    window = open_window(qtbot, fourbar("stacked", ny=1, nz=1))
    window.set_theme(theme)
    window.act.look_front()
    window.act.joints()
    plain = shoot(qtbot, window)
    coupler = [body.name for body in window.description.bodies].index(
        "coupler_1_0"
    )  # its rods hide as much at both ends
    window.select(coupler)
    window.scene.set_overlays([])  # no outline
    chosen = shoot(qtbot, window)
    rows, columns = np.nonzero(np.abs(plain - chosen).max(axis=2) > RECOLORED)
    assert len(rows) > 200
    own, mean = np.array(rgba(theme.selected)[:3]), chosen[rows, columns].mean(axis=0)
    assert own @ mean / np.linalg.norm(own) / np.linalg.norm(mean) > 0.99, "in the colour of what is chosen"
    x, y, _ = window.canvas.camera.project(window.scene.center_of(coupler))[0]
    assert (columns.mean(), rows.mean()) == pytest.approx((x, y), abs=3.0)


def test_pictures_of_different_times_differ_and_of_the_same_time_do_not(qtbot):
    window = open_window(qtbot, fourbar("parallel", ny=2, nz=3))
    first = shoot(qtbot, window)
    assert np.array_equal(first, shoot(qtbot, window))
    for _ in range(4):
        window.act.ten_forward()
    follow(window, 100)
    later = shoot(qtbot, window)
    assert (np.abs(first - later).max(axis=2) > DISTINCT).mean() > 0.005
    for _ in range(4):
        window.act.ten_back()
    follow(window)
    assert np.array_equal(first, shoot(qtbot, window))


def test_labels_trails_and_hidden_parts_change_the_picture(qtbot):
    window = open_window(qtbot, fourbar("stacked", ny=1, nz=2))
    plain = shoot(qtbot, window)
    window.act.labels()
    assert (np.abs(plain - shoot(qtbot, window)).max(axis=2) > DISTINCT).sum() > 200
    window.act.labels()
    window.act.joints()
    assert covered(shoot(qtbot, window)).sum() < covered(plain).sum()


def test_a_screenshot_is_the_picture(qtbot, tmp_path):
    from PySide6.QtGui import QImage

    window = open_window(qtbot, fourbar("stacked", ny=1, nz=1))
    picture = shoot(qtbot, window)
    window.act.screenshot(str(tmp_path / "shot.png"))
    image = QImage(str(tmp_path / "shot.png"))
    assert (image.height(), image.width()) == picture.shape[:2]
    assert not image.isNull()
    middle = image.pixelColor(image.width() // 2, image.height() // 2)
    assert (middle.red(), middle.green(), middle.blue()) == tuple(picture[image.height() // 2, image.width() // 2])


def test_a_recorded_video_decodes_and_moves(qtbot, tmp_path):
    window = open_window(qtbot, fourbar("stacked", ny=1, nz=2))
    path = tmp_path / "run.mp4"
    window.act.record(str(path))
    for _ in range(6):
        window.act.ten_forward()
        follow(window)
        qtbot.wait(60)
    window.act.record()
    assert not window.capture.running
    reader = ffmpeg.read_frames(str(path))
    width, height = next(reader)["size"]
    assert (width, height) == (window.canvas.width() // 2 * 2, window.canvas.height() // 2 * 2)
    film = [np.frombuffer(data, np.uint8).reshape(height, width, 3).astype(float) for data in reader]
    assert len(film) == window.capture.video.pictures >= 3
    assert (np.abs(film[0] - film[-1]).max(axis=2) > DISTINCT).any()


def test_a_scripted_drag_moves_a_rocker(qtbot):
    """Pull the rocker of a hanging four-bar sideways: it follows the target, is drawn on its way, and swings back."""
    window = open_window(qtbot, Simulation(compiled_with_mouse_spring(motored())))
    rocker = [body.name for body in window.description.bodies].index("rocker")
    rest = window.scene.center_of(rocker).copy()
    pick = window.scene.pick(rest + np.array([9.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]))
    assert pick is not None
    local, point = tuple(pick.local.tolist()), pick.point
    window.send(Grab(window.body_name(pick.body), local, tuple(point.tolist())))
    for share in np.linspace(0.1, 1.0, 10):
        window.send(MoveGrab(tuple((point + share * np.array([0.0, 0.3, 0.0])).tolist())))
        window.act.ten_forward()
        follow(window)
    assert not window.banner.isVisible(), window.banner.text.text()
    assert window.frame.grabbed == pick.body
    assert window.scene.center_of(rocker)[1] - rest[1] > 0.02
    assert len(window.scene._grab.batches[0]) == 1
    window.send(Release())
    window.act.ten_forward()
    follow(window)
    assert window.frame.grabbed == -1


def test_a_slow_renderer_smooths_what_stands_still(qtbot):
    window = open_window(qtbot, fourbar("stacked", ny=1, nz=1))
    canvas = window.canvas
    qtbot.waitUntil(lambda: canvas.pictures > 0, timeout=LONGEST_MS)
    if not canvas.software:
        pytest.skip("a graphics card draws here, always with smooth edges")
    before = canvas.pictures
    canvas.update()
    qtbot.waitUntil(lambda: canvas.pictures >= before + 2, timeout=LONGEST_MS)
    qtbot.wait(700)
    assert canvas.pictures <= before + 3, "once, not again and again"


@pytest.mark.parametrize(("layout", "ny", "nz"), [("stacked", 2, 4), ("parallel", 2, 4), ("stacked", 3, 2)])
def test_every_cut_joint_is_seen_in_red(qtbot, layout, ny, nz):
    """Pins of a cut joint and of joints in the tree lie on one axis in one place: the red one is seen."""
    window = open_window(qtbot, fourbar(layout, ny, nz))
    hide_info(window)
    picture, canvas, frame = shoot(qtbot, window), window.canvas, window.frame
    red = (picture[..., 0] > 1.6 * picture[..., 1]) & (picture[..., 0] > 1.6 * picture[..., 2])
    cut = [joint for joint in window.connection.describe().joints if joint.cut]
    assert len(cut) == ny * nz
    scale = picture.shape[1] / canvas.camera.width
    for joint in cut:
        place = frame.r[joint.a] + frame.A[joint.a] @ joint.point_a
        x, y = (scale * canvas.camera.project(place)[0, :2]).astype(int)
        assert red[y - 6 : y + 7, x - 6 : x + 7].mean() > 0.15, joint.name
