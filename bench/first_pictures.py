"""Every mechanism of the library in a window: when its first picture comes, and whether it stays in the picture.

    xvfb-run -a -s "-screen 0 1280x800x24" python -m bench.first_pictures
    xvfb-run -a -s "-screen 0 1280x800x24" python -m bench.first_pictures pendulum top --seconds 5

    python -m bench.first_pictures --notebook pendulum fourbar

With ``--notebook`` a process a mechanism does what the first cell of a notebook does: ``rtmbs.show``, and a browser
without a display that opens the page. Both are processor times: ``cell_s`` of the cell, with the import of rtmbs, and
``page_s`` of the page up to its first picture.

A process a mechanism does what ``rtmbs view NAME`` does, but for the settings of the last window. ``first_picture_s``
is counted from the start of the process.
A start that does not count comes first: Python keeps the bytecode of all modules then, as in the user's second start.
``inside_percent`` are the pictures of the first ``--seconds`` of play that hold all points of the mechanism.
"""

import argparse
import html
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.viewer import opened, started


def main() -> None:
    """Print one line a mechanism."""
    from rtmbs import library

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="mechanisms; all unless given")
    parser.add_argument("--seconds", type=float, default=10.0, help="of play")
    parser.add_argument("--notebook", action="store_true", help="below the cell of a notebook, in place of a window")
    parser.add_argument("--one", action="store_true", help="measure in this process")
    given = parser.parse_args()
    if given.one:
        name = given.names[0]
        print(json.dumps(measure_cell(name) if given.notebook else measure(name, given.seconds)))
        return
    in_a_process("pendulum", 0.0, given.notebook)
    for name in given.names or library.MECHANISMS:
        print(in_a_process(name, given.seconds, given.notebook), flush=True)


def in_a_process(name: str, seconds: float, notebook: bool) -> str:
    """Measure in a new process that keeps bytecode, and return its line."""
    words = [sys.executable, "-m", "bench.first_pictures", name, "--one", "--seconds", str(seconds)]
    words += ["--notebook"] * notebook
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(words, capture_output=True, text=True, check=True, env=kept).stdout.splitlines()[-1]


def measure_cell(name: str) -> dict[str, float | str]:
    """Show a mechanism as a cell does, and open its page."""
    import rtmbs
    from tests.viewer.web.browser import Browser

    shown = rtmbs.show(name)
    cell = time.process_time()
    page = html.unescape(shown._repr_html_().partition('srcdoc="')[2].partition('" width=')[0])
    with TemporaryDirectory() as folder, Browser(Path(folder) / "profile") as browser:
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        browser.ask("Performance.enable")
        browser.open(file, ready="window.rtmbs?.drawn > 0")
        metrics = {one["name"]: one["value"] for one in browser.ask("Performance.getMetrics")["metrics"]}
    return {"name": name, "cell_s": round(cell, 2), "page_s": round(metrics["ProcessTime"], 2)}


def measure(name: str, seconds: float) -> dict[str, float | str | int]:
    """Open the window on a mechanism, play, and count the pictures that hold it."""
    from rtmbs.viewer.qt.application import application, collected_here
    from rtmbs.viewer.qt.requirements import check_display, check_opengl, check_qt
    from rtmbs.viewer.view import open_connection

    check_qt()
    check_display()
    connection = open_connection(name, "process", playing=True)
    app = application()
    check_opengl()
    with collected_here():
        window, drawn = opened(connection)
        first, end, inside, counted = time.time() - started(), time.perf_counter() + seconds, 0, 0
        while time.perf_counter() < end:
            before = drawn.count
            app.processEvents()
            if drawn.count > before:
                counted += 1
                inside += window.canvas.camera.holds(window.canvas.scene.points())
        t = window.frame.t if window.frame is not None else 0.0
        window.close()
    share = 100.0 * inside / max(counted, 1)
    return {"name": name, "first_picture_s": round(first, 2), "pictures": counted, "inside_percent": share, "t": t}


if __name__ == "__main__":
    main()
