"""Memory of a long live page, of the process of its server and of the page in a browser without a display.

    python -m bench.live_memory --minutes 3

A pendulum runs as fast as it can, with curves, trails and reactions. Memory is read every few seconds from the step on
at which the curves hold all the steps that they can. The slope of a line through the readings is printed in MB for a
million steps, with the largest change. The server has the session in a thread, so its memory is that of both.
"""

import argparse
import asyncio
import json
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.viewer import memory
from rtmbs.viewer.scene.frame import KEPT
from rtmbs.viewer.session.connect import connect
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


def main() -> None:
    """Print slopes and pictures as one line of JSON."""
    from tests.viewer.web.browser import Browser

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=3.0)
    seconds = 60.0 * parser.parse_args().minutes
    connection = connect("pendulum", "thread", options={"h": 5e-3}, history=(2000, 100_000_000))
    server, known, address = LiveServer(connection, PageOptions(all_traces=True)), threading.Event(), [""]

    def ready(found: str) -> None:
        address[0] = found
        known.set()

    threading.Thread(target=lambda: asyncio.run(server.run("127.0.0.1", 0, ready)), daemon=True).start()
    known.wait()
    with TemporaryDirectory() as folder, Browser(Path(folder) / "profile") as browser:
        browser.open(address[0])
        browser.run(START)
        begin, rows = time.perf_counter(), []
        while time.perf_counter() - begin < seconds:
            browser.ask("HeapProfiler.collectGarbage")
            frame, heap = connection.latest(), browser.ask("Runtime.getHeapUsage")["usedSize"] / 1e6
            rows.append((0 if frame is None else frame.step, memory(connection)["window"], heap))
            time.sleep(seconds / 60.0)
        told = browser.run("told.drawn = page.drawn; told.t = page.player.time;")
    connection.close()
    settled = np.array([row for row in rows if row[0] > SETTLED])
    if len(settled) < LEAST:
        raise SystemExit(f"{len(settled)} readings after {SETTLED:g} steps are too few; let it run longer")
    slopes = [1e6 * float(np.polyfit(settled[:, 0], column, 1)[0]) for column in settled[:, 1:].T]
    found = {
        "minutes": seconds / 60.0,
        "server_MB": round(float(settled[-1, 1]), 1),
        "server_MB_a_million_steps": round(slopes[0], 2),
        "page_MB": round(float(settled[-1, 2]), 2),
        "page_MB_a_million_steps": round(slopes[1], 2),
        "largest_change_MB": [round(float(np.ptp(column)), 2) for column in settled[:, 1:].T],
        "steps": int(settled[-1, 0]),
        "readings": len(settled),
        "pictures_drawn": told["drawn"],
        "simulated_s": round(told["t"], 1),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
