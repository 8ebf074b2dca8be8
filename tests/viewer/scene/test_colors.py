"""The legend says what the colours mean, and films have it in words, whoever draws them."""

import dataclasses

import numpy as np
import pytest

import rtmbs
from rtmbs.commands.cli import main
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.simulation import Simulation
from rtmbs.viewer import film
from rtmbs.viewer.film import FilmOptions, film_result, film_simulation
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.legend import MOST, RIGHT, Stroke, Word, bodies, legend, legend_row, meanings, with_legend
from rtmbs.viewer.scene.scene import Scene, named
from rtmbs.viewer.scene.theme import DARK, WHITE
from rtmbs.viewer.session.worker import ManualConnection
from tests.viewer.mechanisms import failing, motored

MODEL = motored(torque=3.0)


def scene_of(model):
    connection = ManualConnection(Simulation(model.compile()))
    connection.should_step()
    return Scene(connection.describe(), WHITE, connection.latest())


def crowd(count):
    """Bodies of as many colours of the user's."""
    model = rtmbs.Model("crowd")
    for k in range(count):
        shape = rtmbs.Sphere(0.1, center=(k, 0, 0))
        model.add_body(f"ball {chr(97 + k)}", color=f"#{k:02x}8080", shape=shape, **shape.inertia(1000.0))
        model.add_joint(f"pin {k}", rtmbs.Revolute(axis=(1.0, 0.0, 0.0)), "ground", f"ball {chr(97 + k)}")
    return model


def test_bodies_of_one_family_share_a_row():
    scene = scene_of(rtmbs.library.build("fourbar", ny=2, nz=3))
    assert [row.words for row in bodies(scene.description, WHITE)] == ["rod", "coupler"]
    assert [row.color for row in bodies(scene.description, DARK)] == list(DARK.bodies[:2])


def test_many_colours_are_counted():
    rows = meanings(scene_of(crowd(MOST + 4)))
    assert len([row for row in rows if row.part == "bodies"]) == MOST
    assert rows[MOST - 1] == ("bodies", "", "and 5 more bodies")


def test_rows_follow_what_is_shown():
    scene = scene_of(MODEL)
    words = [row.words for row in meanings(scene)]
    assert "joint reaction: force on the second body" not in words
    assert "cut joint, closed by equations" in words
    scene.shown |= {"reactions": True, "joints": False}
    scene.follow(["eye", "crank"])
    words = [row.words for row in meanings(scene)]
    assert "joint reaction: force on the second body" in words
    assert "joint" not in words
    assert words[-2:] == ["trail of eye", "trail of crank"]
    with pytest.raises(UnknownNameError, match="did you mean 'eye'"):
        scene.follow(["eyes"])


def test_a_legend_stands_inside_the_picture():
    scene, camera = scene_of(MODEL), Camera(width=400, height=300)
    scene.shown["legend"] = True
    camera.fit(scene.points())
    found = legend(scene, camera)
    corners = [(one.x, one.y) for one in found if isinstance(one, Word) and one.text not in "xyz"]
    corners += [end for one in found if isinstance(one, Stroke) for end in (one.start, one.end)]
    assert np.all(np.array(corners) > 0.0)
    assert np.all(np.array(corners) < (400, 300))
    alone = legend(scene, camera, scales=False)
    assert alone
    assert not [one for one in alone if isinstance(one, Word) and one.anchor == RIGHT], "colours alone"


def test_pillow_writes_the_legend_in_its_colours():
    scene, camera = scene_of(MODEL), Camera(width=600, height=400)
    scene.shown["legend"] = True
    plain = np.full((400, 600, 3), 255, np.uint8)
    written = with_legend(plain, legend(scene, camera, legend_row(400), scales=False))
    for color in (scene.theme.cut, *WHITE.bodies[:3]):
        wanted = [int(color[k : k + 2], 16) for k in (1, 3, 5)]
        assert np.any(np.all(written == wanted, axis=2)), color
    assert with_legend(plain, []) is plain


# ---- films ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def drawn(monkeypatch):
    """What a painter was given, picture by picture: scenes are kept, and nothing is drawn."""
    pytest.importorskip("imageio_ffmpeg")
    kept = []

    class Painter:
        name = "nobody"

        def draw(self, drawing, camera):
            shown = [(one.mesh.kind, one.color[0].copy(), one.placement.copy()) for one in drawing.batches if len(one)]
            kept.append((shown, [line.points.copy() for line in drawing.lines if len(line)]))
            return np.full((160, 240, 3), 255, np.uint8)

        def close(self):
            pass

    monkeypatch.setattr(film, "make_painter", lambda *_: (Painter(), ""))
    return kept


