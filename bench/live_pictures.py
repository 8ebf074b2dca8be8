"""Pictures of a live page of parallel four-bars in a browser without a display, and what they cost.

    python -m bench.live_pictures --ny 4 --nz 40 --seconds 20

A session plays in a process of its own. The page is open in Chromium with software WebGL. ``drawn_a_second`` counts
pictures that the page drew, ``sent_a_second`` those that came. ``message_ms`` is processor time of the server to make
the message of one picture, over and over. ``server_ms`` is that of its whole thread for a picture that is sent: frame,
message and socket. ``browser_ms`` is processor time of all processes of the browser for a picture that is drawn, with
the messages that came meanwhile, and ``draw_ms`` that of drawing alone, over and over.
"""

import argparse
import asyncio
import json
import os
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.viewer import add_mechanism
from rtmbs.viewer.session.commands import Play
from rtmbs.viewer.session.connect import connect
from rtmbs.viewer.web.live import LiveScene, LiveServer, first_frame, knows_way

AGAIN, DRAWS = 200, 20  # messages, and pictures that are drawn over and over
DRAW = """
    const gl = page.stage.renderer.getContext(), pixel = new Uint8Array(4);
    page.live.show = () => {};
    for (let k = 0; k < %d; k++) {
      page.stage.draw();
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);  // waits for the picture
    }
"""
SETTLED = 5.0  # [s] after which the page draws at its pace


def family(pid: int) -> dict[int, float]:
    """Return the processor times of a process and of all that it started, as far as they run [s]."""
    parents, used = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            parents[int(folder.name)] = int(fields[1])
            used[int(folder.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    found = {pid}
    while grown := {one for one, parent in parents.items() if parent in found} - found:
        found |= grown
    return {one: used.get(one, 0.0) for one in found}


def processors(pid: int) -> float:
    """Return the processor time of a process and of all that it started, as far as they run [s]."""
    return sum(family(pid).values())


def served(server: LiveServer, clock: list[float]) -> str:
    """Serve in a thread whose processor time ``clock`` holds, and return the address."""
    address, known = [""], threading.Event()

    def ready(found: str) -> None:
        address[0] = found
        known.set()

    def serve() -> None:
        clock[0] = time.pthread_getcpuclockid(threading.get_ident())
        asyncio.run(server.run("127.0.0.1", 0, ready))

    threading.Thread(target=serve, daemon=True).start()
    known.wait()
    return address[0]


def message_ms(server: LiveServer) -> float:
    """Return the processor time of the message of a picture [ms]."""
    while not knows_way(frame := first_frame(server.connection)):
        time.sleep(0.01)
    scene = LiveScene(server.connection.describe(), frame, server.paging)
    begin = time.process_time()
    for _ in range(AGAIN):
        scene.fits(frame)
        scene.picture(frame, None)
    return 1e3 * (time.process_time() - begin) / AGAIN


def measure(parameters: dict[str, Any], h: float, seconds: float) -> dict[str, float | int]:
    """Let a page play, and return the numbers."""
    from tests.viewer.web.browser import Browser

    connection = connect("fourbar", "process", parameters=parameters, options={"h": h})
    server, clock = LiveServer(connection), [0.0]
    message = message_ms(server)
    connection.send(Play())
    address = served(server, clock)
    with TemporaryDirectory() as folder, Browser(Path(folder) / "profile") as browser:
        browser.open(address, (1200, 700))
        time.sleep(SETTLED)

        def now() -> tuple[float, ...]:
            told = browser.run("told.drawn = page.drawn; told.came = page.live.pictures;")
            mine, theirs = time.clock_gettime(int(clock[0])), processors(browser.pid)
            return time.perf_counter(), told["drawn"], told["came"], server.pictures, mine, theirs

        begin = now()
        time.sleep(seconds)
        wall, drawn, came, made, mine, theirs = (b - a for a, b in zip(begin, now(), strict=True))
        before = processors(browser.pid)
        browser.run(DRAW % DRAWS)
        draw = processors(browser.pid) - before
    connection.close()
    return {
        "seconds": round(wall, 1),
        "drawn_a_second": round(drawn / wall, 1),
        "sent_a_second": round(came / wall, 1),
        "message_ms": round(message, 2),
        "server_ms": round(1e3 * mine / max(made, 1), 2),
        "browser_ms": round(1e3 * theirs / max(drawn, 1), 1),
        "draw_ms": round(1e3 * draw / DRAWS, 1),
    }


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_mechanism(parser, "parallel")
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    parameters = {"ny": given.ny, "nz": given.nz, "layout": given.layout}
    print(json.dumps(measure(parameters, given.h, given.seconds)))


if __name__ == "__main__":
    main()
