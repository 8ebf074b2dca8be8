"""Qt is loaded late, refused by name where it is known to break, and pinned in the extra."""

import os
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rtmbs.errors import InputError
from rtmbs.viewer.qt import requirements
from tests.patience import LONGEST

ROOT = Path(__file__).parents[3]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def pinned(python: str) -> list[str]:
    """Return the versions of PySide6 that the extra asks for on a Python, by its environment markers."""
    from packaging.requirements import Requirement

    wanted = [Requirement(line) for line in EXTRAS["viewer"]]
    fitting = [r for r in wanted if r.marker is None or r.marker.evaluate({"python_version": python})]
    return [str(r.specifier) for r in fitting if r.name == "PySide6"]


@pytest.mark.parametrize(("python", "refused"), [("3.11", True), ("3.12", False), ("3.13", False)])
def test_the_extra_keeps_6_12_away_from_python_3_11_only(python, refused):
    from packaging.specifiers import SpecifierSet

    (specifier,) = pinned(python)
    allowed = SpecifierSet(specifier)
    assert all(version in allowed for version in ("6.9.0", "6.10.1", "6.11.3"))
    assert ("6.12.0" in allowed) is not refused


@pytest.mark.parametrize(
    ("python", "version", "refused"),
    [((3, 11), "6.12.0", True), ((3, 11), "6.11.3", False), ((3, 12), "6.12.0", False), ((3, 11), "6.12.1", True)],
)
def test_a_version_that_breaks_is_refused_with_the_way_out(monkeypatch, python, version, refused):
    monkeypatch.setattr(requirements, "installed", lambda package: version)
    if not refused:
        requirements.check_qt(python)
        return
    with pytest.raises(
        InputError, match=rf"PySide6 {version} ends the process .* on Python 3.11; pip install 'PySide6<6.12'"
    ):
        requirements.check_qt(python)


@pytest.mark.parametrize("package", requirements.PACKAGES)
def test_a_missing_package_is_named(monkeypatch, package):
    monkeypatch.setattr(requirements, "installed", lambda name: None if name == package else "6.9.0")
    with pytest.raises(InputError, match=rf"needs {package}.*pip install 'rtmbs\[viewer\]'"):
        requirements.check_qt((3, 11))


def test_nothing_but_the_window_loads_qt():
    """The package, the command line, the session side of the viewer and pictures without a display."""
    modules = ("rtmbs", "rtmbs.commands.cli", "rtmbs.commands.view", "rtmbs.viewer.session.connect",
               "rtmbs.viewer.view",
               "rtmbs.viewer.film", "rtmbs.viewer.scene.scene", "rtmbs.viewer.keys",
               "rtmbs.viewer.session.worker")  # fmt: skip
    code = f"import sys, {', '.join(modules)}; print(sorted({{'PySide6', 'pyqtgraph', 'OpenGL'}} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=True
    )
    assert done.stdout.strip() == "[]"


def test_without_a_display_the_way_out_is_told():
    with pytest.raises(InputError, match=r"needs a display.*--headless"):
        requirements.check_display("linux", {})
    requirements.check_display("linux", {"QT_QPA_PLATFORM": "xcb"})
    requirements.check_display("darwin", {})


@pytest.mark.parametrize(
    "given",
    [{"DISPLAY": ":4711"}, {"DISPLAY": "nonsense"}, {"DISPLAY": ""}, {"WAYLAND_DISPLAY": "wayland-4711"},
     {"DISPLAY": "127.0.0.1:4711.0"}, {"WAYLAND_DISPLAY": "wayland-4711", "DISPLAY": ":4711"}],
    ids=str,
)  # fmt: skip
def test_a_display_where_nobody_answers_is_told(given):
    with pytest.raises(InputError, match=r"needs a display.*--headless"):
        requirements.check_display("linux", given)


def test_a_display_that_answers_is_taken(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "wayland-7"))
        server.listen()
        requirements.check_server({"WAYLAND_DISPLAY": "wayland-7", "XDG_RUNTIME_DIR": str(tmp_path)})
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        number = server.getsockname()[1] - 6000
        assert requirements.answers(f"127.0.0.1:{number}.0")
    assert not requirements.answers(f"127.0.0.1:{number}.0")


@pytest.mark.parametrize("platform", ["offscreen", "offscreen:size=10x10", "minimal"])
def test_a_platform_that_shows_nothing_is_refused(platform):
    with pytest.raises(InputError, match=f"QT_QPA_PLATFORM is '{platform}', which shows none; unset it, or film with"):
        requirements.check_display("linux", {"QT_QPA_PLATFORM": platform, "DISPLAY": ":0"})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"QT_QPA_PLATFORM": "offscreen"}, "the window needs a display, and QT_QPA_PLATFORM is 'offscreen'"),
        ({"QT_XCB_GL_INTEGRATION": "none"}, "the window needs OpenGL 3.3"),
    ],
    ids=["offscreen", "no OpenGL"],
)
def test_a_window_that_cannot_be_is_one_sentence_and_an_exit_code(opengl, qapp, given, sentence):
    """No window, no abort, no pages of warnings, and no memory that is left behind."""
    environment = {name: value for name, value in os.environ.items() if name != "QT_QPA_PLATFORM"}
    environment |= {"PYTHONPATH": str(ROOT), **given}
    command = [sys.executable, "-m", "rtmbs", "view", "pendulum"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    assert done.returncode == 2
    lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(("libGL", "QXcb"))]
    assert len(lines) == 1, lines
    assert sentence in lines[0]
