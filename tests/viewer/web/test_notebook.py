"""Pictures below a cell: a page with the run in a frame, and a session that is served while the kernel runs."""

import re
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.simulation import Simulation
from tests.patience import LONGEST
from tests.viewer.mechanisms import motored
from tests.viewer.web.browser import POLICY

MODEL = motored(torque=3.0)


def test_a_run_is_kept_in_the_cell(browser, tmp_path):
    result = Simulation(MODEL.compile(), h=5e-3).run(0.5)
    shown = rtmbs.show(result, model=MODEL)
    assert repr(shown) == "Shown(a run; a notebook draws it as the last line of a cell)"
    page = tmp_path / "cell.html"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    page.write_text(f"<!doctype html>{policy}<body>{shown._repr_html_()}</body>", encoding="utf-8")
    browser.open(page, ready="document.querySelector('iframe').contentWindow.rtmbs")
    told = browser.run(
        """
        const inner = document.querySelector('iframe').contentWindow.rtmbs;
        told.last = inner.content.t.at(-1);
        told.playing = inner.player.playing;
        """,
        helpers="",
    )
    assert browser.said == []
    assert told == {"last": pytest.approx(0.5), "playing": True}
    shown.close()


def test_a_live_session_is_served_until_it_is_closed():
    pytest.importorskip("websockets")
    shown = rtmbs.show(MODEL, live=True, height=300)
    address = urlsplit(re.search(r'src="([^"]+)"', shown._repr_html_())[1])
    assert 'height="300"' in shown._repr_html_()
    kernel = HTTPConnection(address.hostname, address.port, timeout=LONGEST)
    kernel.request("GET", address.path)
    answer = kernel.getresponse()
    assert answer.status == 200
    assert "X-Frame-Options" not in answer.headers
    assert b"LivePlayer" in answer.read()
    shown.close()
    with pytest.raises(OSError):
        connect_until_refused(address)


def connect_until_refused(address):
    """Connect again and again, until nothing listens any more."""
    while True:
        HTTPConnection(address.hostname, address.port, timeout=LONGEST).connect()


def test_a_live_session_has_no_end():
    with pytest.raises(InputError, match="a live session goes on until it is closed"):
        rtmbs.show(MODEL, live=True, seconds=1.0)
