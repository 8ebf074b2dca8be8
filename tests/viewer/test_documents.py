"""docs/viewer.md names every command, option and mode; the app ends with its own check."""

import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from rtmbs import library
from rtmbs.commands.view import EXAMPLES
from rtmbs.simulation.pacing import BACKLOG
from rtmbs.viewer.scene.frame import OPTIONS, PLOTS
from rtmbs.viewer.session import commands
from rtmbs.viewer.session.connect import MODES
from rtmbs.viewer.session.history import BYTES, STATES
from rtmbs.viewer.session.mouse_spring import DAMPING_RATIO, FREQUENCY, MOUSE_SPRING
from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "viewer.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## Commands and history")[1].split("\n## ")[0]
COMMANDS = [
    name for name, kind in vars(commands).items() if isinstance(kind, type) and issubclass(kind, commands.Command)
]


@pytest.mark.parametrize("name", sorted({*COMMANDS} - {"Command"}))
def test_every_command_is_told(name):
    assert re.search(rf"`{name}[(`]", SECTION), f"docs/viewer.md does not say what {name} does"


def test_no_command_is_told_that_does_not_exist():
    cells = [line.split("|")[1] for line in SECTION.splitlines() if line.startswith("| `")]
    told = {word for cell in cells for word in re.findall(r"`(\w+)", cell)}
    assert told <= {*COMMANDS}


def test_options_and_modes_are_told():
    assert {option for option in OPTIONS if f"`{option}`" not in SECTION} == set()
    assert {mode for mode in MODES if f"`{mode}`" not in PAGE} == set()


def test_numbers_of_the_page_are_those_of_the_code():
    assert f"{STATES:,} steps or {BYTES // 10**6} MB" in SECTION
    assert f"up to {PLOTS}" in SECTION
    assert f"swings at {FREQUENCY:g} Hz, damped at {DAMPING_RATIO:g} of critical" in SECTION
    assert f"`{MOUSE_SPRING}`" in SECTION


def test_the_app_checks_itself():
    """A small four-bar plays, is switched, goes back and forward to the same bytes; 3 says: too slow."""
    words = ["apps/live_four_bar.py", "--check", "--ny", "1", "--nz", "2", "--seconds", "1"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    assert "the same bytes" in done.stdout


def test_importing_rtmbs_or_the_session_loads_no_qt():
    code = (
        "import sys, rtmbs, rtmbs.viewer, rtmbs.viewer.session.connect; "
        "print([m for m in ('numba', 'scipy', 'PySide6', 'pyqtgraph', 'OpenGL') if m in sys.modules]); "
        "import rtmbs.viewer.session.worker, rtmbs.viewer.session.process_connection, rtmbs.viewer.session.playback; "
        "print([m for m in ('PySide6', 'pyqtgraph', 'OpenGL') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=LONGEST)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"], done.stderr


def test_every_mechanism_of_the_library_is_named():
    for name in library.names():
        assert f"`{name}`" in PAGE
        assert name in EXAMPLES


def example(heading):
    """Return the first program below a heading of the page."""
    below = PAGE.split(f"{heading}\n")[1]
    block = re.search(r"((?:    .*\n|\n)+)", below[below.index("\n    ") + 1 :])[1]
    return textwrap.dedent(block)


def test_the_model_file_of_the_page_is_viewed(tmp_path):
    (tmp_path / "robot.py").write_text(example("A file `robot.py` for a start:"), encoding="utf-8")
    words = ["view", "robot.py", "--crank-length", "0.3", "--headless", "--frames", "3", "--out", "picture.png"]
    words += ["--renderer", "matplotlib"]
    for told in (words, [*words, "--help"]):
        done = subprocess.run(
            [sys.executable, "-m", "rtmbs", *told], cwd=tmp_path, capture_output=True, text=True, timeout=LONGEST
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "--crank-length 0.2" in done.stdout
    assert (tmp_path / "picture.png").is_file()


def test_the_session_of_the_page_runs_without_a_window(tmp_path):
    file = tmp_path / "session.py"
    file.write_text(example("### Without a window"), encoding="utf-8")
    done = subprocess.run([sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kinetic energy" in done.stdout
    assert "log" in done.stdout, "the input was set"


def test_the_loop_of_the_page_steps_in_real_time(qtbot, monkeypatch):
    viewer = pytest.importorskip("rtmbs.viewer.view")
    steps, sync = [], viewer.ManualViewer.sync

    def counted(self, sim, report=None):
        sync(self, sim, report)
        steps.append(time.perf_counter())
        if len(steps) > 60:
            self.close()

    monkeypatch.setattr(viewer.ManualViewer, "sync", counted)
    exec(compile(example("### A loop of your own"), "loop.py", "exec"), {})
    assert steps[-1] - steps[0] > 0.9 * (60 - BACKLOG) * 5e-3, "a late loop catches up so many periods"
