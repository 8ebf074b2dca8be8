"""A start from the wheel with an empty cache of kernels: ``python -m bench.wheel --python PATH [--peers PATH ...]``.

``--python`` is the interpreter of an environment with the wheel of ``make wheel``, ``--peers`` those of environments
with Exudyn or MuJoCo. Every round is a new process with a new cache. Columns are medians of the time of the wall and of
the processor; bytecode of the modules is there, as after an installation by pip. Where that environment has the extra
``viewer`` and there is a display, a last row is the first picture of the 4 x 40, with the end of window and session.
"""

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "bench" / "peers" / "side_by_side"
FOUR_BAR = """
import sys
import rtmbs
sim = rtmbs.Simulation(rtmbs.library.build("fourbar", ny=4, nz=40).compile(), h=1e-3)
sim.run(0.005)
print("numba" in sys.modules)
"""
PICTURE = """
import sys, time
from rtmbs.viewer.qt.application import application, collected_here
from rtmbs.viewer.view import open_connection
connection = open_connection("fourbar", "process", parameters={"ny": 4, "nz": 40}, playing=True)
app = application()
from rtmbs.viewer.qt.window import Window
with collected_here():
    window, drawn = Window(connection), []
    window.canvas.frameSwapped.connect(lambda: drawn.append(window.frame) if window.frame is not None else None)
    window.show()
    until = time.monotonic() + 60.0
    while not drawn:
        assert time.monotonic() < until, f"no picture in 60 s on the platform {app.platformName()!r} of Qt"
        app.processEvents()
    print("numba" in sys.modules)
    window.close()
"""
IMPORT = "import rtmbs; rtmbs.Simulation; import sys; print('numba' in sys.modules)"


def measured(python: str, words: list[str], rounds: int) -> tuple[float, float, str] | None:
    """Return medians of wall and processor time [s] of a program, and its last line; None where it does not run.

    Why it does not run is printed.
    """
    walls, processors, line = [], [], ""
    for _ in range(rounds + 1):  # the first one writes bytecode
        with tempfile.TemporaryDirectory() as cache:
            kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "RTMBS"))}
            before, begin = children(), time.perf_counter()
            done = subprocess.run(
                [python, *words], env={**kept, "RTMBS_CACHE_DIR": cache}, cwd=cache, capture_output=True, text=True
            )
            walls.append(time.perf_counter() - begin)
            processors.append(children() - before)
            if done.returncode:
                print(f"exit code {done.returncode}: {' '.join(words)[:40]!r} ...\n{done.stderr[-2000:]}", flush=True)
                return None
            line = (done.stdout.splitlines() or [""])[-1]
    return statistics.median(walls[1:]), statistics.median(processors[1:]), line


def children() -> float:
    """Return the processor time of all processes that this one started and that have ended [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print a line for each program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="interpreter of an environment with the wheel")
    parser.add_argument("--peers", nargs="*", default=[], help="interpreters of environments with peers")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    programs = [("rtmbs, import of Simulation", given.python, ["-c", IMPORT])]
    programs += [("rtmbs, 4 x 40 four-bar: compile, five steps", given.python, ["-c", FOUR_BAR])]
    programs += [("rtmbs, one four-bar, 1 s", given.python, [str(SCRIPTS / "four_bar_rtmbs.py")])]
    if os.environ.get("DISPLAY"):
        programs += [("rtmbs, first picture of the 4 x 40 in a window", given.python, ["-c", PICTURE])]
    for python in given.peers:
        programs += [
            (f"{name}, one four-bar, 1 s", python, [str(SCRIPTS / f"four_bar_{name.lower()}.py")])
            for name in ("Exudyn", "MuJoCo", "Drake")
        ]
    print(f"{'program':46s} wall [s]  processor [s]  last line")
    for name, python, words in programs:
        found = measured(python, words, given.rounds)
        if found:
            print(f"{name:46s} {found[0]:8.2f} {found[1]:14.2f}  {found[2]}", flush=True)


if __name__ == "__main__":
    main()
