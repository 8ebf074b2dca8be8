"""State of a window in the settings of the user: its place, panels, theme, shown parts and last files."""

from PySide6.QtCore import QByteArray, QPoint, QRect, QSettings, QTimer

from rtmbs.viewer.qt.actions import LAST_FILES
from rtmbs.viewer.qt.window import Window
from rtmbs.viewer.scene.theme import DARK, WHITE

VERSION = 1  # of the panels; another one is forgotten
LOOK, LOOKS = 250, 40  # [ms] between two looks for the frame of a window, and how many there are


def settings() -> QSettings:
    """Return the user's settings of the viewer."""
    return QSettings("rtmbs", "viewer")


def restore(window: Window, kept: QSettings, theme_given: bool) -> None:
    """Bring a window to where it was left, as far as the screen has room; what is damaged or missing stays as it is."""
    if isinstance(place := kept.value("geometry"), QByteArray):
        window.restoreGeometry(place)
    if isinstance(panels := kept.value("panels"), QByteArray):
        window.restoreState(panels, VERSION)
    keep_on_screen(window.screen().availableGeometry(), window)
    window.info_wanted = stored_switch(kept, "info", window.info_wanted)
    window.canvas.labels = stored_switch(kept, "labels", window.canvas.labels)
    for part in window.shown:
        window.shown[part] = stored_switch(kept, f"shown/{part}", window.shown[part])
    if not theme_given:
        window.set_theme(DARK if stored_switch(kept, "dark", window.theme is DARK) else WHITE)
    files = kept.value("files") or []
    window.last_files = [files] if isinstance(files, str) else [str(file) for file in files][:LAST_FILES]
    window.place_overlays()


def keep_on_screen(screen: QRect, window: Window) -> None:
    """Make a window that is larger than its screen smaller, and move one that lies beyond the screen onto it.

    The frame counts, which a window manager adds when it shows the window. A window that fits is not moved: before its
    frame is known, its place would be taken for that of the frame, and it would go down by the height of its title.
    """
    if window.isMaximized() or window.isFullScreen():
        return
    frame = window.frameGeometry().size() - window.geometry().size()
    window.resize(window.size().boundedTo(screen.size() - frame))
    place = QRect(window.frameGeometry().topLeft(), window.size() + frame)
    if screen.contains(place):
        return
    last = screen.bottomRight() - QPoint(place.width() - 1, place.height() - 1)
    window.move(max(screen.left(), min(place.x(), last.x())), max(screen.top(), min(place.y(), last.y())))


def keep_on_screen_once_framed(window: Window) -> None:
    """Look at the place of a window again when its window manager has given it a frame."""
    timer, left = QTimer(window, interval=LOOK), iter(range(LOOKS))  # the timer goes with the window

    def look() -> None:
        framed = window.frameGeometry() != window.geometry()
        if framed:
            keep_on_screen(window.screen().availableGeometry(), window)
        if framed or next(left, None) is None:
            timer.stop()

    timer.timeout.connect(look)
    timer.start()


def keep(window: Window, kept: QSettings) -> None:
    """Write down how a window is left."""
    kept.setValue("geometry", window.saveGeometry())
    kept.setValue("panels", window.saveState(VERSION))
    values = {"info": window.info_wanted, "labels": window.canvas.labels, "dark": window.theme is DARK}
    values |= {f"shown/{part}": on for part, on in window.shown.items()}
    for name, on in values.items():
        kept.setValue(name, on)
    kept.setValue("files", window.last_files)


def stored_switch(kept: QSettings, name: str, default: bool) -> bool:
    """Return a switch; files keep it as a word."""
    value = kept.value(name, default)
    return value if isinstance(value, bool) else str(value).lower() == "true" if value is not None else default
