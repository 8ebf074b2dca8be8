"""A live page: its server shows the poses of the session, and does what a viewer may ask for, and nothing else."""

import asyncio
import contextlib
import json
import random
import re
import threading
import time
from http.client import HTTPConnection
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("websockets", reason="websockets is not installed; pip install 'rtmbs[serve]' brings it")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as socket_to

from rtmbs.errors import InputError
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results.curves import LIVE_WINDOW, spectrum
from rtmbs.viewer.scene.frame import FIRST, T
from rtmbs.viewer.session.connect import connect
from rtmbs.viewer.web.live import MOST_REFUSED, PATIENCE, WAITING, LiveServer, Seen
from rtmbs.viewer.web.requests import REQUESTS
from tests.patience import LONGEST, wait_until
from tests.viewer.mechanisms import motored
from tests.viewer.web.test_requests import ALLOWED, GOOD

FACTORY = "tests.viewer.mechanisms"


class Served:
    """A server in a thread, its address and its session."""

    def __init__(self, target=None):
        self.connection = connect(target or motored(torque=3.0), "thread", options={"h": 5e-3})
        self.server = LiveServer(self.connection)
        self.address, known = "", threading.Event()

        def ready(address):
            self.address = address
            known.set()

        run = self.server.run("127.0.0.1", 0, ready)
        self.thread = threading.Thread(target=lambda: asyncio.run(run))
        self.thread.start()
        assert known.wait(LONGEST)
        self.live = f"{self.address.replace('http', 'ws')}live"

    def close(self):
        self.connection.close()
        self.thread.join(LONGEST)
        assert not self.thread.is_alive(), "the server ends with its session"


@pytest.fixture(scope="module")
def served():
    """A server whose page holds the motion that is known: it is not loaded anew while a test looks at it."""
    one = Served()
    wait_until(lambda: np.isfinite(one.connection.latest().way[0, 0]))
    wait_until(lambda: not one.server._scene.lacks_way(one.connection.latest()))
    yield one
    one.close()


def get(address, path):
    """Return status and text of a page."""
    parts = urlsplit(address)
    browser = HTTPConnection(parts.hostname, parts.port, timeout=LONGEST)
    browser.request("GET", path)
    answer = browser.getresponse()
    return answer.status, answer.read().decode("utf-8")


def pictures(socket):
    """Yield head and numbers of the pictures that come."""
    while True:
        data = socket.recv(timeout=LONGEST)
        if isinstance(data, bytes):
            size = int.from_bytes(data[:4], "little")
            yield json.loads(data[4 : 4 + size]), np.frombuffer(data[4 + size :], "<f4")


def sentence(socket):
    """Return the next sentence that comes."""
    while True:
        data = socket.recv(timeout=LONGEST)
        if isinstance(data, str) and (told := json.loads(data).get("messages")):  # the page may be asked to load anew
            return told[0]["text"]


def ask(socket, **request):
    socket.send(json.dumps(request))


def until(socket, true):
    """Return the first picture of which ``true(head)`` holds."""
    return next(found for found in pictures(socket) if true(found[0]))


def test_the_page_is_for_those_who_know_its_address(served):
    path = urlsplit(served.address).path
    status, page = get(served.address, path)
    assert status == 200
    assert "motored" in page or "LivePlayer" in page
    assert "connect-src 'self'" in page
    for wrong in ("/", "/live", path[:-2] + "/", f"{path}other", "/../etc/passwd", "/%2e%2e/"):
        assert get(served.address, wrong) == (404, "")


def test_another_origin_and_another_secret_are_refused(served):
    for address, headers in (
        (served.live, {"Origin": "http://evil.example"}),
        (served.live.replace("/live", "x/live"), {}),
        (f"ws://{urlsplit(served.address).netloc}/live", {}),
    ):
        with pytest.raises(InvalidStatus), socket_to(address, additional_headers=headers):
            pass


def test_a_page_has_the_floor_and_the_picture_of_the_motion_that_is_known():
    """The session looks ahead after its first frame; the page that was made of that frame is made anew.

    Curves that were asked for before stay.
    """
    served = Served()
    try:
        with socket_to(served.live) as socket:
            ask(socket, do="subscribe", names=["base.angle"])
            ask(socket, do="step", count=3)
            until(socket, lambda head: head["step"] == 3)
        wait_until(lambda: np.isfinite(served.connection.latest().way[0, 0]))
        described, way = served.connection.describe(), served.connection.latest().way
        pattern = re.compile(r'<script id="content" type="application/json">(.*?)</script>', re.DOTALL)
        up = -described.gravity / np.linalg.norm(described.gravity)

        def content():
            return json.loads(pattern.search(get(served.address, urlsplit(served.address).path)[1])[1])

        wait_until(lambda: min(np.array(content()["whole"]) @ up) <= (way @ up).min() + 1e-4)
        assert content()["live"]["reach"] > 1.0
        with socket_to(served.live) as socket:
            until(socket, lambda head: head.get("curves", {}).get("names") == ["base.angle"])
    finally:
        served.close()


