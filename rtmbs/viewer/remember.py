"""What a window looks like the next time: its place, panels, theme, what it shows, and the last files."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QPoint, QRect, QSettings

from rtmbs.viewer.theme import DARK, WHITE

if TYPE_CHECKING:
    from rtmbs.viewer.window import Window

VERSION = 1  # of the panels; another one is forgotten
FILES = 8  # that were opened last


def settings() -> QSettings:
    """Return the user's settings of the viewer."""
    return QSettings("rtmbs", "viewer")


def restore(window: "Window", kept: QSettings, theme_given: bool) -> None:
    """Bring a window to where it was left, as far as the screen has room; what is damaged or missing stays as it is."""
    if isinstance(place := kept.value("geometry"), QByteArray):
        window.restoreGeometry(place)
    if isinstance(panels := kept.value("panels"), QByteArray):
        window.restoreState(panels, VERSION)
    keep_on(window.screen().availableGeometry(), window)
    window.info_wanted = truth(kept, "info", window.info_wanted)
    window.canvas.labels = truth(kept, "labels", window.canvas.labels)
    for part in window.shown:
        window.shown[part] = truth(kept, f"shown/{part}", window.shown[part])
    if not theme_given:
        window.set_theme(DARK if truth(kept, "dark", window.theme is DARK) else WHITE)
    files = kept.value("files") or []
    window.last_files = [files] if isinstance(files, str) else [str(file) for file in files][:FILES]
    window.place_overlays()


def keep_on(screen: QRect, window: "Window") -> None:
    """Make a window that is larger than its screen smaller, and move one that lies beyond the screen onto it."""
    if window.isMaximized() or window.isFullScreen():
        return
    window.resize(window.size().boundedTo(screen.size()))
    last = screen.bottomRight() - QPoint(window.width() - 1, window.height() - 1)
    window.move(
        max(screen.left(), min(window.x(), last.x())),
        max(screen.top(), min(window.y(), last.y())),
    )


def keep(window: "Window", kept: QSettings) -> None:
    """Write down how a window is left."""
    kept.setValue("geometry", window.saveGeometry())
    kept.setValue("panels", window.saveState(VERSION))
    values = {"info": window.info_wanted, "labels": window.canvas.labels, "dark": window.theme is DARK}
    values |= {f"shown/{part}": on for part, on in window.shown.items()}
    for name, on in values.items():
        kept.setValue(name, on)
    kept.setValue("files", window.last_files)


def with_first(path: str, files: list[str]) -> list[str]:
    """Return the last files once ``path`` was opened."""
    return [path, *(file for file in files if file != path)][:FILES]


def truth(kept: QSettings, name: str, default: bool) -> bool:
    """Return a switch; files keep it as a word."""
    value = kept.value(name, default)
    return value if isinstance(value, bool) else str(value).lower() == "true" if value is not None else default
