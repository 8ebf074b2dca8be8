"""Pictures without a display: what is written decodes, moves, and is the same mechanism by either renderer."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.commands.cli import main
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.simulation import Simulation
from rtmbs.viewer.camera import Camera
from rtmbs.viewer.flat import Flat
from rtmbs.viewer.headless import Filming, film_result, film_simulation
from rtmbs.viewer.manual import ManualConnection
from rtmbs.viewer.scene import Scene
from rtmbs.viewer.theme import WHITE, rgba
from rtmbs.viewer.video import Video
from tests.viewer.mechanisms import failing

ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed; pip install 'rtmbs[viewer]'")
pytest.importorskip("matplotlib", reason="matplotlib is not installed; pip install 'rtmbs[plot]' brings it")

ROOT = Path(__file__).parents[2]
SMALL = {"frames": 4, "rate": 10.0, "width": 240, "height": 160}


def pictures(path: Path) -> np.ndarray:
    """Return the pictures of a video or an image (k, height, width, 3)."""
    reader = ffmpeg.read_frames(str(path))
    width, height = next(reader)["size"]
    return np.array([np.frombuffer(data, np.uint8).reshape(height, width, 3) for data in reader])


def run(*words: str) -> subprocess.CompletedProcess:
    """Run ``rtmbs view`` in a process without a display."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "PYOPENGL_PLATFORM")}
    environment["LP_NUM_THREADS"] = "1"
    command = [sys.executable, "-m", "rtmbs", "view", *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)


def test_the_command_films_a_mechanism_without_a_display(tmp_path):
    out = tmp_path / "movie.mp4"
    done = run(
        "fourbar", "--ny", "2", "--nz", "2", "--headless", "--frames", "6", "--size", "320x201", "--out", str(out)
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"6 pictures to t = 0.1\d+ s .*(OpenGL|matplotlib)", done.stdout)
    film = pictures(out)
    assert film.shape == (6, 200, 320, 3), "an odd row is left out"
    background = np.round(255.0 * np.array(rgba(WHITE.background)[:3]))
    drawn = (np.abs(film.astype(float) - background).max(axis=3) > 40.0).mean(axis=(1, 2))
    assert np.all((drawn > 0.005) & (drawn < 0.5)), drawn
    assert np.abs(film[0].astype(float) - film[-1]).max() > 60.0, "something moved"


def test_matplotlib_draws_bodies_where_they_are(tmp_path):
    sim = Simulation(rtmbs.library.build("fourbar", ny=1, nz=1).compile())
    filmed = film_simulation(sim, tmp_path / "one.png", Filming(frames=1, width=400, height=300, opengl=False))
    assert (filmed.renderer, filmed.reason) == ("matplotlib", "it was not asked for")
    (picture,) = pictures(tmp_path / "one.png")
    connection = ManualConnection(Simulation(sim.system))
    connection.should_step()
    scene, camera = Scene(connection.describe(), WHITE, connection.latest()), Camera(width=400, height=300)
    camera.fit(scene.points())
    for body in (1, 2, 3):
        x, y, _ = camera.project(scene.center_of(body))[0]
        assert picture[round(y), round(x)].astype(float) == pytest.approx(
            255.0 * np.array(scene.color_of(body)[:3]), abs=3.0
        )


def test_a_recorded_result_is_filmed_at_its_own_times(tmp_path):
    model = rtmbs.library.build("fourbar", ny=1, nz=1)
    Simulation(model.compile()).run(0.5).save(tmp_path / "run.npz")
    result = rtmbs.load_result(tmp_path / "run.npz")
    filmed = film_result(result, tmp_path / "%02d.png", Filming(opengl=False, **SMALL), model)
    assert filmed.t == pytest.approx(0.3)
    images = sorted(tmp_path.glob("*.png"))
    assert len(images) == filmed.pictures == 4
    assert np.abs(pictures(images[0])[0].astype(float) - pictures(images[-1])[0]).max() > 60.0


def test_pictures_keep_the_steps_of_the_simulation(tmp_path):
    """Filming leaves the numbers alone: the same steps, the same state bit for bit."""
    system = rtmbs.library.build("fourbar").compile()
    filmed, plain = Simulation(system), Simulation(system)
    film_simulation(filmed, tmp_path / "film.mp4", Filming(opengl=False, **SMALL))
    while plain.t < filmed.t:
        plain.step()
    assert filmed.t == pytest.approx(0.3)
    assert np.array_equal(filmed.state.z, plain.state.z)


