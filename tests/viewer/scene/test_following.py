"""A camera that goes with a body, wherever the body is; and what cannot be played is refused by name."""

from dataclasses import replace

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.results.result import Result, derived
from rtmbs.simulation import Simulation
from rtmbs.viewer.film import MATPLOTLIB, FilmOptions, Flat, film_result
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.scene import Following, Scene
from rtmbs.viewer.scene.theme import WHITE
from rtmbs.viewer.session.connect import playback
from tests.viewer.mechanisms import motored

MODEL = motored(torque=3.0)


@pytest.fixture(scope="module")
def result():
    return Simulation(MODEL.compile(), h=5e-3).run(0.5)


def damaged(result, name, samples, value):
    """Return a result with other numbers in some samples of one channel."""

    def values(one):
        found = np.array(result[one])
        if one == name:
            found[samples] = value
        return found

    return Result(derived(result, values), result.name, result.fingerprint, result.outcomes, system=result.system)


@pytest.mark.parametrize("nowhere", [np.nan, np.inf])
def test_a_body_that_is_nowhere_leaves_the_camera_where_it_was(result, nowhere):
    connection = playback(result, MODEL)
    frame, camera = connection.latest(), Camera()
    scene = Scene(connection.describe(), WHITE, frame)
    following = Following(1, scene)
    following.fit(camera, scene, 0.0)
    before = camera.center.copy(), camera.distance
    r = frame.r.copy()
    r[1] = nowhere
    scene.show(replace(frame, r=r))
    following.carry(camera, scene)
    following.fit(camera, scene, 0.0)
    np.testing.assert_array_equal(camera.center, before[0])
    assert np.isfinite(camera.distance)
    scene.show(replace(frame, r=frame.r + 0.25))
    following.carry(camera, scene)
    np.testing.assert_allclose(camera.center, before[0] + 0.25, atol=1e-12)


@pytest.mark.parametrize("size", [(127, 48), (64, 48), (120, 400), (200, 700)])
@pytest.mark.parametrize("follow", ["", "coupler"])
def test_the_words_of_a_narrow_film_leave_room_for_the_mechanism(result, tmp_path, monkeypatch, size, follow):
    cameras, draw = [], Flat.draw
    monkeypatch.setattr(Flat, "draw", lambda flat, *given: (cameras.append(replace(given[1])), draw(flat, *given))[1])
    filming = FilmOptions(frames=1, width=size[0], height=size[1], overlay=True, renderer=MATPLOTLIB, follow=follow)
    film_result(result, tmp_path / "narrow.png", filming, MODEL)
    (camera,), places = cameras, np.array([result[f"{name}.mass_center"][0] for name in ("crank", "coupler", "rocker")])
    assert camera.holds(places)
    assert np.ptp(camera.project(places)[:, 0]) > 0.1 * size[0], "and not as a dot"


TIMES = {"not a number": (3, np.nan), "endless": (-1, np.inf), "backwards": (4, -1.0)}


@pytest.mark.parametrize("case", TIMES)
def test_times_that_are_no_order_are_refused(result, tmp_path, case):
    sample, value = TIMES[case]
    wrong = damaged(result, "t", sample, value)
    for act in (lambda: playback(wrong, MODEL), lambda: film_result(wrong, tmp_path / "a.png", FilmOptions(), MODEL)):
        with pytest.raises(InputError, match="times must not go back"):
            act()


def test_a_body_that_begins_nowhere_is_refused_by_name(result):
    with pytest.raises(InputError, match="body 'coupler' is nowhere at the start"):
        playback(damaged(result, "coupler.position", 0, np.nan))
