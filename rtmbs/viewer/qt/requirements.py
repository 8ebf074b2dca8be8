"""Requirements of a window: Qt, a display and OpenGL 3.3, checked before Qt would end the process."""

import ctypes
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtmbs.errors import InputError

if TYPE_CHECKING:
    from PySide6.QtGui import QSurfaceFormat


OPENGL = (3, 3)
PATIENCE = 2.0  # [s] for a display to answer
PACKAGES = ("PySide6", "pyqtgraph", "PyOpenGL")
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
BLIND = ("offscreen", "minimal", "linuxfb", "vnc")  # platforms of Qt without a window of OpenGL
FILM = "`rtmbs view TARGET --headless --out movie.mp4`"
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
    """Raise InputError where Qt would end the process, or open an invisible window: Linux without a display."""
    chosen = given.get("QT_QPA_PLATFORM", "")
    if chosen.partition(":")[0] in BLIND:
        raise InputError(
            f"the window needs a display, and QT_QPA_PLATFORM is {chosen!r}, which shows none; unset it, or film with "
            f"{FILM}"
        )
    if platform.startswith("linux") and not any(given.get(name) for name in DISPLAYS):
        raise InputError(
            f"the window needs a display, and neither DISPLAY nor WAYLAND_DISPLAY names one; {FILM} films without one"
        )
    if platform.startswith("linux") and not chosen:
        check_server(given)
        check_plugin()


def check_server(given: Mapping[str, str]) -> None:
    """Raise InputError where no server answers under the names of DISPLAY and WAYLAND_DISPLAY."""
    wayland = given.get("WAYLAND_DISPLAY", "")
    if wayland and Path(given.get("XDG_RUNTIME_DIR", "/"), wayland).is_socket():
        return
    display = given.get("DISPLAY", "")
    if not (display and answers(display)):
        named = f"DISPLAY names {display!r}" if display else f"WAYLAND_DISPLAY names {wayland!r}"
        raise InputError(
            f"the window needs a display, and {named}, where no server answers; start one (Xvfb, ssh -X), or film with "
            f"{FILM}"
        )


def answers(display: str) -> bool:
    """True when an X server answers under a name such as ":0" or "host:10.0"."""
    host, _, rest = display.rpartition(":")
    number = rest.partition(".")[0]
    if not number.isdigit():
        return False
    local = f"/tmp/.X11-unix/X{number}"
    places: list[Any] = [local, f"\0{local}"] if host in ("", "unix") else [(host, 6000 + int(number))]
    for place in places:
        with socket.socket(socket.AF_UNIX if isinstance(place, str) else socket.AF_INET) as link:
            link.settimeout(PATIENCE)
            with suppress(OSError):
                link.connect(place)
                return True
    return False


def check_plugin() -> None:
    """Raise InputError where a library is missing that Qt needs for X11: Qt itself would end the process."""
    import PySide6

    plugin = Path(PySide6.__path__[0], "Qt", "plugins", "platforms", "libqxcb.so")
    if plugin.is_file():
        try:
            ctypes.CDLL(str(plugin))
        except OSError as error:
            raise InputError(f"Qt cannot open a window here: {error}; docs/viewer.md names the packages") from None


def check_opengl() -> None:
    """Raise InputError where the display offers no OpenGL 3.3; there must be an application."""
    from PySide6.QtGui import QOffscreenSurface, QOpenGLContext

    surface, context = QOffscreenSurface(), QOpenGLContext()
    for one in (surface, context):
        one.setFormat(surface_format())
    surface.create()
    usable = context.create() and context.makeCurrent(surface)
    found = context.format().version() if usable else (0, 0)
    context.doneCurrent()
    if tuple(found) < OPENGL:
        offered = f"only OpenGL {found[0]}.{found[1]}" if usable else "no OpenGL"
        raise InputError(
            f"the window needs OpenGL 3.3, and this display offers {offered}; install Mesa's drivers "
            f"(Debian: libgl1-mesa-dri), or film with {FILM}"
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


def surface_format() -> "QSurfaceFormat":
    """Return OpenGL 3.3, core profile, one sample: smooth edges come from a framebuffer of our own."""
    from PySide6.QtGui import QSurfaceFormat

    wanted = QSurfaceFormat()
    wanted.setVersion(3, 3)
    wanted.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    wanted.setDepthBufferSize(24)
    wanted.setSamples(0)
    wanted.setSwapInterval(0)
    return wanted
