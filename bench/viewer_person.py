"""A new user of the window, who has keys, a mouse, and docs/viewer.md."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.viewer_pictures import Session
from rtmbs.viewer.view import open_connection

SIZE = (1280, 800)


class Person:
    """A new user: one window at a time, keys, mouse, and a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.session = folder, None
        self.result: Any = None

    # ---- windows ----------------------------------------------------------------------------------------------------

    def open(self, target: Any, theme: str = "white", **options: Any) -> Any:
        """Open a window on a mechanism, in place of the one before."""
        self.close()
        self.session = Session(target, theme, **options)
        self.window.opener = lambda path: open_connection(path, "process")
        self.window.resize(*SIZE)
        self.session.rest(0.5)
        return self.window

    def close(self) -> None:
        """Close the window."""
        if self.session is not None:
            self.session.window.close()
            self.session = None

    @property
    def window(self) -> Any:
        """The window."""
        assert self.session is not None
        return self.session.window

    def wait(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Let the window run until ``condition`` holds."""
        assert self.session is not None
        self.session.wait(condition, seconds)

    def rest(self, seconds: float = 0.3) -> None:
        """Let the window run."""
        assert self.session is not None
        self.session.rest(seconds)

    # ---- keys and mouse ---------------------------------------------------------------------------------------------

    def press(self, *texts: str) -> None:
        """Press keys, as the table of keys writes them."""
        from PySide6.QtGui import QKeySequence
        from PySide6.QtTest import QTest

        from tests.viewer.windows import activate

        for text in texts:
            activate(self.window)
            self.window.canvas.setFocus()
            one = QKeySequence(text)[0]
            QTest.keyClick(self.window.canvas, one.key(), one.keyboardModifiers())
            self.rest(0.1)

    def pixel(self, body: str) -> Any:
        """Return where the mass centre of a body is drawn."""
        from PySide6.QtCore import QPoint

        scene = self.window.scene
        number = [one.name for one in scene.description.bodies].index(body)
        x, y = np.round(self.window.canvas.camera.project([scene.center_of(number)])[0, :2]).astype(int).tolist()
        return QPoint(x, y)

    def click(self, body: str) -> None:
        """Click on a body."""
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        QTest.mouseClick(self.window.canvas, Qt.MouseButton.LeftButton, pos=self.pixel(body))
        self.rest(0.1)

    def drag(self, body: str, dx: int, dy: int, hold: Callable[[], str] | None = None) -> str:
        """Drag a body with Ctrl and the left button; ``hold`` looks before the button is let go."""
        from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
        from PySide6.QtGui import QMouseEvent
        from PySide6.QtTest import QTest
        from PySide6.QtWidgets import QApplication

        left, control = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier
        canvas, begin, seen = self.window.canvas, self.pixel(body), ""
        QTest.mousePress(canvas, left, control, begin)
        for share in np.linspace(0.2, 1.0, 5):
            here = QPointF(begin + QPoint(round(share * dx), round(share * dy)))
            event = QMouseEvent(
                QEvent.Type.MouseMove, here, canvas.mapToGlobal(here), Qt.MouseButton.NoButton, left, control
            )
            QApplication.sendEvent(canvas, event)
            self.rest(0.15)
        if hold is not None:
            self.rest(0.5)
            seen = hold()
        QTest.mouseRelease(canvas, left, control, begin + QPoint(dx, dy))
        self.rest(0.3)
        return seen

    def wheel(self, widget: Any, place: Any, turns: int) -> None:
        """Turn the wheel over a place of a widget."""
        from PySide6.QtCore import QPoint, QPointF, Qt
        from PySide6.QtGui import QWheelEvent
        from PySide6.QtWidgets import QApplication

        at, none = QPointF(place), Qt.MouseButton.NoButton
        for _ in range(turns):
            event = QWheelEvent(
                at, QPointF(widget.mapToGlobal(place)), QPoint(), QPoint(0, 120), none,
                Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
            )  # fmt: skip
            QApplication.sendEvent(widget, event)
            self.rest(0.05)

    # ---- what is seen -----------------------------------------------------------------------------------------------

    def seen(self) -> Any:
        """Return the picture as an array."""
        self.rest(0.2)
        return self.window.canvas.picture().astype(float)

    def shoot(self, name: str) -> None:
        """Keep the whole window as a picture."""
        self.rest(0.3)
        self.window.grab().save(str(self.folder / f"{name}.png"))

    def bar(self) -> str:
        """Return what the status bar says."""
        return str(self.window.statusBar().currentMessage())

    def play(self, seconds: float) -> None:
        """Play by Space, and pause by Space."""
        end = self.window.frame.t + seconds
        self.press("Space")
        self.wait(lambda: self.window.frame.t >= end)
        self.press("Space")
        self.wait(lambda: not self.window.frame.playing)


def changed(before: Any, after: Any) -> int:
    """Return how many pixels changed."""
    return int((np.abs(before - after).max(axis=2) > 30.0).sum()) if before.shape == after.shape else -1


def need(truth: object, words: str) -> None:
    """End a job with words unless something is true."""
    if not truth:
        raise AssertionError(words)