def flood(socket):
    """Ask for nothing that there is, again and again."""
    for _ in range(10 * MOST_REFUSED):
        socket.send("{}")
        socket.recv(timeout=LONGEST)


def test_pictures_are_those_of_the_session(served):
    with socket_to(served.live) as socket:
        ask(socket, do="pause")
        ask(socket, do="step", count=7)
        head, numbers = until(socket, lambda one: not one["playing"] and one["step"] >= 7)
        frame = served.connection.latest()
        assert head["t"] == frame.t == pytest.approx(5e-3 * head["step"])
        bodies = len(frame.r)
        np.testing.assert_allclose(numbers[: 3 * bodies].reshape(-1, 3), frame.r, atol=1e-6)
        turned = rotations(numbers[3 * bodies : 7 * bodies].reshape(-1, 4).astype(float))
        np.testing.assert_allclose(turned, frame.A, atol=1e-6)
        assert len(numbers) == 7 * bodies + sum(head["loose"])
        ask(socket, do="seek", step=2)
        head, _ = until(socket, lambda one: one["step"] == 2)
        assert head["newest"] >= 7


def test_two_viewers_see_the_same_session_and_curves_come(served):
    with socket_to(served.live) as one, socket_to(served.live) as other:
        ask(one, do="subscribe", names=["base.angle", "crank.position[z]"])
        ask(one, do="speed", factor=2.0)
        ask(one, do="play")
        until(other, lambda head: head["playing"] and head["speed"] == 2.0)
        head, numbers = until(other, lambda head: head.get("curves", {}).get("rows", [0])[0] > 20)
        (rows,) = head["curves"]["rows"]
        assert head["curves"]["names"] == ["base.angle", "crank.position[z]"]
        t, angle, _ = numbers[-3 * rows :].reshape(3, rows)
        assert np.all(np.diff(t) > 0.0)
        assert t[-1] == 0.0, "times are those before the last one"
        assert head["curves"]["last"][0] > 20 * 5e-3
        assert np.ptp(angle) > 0.0
        ask(other, do="pause")
        until(one, lambda head: not head["playing"])


def test_energies_and_spectra_come_where_they_are_asked_for(served):
    with socket_to(served.live) as socket:
        ask(socket, do="subscribe", names=["Energy balance", "Loop violation", "base.angle"])
        ask(socket, do="step", count=40)
        head, numbers = until(socket, lambda one: one.get("curves", {}).get("rows", [0])[0] > 30)
        curves = head["curves"]
        assert curves["names"][:4] == ["kinetic", "gravity", "elastic", "total, change"]
        assert [panel["log"] for panel in curves["panels"]["unit"]] == [False, False, True], (
            "the loop violation has a logarithmic axis"
        )
        (rows,) = curves["rows"]
        table = numbers[-rows * 9 :].reshape(9, rows)
        energies = table[1:5] + np.array(curves["bases"][:4])[:, None]
        np.testing.assert_allclose(energies[:3].sum(axis=0) - energies[:3, 0].sum(), energies[3], atol=1e-5)
        ask(socket, do="spectrum", on=True)
        head, numbers = until(socket, lambda one: one.get("curves", {}).get("spectra"))
        counts = head["curves"]["spectra"]
        lines = np.split(numbers[-2 * sum(counts) :], np.cumsum(np.repeat(counts, 2))[:-1])
        strip = served.connection.strip().read([T, FIRST])
        expected = spectrum(strip[:, 0], strip[:, 1])
        np.testing.assert_allclose(lines[14], expected[0], rtol=1e-6)
        np.testing.assert_allclose(lines[15], expected[1], atol=1e-6)
        ask(socket, do="spectrum", on=False)


