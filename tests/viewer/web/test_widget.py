"""Live page of a notebook: requests and pictures through a widget of the kernel, at the pace of the browser."""

import asyncio
import base64
import json
import re

import pytest

from rtmbs.viewer.session.worker import ManualConnection
from tests.patience import LONGEST
from tests.viewer.mechanisms import motored

pytest.importorskip("websockets")
from rtmbs.simulation import Simulation
from rtmbs.viewer.notebook import WidgetServer
from rtmbs.viewer.web.content import PageOptions, page_file
from tests.viewer.web.browser import POLICY

NOTEBOOK = """<!doctype html><meta http-equiv="Content-Security-Policy" content="%s"><div id="cell"></div>
<script>
const { page, program, picture } = %s;
const heard = {}, asked = [], bytes = Uint8Array.from(atob(picture), (one) => one.charCodeAt(0));
const model = {
  get: (name) => ({ page, height: 300 })[name],
  on: (name, hear) => { heard[name] = hear; },
  off: (name) => { delete heard[name]; },
  send: (message) => asked.push(message),
};
const at = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
import(at).then((module) => { window.end = module.default.render({ model, el: document.getElementById("cell") }); });
</script>"""


class Widget:
    """The widget as the server knows it: what it is sent is kept, and what a browser says is heard."""

    def __init__(self):
        self.pictures, self.texts, self.hear = [], [], None
        self.page = ""

    def on_msg(self, hear):
        self.hear = hear

    def send(self, content, buffers=()):
        if buffers:
            self.pictures.append((content["number"], buffers[0]))
        else:
            self.texts.append(json.loads(content["text"]))

    def ask(self, **request):
        self.hear(self, {"ask": json.dumps(request)}, [])


def test_a_widget_gets_pictures_as_it_draws_them_and_steers():
    sim = Simulation(motored(torque=3.0).compile())
    connection = ManualConnection(sim)
    connection.should_step()
    server, widget = WidgetServer(connection, PageOptions(), framed=True), Widget()
    assert "window.openSocket" in server.page().split("Content-Security-Policy")[0]

    async def watch():
        served = asyncio.create_task(server.run_in(widget))
        await until(lambda: widget.pictures)
        widget.ask(do="step", count=1)
        await until(connection.should_step)
        connection.sync(sim, sim.step())
        assert len(widget.pictures) == 1, "the first picture is not drawn yet"
        widget.hear(widget, {"drawn": 1}, [])
        await until(lambda: (connection.should_step(), len(widget.pictures) > 1)[1])  # the session publishes its frame
        widget.ask(do="fly")
        await until(lambda: widget.texts)
        connection.close()
        served.cancel()

    asyncio.run(watch())
    assert [number for number, _ in widget.pictures][:2] == [1, 2]
    assert "fly" in widget.texts[-1]["messages"][0]["text"]


def test_a_browser_loads_the_widget_from_memory_and_shows_what_it_is_sent(browser, tmp_path):
    """As anywidget does: the program is a module without imports, and so is the page of its frame."""
    connection = ManualConnection(Simulation(motored(torque=3.0).compile()))
    connection.should_step()
    server, widget = WidgetServer(connection, PageOptions(), framed=True), Widget()

    async def first():
        served = asyncio.create_task(server.run_in(widget))
        await until(lambda: widget.pictures)
        connection.close()
        served.cancel()

    asyncio.run(first())
    program = page_file("widget.js")
    assert not re.search(r"\bimport\b", program)
    given = {"page": server.page(), "program": program, "picture": base64.b64encode(widget.pictures[0][1]).decode()}
    cell = tmp_path / "cell.html"
    cell.write_text(NOTEBOOK % (POLICY, json.dumps(given).replace("</", "<\\/")), encoding="utf-8")
    browser.open(cell, ready="document.querySelector('iframe')?.contentWindow.rtmbs")
    told = browser.run(
        """
        const cell = document.querySelector("iframe"), inner = cell.contentWindow;
        heard["msg:custom"]({ number: 7 }, [new DataView(bytes.buffer)]);
        await sure(() => inner.rtmbs.live.pictures === 1 && asked.some((one) => one.drawn === 7));
        told.height = cell.clientHeight;
        inner.dispatchEvent(new inner.KeyboardEvent("keydown", { key: " " }));
        await sure(() => asked.some((one) => one.ask?.includes("pause")));
        window.end();
        told.heard = Object.keys(heard);
        """
    )
    assert told == {"height": 300, "heard": []}
    assert browser.said == []
    assert {address.split(":")[0] for address in browser.asked} <= {"file", "blob", "data", "about"}


async def until(condition):
    """Let the server go on until a condition holds."""
    async with asyncio.timeout(LONGEST):
        while not condition():
            await asyncio.sleep(0.01)
