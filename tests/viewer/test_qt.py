"""Qt is loaded late, refused by name where it is known to break, and pinned in the extra."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rtmbs.errors import InputError
from rtmbs.viewer import qt

ROOT = Path(__file__).parents[2]
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
    monkeypatch.setattr(qt, "installed", lambda package: version)
    if not refused:
        qt.check_qt(python)
        return
    with pytest.raises(
        InputError, match=rf"PySide6 {version} ends the process .* on Python 3.11; pip install 'PySide6<6.12'"
    ):
        qt.check_qt(python)


@pytest.mark.parametrize("package", qt.PACKAGES)
def test_a_missing_package_is_named(monkeypatch, package):
    monkeypatch.setattr(qt, "installed", lambda name: None if name == package else "6.9.0")
    with pytest.raises(InputError, match=rf"needs {package}.*pip install 'rtmbs\[viewer\]'"):
        qt.check_qt((3, 11))


def test_nothing_but_the_window_loads_qt():
    """The package, the command line, the session side of the viewer and pictures without a display."""
    modules = ("rtmbs", "rtmbs.commands.cli", "rtmbs.commands.view", "rtmbs.viewer.connect", "rtmbs.viewer.view",
               "rtmbs.viewer.headless", "rtmbs.viewer.scene", "rtmbs.viewer.keys", "rtmbs.viewer.worker")  # fmt: skip
    code = f"import sys, {', '.join(modules)}; print(sorted({{'PySide6', 'pyqtgraph', 'OpenGL'}} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[]"


def test_without_a_display_the_way_out_is_told():
    with pytest.raises(InputError, match=r"needs a display.*--headless"):
        qt.check_display("linux", {})
    for given in ({"DISPLAY": ":0"}, {"WAYLAND_DISPLAY": "wayland-0"}, {"QT_QPA_PLATFORM": "offscreen"}):
        qt.check_display("linux", given)
    qt.check_display("darwin", {})
