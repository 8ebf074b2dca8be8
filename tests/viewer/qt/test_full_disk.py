"""A full or locked disk: whatever is written, the user reads one sentence, and the session goes on."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")
pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed; rtmbs[viewer] brings it")

from rtmbs.simulation import Simulation
from rtmbs.viewer.qt.capture import Capture
from rtmbs.viewer.session.commands import StepForward
from tests.cases import spread
from tests.viewer.mechanisms import motored
from tests.viewer.windows import follow, open_window

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full to stand for a full disk")
FULL = "No space left on device"


@pytest.fixture
def window(qtbot):
    window = open_window(qtbot, Simulation(motored().compile()))
    window.connection.send(StepForward(5))
    follow(window)
    return window


@pytest.fixture
def place(tmp_path):
    """Return names of files on a full disk, by their ending; a locked one is a folder of that name."""

    def make(name: str, locked: bool) -> str:
        path = tmp_path / name
        if locked:
            path.mkdir()
        else:
            path.symlink_to("/dev/full")
        return str(path)

    return make


@pytest.mark.parametrize("locked", [False, True], ids=["full", "locked"])
@pytest.mark.parametrize(
    ("action", "name"),
    spread(
        [
            ("save_results", "run.npz"),
            ("save_results", "run.csv"),
            ("save_state", "state.npz"),
            ("screenshot", "shot.png"),
        ],
        2,
    ),
)
def test_what_cannot_be_saved_is_one_sentence(window, place, action, name, locked):
    path = place(name, locked)
    window.act[action](path)
    follow(window)
    said = window.banner.text.text()
    assert window.banner.isVisible()
    assert name in said
    assert len(said.splitlines()) == 1
    assert locked or FULL in said or "could not be written" in said
    window.connection.send(StepForward(1))
    follow(window)
    assert window.frame.step == 6, "the session goes on"


@pytest.mark.parametrize("locked", [False, True], ids=["full", "locked"])
@pytest.mark.parametrize("name", spread(["curves.csv", "curves.png", "curves.svg"], 2))
def test_plots_that_cannot_be_exported_are_one_sentence(window, place, name, locked):
    window.act.plots()
    window.panels.plots.redraw(window.connection.strip(), window.frame.t)
    path = place(name, locked)
    window.panels.plots.bar.exported.emit(path)
    assert window.banner.isVisible()
    assert name in window.banner.text.text()


@pytest.mark.parametrize("locked", [False, True], ids=["full", "locked"])
def test_a_recording_that_cannot_be_written_ends_with_one_sentence(qtbot, window, place, locked):
    rng = np.random.default_rng(1)
    window.capture = Capture(place("film.mp4", locked), lambda: rng.integers(0, 255, (64, 96, 3), np.uint8), window)
    window.capture._timer.stop()
    while not window.capture.failure:
        window.capture.add()
        qtbot.wait(20)
    window.redraw_soon()
    window.tick()
    said = window.banner.text.text()
    assert window.banner.isVisible()
    assert said.startswith("recording ended: ")
    assert "film.mp4' could not be written" in said
    assert locked or FULL in said
    assert window.capture is None
