"""A history on disk: what memory has no room for is gone to and played forward, within a bound, whatever happens."""

import errno
import json
import os
from dataclasses import fields

import numpy as np
import pytest

from rtmbs.commands.cli import main
from rtmbs.errors import InputError, ResultError
from rtmbs.model.shapes import Bar, Box, Cylinder, Sphere, Surface
from rtmbs.simulation import Simulation
from rtmbs.viewer.film import Flat
from rtmbs.viewer.session import disk_history
from rtmbs.viewer.session.commands import Grab, MoveGrab, Release, SetInput, SetOption
from rtmbs.viewer.session.connect import playback
from rtmbs.viewer.session.describe import describe
from rtmbs.viewer.session.disk_head import decoded, encoded, is_history
from rtmbs.viewer.session.disk_history import DiskHistory, blocks_of, load_history
from rtmbs.viewer.session.history import History
from rtmbs.viewer.session.mouse_spring import compiled_with_mouse_spring
from rtmbs.viewer.session.session import Session
from rtmbs.viewer.session.snapshot import Poses
from tests.viewer.mechanisms import motored

H = 5e-3
MODEL = motored(torque=3.0)
SYSTEM = MODEL.compile()
SMALL = 40  # states in memory


@pytest.fixture
def said():
    return []


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Every step may begin a block."""
    monkeypatch.setattr("rtmbs.viewer.session.history.SAVED_EVERY", 0.0)


def session_on(folder, said, limit=50e6, states=SMALL):
    """Return a session with a small memory that keeps its history in a folder."""
    sim = Simulation(SYSTEM, h=H)
    session = Session(sim, History(states=states), lambda: compiled_with_mouse_spring(MODEL))
    disk, scene = DiskHistory(folder, limit, said.append), describe(sim)
    session.history.keep_on(disk, lambda: disk.begin(scene, session.base_sim))
    return session, disk


def told(session, steps):
    """Take steps, and return the state after each as bytes."""
    found = {}
    for _ in range(steps):
        session.step()
        found[session.step_number] = session.state.motion()
    return found


def test_a_step_that_left_memory_is_gone_to(tmp_path, said):
    session, disk = session_on(tmp_path / "h", said)
    known = told(session, 400)
    history = session.history
    assert (history.oldest, history.newest, len(history)) == (0, 400, 401)
    assert len(history.since(0)) <= 2 * SMALL
    for step in (3, 399, 120, 121, 250, 1):
        session.seek(step)
        assert session.step_number == step
        assert session.state.motion() == known[step]
    disk.close()
    assert said == []


def test_playing_forward_shows_what_is_stored(tmp_path, said):
    session, disk = session_on(tmp_path / "h", said)
    known = told(session, 300)
    session.seek(5)
    for step in range(6, 301):
        assert session.stored
        session.forward()
        assert (session.step_number, session.state.motion()) == (step, known[step])
    assert not session.stored
    later = told(session, 3)
    assert list(later) == [301, 302, 303]
    disk.close()


def test_steps_taken_again_give_the_same_bytes(tmp_path, said):
    """Also with commands that only memory knows: inputs, options and pulls."""
    session, disk = session_on(tmp_path / "h", said)
    known = told(session, 60)
    for command in (SetInput("motor.torque", 1.0), SetOption("h", 2e-3)):
        session.apply(command)
    known |= told(session, 60)
    session.apply(Grab("coupler", (0.0, 0.5, -0.4), (0.0, 1.0, 0.0)))
    known |= told(session, 30)
    session.apply(MoveGrab((0.2, 1.2, 0.3)))
    known |= told(session, 30)
    session.apply(Release())
    known |= told(session, 120)
    for start in (10, 59, 100, 125, 149, 170, 185):
        session.seek(start)
        assert session.state.motion() == known[start]
        for step in range(start + 1, start + 6):
            session.step()
            assert session.state.motion() == known[step], (start, step)
    disk.close()


def test_a_command_in_the_past_cuts_the_rest_off(tmp_path, said):
    session, disk = session_on(tmp_path / "h", said)
    known = told(session, 300)
    session.seek(100)
    session.apply(SetInput("motor.torque", -1.0))
    assert (session.history.newest, disk.span) == (100, (0, 100))
    other = told(session, 100)
    assert other[150] != known[150]
    session.seek(50)
    assert session.state.motion() == known[50]
    session.seek(150)
    assert session.state.motion() == other[150]
    disk.close()
    assert len(load_history(tmp_path / "h")[0]) == 201


def test_the_folder_is_bounded(tmp_path, said):
    session, disk = session_on(tmp_path / "h", said, limit=1e6)
    told(session, 3000)
    session.history.save()
    held = sum(path.stat().st_size for path in (tmp_path / "h").rglob("*.block"))
    assert 0.8e6 < held <= 1e6
    assert session.history.oldest == disk.span[0] > 0
    session.seek(0)
    assert session.step_number == disk.span[0]
    disk.close()
    result, _ = load_history(tmp_path / "h")
    assert len(result) == 3001 - disk.span[0]


def test_the_oldest_story_goes_first(tmp_path, said):
    session, disk = session_on(tmp_path / "h", said, limit=1e6)
    told(session, 100)
    session.restart()
    assert session.history.oldest == session.history.newest == 0
    assert len(load_history(tmp_path / "h" / "run_0001")[0]) == 101
    told(session, 3000)
    session.history.save()
    disk.close()
    assert [path.name for path in sorted((tmp_path / "h").iterdir())] == ["run_0002"]


def test_poses_and_scene_are_those_of_the_session(tmp_path, said):
    session, disk = session_on(tmp_path / "h", said)
    told(session, 50)
    session.history.save()
    disk.close()
    assert is_history(tmp_path / "h")
    assert not is_history(tmp_path)
    result, scene = load_history(tmp_path / "h" / "run_0001" / "history.json")
    r, A, _ = Poses(session.sim).read(session.state)
    assert result.t[-1] == session.state.t
    for number, body in enumerate(scene.bodies[1:], start=1):
        np.testing.assert_allclose(result[f"{body.name}.position"][-1], r[number], atol=1e-7)
        center = r[number] + A[number] @ body.center_of_mass
        np.testing.assert_allclose(result[f"{body.name}.mass_center"][-1], center, atol=1e-6)
    turns = result["coupler.orientation"]
    assert np.all(np.sum(turns[1:] * turns[:-1], axis=1) > 0.0)
    known = describe(session.sim)
    assert [joint.name for joint in scene.joints] == [joint.name for joint in known.joints]
    assert [one.shape for one in scene.connectors] == [one.shape for one in known.connectors] != []
    np.testing.assert_array_equal(scene.bodies[1].shapes[0].end, known.bodies[1].shapes[0].end)


def test_every_kind_of_shape_is_kept():
    one = np.array([1.0, 2.0, 3.0])
    corners = Surface(np.eye(3), np.array([[0, 1, 2]]))
    given = (Sphere(0.5, one), Cylinder(0.1, 2.0, one, one), Box(one, one, np.eye(3)), Bar(one, -one, 0.1), corners)
    found = decoded(json.loads(json.dumps(encoded(given))))
    assert [type(shape) for shape in found] == [type(shape) for shape in given]
    for shape, other in zip(given, found, strict=True):
        for field in fields(shape):
            np.testing.assert_array_equal(getattr(other, field.name), getattr(shape, field.name))
    assert found[-1].faces.dtype == np.int64


def test_a_full_disk_is_told_once(tmp_path, said, monkeypatch):
    session, disk = session_on(tmp_path / "h", said)
    told(session, 100)
    session.history.save()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(disk_history, "write_block", full)
    known = told(session, 200)
    assert len(said) == 1
    assert "takes no more (No space left on device); its steps up to 100 stay readable" in said[0]
    assert len(session.history) <= 2 * SMALL
    session.seek(0)
    assert session.step_number == session.history.oldest > 100
    assert session.state.motion() == known[session.step_number]
    disk.close()
    assert len(load_history(tmp_path / "h")[0]) == 101


@pytest.fixture
def damaged(tmp_path, said):
    """Return the blocks of a story, and a function that damages some of them."""
    session, disk = session_on(tmp_path / "h", said)
    told(session, 300)
    session.history.save()
    disk.close()
    paths = blocks_of(tmp_path / "h" / "run_0001")

    def damage(*chosen):
        for path in chosen:
            path.write_bytes(path.read_bytes()[:-100])

    return paths, damage


def test_a_damaged_block_is_left_out_and_told(tmp_path, damaged):
    paths, damage = damaged
    whole = load_history(tmp_path / "h")[0]
    assert whole.warnings == {}
    k = len(paths) // 2
    first, after = int(paths[k].stem), int(paths[k + 1].stem)
    damage(paths[k])
    result = load_history(tmp_path / "h")[0]
    left = np.r_[0:first, after : len(whole.t)]
    np.testing.assert_array_equal(result.t, whole.t[left])
    np.testing.assert_array_equal(result["crank.position"], whole["crank.position"][left])
    (text,) = [message.text for message in playback(tmp_path / "h").messages()]
    assert text in result.warnings
    assert f"a damaged block: what comes after t = {whole.t[first - 1]:.6g} s and before {whole.t[after]:.6g} s" in text
    with pytest.raises(ResultError, match=r"block '.*' cannot be read"):
        disk_history.read_block(paths[k])


def test_damage_at_both_ends_is_told(tmp_path, damaged):
    paths, damage = damaged
    damage(paths[0], *paths[-2:])
    first, last = load_history(tmp_path / "h")[0].warnings
    assert first.endswith(f"a damaged block: all before t = {int(paths[1].stem) * H:.6g} s is missing")
    assert last.endswith(f"2 damaged blocks: what comes after t = {(int(paths[-2].stem) - 1) * H:.6g} s is missing")


def test_steps_that_do_not_follow_are_left_out_and_told(tmp_path, damaged):
    paths, _ = damaged
    k = len(paths) // 2
    paths[k].unlink()
    result = load_history(tmp_path / "h")[0]
    assert result.t[-1] == pytest.approx((int(paths[k].stem) - 1) * H)
    (text,) = result.warnings
    assert f"lacks the steps after {int(paths[k].stem) - 1}" in text


def test_a_film_of_a_damaged_history_says_so(tmp_path, damaged, capsys):
    paths, damage = damaged
    damage(paths[-1])
    film = f"--headless --renderer matplotlib --frames 1 --size 80x60 --out {tmp_path / 'a.png'}"
    assert main(["view", str(tmp_path / "h"), *film.split()]) == 0
    assert "a damaged block: what comes after" in capsys.readouterr().err


def test_a_page_of_a_damaged_history_says_so(tmp_path, damaged, capsys):
    paths, damage = damaged
    assert main(["view", str(tmp_path / "h"), "--html", str(tmp_path / "whole.html")]) == 0
    assert capsys.readouterr().err == ""
    damage(paths[-1])
    assert main(["view", str(tmp_path / "h"), "--html", str(tmp_path / "a.html")]) == 0
    assert "a damaged block: what comes after" in capsys.readouterr().err


def test_a_history_without_a_whole_block(tmp_path, damaged):
    paths, damage = damaged
    damage(*paths)
    with pytest.raises(ResultError, match="holds no whole block"):
        load_history(tmp_path / "h")
    for path in paths:
        path.unlink()
    with pytest.raises(ResultError, match="holds no whole block"):
        load_history(tmp_path / "h")


def test_a_damaged_head_is_told(tmp_path, said):
    session, disk = session_on(tmp_path / "h", said)
    told(session, 3)
    session.history.save()
    disk.close()
    head = tmp_path / "h" / "run_0001" / "history.json"
    head.write_text(head.read_text().replace('"SceneDescription"', '"Popen"'))
    with pytest.raises(ResultError, match=r"has a damaged history.json \('Popen'\)"):
        load_history(tmp_path / "h")


@pytest.mark.parametrize("limit", [0.5, -1.0, float("nan")])
def test_a_limit_that_holds_nothing(tmp_path, said, limit):
    with pytest.raises(InputError, match="on disk holds nothing; give 1,000,000 or more"):
        DiskHistory(tmp_path / "h", limit, said.append)


def test_a_folder_that_cannot_be_made(tmp_path, said):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"history '.*' cannot be made: Not a directory"):
        DiskHistory(tmp_path / "file" / "h", 1e9, said.append)


def test_a_film_of_a_history_has_its_scene(tmp_path, said, monkeypatch):
    """Joints and springs come from the folder, as in the window."""
    session, disk = session_on(tmp_path / "h", said)
    told(session, 30)
    session.history.save()
    disk.close()
    drawn, draw = [], Flat.draw
    monkeypatch.setattr(Flat, "draw", lambda flat, *given: (drawn.append(given[0]), draw(flat, *given))[1])
    film = f"--headless --renderer matplotlib --frames 1 --size 80x60 --out {tmp_path / 'a.png'}"
    assert main(["view", str(tmp_path / "h"), *film.split()]) == 0
    assert "coil" in {batch.mesh.kind for batch in drawn[0].shown()}


def test_a_run_that_is_not_there_is_told(tmp_path, capsys):
    assert main(["view", str(tmp_path / "h" / "run_0007")]) == 2
    assert "there is no file or folder" in capsys.readouterr().err