def test_a_step_that_fails_ends_the_film_with_its_sentence(tmp_path):
    sim = Simulation(failing(at=0.15).compile())
    filmed = film_simulation(sim, tmp_path / "film.mp4", Filming(opengl=False, **SMALL))
    assert filmed.pictures == 3, "at 0, 0.1 and where it stopped"
    assert "motor" in filmed.stopped
    assert len(pictures(tmp_path / "film.mp4")) == 3


def test_without_opengl_the_reason_is_told_and_matplotlib_draws(tmp_path, monkeypatch):
    from rtmbs.viewer import headless
    from rtmbs.viewer.offscreen import NoOpenGL

    def missing(*_):
        raise NoOpenGL("EGL cannot be started")

    monkeypatch.setattr(headless, "Offscreen", missing)
    filmed = film_simulation(Simulation(failing().compile()), tmp_path / "a.png", Filming(**{**SMALL, "frames": 1}))
    assert (filmed.renderer, filmed.reason) == ("matplotlib", "EGL cannot be started")


@pytest.mark.parametrize(
    ("changes", "out", "error", "sentence"),
    [
        ({}, "film.avi", InputError, "the ending '.avi' is not known; it must be one of .mp4"),
        ({}, "no/such/film.mp4", InputError, "there is no folder .*create it first"),
        ({"frames": 0}, "film.mp4", InputError, "frames is 0; it must be at least 1"),
        ({"rate": float("nan")}, "film.mp4", InputError, "rate is nan; it must be a positive number"),
        ({"theme": "drak"}, "film.mp4", UnknownNameError, "did you mean 'dark'"),
        ({"camera": "tob"}, "film.mp4", UnknownNameError, "did you mean 'top'"),
    ],
)
def test_what_cannot_be_filmed_is_refused(tmp_path, changes, out, error, sentence):
    with pytest.raises(error, match=sentence):
        film_simulation(Simulation(failing().compile()), tmp_path / out, Filming(opengl=False, **{**SMALL, **changes}))


def test_a_video_takes_one_size(tmp_path):
    with Video(tmp_path / "film.mp4", 10.0) as video:
        video.add(np.zeros((60, 80, 3), np.uint8))
        with pytest.raises(InputError, match="keep the size"):
            video.add(np.zeros((62, 80, 3), np.uint8))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["forbar"], "there is no mechanism named 'forbar'; did you mean 'fourbar'"),
        (["nowhere.py"], "model file 'nowhere.py' does not exist"),
        (["nowhere.npz"], "result file 'nowhere.npz' does not exist"),
        (["fourbar", "--headless"], "--headless needs --out PATH"),
    ],
)
def test_misuse_is_one_line_that_helps(capsys, words, sentence):
    assert main(["view", *words, "--headless"]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fourbar", "--nyy", "3"], "did you mean '--ny'"),
        (["fourbar", "--size", "big"], "'big' is not a size such as 1200x700"),
        (["fourbar", "--theme", "grey"], "invalid choice"),
        (["run.npz", "--ny", "3"], "there is no argument named '--ny'"),
    ],
)
def test_a_wrong_option_ends_with_code_2(capsys, words, sentence):
    with pytest.raises(SystemExit) as ended:
        main(["view", *words])
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_camera_that_follows_goes_with_its_body(tmp_path, monkeypatch):
    """The centre of the picture moves as the mass centre does; another name is refused."""
    system = rtmbs.library.build("pendulum").compile()
    body = list(system.bodies)[1]
    filming = Filming(frames=8, rate=10.0, width=240, height=160, opengl=False, follow=body)
    centers, draw = [], Flat.draw
    monkeypatch.setattr(
        Flat, "draw", lambda flat, *given: (centers.append(given[2].center.copy()), draw(flat, *given))[1]
    )
    film_simulation(Simulation(system), tmp_path / "follow.mp4", filming)
    result = Simulation(system).run(0.7)
    gone = result[f"{body}.mass_center"][::20] - result[f"{body}.mass_center"][0]
    assert np.max(np.abs(gone)) > 0.1
    np.testing.assert_allclose(np.array(centers) - centers[0], gone, atol=1e-12)
    with pytest.raises(UnknownNameError, match="body"):
        film_simulation(Simulation(system), tmp_path / "no.png", replace(filming, follow="nobody"))
