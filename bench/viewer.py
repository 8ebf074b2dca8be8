"""The live viewer measured: pictures a second, step times, missed deadlines, time to the first picture, memory.

    xvfb-run -a -s "-screen 0 1280x800x24" python bench/viewer.py --seconds 20
    python bench/viewer.py --layout stacked --plots 8 --settle 30 --seconds 600     # on a desktop
    python bench/viewer.py --speed 1000 --settle 60 --seconds 1800                  # half an hour at full speed

The window draws in this process, the steps run in one of their own (``--mode thread``: here). It prints JSON:
``pictures_per_second``; ``p50_ms``, ``p99_ms`` of all steps and ``missed_percent`` of their deadlines;
``begun_late_ms``, how late steps began; ``first_picture_s`` from the start of this process; resident memory of both
processes, without what they share and without pages of files, before (``--settle``) and after. ``memory`` says whether
it was flat.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

BEGUN = time.time()
PLOTTED = (
    "rod_1_0.position[y]", "rod_1_0.position[z]", "rod_2_1.velocity[y]", "rod_2_1.acceleration[z]",
    "pin_1_0.angle", "cut_1_0.reaction[fx]", "energy.kinetic", "energy.total",
)  # fmt: skip
SETTLED = 5.0  # [s]
FLAT = 5.0  # growth that is none [MB]
FINEST, BINS, PER_DECADE = 1e-6, 2100, 300  # of step times: counts in bins of 0.8 % each, from a microsecond on


def main() -> None:
    """Open the window, play, count, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_mechanism(parser, "parallel")
    parser.add_argument("--speed", type=float, default=1.0, help="simulated seconds a second; 1000 is full speed")
    parser.add_argument("--mode", default="process", choices=("process", "thread"))
    parser.add_argument("--plots", type=int, default=0, help="channels that are plotted, up to 8")
    parser.add_argument("--profiler", action="store_true", help="with the profiler open")
    parser.add_argument("--settle", type=float, default=SETTLED, help="playing before; 30 s fill the history [s]")
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments), indent=1))


