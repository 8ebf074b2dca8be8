"""Whether Qt can be used here, said before it is loaded."""

import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from rtmbs.errors import InputError

PACKAGES = ("PySide6", "pyqtgraph", "PyOpenGL")
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
INSTALL = "pip install 'rtmbs[viewer]'"


def check_qt(python: tuple[int, int] = (sys.version_info[0], sys.version_info[1])) -> None:
    """Raise InputError with the way out when a package of the window is missing, or known to end the process.

    PySide6 6.12 on Python 3.11 drops a reference to None at every call that returns nothing, so that the interpreter
    stops after some seconds with "deallocating None". From Python 3.12 on None is immortal.
    """
    for package in PACKAGES:
        if installed(package) is None:
            raise InputError(f"the window needs {package}, which is not installed; {INSTALL} brings it")
    found = installed("PySide6") or ""
    if python < (3, 12) and numbers(found) >= (6, 12):
        raise InputError(
            f"PySide6 {found} ends the process after some seconds on Python {python[0]}.{python[1]}; "
            "pip install 'PySide6<6.12', or use Python 3.12 or later"
        )


def check_display(platform: str = sys.platform, given: Mapping[str, str] = os.environ) -> None:
    """Raise InputError where Qt would end the process: Linux without a display."""
    if platform.startswith("linux") and not any(given.get(name) for name in DISPLAYS):
        raise InputError(
            "the window needs a display, and neither DISPLAY nor WAYLAND_DISPLAY names one; "
            "`rtmbs view TARGET --headless --out movie.mp4` films without one"
        )


def installed(package: str) -> str | None:
    """Return the version of an installed package without importing it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def numbers(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version."""
    parts = []
    for part in text.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts)
