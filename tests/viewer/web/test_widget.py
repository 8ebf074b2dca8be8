"""Live page of a notebook: requests and pictures through a widget of the kernel, at the pace of the browser."""

import asyncio
import json

import pytest

from rtmbs.viewer.session.worker import ManualConnection
from tests.viewer.mechanisms import motored

pytest.importorskip("websockets")
from rtmbs.simulation import Simulation
from rtmbs.viewer.web.content import PageOptions
from rtmbs.viewer.web.widget import WidgetServer


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


async def until(condition):
    """Let the server go on until a condition holds."""
    while not condition():
        await asyncio.sleep(0.01)