def add_mechanism(parser: argparse.ArgumentParser, layout: str) -> None:
    """Add the arguments of the four-bar that is measured; ``layout`` is the default."""
    parser.add_argument("--ny", type=int, default=4)
    parser.add_argument("--nz", type=int, default=40)
    parser.add_argument("--layout", default=layout)
    parser.add_argument("--h", type=float, default=5e-3, help="step [s]")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the numbers."""
    from rtmbs.viewer.session.connect import connect

    parameters = {"ny": arguments.ny, "nz": arguments.nz, "layout": arguments.layout}
    connection = connect("fourbar", arguments.mode, parameters=parameters, options={"h": arguments.h})
    from rtmbs.viewer.session.commands import Play, SetSpeed, Subscribe

    window, drawn = opened(connection)
    first = time.time() - started()
    if arguments.plots:
        window.docks["plots"].show()
        window.panels.plots.wanted.disconnect()
        connection.send(Subscribe(PLOTTED[: arguments.plots]))
    if arguments.profiler:
        window.docks["profiler"].show()
    wait_until_ready(window)
    window.canvas.draw_smooth()  # a pause does so: its buffer is then there before memory is read
    connection.send(SetSpeed(arguments.speed))
    connection.send(Play())
    run(arguments.settle)
    steps, before = StepTimes(connection), memory(connection)
    start, pictures, frame = time.perf_counter(), drawn.count, connection.latest()
    end = start + arguments.seconds
    while time.perf_counter() < end:
        run(0.25)
        steps.take()
    seconds, last, after = time.perf_counter() - start, connection.latest(), memory(connection)
    window.close()
    return {
        "mechanism": f"{arguments.layout} {arguments.ny} x {arguments.nz}, h = {arguments.h:g} s",
        "mode": arguments.mode,
        "plots": arguments.plots,
        "cores": len(os.sched_getaffinity(0)),
        "pictures_per_second": round((drawn.count - pictures) / seconds, 1),
        "speed": round((last.t - frame.t) / seconds, 4),
        "steps": last.step - frame.step,
        "p50_ms": round(1e3 * steps.percentile(50), 3),
        "p99_ms": round(1e3 * steps.percentile(99), 3),
        "begun_late_ms": steps.late(),
        "missed_percent": round(100.0 * (last.missed - frame.missed) / max(last.deadlines - frame.deadlines, 1), 3),
        "first_picture_s": round(first, 2),
        "memory_before_MB": before,
        "memory_after_MB": after,
        "memory": grown(before, after),
        "history_steps_before": frame.newest - frame.oldest + 1,
        "history_steps_after": last.newest - last.oldest + 1,
    }


def opened(connection: Any) -> "tuple[Any, Drawn]":
    """Open a window, and return it with the count of its pictures once the first one is seen."""
    from rtmbs.viewer.qt.application import application

    app = application()
    from rtmbs.viewer.qt.window import Window

    window = Window(connection)
    window.show()
    drawn = Drawn(window)
    while not drawn.count:
        app.processEvents()
    return window, drawn


class Drawn:
    """Counts pictures that reached the screen and show something."""

    def __init__(self, window: Any) -> None:
        self.window, self.count = window, 0
        window.canvas.frameSwapped.connect(self.add)

    def add(self) -> None:
        """One more, once a frame is there."""
        if self.window.frame is not None:
            self.count += 1


class StepTimes:
    """Wall times of all steps, gathered from the rings of frames that overlap.

    They are counted in bins, for what is measured here is memory, too.
    """

    def __init__(self, connection: Any) -> None:
        import numpy as np

        self.np, self.connection = np, connection
        self.seen = connection.latest().steps_taken
        self.counts = np.zeros(BINS, np.int64)
        self.lateness = np.zeros((2, BINS), np.int64)  # of the median and of the 99th percentile of the last steps

    def take(self) -> None:
        """Add the steps since the last look."""
        frame = self.connection.latest()
        new = min(frame.steps_taken - self.seen, len(frame.step_times))
        if new:
            self.counts += self.np.bincount(self.bins(frame.step_times[-new:]), minlength=BINS)
        for row, late in zip(self.lateness, (frame.late_p50, frame.late_p99), strict=True):
            row[self.bins(self.np.array([late]))] += 1
        self.seen = frame.steps_taken

    def bins(self, seconds: Any) -> Any:
        """Return the bins that times belong to."""
        decades = self.np.log10(self.np.maximum(seconds, FINEST) / FINEST)
        return self.np.minimum((PER_DECADE * decades).astype(int), BINS - 1)

    def late(self) -> dict[str, float]:
        """Return how late steps began, the medians over all looks [ms]."""
        return {
            name: round(1e3 * self.middle(row, 50.0), 3)
            for name, row in zip(("p50", "p99"), self.lateness, strict=True)
        }

    def percentile(self, q: float) -> float:
        """Return a percentile [s]."""
        return self.middle(self.counts, q)

    def middle(self, counts: Any, q: float) -> float:
        """Return the time in the middle of the bin with a percentile [s]."""
        cumulated = self.np.cumsum(counts)
        place = int(self.np.searchsorted(cumulated, q / 100.0 * max(cumulated[-1], 1)))
        return float(FINEST * 10.0 ** ((place + 0.5) / PER_DECADE))


def run(seconds: float) -> None:
    """Run the window's events."""
    from PySide6.QtCore import QEventLoop, QTimer

    loop = QEventLoop()
    QTimer.singleShot(int(1e3 * seconds), loop.quit)
    loop.exec()


def wait_until_ready(window: Any) -> None:
    """Run events until the session has said that it is built."""
    while "bodies," not in window.log_panel.toPlainText():
        run(0.05)


def started() -> float:
    """Return when this process began (the imports before this file included) [s since the epoch]."""
    try:
        ticks = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        boot = next(float(line.split()[1]) for line in Path("/proc/stat").read_text().splitlines() if "btime" in line)
        return boot + ticks / os.sysconf("SC_CLK_TCK")
    except OSError:
        return BEGUN


def grown(before: dict[str, float], after: dict[str, float]) -> str:
    """Return in words whether memory stayed where it was."""
    more = {name: after[name] - before[name] for name in after}
    if not more:
        return "not measured: there is no /proc here"
    said = ", ".join(f"{name} {change:+.1f} MB" for name, change in more.items())
    return f"{'flat' if max(more.values()) <= FLAT else 'not flat'}: {said}"


def memory(connection: Any) -> dict[str, float]:
    """Return resident memory of the window and of the session [MB]; nothing where /proc is not.

    Only memory of their own counts. The ring of the plots, which both share, has a fixed size, and fills for 65,536
    steps. Pages of files, such as libraries, come and go as the system needs its memory elsewhere.
    """
    pids = {"window": "self"}
    if hasattr(connection, "pid"):
        pids["session"] = str(connection.pid)
    found = {}
    for name, pid in pids.items():
        path = Path(f"/proc/{pid}/status")
        if path.exists():
            kB = {line.split(":")[0]: line.split()[1] for line in path.read_text().splitlines() if line.endswith("kB")}
            found[name] = round(int(kB["RssAnon"]) * 1.024e-3, 1)
    return found


if __name__ == "__main__":
    main()
