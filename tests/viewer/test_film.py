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
from rtmbs.viewer.film import MATPLOTLIB, FilmOptions, Flat, film_result, film_simulation
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.scene import Scene
from rtmbs.viewer.scene.theme import WHITE, rgba
from rtmbs.viewer.session.worker import ManualConnection
from rtmbs.viewer.video import Video, check_path
from tests.cases import quick
from tests.patience import LONGEST
from tests.viewer.mechanisms import failing, motored

ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed; pip install 'rtmbs[viewer]'")
pytest.importorskip("matplotlib", reason="matplotlib is not installed; pip install 'rtmbs[plot]' brings it")

ROOT = Path(__file__).parents[3]
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
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
    )


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
    filmed = film_simulation(
        sim, tmp_path / "one.png", FilmOptions(frames=1, width=400, height=300, renderer=MATPLOTLIB, camera="iso")
    )
    assert (filmed.renderer, filmed.reason) == ("matplotlib", "")
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
    filmed = film_result(result, tmp_path / "%02d.png", FilmOptions(renderer=MATPLOTLIB, **SMALL), model)
    assert filmed.t == pytest.approx(0.3)
    images = sorted(tmp_path.glob("*.png"))
    assert len(images) == filmed.pictures == 4
    assert np.abs(pictures(images[0])[0].astype(float) - pictures(images[-1])[0]).max() > 60.0


def test_pictures_keep_the_steps_of_the_simulation(tmp_path):
    """FilmOptions leaves the numbers alone: the same steps, the same state bit for bit."""
    system = rtmbs.library.build("fourbar").compile()
    filmed, plain = Simulation(system), Simulation(system)
    film_simulation(filmed, tmp_path / "film.mp4", FilmOptions(renderer=MATPLOTLIB, **SMALL))
    while plain.t < filmed.t:
        plain.step()
    assert filmed.t == pytest.approx(0.3)
    assert np.array_equal(filmed.state.z, plain.state.z)


def test_a_step_that_fails_ends_the_film_with_its_sentence(tmp_path):
    sim = Simulation(failing(at=0.15).compile())
    filmed = film_simulation(sim, tmp_path / "film.mp4", FilmOptions(renderer=MATPLOTLIB, **SMALL))
    assert filmed.pictures == 3, "at 0, 0.1 and where it stopped"
    assert "motor" in filmed.stopped
    assert len(pictures(tmp_path / "film.mp4")) == 3


def test_without_opengl_the_reason_is_told_and_matplotlib_draws(tmp_path, monkeypatch):
    from rtmbs.viewer import film
    from rtmbs.viewer.film import NoOpenGL

    def missing(*_):
        raise NoOpenGL("EGL cannot be started")

    monkeypatch.setattr(film, "Offscreen", missing)
    filmed = film_simulation(Simulation(failing().compile()), tmp_path / "a.png", FilmOptions(**{**SMALL, "frames": 1}))
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
        ({"camera": "1,2,3"}, "film.mp4", InputError, "write a preset, or azimuth,elevation .* or nine numbers"),
        (
            {"camera": "1,0,0,0,1,0,0,0,-1"},
            "film.mp4",
            InputError,
            "three unit vectors across one another, right-handed",
        ),
        ({"camera": "nan,0"}, "film.mp4", InputError, "write a preset"),
        ({"renderer": "opngl"}, "film.png", UnknownNameError, "there is no renderer named 'opngl'"),
        ({"seconds": 0.0}, "film.mp4", InputError, "seconds is 0.0; it must be a positive number"),
    ],
)
def test_what_cannot_be_filmed_is_refused(tmp_path, changes, out, error, sentence):
    filming = FilmOptions(**{"renderer": MATPLOTLIB, **SMALL, **changes})
    with pytest.raises(error, match=sentence):
        film_simulation(Simulation(failing().compile()), tmp_path / out, filming)


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
    filming = FilmOptions(frames=8, rate=10.0, width=240, height=160, renderer=MATPLOTLIB, follow=body)
    centers, draw = [], Flat.draw
    monkeypatch.setattr(
        Flat, "draw", lambda flat, *given: (centers.append(given[1].center.copy()), draw(flat, *given))[1]
    )
    film_simulation(Simulation(system), tmp_path / "follow.mp4", filming)
    result = Simulation(system).run(0.7)
    gone = result[f"{body}.mass_center"][::20] - result[f"{body}.mass_center"][0]
    assert np.max(np.abs(gone)) > 0.1
    np.testing.assert_allclose(np.array(centers) - centers[0], gone, atol=1e-12)
    with pytest.raises(UnknownNameError, match="body"):
        film_simulation(Simulation(system), tmp_path / "no.png", replace(filming, follow="nobody"))


