"""Arrows, trails and the legend of a page are those that the window draws."""

import re

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.scene import Scene
from rtmbs.viewer.scene.shapes import typical_wrenches
from rtmbs.viewer.scene.theme import DARK, WHITE
from rtmbs.viewer.session.commands import ShowReactions
from rtmbs.viewer.session.connect import playback
from rtmbs.viewer.web.content import PageOptions
from rtmbs.viewer.web.page import frame_at, write_page
from tests.viewer.mechanisms import motored
from tests.viewer.web.test_page import content, look

MODEL = motored(torque=3.0)
RESULT = Simulation(MODEL.compile(), h=5e-3).run(0.5)
NEWTONS = 20.0


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "run.html"
    wanted = PageOptions(theme="white", rate=200.0, reactions=True, newtons=NEWTONS, all_traces=True, legend=True)
    write_page(playback(RESULT, MODEL), path, wanted)
    return path


def test_arrows_stand_where_those_of_the_window_stand(browser, page):
    """Every shaft and every head, to the fineness of the numbers that the page holds."""
    told = look(
        browser,
        page,
        """
        page.player.step(40);
        await drawn();
        const array = (mesh) => Array.from(mesh.instanceMatrix.array.slice(0, 16 * mesh.count));
        told.places = page.stage.arrows.drawn.map(array);
        """,
    )
    connection = playback(RESULT, MODEL)
    connection.send(ShowReactions(True))
    scene = Scene(connection.describe(), WHITE, frame_at(connection, 40))
    scene.scale.fit(typical_wrenches(connection.reactions()))
    fitted = content(page)["reactions"]
    scene.scale.newtons, scene.scale.moments = fitted["newtons"], fitted["moment"]
    assert scene.scale.newtons == NEWTONS
    scene.show(scene.frame)
    scene.shown["reactions"] = True
    for batch, place in zip(scene._reactions.batches, told["places"], strict=True):
        columns = np.array(place).reshape(-1, 4, 4)[:, :, :3]
        seen = batch.placement.transpose(0, 2, 1)
        assert len(columns) == len(seen)
        ends = columns[:, 3], columns[:, 3] + columns[:, 2]
        for mine, theirs in zip(ends, (seen[:, 3], seen[:, 3] + seen[:, 2]), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=2e-3)
        np.testing.assert_allclose(
            np.linalg.norm(columns, axis=2)[:, :2], np.linalg.norm(seen, axis=2)[:, :2], rtol=1e-2
        )
    assert len(told["places"][0]) >= 16 * 3, "most joints carry something"


def test_keys_hide_arrows_and_change_their_scale(browser, page):
    told = look(
        browser,
        page,
        """
        page.redraw();
        const { stage } = page, shown = () => stage.arrows.drawn.every((mesh) => mesh.visible);
        await drawn();
        told.first = [shown(), stage.names.told];
        press("r"); await drawn();
        told.hidden = [shown(), stage.names.told];
        told.said = document.getElementById("told").textContent;
        click("reactions-button"); await drawn();
        told.again = shown();
        const length = () => Math.hypot(...stage.arrows.drawn[0].instanceMatrix.array.slice(8, 11));
        const before = length();
        press("["); await drawn();
        told.shorter = length() < before;
        told.newtons = stage.arrows.newtons;
        press("]"); await drawn();
        told.back = [stage.arrows.newtons, stage.names.told];
        """,
    )
    assert told["first"][0] is True
    assert told["first"][1].startswith("arrows: 1 m is 20 N, with two heads")
    assert told["hidden"] == [False, ""]
    assert told["said"] == "", "a page that holds reactions does not say that it has none"
    assert told["again"] is told["shorter"] is True
    assert told["newtons"] == 50.0
    assert told["back"] == [20.0, told["first"][1]]


def test_fitting_leaves_no_tip_of_an_arrow_outside(browser, page):
    """``F`` fits the tips that are shown, and comes back closer when they are hidden."""
    told = look(
        browser,
        page,
        """
        const { stage } = page;
        const fit = async () => {
          press("f"); await drawn();
          stage.camera.updateMatrixWorld();
          return [stage.camera.position.distanceTo(stage.controls.target),
            stage.arrows.tips.map((tip) => tip.clone().project(stage.camera).toArray())];
        };
        page.player.step(40); await drawn();
        for (let k = 0; k < 3; k++) { press("]"); await drawn(); }
        told.before = stage.arrows.tips.map((tip) => tip.clone().project(stage.camera).toArray());
        [told.far, told.tips] = await fit();
        press("r"); await drawn();
        [told.near] = await fit();
        """,
    )
    assert np.abs(np.array(told["before"])[:, :2]).max() > 1.0, "long arrows leave a picture that was fitted without"
    assert np.abs(np.array(told["tips"])[:, :2]).max() < 1.0
    assert told["near"] < 0.9 * told["far"]


def test_the_legend_says_in_words_what_is_shown(browser, page):
    told = look(
        browser,
        page,
        """
        const rows = () => [...document.querySelectorAll("#legend div")].map((row) => (
          [row.innerText, getComputedStyle(row.firstChild).backgroundColor]));
        page.redraw(); await drawn();
        told.white = rows();
        press("F8"); await drawn();
        told.dark = rows();
        press("j"); press("T", { shiftKey: true }); await drawn();
        told.less = rows().map(([words]) => words);
        press("k");
        told.hidden = document.getElementById("legend").hidden;
        told.bar = page.stage.names.bar;
        """,
    )
    words = [row[0] for row in told["white"]]
    assert words == [
        "crank", "coupler", "rocker", "joint", "cut joint, closed by equations", "support on ground", "spring",
        "joint reaction: force on the second body", "joint reaction: moment, two heads", "trail of eye",
    ]  # fmt: skip
    for name, theme in (("white", WHITE), ("dark", DARK)):
        colors = dict(told[name])
        red, green, blue = (int(theme.reaction[k : k + 2], 16) for k in (1, 3, 5))
        assert colors["joint reaction: force on the second body"] == f"rgb({red}, {green}, {blue})"
    assert told["less"] == [*words[:3], *words[6:9]], "neither joints nor trails"
    assert told["hidden"] is True
    assert told["bar"] in (0.1, 0.2, 0.5)


def test_a_page_without_reactions_says_so(browser, tmp_path):
    path = tmp_path / "plain.html"
    write_page(playback(RESULT, MODEL), path, PageOptions(theme="white"))
    told = look(
        browser,
        path,
        """
        press("r");
        told.told = document.getElementById("told").textContent;
        told.button = document.getElementById("reactions-button").hidden;
        told.legend = document.getElementById("legend").hidden;
        """,
    )
    assert told == {"told": "this page holds no reactions; --reactions writes them", "button": True, "legend": True}


@pytest.mark.parametrize(
    ("model", "wanted", "words"),
    [
        (None, {"reactions": True}, "is shown without the joints of its model"),
        (MODEL, {"reactions": True, "newtons": -1.0}, "newtons is -1.0; it must be a positive number"),
    ],
)
def test_reactions_that_cannot_be(tmp_path, model, wanted, words):
    result = RESULT
    if model is None:
        RESULT.save(tmp_path / "run.npz")
        result = tmp_path / "run.npz"
    with pytest.raises(InputError, match=re.escape(words)):
        write_page(playback(result, model), tmp_path / "x.html", PageOptions(**wanted))