SMALL = FilmOptions(frames=5, rate=20.0, width=240, height=160)


def colored(shown, color):
    """Return the placements of one colour."""
    wanted = [int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    return [place for _, own, place in shown if np.allclose(own[:3], wanted, atol=1e-6)]


def test_a_film_has_reactions_of_the_scale_that_it_says(drawn, tmp_path):
    sim = Simulation(MODEL.compile())
    filming = dataclasses.replace(SMALL, reactions=True, newtons=40.0)
    film_simulation(sim, tmp_path / "a.png", filming)
    (shafts, heads) = colored(drawn[-1][0], WHITE.reaction)
    length = np.linalg.norm(shafts[:, :, 2], axis=1) + np.linalg.norm(heads[:, :, 2], axis=1)
    result = Simulation(MODEL.compile()).run(sim.t)
    force = [np.linalg.norm(result[f"{name}.reaction"][-1, :3]) for name in ("base", "knee", "elbow", "foot")]
    np.testing.assert_allclose(sorted(length), sorted(one / 40.0 for one in force), rtol=1e-3)


def test_a_film_of_a_result_has_one_scale_for_the_whole_run(drawn, tmp_path):
    result = Simulation(MODEL.compile()).run(0.3)
    film_result(result, tmp_path / "a.png", dataclasses.replace(SMALL, reactions=True), MODEL)
    for shown, _ in drawn:
        assert colored(shown, WHITE.reaction)
    result.save(tmp_path / "run.npz")
    bare, filming = rtmbs.load_result(tmp_path / "run.npz"), dataclasses.replace(SMALL, reactions=True)
    with pytest.raises(InputError, match="without the joints of its model"):
        film_result(bare, tmp_path / "a.png", filming)


def test_a_film_has_the_trails_that_it_is_asked_for(drawn, tmp_path):
    def lines(**changes):
        drawn.clear()
        film_simulation(Simulation(MODEL.compile()), tmp_path / "a.png", dataclasses.replace(SMALL, **changes))
        return drawn[-1][1]

    plain = len(lines())
    for wanted in ({"traces": ("eye",)}, {"all_traces": True}):
        found = lines(**wanted)
        assert len(found) == plain + 1
        assert len(found[-1]) == SMALL.frames - 1, "one marker moves; the hook rests on ground"
    assert len(lines(hide=("grid", "axes"))) == plain - 2


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"traces": ("eyes",)}, UnknownNameError, "did you mean 'eye'"),
        ({"hide": ("joint",)}, UnknownNameError, "did you mean 'joints'"),
        ({"newtons": 0.0}, InputError, "newtons is 0.0; it must be a positive number"),
    ],
)
def test_a_film_that_cannot_be(tmp_path, changes, error, sentence):
    with pytest.raises(error, match=sentence):
        film_simulation(Simulation(MODEL.compile()), tmp_path / "film.mp4", dataclasses.replace(SMALL, **changes))
    assert not list(tmp_path.iterdir())


def test_the_command_takes_every_wish(monkeypatch, tmp_path):
    taken = []
    monkeypatch.setattr(film, "film_simulation", lambda sim, path, filming: taken.append(filming) or filmed())
    words = ["--trace", "bob", "--all-traces", "--legend", "--arrows", "5", "--hide", "grid", "--no-scales"]
    monkeypatch.setattr("rtmbs.viewer.session.connect.origin_of", lambda *_: Failing())
    main(["view", "fourbar", "--headless", "--out", str(tmp_path / "a.png"), *words])
    (one,) = taken
    assert (one.traces, one.all_traces, one.legend, one.hide) == (("bob",), True, True, ("grid",))
    assert (one.reactions, one.newtons, one.scales) == (True, 5.0, False)


class Failing:
    """An origin of a small mechanism."""

    def make(self, *_):
        return Simulation(failing().compile())


def filmed():
    return film.FilmReport(1, "nobody", "", 0.0, 0.1)


def test_a_marker_on_ground_leaves_no_trail():
    scene = ManualConnection(Simulation(motored().compile())).describe()
    with pytest.raises(InputError, match="marker 'hook' is on ground, and leaves no trail"):
        named(scene, ["eye", "hook"])
