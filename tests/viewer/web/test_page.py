"""A page in a real browser: it plays, moves, obeys keys, loads nothing, and has the poses of the run."""

import json
import re

import numpy as np
import pytest
from PIL import Image

import rtmbs
from rtmbs.commands.cli import main
from rtmbs.errors import InputError, StepError, UnknownNameError
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.simulation import Simulation
from rtmbs.viewer.keys import BY_ACTION
from rtmbs.viewer.session.connect import playback
from rtmbs.viewer.web.content import ACTIONS, FINE, TURN, PageOptions
from rtmbs.viewer.web.page import export, picture_samples, write_page
from tests.viewer.mechanisms import failing, motored

H = 5e-3
MODEL = motored(torque=3.0)
RESULT = Simulation(MODEL.compile(), h=H).run(1.0)

PIXELS = """
const pixels = () => {
  const { stage } = page, gl = stage.renderer.getContext();
  stage.draw();
  const [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight], found = new Uint8Array(4 * w * h);
  gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, found);
  let code = 0, drawn = 0;
  for (let k = 0; k < found.length; k += 4) {
    code = (code * 31 + found[k] * 7 + found[k + 1] * 3 + found[k + 2]) | 0;
    if (Math.abs(found[k] - found[0]) + Math.abs(found[k + 1] - found[1]) > 40) drawn += 1;
  }
  return { code, drawn };
};
"""


def look(browser, path, script):
    """Open a page and return what a script wrote into ``told``; the page has nothing to complain of."""
    browser.open(path)
    told = browser.run(script)
    assert browser.said == []
    assert browser.asked == [path.as_uri()]
    return told


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "run.html"
    paging = PageOptions(theme="white", channels=("base.angle", "energy.kinetic"), traces=("eye",))
    write_page(playback(RESULT, MODEL), path, paging)
    return path