@pytest.mark.parametrize(
    ("name", "camera", "wanted"), [("fourbar", "", "x"), ("top", "", "iso"), ("fourbar", "iso", "iso")]
)
def test_a_film_begins_as_a_window_does(tmp_path, monkeypatch, name, camera, wanted):
    """Along the common axis of a planar mechanism, from a corner of a spatial one, and as it is told."""
    seen, draw, expected = [], Flat.draw, Camera()
    monkeypatch.setattr(Flat, "draw", lambda flat, *given: (seen.append(given[1].axes()), draw(flat, *given))[1])
    sim = Simulation(rtmbs.library.build(name).compile())
    film_simulation(sim, tmp_path / "one.png", FilmOptions(frames=1, renderer=MATPLOTLIB, camera=camera))
    expected.look(wanted)
    np.testing.assert_allclose(seen[0], expected.axes(), atol=1e-9)


def test_a_given_view_is_looked_along_and_turning_goes_on_from_there():
    camera = Camera()
    camera.look("0,0,-1,0,1,0,1,0,0")
    np.testing.assert_allclose(camera.axes(), [[0, 0, -1], [0, 1, 0], [1, 0, 0]], atol=1e-12)
    camera.orbit(0.0, 0.0)
    np.testing.assert_allclose(camera.axes()[2], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(camera.axes()[1], [0, 0, 1], atol=1e-12)
    for short, preset in (("iso", "isometric"), ("x", "front"), ("y", "side"), ("z", "top")):
        camera.look(short)
        axes = camera.axes()
        camera.look(preset)
        np.testing.assert_array_equal(axes, camera.axes())


def test_several_speeds_film_the_same_motion_into_a_file_each(tmp_path, capsys):
    out = str(tmp_path / "film_%02d.png")
    words = ["pendulum", "--headless", "--speed", "1,0.5", "--seconds", "0.2", "--fps", "20", "--size", "160x120"]
    assert main(["view", *words, "--renderer", "matplotlib", "--camera", "x", "--out", out]) == 0
    told = capsys.readouterr().out
    fast, slow = (sorted(tmp_path.glob(f"film_{speed}x_*.png")) for speed in ("1", "0.5"))
    assert (len(fast), len(slow)) == (5, 9), "0.2 s at 20 pictures a second"
    assert told.count("to t = 0.2 s") == 2
    for k, path in enumerate(fast):
        np.testing.assert_array_equal(pictures(path), pictures(slow[2 * k]))


def test_a_speed_that_is_no_number_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["view", "pendulum", "--headless", "--speed", "1,fast"])
    assert ended.value.code == 2
    assert "--speed" in capsys.readouterr().err


def test_name_time_and_speed_are_written_beside_the_mechanism(tmp_path):
    """The words change with the time, in the corner, and nothing of the mechanism is behind them."""
    sim, left = Simulation(rtmbs.library.build("fourbar").compile()), 130
    filming = FilmOptions(**{**SMALL, "width": 480, "height": 320}, renderer=MATPLOTLIB, overlay=True, speed=0.5)
    film_simulation(sim, tmp_path / "a%d.png", filming)
    first, *_, last = (pictures(path)[0].astype(float) for path in sorted(tmp_path.glob("a*.png")))
    changed = np.argwhere(np.abs(first - last).max(axis=2) > 60.0)
    assert np.any((changed[:, 0] < 60) & (changed[:, 1] < left)), "the time"
    ink = np.argwhere(np.abs(first - np.array([31.0, 41.0, 51.0])).max(axis=2) < 30.0)
    assert ink[ink[:, 1] < left][:, 0].max() < 60, "three lines"
    assert first[70:, : left // 2].std() < 25.0, "the mechanism stands at the right"


ENDINGS = ("film.mp4", "film.mkv", "film.mov", "film.webm", "film.gif")


@pytest.mark.parametrize("name", ENDINGS)
def test_every_kind_of_film_shows_its_pictures(tmp_path, name):
    levels = (10, 120, 240, 60)
    with Video(tmp_path / name, 10.0) as video:
        for level in levels:
            video.add(np.full((60, 80, 3), level, np.uint8))
    film = pictures(tmp_path / name)
    assert film.shape == (4, 60, 80, 3)
    assert film.mean(axis=(1, 2, 3)) == pytest.approx(levels, abs=8.0)


# ---- a disk that takes no more -------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full to stand for a full disk")
@pytest.mark.parametrize("name", ["film.mp4", "film.gif", "one.png"])
def test_a_full_disk_is_one_sentence(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"could not be written: No space left on device$|No space left on device; \d"):
        film_simulation(Simulation(failing().compile()), tmp_path / name, FilmOptions(renderer=MATPLOTLIB, **SMALL))


def test_a_locked_file_is_one_sentence_and_exit_code_2(tmp_path, capfd):
    (tmp_path / "film.mp4").mkdir()  # a locked file: the test may run with every right
    words = ["pendulum", "--headless", "--frames", "3", "--renderer", "matplotlib", "--size", "160x120"]
    assert main(["view", *words, "--out", str(tmp_path / "film.mp4")]) == 2
    lines = [line for line in capfd.readouterr().err.splitlines() if "picture/s" not in line and line.strip()]
    assert len(lines) == 1, lines
    assert "film.mp4' could not be written" in lines[0]


def test_pictures_that_are_on_the_disk_play_when_the_end_never_comes(tmp_path):
    """The writer is killed after three seconds of film: all of them but the last one are there."""
    from rtmbs.viewer.video import Encoder

    encoder, rng = Encoder(tmp_path / "film.mp4", (80, 60), 10.0), np.random.default_rng(3)
    for _ in range(90):
        encoder.write(rng.integers(0, 255, (60, 80, 3), np.uint8).tobytes())
    while not (tmp_path / "film.mp4").exists() or (tmp_path / "film.mp4").stat().st_size < 40_000:
        encoder.write(rng.integers(0, 255, (60, 80, 3), np.uint8).tobytes())
    encoder._process.kill()
    with pytest.raises(InputError, match=r"could not be written: ffmpeg ended with code -9; .* stay readable"):
        encoder.close()
    assert len(pictures(tmp_path / "film.mp4")) >= 10


@pytest.mark.parametrize("name", quick(["egl", "software", "osmesa"], "software"))
def test_a_renderer_that_is_asked_for_draws_or_says_why_not(tmp_path, name):
    """Each in a process of its own, without a display: OpenGL binds to one way for good."""
    words = ("pendulum", "--headless", "--frames", "1", "--size", "160x120", "--out", str(tmp_path / "one.png"))
    done = run(*words, "--renderer", name)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "picture" not in line and line.strip()]
    if done.returncode == 0:
        assert "OpenGL by " in done.stdout
        assert pictures(tmp_path / "one.png")[0].std() > 5.0
    else:
        assert done.returncode == 2
        assert len(said) == 1, said
        assert f"renderer {name!r} cannot draw here" in said[0]


