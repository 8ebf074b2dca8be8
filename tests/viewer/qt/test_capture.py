"""Recording the window: the video lasts as long as the filming, whatever the machine and the panels do."""

import subprocess

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed; rtmbs[viewer] brings it")

import imageio_ffmpeg

from rtmbs.viewer.qt.capture import RATE, Capture, fitted


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def length(path):
    """Return pictures and seconds of a video, as ffmpeg counts them."""
    pictures, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
    return pictures, seconds


@pytest.mark.parametrize("seed", range(4))
def test_a_video_lasts_as_long_as_the_filming(qapp, tmp_path, seed):
    """Ticks that come late, or in heaps, or not for seconds; a window that changes its size twice."""
    rng, clock, end = np.random.default_rng(seed), Clock(), 100.0 + 10.0
    sizes = [(64, 96), (48, 96), (64, 60)]

    def take():
        height, width = sizes[int((clock.now - 100.0) / 4.0)]
        return np.full((height, width, 3), int(25 * (clock.now - 100.0)), np.uint8)

    capture = Capture(str(tmp_path / "film.mp4"), take, clock=clock)
    capture._timer.stop()  # the test says when
    while clock.now < end:
        capture.add()
        clock.now = min(clock.now + rng.choice([0.001, 1 / RATE, 0.1, 1.7], p=[0.2, 0.5, 0.25, 0.05]), end)
    capture.stop()
    assert capture.failure == ""
    pictures, seconds = length(tmp_path / "film.mp4")
    assert abs(pictures - 10 * RATE) <= 1
    assert seconds == pytest.approx(10.0, abs=1.01 / RATE)
    assert capture.video.pictures == pictures


def test_the_picture_at_a_time_is_that_of_the_time(qapp, tmp_path):
    clock = Clock()
    capture = Capture(
        str(tmp_path / "film.mp4"), lambda: np.full((32, 32, 3), round(20 * (clock.now - 100.0)), np.uint8), clock=clock
    )
    capture._timer.stop()
    for now in np.arange(100.0, 106.0, 0.25):
        clock.now = now
        capture.add()
    capture.stop()
    raw = subprocess.run(
        [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(tmp_path / "film.mp4"), "-f", "rawvideo",
         "-pix_fmt", "gray", "-"], capture_output=True, check=True,
    ).stdout  # fmt: skip
    levels = np.frombuffer(raw, np.uint8).reshape(-1, 32 * 32).mean(axis=1)
    shown = 20.0 * np.arange(len(levels)) / RATE
    assert np.max(np.abs(levels - shown)) <= 20.0 * 0.25 + 8.0, "no later than the ticks come, and the codec's loss"


def test_what_cannot_be_drawn_ends_the_recording_and_says_so(qapp, tmp_path):
    def take():
        raise RuntimeError("no canvas")

    capture = Capture(str(tmp_path / "film.mp4"), take)
    capture.add()
    assert (capture.failure, capture.running) == ("recording ended: no canvas", False)
    capture.stop()
    capture.stop()


def test_another_size_is_fitted_and_not_distorted():
    picture = np.zeros((40, 20, 3), np.uint8)
    picture[10:30, 5:15] = 255
    found = fitted(picture, 80, 40)
    assert found.shape == (40, 80, 3)
    columns = np.flatnonzero(found[20, :, 0] > 128)
    rows = np.flatnonzero(found[:, 40, 0] > 128)
    assert (len(columns), len(rows)) == (10, 20)
    assert fitted(picture, 20, 40) is picture