def content(path):
    """Return what a page holds."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script id="content" type="application/json">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_moves_and_says_nothing(browser, page):
    told = look(
        browser,
        page,
        PIXELS
        + """
        told.first = pixels();
        page.player.step(30);
        await drawn();
        told.later = pixels();
        page.player.step(-30);
        await drawn();
        told.again = pixels();
        page.player.setSpeed(0.1); // three pictures of a loaded machine end within the run
        click("play");
        const before = page.drawn;
        for (let k = 0; k < 3; k++) await drawn();
        told.pictures = page.drawn - before;
        told.time = page.player.time;
        click("play");
        told.playing = page.player.playing;
        """,
    )
    assert told["first"]["drawn"] > 1000
    assert told["later"]["code"] != told["first"]["code"] == told["again"]["code"]
    assert told["pictures"] >= 3
    assert 0.0 < told["time"] <= 1.0
    assert told["playing"] is False


def test_poses_and_curves_are_those_of_the_run(browser, page):
    told = look(
        browser,
        page,
        """
        told.t = [...page.content.t];
        told.frames = told.t.map((_, k) => { page.stage.carry(k, 0); return [...page.stage.frames]; });
        told.angle = [...page.content.channels[0].values];
        told.angleAt = [...page.content.curve_t[0]];
        page.stage.carry(3, 0.5);
        told.between = [...page.stage.frames];
        """,
    )
    t = np.array(told["t"])
    samples = np.searchsorted(RESULT.t, t - 1e-6)
    np.testing.assert_allclose(RESULT.t[samples], t, atol=1e-8)
    assert len(t) == 61
    frames = np.array(told["frames"]).reshape(len(t), 4, 3, 4)
    np.testing.assert_array_equal(frames[:, 0], np.broadcast_to(np.eye(3, 4), (len(t), 3, 4)))
    size = content(page)["size"]
    for number, name in enumerate(("crank", "coupler", "rocker"), start=1):
        r, A = RESULT[f"{name}.position"][samples], rotations(RESULT[f"{name}.orientation"][samples])
        np.testing.assert_allclose(frames[:, number, :, 3], r, atol=0.51 * FINE * size)
        np.testing.assert_allclose(frames[:, number, :, :3], A, atol=4.0 * TURN)
        middle = np.array(told["between"]).reshape(4, 3, 4)[number]
        np.testing.assert_allclose(middle[:, 3], 0.5 * (r[3] + r[4]), atol=FINE * size)
        np.testing.assert_allclose(middle[:, :3] @ middle[:, :3].T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(told["angleAt"], RESULT.t, atol=1e-8)
    np.testing.assert_allclose(told["angle"], RESULT["base.angle"], atol=1e-4)


def test_a_component_has_its_own_unit(tmp_path):
    wanted = {"base.reaction[fz]": "N", "base.reaction[nx]": "N m", "base.angle": "rad"}
    path = tmp_path / "units.html"
    write_page(playback(RESULT, MODEL), path, PageOptions(channels=tuple(wanted)))
    assert {one["name"]: one["unit"] for one in content(path)["channels"]} == wanted


def test_keys_are_those_of_the_window(browser, page):
    told = look(
        browser,
        page,
        """
        told.missing = page.content.keys.filter(([, , , name]) => !page.actions[name]).map((key) => key[3]);
        const { player, stage } = page;
        const after = (key, get, more) => { press(key, more); return get(); };
        told.step = after("ArrowRight", () => player.picture);
        told.ten = after("ArrowRight", () => player.picture, { shiftKey: true });
        press("m");
        told.back = after("Backspace", () => player.picture);
        told.mark = after(".", () => player.picture);
        told.slower = after("-", () => player.speed);
        told.faster = after("+", () => player.speed);
        told.theme = after("F8", () => stage.theme);
        told.background = getComputedStyle(document.body).backgroundColor;
        told.parallel = after("p", () => stage.parallel);
        told.joints = after("j", () => stage.shown.joints);
        press("z");
        told.down = stage.direction().normalize().toArray();
        told.plots = after("F4", () => document.getElementById("curves").hidden);
        told.help = after("F1", () => document.getElementById("help").innerText);
        press("Escape");
        stage.select(2);
        told.trails = after("t", () => stage.ways.size);
        press("c");
        const gap = () => stage.center(2).distanceTo(stage.controls.target);
        const before = gap();
        stage.show(40, 0);
        told.followed = gap() - before;
        press("o");
        told.looping = player.looping;
        player.pause(player.last - 0.01);
        player.play();
        player.advance(0.05);
        told.wrapped = player.time;
        """,
    )
    assert told["missing"] == []
    assert [told[name] for name in ("step", "ten", "back", "mark", "slower", "faster")] == [1, 11, 0, 11, 0.5, 1]
    assert (told["theme"], told["parallel"], told["joints"], told["plots"]) == ("dark", True, False, True)
    assert told["background"] == "rgb(27, 31, 37)"
    np.testing.assert_allclose(told["down"], (0.0, 0.0, 1.0), atol=2e-3)
    assert "play or pause" in told["help"]
    assert told["trails"] == 2
    assert abs(told["followed"]) < 1e-9
    assert told["looping"] is True
    assert told["wrapped"] == pytest.approx(0.04, abs=1e-6)
    assert set(ACTIONS) <= set(BY_ACTION)


def test_what_is_typed_into_a_field_is_no_key_of_the_page(browser, page):
    told = look(
        browser,
        page,
        """
        const kinds = { text: "l", search: "l", number: "1", checkbox: "l", body: "F5" };
        const down = (key) => new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
        const asked = (field, key) => field.dispatchEvent(down(key));
        page.player.setSpeed(2);
        told.left = Object.entries(kinds).map(([type, key]) => {
          if (type === "body") return asked(document.body, key);
          const field = Object.assign(document.createElement("input"), { type });
          document.body.append(field);
          return asked(field, key);
        });
        told.labels = page.stage.labels;
        told.speed = page.player.speed;
        const field = document.querySelector("input[type=search]");
        field.focus();
        asked(field, "Escape");
        told.focused = document.activeElement === field;
        """,
    )
    assert told["left"] == [True, True, True, False, True], "F5 is that of the browser"
    assert (told["labels"], told["speed"], told["focused"]) == (True, 2, False)


def test_a_body_is_chosen_by_a_press(browser, page):
    told = look(
        browser,
        page,
        """
        const seen = page.stage.center(2).project(page.stage.camera), box = page.stage.canvas.getBoundingClientRect();
        const [x, y] = [(seen.x + 1) / 2 * box.width, (1 - seen.y) / 2 * box.height];
        const at = { clientX: box.left + x, clientY: box.top + y };
        const touch = (kind) => page.stage.canvas.dispatchEvent(
          new PointerEvent(kind, { ...at, button: 0, pointerId: 1, pointerType: "mouse", bubbles: true }));
        touch("pointermove");
        told.hint = document.getElementById("hint").textContent;
        told.hit = page.stage.pick(x, y)?.body;
        told.miss = page.stage.pick(2, 2);
        """,
    )
    assert told["hit"] == 2
    assert told["hint"] == "coupler"
    assert told["miss"] is None


def test_a_followed_body_stands_in_the_middle(browser, tmp_path):
    """At the start, at the end, and after the picture is fitted again."""
    path = tmp_path / "follow.html"
    write_page(playback(RESULT, MODEL), path, PageOptions(theme="white", follow="coupler", playing=False))
    told = look(
        browser,
        path,
        """
        const { stage, content } = page, body = content.bodies.indexOf("coupler");
        const place = () => { const at = stage.center(body).project(stage.camera); return [at.x, at.y]; };
        told.places = [place()];
        stage.show(content.t.length - 1, 0);
        told.places.push(place());
        press("f");
        await drawn();
        told.places.push(place());
        """,
    )
    assert np.max(np.abs(told["places"])) < 0.2, "of half the picture; the buttons take some of it"


def test_a_crowd_without_a_graphics_card_looks_the_same(browser, tmp_path, monkeypatch):
    """Light at corners is that at pixels; a picture that stands has smooth edges, and a motion has not.

    Of a crowd only what faces the eye is drawn.
    """
    pictures = []
    for number, crowd in enumerate((1000, 3)):
        monkeypatch.setattr("rtmbs.viewer.web.content.SHADOW_CROWD", crowd)
        path = tmp_path / f"{number}.html"
        write_page(playback(RESULT, MODEL), path, PageOptions(theme="white", reactions=True))
        told = look(
            browser,
            path,
            """
            page.player.pause();
            page.stage.shown.grid = false; // lines of half a pixel are paler, and a crowd has no shadow
            page.redraw();
            await drawn();
            told.corners = Boolean(page.stage.corners);
            if (told.corners) {
              const crowds = page.stage.corners.crowds.filter(({ copies }) => copies.count);
              const sum = (number) => crowds.reduce((all, crowd) => all + number(crowd), 0);
              const all = sum(({ index, copies }) => index.length * copies.count);
              told.facing = sum(({ drawn }) => drawn.geometry.drawRange.count) / all;
              told.crowds = crowds.length;
              await sure(() => page.stage.finer === 2);
              told.still = page.stage.canvas.width / page.stage.canvas.clientWidth;
              page.player.step(1);
              await drawn();
              told.moved = page.stage.finer;
              page.player.step(-1);
              await sure(() => page.stage.finer === 2);
            }
            """,
        )
        assert told["corners"] == (crowd == 3)
        if told["corners"]:
            assert (told["still"], told["moved"]) == (2, 1)
            assert 0.3 < told["facing"] < 0.6, "a solid shows about half of its triangles"
            assert told["crowds"] >= 4, told
        browser.picture(shot := tmp_path / f"{number}.png")
        pictures.append(np.asarray(Image.open(shot).convert("RGB"), float)[60:-60])
    assert np.abs(pictures[0] - pictures[1]).mean() < 2.0
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 40.0).mean() < 0.02


def test_words_over_the_picture_are_written_where_they_change(browser, page):
    told = look(
        browser,
        page,
        """
        const pen = page.stage.names.canvas.getContext("2d"), clear = pen.clearRect.bind(pen);
        page.player.pause();
        await drawn();
        let times = 0;
        pen.clearRect = (...box) => { times += 1; clear(...box); };
        const after = async (act) => { times = 0; act(); await drawn(); return times; };
        told.times = [
          await after(() => page.player.step(1)), await after(() => press("y")), await after(() => press("F8")),
          await after(() => press("g")), await after(() => press("l")), await after(() => page.player.step(1)),
          await after(() => press("l")), await after(() => page.player.step(1)),
        ];
        """,
    )
    assert told["times"] == [0, 1, 1, 1, 1, 1, 1, 0]


def test_a_picture_that_never_comes_is_named(browser, page):
    """The wait for a picture ends: a test that draws nothing would otherwise hang without a word."""
    told = look(
        browser,
        page,
        """
        page.player.pause();
        await drawn();
        await wait(100);
        told.words = await drawn("the picture of nothing", 200).then(() => "drawn", ({ message }) => message);
        """,
    )
    assert "the picture of nothing was not drawn within 0.2 s" in told["words"]


def test_small_pictures_keep_everything_away_from_the_cube(browser, page):
    """Corners of what a picture holds, seen in pixels, and the square of the cube."""
    browser.open(page, (420, 460))
    told = browser.run(
        """
        page.player.pause();
        document.getElementById("curves").hidden = true;
        press("i");
        await drawn();
        const { stage } = page, room = stage.names.cube.room(stage.canvas.clientWidth, stage.canvas.clientHeight);
        told.covered = [];
        for (const view of ["front", "side", "top", "isometric"]) for (const parallel of [false, true]) {
          stage.setParallel(parallel);
          stage.fit(new THREE.Vector3(...page.content.views[view]));
          stage.camera.updateMatrixWorld();
          const seen = stage.fitted().map((point) => point.project(stage.camera));
          told.covered.push(seen.filter(({ x, y }) => x > room.x && y > room.y).length);
          told.inside = Math.max(...seen.map(({ x, y }) => Math.max(Math.abs(x), Math.abs(y))));
        }
        """
    )
    assert told["covered"] == [0] * 8
    assert told["inside"] <= 1.0


def test_a_result_without_its_model_is_drawn(browser, tmp_path):
    path = tmp_path / "bare.html"
    page = write_page(playback(RESULT), path)
    told = look(browser, path, PIXELS + "told.first = pixels(); told.bodies = page.content.bodies;")
    assert told["first"]["drawn"] > 1000
    assert told["bodies"] == ["ground", "crank", "coupler", "rocker"]
    assert page.bytes == path.stat().st_size < 340_000


def test_names_of_a_model_are_no_html(browser, tmp_path):
    model = rtmbs.Model("</script><b>&")
    model.add_body("<i>bob</i>", mass=1.0, center_of_mass=(0.0, 0.0, -1.0), inertia=(0.1, 0.1, 0.1))
    model.add_joint("pivot", rtmbs.Revolute(axis=(1.0, 0.0, 0.0)), "ground", "<i>bob</i>")
    path = tmp_path / "odd.html"
    write_page(playback(Simulation(model.compile(), h=H).run(0.05), model), path)
    told = look(browser, path, "told.title = document.title; told.italic = document.querySelectorAll('i, b').length;")
    assert told == {"title": "</script><b>&", "italic": 0}


def test_the_limit_is_kept_by_fewer_pictures(tmp_path, page):
    path = tmp_path / "small.html"
    whole = page.stat().st_size
    limit = whole - len(json.dumps({name: content(page)[name] for name in ("r", "q")})) // 2
    wanted = PageOptions(theme="white", channels=("base.angle", "energy.kinetic"), limit=limit)
    made = write_page(playback(RESULT, MODEL), path, wanted)
    assert made.bytes <= limit
    assert made.rate < 60.0
    assert 2 <= made.pictures < 61
    with pytest.raises(InputError, match=r"needs more than 0.05 MB even with few pictures; raise the limit"):
        write_page(playback(RESULT), path, PageOptions(limit=50_000))


@pytest.mark.parametrize(
    ("paging", "error", "words"),
    [
        (PageOptions(rate=0.0), InputError, "rate is 0.0; it must be a positive number"),
        (PageOptions(limit=-1), InputError, "limit is -1"),
        (PageOptions(speed=float("nan")), InputError, "speed is nan"),
        (PageOptions(theme="drak"), UnknownNameError, "drak"),
        (PageOptions(camera="corner"), UnknownNameError, "corner"),
        (PageOptions(channels=("base.angel",)), UnknownNameError, "base.angle"),
        (PageOptions(traces=("eyes",)), UnknownNameError, "eye"),
        (PageOptions(follow="coupling"), UnknownNameError, "coupler"),
    ],
)
def test_a_wrong_wish_is_told(tmp_path, paging, error, words):
    with pytest.raises(error, match=re.escape(words)):
        write_page(playback(RESULT, MODEL), tmp_path / "x.html", paging)
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match=r"page '.*' cannot be written: there is no folder"):
        write_page(playback(RESULT), tmp_path / "no" / "x.html")


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_writes_a_page_of_a_file(tmp_path, capsys):
    RESULT.save(tmp_path / "run.npz")
    out = tmp_path / "run.html"
    assert main(["view", str(tmp_path / "run.npz"), "--html", str(out), "--plot", "base.angle", "--fps", "20"]) == 0
    told = capsys.readouterr().out
    assert re.fullmatch(r".*run\.html: 0\.\d\d MB, 21 pictures, 20 a second\n", told)
    assert [channel["name"] for channel in content(out)["channels"]] == ["base.angle"]


def test_the_command_runs_a_mechanism(tmp_path, capsys):
    out = tmp_path / "loop.html"
    words = ["--html", str(out), "--t-end", "0.5", "--theme", "dark", "--limit", "2MB", "--paused"]
    assert main(["view", "fourbar", "--ny", "1", "--nz", "2", *words]) == 0
    assert "31 pictures, 60 a second" in capsys.readouterr().out
    held = content(out)
    assert (held["theme"], held["name"]) == ("dark", "fourbar stacked 1 x 2")
    with pytest.raises(SystemExit, match="2"):
        main(["view", "fourbar", "--html", str(out), "--limit", "2 stones"])
    assert "'2 stones' is not a size such as 20MB or 2GB" in capsys.readouterr().err


def test_a_run_that_fails_leaves_a_page(tmp_path):
    out = tmp_path / "failed.html"
    with pytest.raises(StepError):
        export(failing(), out, seconds=0.2, options={"h": H})
    assert content(out)["facts"]["bodies"] == "1"
    with pytest.raises(InputError, match="seconds are for a mechanism that is run"):
        export(RESULT, out, seconds=1.0)


def test_view_writes_a_page_in_place_of_a_window(tmp_path):
    out = tmp_path / "run.html"
    assert rtmbs.view(RESULT, model=MODEL, html=out, theme="dark") == 0
    assert content(out)["theme"] == "dark"


# ---- pictures -------------------------------------------------------------------------------------------------------


def test_pictures_are_samples_of_the_result():
    t = np.linspace(0.0, 1.0, 201)
    assert picture_samples(t, 0.1).tolist() == list(range(0, 201, 20))
    assert picture_samples(t, 1e-4).tolist() == list(range(201))
    assert picture_samples(t, 0.3).tolist() == [0, 60, 120, 180, 200]
    assert picture_samples(np.array([2.0]), 0.1).tolist() == [0]