def test_a_process_draws_one_way(tmp_path, monkeypatch):
    monkeypatch.setenv("PYOPENGL_PLATFORM", "glx")
    filming = FilmOptions(**{**SMALL, "frames": 1}, renderer="osmesa")
    with pytest.raises(InputError, match="renderer 'osmesa' cannot draw here: this process draws by glx already"):
        film_simulation(Simulation(failing().compile()), tmp_path / "a.png", filming)


@pytest.mark.parametrize(
    ("seconds", "speed", "pictures"), [(8.0, 1.0, 8), (8.0, 0.5, 15), (0.25, 1.0, 3), (0.71, 1.0, 8)]
)
def test_a_film_ends_with_its_run(tmp_path, capsys, seconds, speed, pictures):
    """Ten pictures a second of 0.7 s, as the command takes them."""
    Simulation(motored().compile(), h=5e-3).run(0.7).save(tmp_path / "run.npz")
    words = ["--headless", "--out", str(tmp_path / "%02d.png"), "--seconds", str(seconds), "--fps", "10"]
    words += ["--speed", str(speed), "--size", "64x48", "--renderer", "matplotlib"]
    assert main(["view", str(tmp_path / "run.npz"), *words]) == 0
    assert len(list(tmp_path.glob("*.png"))) == pictures
    told = capsys.readouterr().out
    assert ("the run ends at t = 0.7 s, and so does the film" in told) == (seconds > 1.0)


def test_a_followed_body_stands_in_the_middle_of_a_replay(tmp_path, monkeypatch):
    """However far the run goes: the picture holds what is around the body, not the whole way."""
    model = rtmbs.Model("thrown", gravity=(0.0, 0.0, -9.81))
    model.add_body("ball", mass=1.0, inertia=(1e-3, 1e-3, 1e-3), shape=rtmbs.Sphere(radius=0.1))
    model.add_joint("free", rtmbs.Floating(), "ground", "ball")
    sim = Simulation(model.compile(), h=0.02)
    result = sim.run(2.0)
    cameras, draw = [], Flat.draw
    monkeypatch.setattr(Flat, "draw", lambda flat, *given: (cameras.append(replace(given[1])), draw(flat, *given))[1])
    filming = FilmOptions(frames=5, rate=5.0, width=240, height=160, renderer=MATPLOTLIB, follow="ball")
    film_result(result, tmp_path / "follow.mp4", filming, model)
    assert len(cameras) == 5
    for camera, place in zip(cameras, result["ball.mass_center"][::10], strict=False):
        x, y, _ = camera.project(place)[0]
        assert abs(x - 120.0) < 1e-6
        assert abs(y - 80.0) < 1e-6
    assert cameras[0].metres_per_pixel() * 160 < 2.0, "not the whole way of 20 m"


def test_a_series_of_pictures_has_a_folder_of_its_own(tmp_path):
    check_path(tmp_path / "frames" / "%04d.png")
    assert (tmp_path / "frames").is_dir()
    for path in (tmp_path / "no" / "deeper" / "%04d.png", tmp_path / "other" / "one.png"):
        with pytest.raises(InputError, match="there is no folder"):
            check_path(path)
        assert not path.parent.exists()