def test_a_viewer_who_does_not_listen_holds_up_nobody(served):
    deafness = {"max_queue": 1, "close_timeout": 0.1}  # it would wait for the answer to its goodbye
    with socket_to(served.live, **deafness) as deaf, socket_to(served.live) as socket:
        for _ in range(40):
            deaf.send("{}")  # each is answered, and nobody reads the answers
        ask(socket, do="reset")
        ask(socket, do="step", count=6)
        for step in (6, 5, 2, 4):
            ask(socket, do="seek", step=step)
            until(socket, lambda one, step=step: one["step"] == step)


def test_a_pose_is_dragged_and_undone(served):
    with socket_to(served.live) as socket:
        ask(socket, do="pause")
        ask(socket, do="reset")
        _, numbers = until(socket, lambda one: one["step"] == 0 and not one["playing"])
        bodies = len(served.connection.latest().r)
        start = numbers[: 7 * bodies].copy()
        for x in (0.05, 0.1):
            ask(socket, do="drag", body="crank", point=[0.0, 0.0, -0.2], target=[0.0, x, -0.1], gesture=7)
        head, moved = next(one for one in pictures(socket) if np.abs(one[1][: 7 * bodies] - start).max() > 0.01)
        placed = 7 * bodies + sum(head["loose"])  # curves may stand behind them in any picture
        assert np.isfinite(moved[:placed]).all()
        ask(socket, do="undo")  # both drags, which are of one gesture
        head, back = next(one for one in pictures(socket) if np.abs(one[1][: 7 * bodies] - start).max() < 1e-6)
        assert 7 * bodies + sum(head["loose"]) == placed <= len(back)
        ask(socket, do="redo")
        next(one for _, one in pictures(socket) if np.abs(one[: 7 * bodies] - start).max() > 0.01)
        ask(socket, do="undo")


