"""``view``: open the window on a mechanism, and return when the person closes it."""

import os
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rtmbs.viewer.connect import connect
from rtmbs.viewer.link import Link
from rtmbs.viewer.qt import check_qt
from rtmbs.viewer.theme import theme_named

# A renderer without a graphics card would take every core, also the one that the steps need.
RENDERER_THREADS = "LP_NUM_THREADS"


def view(
    target: Any,
    mode: str = "process",
    *,
    parameters: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    theme: str = "white",
    **settings: Any,
) -> int:
    """Show a mechanism, and return the exit code of the window.

    target, mode, parameters, options, settings: as of ``connect``.  theme: "white" or "dark".
    Raises InputError when Qt is missing or unusable, UnknownNameError for a target, mode or theme that does not exist.
    """
    check_qt()
    colors = theme_named(theme)
    link = connect(target, mode, parameters=parameters, options=options, **settings)
    return show(link, colors.name, lambda path: connect(path, mode, options=options))


def show(link: Link, theme: str = "white", opener: Any = None) -> int:
    """Open the window on a Link and run it to its end."""
    os.environ.setdefault(RENDERER_THREADS, "1")
    app = application()
    from rtmbs.viewer.window import Window

    window = Window(link, theme_named(theme), opener)
    old_hook = sys.excepthook

    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """What escapes from Qt's own callbacks goes to the banner, and to the terminal as ever."""
        window.banner.tell(f"{kind.__name__}: {error}", offer_back=False)
        old_hook(kind, error, trace)

    sys.excepthook = tell
    try:
        window.show()
        return int(app.exec())
    finally:
        sys.excepthook = old_hook
        link.close()


def application() -> Any:
    """Return the application of Qt, made when there is none yet."""
    from PySide6.QtWidgets import QApplication

    app = QApplication.instance() or QApplication(["rtmbs"])
    assert isinstance(app, QApplication)
    app.setStyle("Fusion")
    app.setApplicationName("rtmbs")
    return app
