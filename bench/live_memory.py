"""Memory of a long live page, of the process of its server and of the page in a browser without a display.

    python -m bench.live_memory --minutes 3
    python -m bench.live_memory --minutes 25 --rate 240

A pendulum runs as fast as it can, with curves, trails and reactions. Memory is read every few seconds from the step on
at which the curves hold all the steps that they can. The slope of a line through the readings is printed in MB for a
million steps, with the largest change. The server has the session in a thread, so its memory is that of both.
``page`` is what the program of the page holds, and ``browser`` all memory of its own of the processes of the browser.

``--rate`` sends more pictures a second than a page gets otherwise, to a browser that draws without a clock of a screen.
Four hours at 25 pictures a second are 360,000 pictures.
"""

import argparse
import asyncio
import json
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.live_pictures import family
from bench.viewer import memory
from rtmbs.viewer.scene.frame import KEPT
from rtmbs.viewer.session.connect import connect
from rtmbs.viewer.web import live
from rtmbs.viewer.web.content import PageOptions
from rtmbs.viewer.web.live import LiveServer

START = """
    for (const box of page.live.boxes.slice(0, 3)) box.click();
    page.actions.reactions();
    page.player.setSpeed(1000);
    page.player.play();
"""
LEAST = 8  # readings
SETTLED = 1.05 * KEPT  # steps that fill the curves
SIDES = ("server", "page", "browser")
FREE = ("--disable-frame-rate-limit", "--disable-gpu-vsync")  # a browser draws as fast as it can
SIZE = (320, 200)  # pixels of a page that draws as fast as it can


def owned(pid: int) -> float:
    """Return the memory that a process and all that it started have for themselves [MB]."""
    kilobytes = 0
    for one in family(pid):
        try:
            lines = Path(f"/proc/{one}/status").read_text().splitlines()
        except OSError:
            continue  # it has ended
        kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith(("RssAnon", "RssShmem")))
    return kilobytes * 1.024e-3


def served(server: LiveServer) -> str:
    """Serve in a thread, and return the address."""
    known, address = threading.Event(), [""]

    def ready(found: str) -> None:
        address[0] = found
        known.set()

    threading.Thread(target=lambda: asyncio.run(server.run("127.0.0.1", 0, ready)), daemon=True).start()
    known.wait()
    return address[0]


def measure(seconds: float, rate: float) -> dict[str, float | int | list[float]]:
    """Let a page run, and return slopes and pictures."""
    from tests.viewer.web.browser import FLAGS, Browser

    connection = connect("pendulum", "thread", options={"h": 5e-3}, history=(2000, 100_000_000))
    server, fast = LiveServer(connection, PageOptions(all_traces=True)), rate > live.RATE
    live.RATE = rate
    with (
        TemporaryDirectory() as folder,
        Browser(Path(folder) / "profile", (*FLAGS, *FREE) if fast else FLAGS) as browser,
    ):
        browser.open(served(server), SIZE if fast else (800, 500))
        browser.run(START)
        begin, rows = time.perf_counter(), []
        while time.perf_counter() - begin < seconds:
            browser.ask("HeapProfiler.collectGarbage")
            frame, heap = connection.latest(), browser.ask("Runtime.getHeapUsage")["usedSize"] / 1e6
            held = memory(connection)["window"], heap, owned(browser.pid)
            rows.append((0 if frame is None else frame.step, *held))
            time.sleep(seconds / 60.0)
        told = browser.run("told.drawn = page.drawn; told.t = page.player.time;")
    connection.close()
    settled = np.array([row for row in rows if row[0] > SETTLED])
    if len(settled) < LEAST:
        raise SystemExit(f"{len(settled)} readings after {SETTLED:g} steps are too few; let it run longer")
    found: dict[str, float | int | list[float]] = {"minutes": seconds / 60.0}
    for name, column in zip(SIDES, settled[:, 1:].T, strict=True):
        found[f"{name}_MB"] = round(float(column[-1]), 2)
        found[f"{name}_MB_a_million_steps"] = round(1e6 * float(np.polyfit(settled[:, 0], column, 1)[0]), 2)
    return found | {
        "largest_change_MB": [round(float(np.ptp(column)), 2) for column in settled[:, 1:].T],
        "steps": int(settled[-1, 0]),
        "readings": len(settled),
        "pictures_sent": server.pictures,
        "pictures_drawn": told["drawn"],
        "simulated_s": round(told["t"], 1),
    }


def main() -> None:
    """Print slopes and pictures as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--rate", type=float, default=live.RATE, help="pictures a second that a page gets at most")
    given = parser.parse_args()
    print(json.dumps(measure(60.0 * given.minutes, given.rate)))


if __name__ == "__main__":
    main()