def test_inputs_pulls_and_reactions(served):
    with socket_to(served.live) as socket:
        ask(socket, do="input", name="gravity", value=[0.0, 0.0, -1.6])
        head, _ = until(socket, lambda one: any(values == [0.0, 0.0, -1.6] for values in one["inputs"]))
        assert head["options"]["h"] == pytest.approx(5e-3)
        page = served.server._scene
        ask(socket, do="grab", body="crank", point=[0.1, 0.0, 0.0], target=[1.0, 0.0, 1.0])
        ask(socket, do="step", count=1)
        head, _ = until(socket, lambda one: one["grab"] is not None)
        assert head["grab"]["target"] == [1.0, 0.0, 1.0]
        assert served.server._scene is page, "a pull loads no new page, which would lose the mouse"
        ask(socket, do="release")
        until(socket, lambda one: one["grab"] is None)
        ask(socket, do="reactions", on=True)
        head, numbers = until(socket, lambda one: "arrows" in one)
        frame = served.connection.latest()
        begin = 7 * len(frame.r) + sum(head["loose"])
        forces = numbers[begin : begin + frame.reactions.size // 2].reshape(-1, 3)
        np.testing.assert_allclose(forces, frame.reactions[:, :3], rtol=1e-5, atol=1e-5)
        assert np.abs(forces).max() > 0.1
        ask(socket, do="reactions", on=False)


def test_reactions_are_worked_out_while_any_viewer_shows_them(served):
    with socket_to(served.live) as one:
        ask(one, do="pause")
        ask(one, do="reset")
        until(one, lambda head: head["step"] == 0 and not head["playing"])
        with socket_to(served.live) as other:
            ask(one, do="reactions", on=True)
            until(one, lambda head: "arrows" in head)
            ask(other, do="reactions", on=True)
            ask(other, do="reactions", on=False)
            ask(other, do="step", count=1)
            head, _ = until(one, lambda head: head["step"] == 1)
            assert "arrows" in head, "the other viewer took the arrows of this one away"
        with socket_to(served.live) as other:
            ask(other, do="reactions", on=True)
        wait_until(lambda: len(served.server._viewers) == 1)
        ask(one, do="step", count=1)
        assert "arrows" in until(one, lambda head: head["step"] == 2)[0], "one who goes takes no arrows of another away"
    with socket_to(served.live) as one:  # the last one who asked has gone
        until(one, lambda head: "arrows" not in head)


def test_a_refused_request_is_a_sentence_and_many_end_the_viewer(served):
    with socket_to(served.live) as socket:
        ask(socket, do="save_results", path="x.npz")
        assert "there is no request named 'save_results'" in sentence(socket)
        with pytest.raises(ConnectionClosed):
            flood(socket)
        assert not served.connection.ended
    with socket_to(served.live) as socket:
        socket.send("x" * 100_000)
        with pytest.raises(ConnectionClosed):
            until(socket, lambda _: False)
    with socket_to(served.live) as socket:
        assert next(pictures(socket))[0]["step"] >= 0


FILES = ("save_results", "save_state", "load_state", "keep_history", "open", "quit", "set_shapes", "__init__")
JUNK = (
    *(None, True, -1, 0, 7, 1e300, float("nan"), float("inf"), 10**40, "", "x", "/etc/passwd", "../../run.npz", "\0"),
    *("__class__", "crank", "motor.torque", "h", "<script>", "\ud800", "é" * 400, [], [1, 2, 3], [1, [2, [3]]], {}),
    *({"torque": 9.0}, {"length": "../x"}, {"length": float("nan")}, {"__class__": 1}, ["crank.position[x]"] * 40),
)


def hostile(dice):
    """Return a message of one who knows the requests, and what no page may do."""
    kind = dice.random()
    if kind < 0.1:
        return dice.choice(("", "{", "[" * 4000, "null", "[]", '"play"', "{}", b"\0\xff", "x" * 8000, '{"do": {}}'))
    if kind < 0.3:
        return json.dumps({"do": dice.choice(FILES), "path": dice.choice(JUNK), "folder": "."})
    if kind < 0.5:
        return dice.choice(sorted(GOOD))
    name = dice.choice(sorted(REQUESTS))
    request = {"do": name} | {one: dice.choice(JUNK) for one in REQUESTS[name][0]}
    if kind < 0.6:
        request[dice.choice(("path", "name", "do", "__proto__"))] = dice.choice(JUNK)
    return json.dumps(request)


def send_all(socket, messages):
    """Send messages, and read until the answer to the last one has come: a viewer who goes earlier is not heard."""
    for message in messages:
        socket.send(message)
        with contextlib.suppress(TimeoutError):
            while True:
                socket.recv(timeout=0)
    ask(socket, do="the last one")
    while "the last one" not in sentence(socket):
        pass


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_of_hostile_messages_only_what_is_allowed_reaches_the_session(count, tmp_path, monkeypatch):
    """No file is written, the session goes on, and the next viewer sees it."""
    monkeypatch.chdir(tmp_path)
    served, sent = Served(f"{FACTORY}:motored"), []
    send = served.connection.send
    monkeypatch.setattr(served.connection, "send", lambda command: (sent.append(command), send(command)))
    dice = random.Random(4)
    messages = [hostile(dice) for _ in range(count)]
    try:
        for first in range(0, count, MOST_REFUSED - 2):  # one of whom more are refused is sent away
            with socket_to(served.live, open_timeout=LONGEST) as socket:
                send_all(socket, messages[first : first + MOST_REFUSED - 2])
        with socket_to(served.live, open_timeout=LONGEST) as socket:
            ask(socket, do="pause")
            ask(socket, do="reset")
            head, _ = until(socket, lambda one: one["step"] == 0 and not one["playing"])
        assert head["outcome"] in ("CONVERGED", "NOT_RUN"), head["outcome"]
        assert {type(command) for command in sent} <= {*ALLOWED}
        assert len(sent) > count / 10, "too few of the messages were requests"
        assert not served.connection.ended
        assert not [*tmp_path.iterdir()]
    finally:
        served.close()


def test_memory_of_viewers_that_went_is_released(served):
    for _ in range(5):
        with socket_to(served.live) as socket:
            next(pictures(socket))
    wait_until(lambda: not served.server._viewers)


def test_an_address_that_is_taken_is_said():
    connection = connect(motored(), "thread")
    try:
        with socket_to_nothing() as port, pytest.raises(InputError, match=f"127.0.0.1:{port} cannot be listened to"):
            asyncio.run(LiveServer(connection).run("127.0.0.1", port, print))
    finally:
        connection.close()


def socket_to_nothing():
    """Return a context with a port of this computer that is taken."""
    import contextlib
    import socket

    @contextlib.contextmanager
    def taken():
        with socket.create_server(("127.0.0.1", 0)) as one:
            yield one.getsockname()[1]

    return taken()


def test_a_browser_shows_it_and_steers_it(served, browser):
    with socket_to(served.live) as socket:
        ask(socket, do="subscribe", names=["base.angle", "crank.position[z]"])
        ask(socket, do="step", count=20)
        until(socket, lambda head: head.get("curves", {}).get("rows", [0])[0] > 20)
    browser.open(served.address)
    told = browser.run(
        """
        await sure(() => page.live.pictures > 0);
        told.window = page.curves.windowChoice.value;
        page.player.play();
        const from = page.player.time;
        await sure(() => page.player.playing && page.player.time > from && page.player.place > 20);
        told.moved = page.player.time > from;
        press(" ");
        await sure(() => !page.player.playing);
        told.paused = !page.player.playing;
        told.arrows_before = page.stage.shown.reactions;
        page.actions.reactions();
        const rest = page.player.place;
        page.player.step(1);
        await sure(() => page.player.place === rest + 1 && page.live.scaled && page.stage.shown.reactions);
        told.arrows = [...page.content.reactions.forces].some((one) => one !== 0.0);
        page.actions.reactions();
        const { b, at } = page.content.reactions, first = page.content.whole;
        const joints = () => b.map((body, k) => page.stage.world(body, at[k]));
        const fitted = (places) => {
          page.stage.fit(page.stage.direction());
          page.stage.camera.updateMatrixWorld();
          return places.map((place) => place.clone().project(page.stage.camera).toArray());
        };
        page.content.whole = [[0, 0, 0]];  // as if the motion had left all that the first picture held
        told.joints = fitted(joints());
        page.content.whole = first.map(() => [0, 0, 0]);
        page.stage.show(0, 0);
        const earlier = joints();
        const moved = () => Math.max(...joints().map((one, k) => one.distanceTo(earlier[k])));
        const shown = async (step) => {
          await sure(() => page.player.place === step);
          for (let k = 0; k < 2; k++) await new Promise((done) => requestAnimationFrame(done));
        };
        let far = 0;  // a crank that turned once is where it was
        while (far < 120 && moved() < 0.1) {
          page.player.step(15);
          await shown(rest + 1 + (far += 15));
        }
        told.moved_on = moved();
        told.earlier = fitted(earlier);
        page.player.step(-far);
        await shown(rest + 1);
        told.returned = moved();
        const step = page.player.place;
        page.actions.ten_back();
        await sure(() => page.player.place === step - 10);
        told.back = step - page.player.place;
        await sure(() => page.live.chosen().length === 2);  // a page that comes later shows the curves of the session
        for (const box of page.live.boxes) if (box.checked) box.click();
        page.live.boxes.find((one) => one.value === "base.angle").click();
        const names = () => page.curves.content.channels.map((one) => one.name);
        await sure(() => names().length === 1);
        told.chosen = page.live.chosen();
        told.curves = page.curves.content.channels.map((one) => one.name);
        page.actions.marker_trails();
        const seen = (count) => [...page.stage.ways.values()].every((way) => way.t.length >= count);
        await sure(() => seen(1));
        page.player.step(1);
        await sure(() => seen(2));
        told.ways = [...page.stage.ways.values()].map((way) => way.t.length > 1);
        """
    )
    assert browser.said == []
    assert told["window"] == "last 10 s"
    assert LIVE_WINDOW in [seen.view.window for seen in served.server._viewers.values()]
    assert told["moved"]
    assert told["paused"]
    assert not told["arrows_before"], "none are drawn, and no scale is told, before they are asked for"
    assert told["arrows"], "the first press shows them"
    assert np.abs(np.array(told["joints"])[:, :2]).max() < 1.0, "what is fitted holds the present pose"
    assert told["moved_on"] > 0.1
    assert np.abs(np.array(told["earlier"])[:, :2]).max() < 1.0, "and the poses before"
    assert told["returned"] < 1e-6
    assert told["back"] == 10
    assert told["curves"] == told["chosen"]
    assert told["ways"]
    assert all(told["ways"])


BUILT = """
await sure(() => page.live.pictures > 0);
const { b, at } = page.content.reactions;
told.y = Math.max(...b.map((body, k) => page.stage.world(body, at[k]).y));  // the foot of the rocker
told.open = !document.getElementById("inputs").hidden;
told.fields = [...document.querySelectorAll("#inputs h3 ~ label")].map((row) => [row.textContent, row.title]);
const gl = page.stage.renderer.getContext(), { width, height } = gl.canvas;
page.stage.draw();
const pixels = new Uint8Array(4 * width * height);
gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
const columns = new Set();  // that hold something coloured, which no floor is
for (let k = 0; k < 4 * width * height; k += 4) {
  const color = [pixels[k], pixels[k + 1], pixels[k + 2]];
  if (Math.max(...color) - Math.min(...color) > 60) columns.add((k / 4) % width);
}
told.wide = columns.size;
"""
BUILD = """
click("inputs-button");
const field = document.querySelector("#inputs h3 ~ label input");
field.value = "2";
click("build");
"""


def test_a_page_builds_the_mechanism_with_other_parameters(browser):
    """The picture is that of the longer coupler, and the panel stays open for the next try."""
    served = Served(f"{FACTORY}:motored")
    try:
        wait_until(lambda: served.server._scene._knows_way)
        browser.open(served.address)
        before = browser.run(BUILT)
        first = served.server._scene.description
        browser.run(BUILD)
        wait_until(lambda: served.server._scene.description.generation > first.generation)
        wait_until(lambda: served.server._scene._knows_way)
        after, end = before, time.monotonic() + LONGEST
        while after["y"] == before["y"]:  # the page is loaded anew
            assert time.monotonic() < end, "the page is still that of before"
            with contextlib.suppress(AssertionError, KeyError):
                after = browser.run(BUILT)
    finally:
        served.close()
    assert before["y"] == pytest.approx(1.0)
    assert after["y"] == pytest.approx(2.0)
    assert served.server._scene.description.parameters["length"] == 2.0
    assert before["fields"][0] == ["length", "takes effect with Build"]
    assert not before["open"]
    assert after["open"]
    assert before["wide"] != after["wide"] > 100


def test_a_page_steps_back_for_arrows_that_are_shown(served, browser):
    """They had stood beyond the picture until the user fitted it."""
    browser.open(served.address, (1200, 800))
    told = browser.run(
        """
        await sure(() => page.live.pictures > 0);
        page.player.step(1);
        press("r");
        await sure(() => page.live.scaled && page.stage.shown.reactions && page.stage.arrows.tips.length);
        const seen = () => {
          page.stage.camera.updateMatrixWorld();
          return page.stage.arrows.tips.map((one) => one.clone().project(page.stage.camera).toArray().slice(0, 2));
        };
        await sure(() => { page.redraw(); return seen().flat().every((one) => Math.abs(one) < 1); });
        told.tips = seen();
        told.held = page.stage.held;
        press("r");
        """
    )
    assert len(told["tips"]) >= 4
    assert np.abs(told["tips"]).max() < 1.0
    assert told["held"]


CAMERA = """
await sure(() => page.live.pictures > 0);
page.redraw();
await drawn();
const { camera, controls, parallel, theme } = page.stage;
Object.assign(told, { position: camera.position.toArray(), target: controls.target.toArray(), parallel, theme });
told.direction = page.stage.direction().normalize().toArray();
"""


def loaded_anew(browser):
    """Return the camera before and after F5."""
    before = browser.run(CAMERA)
    browser.run("page.old = true;")
    browser.ask("Page.reload")
    new = "document.readyState === 'complete' && Boolean(window.rtmbs) && !window.rtmbs.old"
    wait_until(lambda: browser.ask("Runtime.evaluate", expression=new)["result"].get("value"))
    return before, browser.run(CAMERA)


def test_a_page_that_is_loaded_anew_keeps_its_camera(served, browser):
    browser.open(served.address)
    browser.run("await sure(() => page.live.pictures > 0); page.actions.look_side(); press('F8');")
    before, after = loaded_anew(browser)
    np.testing.assert_allclose(after["direction"], before["direction"], atol=1e-9, err_msg="along x, by its key")
    assert after["theme"] == before["theme"] != "white"
    browser.run("page.actions.parallel();")
    for kind, x, y in (("mousePressed", 300, 200), ("mouseMoved", 340, 215), ("mouseReleased", 340, 215)):
        browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
    before, after = loaded_anew(browser)
    assert before["direction"][0] < 0.999, "the mouse turned the picture"
    assert after["parallel"]
    for name in ("position", "target"):
        np.testing.assert_allclose(after[name], before[name], atol=1e-9, err_msg=name)
    browser.run("press('F8'); page.actions.parallel();")


def test_a_page_that_draws_slowly_gets_no_pictures_that_it_would_leave_out():
    seen = Seen(sent_at=10.0)
    seen.waiting.extend(range(1, WAITING + 3))
    assert not seen.lags(10.0), "a page that does not tell what it draws gets all"
    seen.note_drawn(1)
    assert seen.lags(10.0)
    seen.note_drawn(99)
    assert seen.lags(10.0), "a picture of another mechanism says nothing"
    seen.note_drawn(3)
    assert list(seen.waiting) == list(range(4, WAITING + 3))
    assert not seen.lags(10.0)
    seen.waiting.extend((7, 8, 9))
    assert not seen.lags(10.0 + 1.01 * PATIENCE), "a hidden tab gets a few"
    assert not seen.waiting
