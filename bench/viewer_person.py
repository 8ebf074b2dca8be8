"""A new user of the window, who has keys, a mouse, and docs/viewer.md."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.viewer_pictures import Session
from rtmbs.viewer.view import open_connection
from tests.patience import LONGEST

SIZE = (1280, 800)
LOOK = 100  # [ms] between looks for a menu or a dialog
BOX = 8  # [pixels] from the edge of an entry of a tree to the middle of its tick


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

    def wait(self, condition: Callable[[], bool], seconds: float = LONGEST) -> None:
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

    def mouse(self, widget: Any, place: Any = None) -> None:
        """Click on a place of a widget, its middle unless one is given."""
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=widget.rect().center() if place is None else place)
        self.rest(0.2)

    def pick(self, choice: Any, words: str) -> None:
        """Choose the entry of a list that holds ``words``."""
        from PySide6.QtTest import QTest

        self.mouse(choice)
        view = choice.view()
        self.wait(view.isVisible)
        self.rest(0.6)  # a release right after the click that opened the list counts as part of it
        index = choice.model().index(next(k for k in range(choice.count()) if words in choice.itemText(k)), 0)
        view.scrollTo(index)
        QTest.mouseMove(view.viewport(), view.visualRect(index).center())
        self.rest(0.2)
        self.mouse(view.viewport(), view.visualRect(index).center())

    def choose_in_menu(self, button: Any, words: str) -> None:
        """Choose the action of the menu of a button."""
        from PySide6.QtCore import QTimer

        menu = button.menu()
        action = next(one for one in menu.actions() if words in one.text())

        def look() -> None:
            if menu.isVisible():
                self.mouse(menu, menu.actionGeometry(action).center())
            else:
                QTimer.singleShot(LOOK, look)

        QTimer.singleShot(LOOK, look)
        self.mouse(button)

    def tick(self, tree: Any, *names: str) -> None:
        """Unfold the branches of a tree that lead to an element, and tick it."""
        from PySide6.QtCore import QPoint, Qt

        above = tree.invisibleRootItem()
        for name in names:
            item = next(above.child(k) for k in range(above.childCount()) if above.child(k).text(0) == name)
            tree.scrollToItem(item)
            self.rest(0.1)
            box = tree.visualItemRect(item)
            if name == names[-1]:
                self.mouse(tree.viewport(), QPoint(box.left() + BOX, box.center().y()))
                need(item.checkState(0) == Qt.CheckState.Checked, f"{names} has no tick")
            elif not item.isExpanded():
                self.mouse(tree.viewport(), QPoint(box.left() - tree.indentation() // 2, box.center().y()))
                need(item.isExpanded(), f"{name} did not unfold")
            above = item

    def in_dialogs(self, *acts: Callable[[Any], None]) -> None:
        """Do something in each of the next dialogs, one after the other."""
        from PySide6.QtCore import QTimer
        from PySide6.QtWidgets import QApplication

        waiting, done = list(acts), list[Any]()

        def look() -> None:
            dialog = QApplication.activeModalWidget()
            if dialog is not None and dialog.isVisible() and dialog not in done:
                done.append(dialog)
                waiting.pop(0)(dialog)
            if waiting:
                QTimer.singleShot(LOOK, look)

        QTimer.singleShot(LOOK, look)

    def choosing(self, path: Path) -> Callable[[Any], None]:
        """Return what chooses a file in its folder: a click on its name, and one on Open."""
        from PySide6.QtWidgets import QAbstractItemView, QDialogButtonBox

        def act(dialog: Any) -> None:
            dialog.setDirectory(str(path.parent.resolve()))
            views = [dialog.findChild(QAbstractItemView, name) for name in ("treeView", "listView")]
            view = next(one for one in views if one.isVisible())

            def found() -> Any:
                root, model = view.rootIndex(), view.model()
                rows = [model.index(k, 0, root) for k in range(model.rowCount(root))]
                return next((index for index in rows if index.data() == path.name), None)

            self.wait(lambda: found() is not None)
            view.scrollTo(found())
            self.mouse(view.viewport(), view.visualRect(found()).center())
            self.mouse(dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Open))

        return act

    def naming(self, path: Path) -> Callable[[Any], None]:
        """Return what types the name of a file that is to be written, and clicks on Save."""
        from PySide6.QtTest import QTest
        from PySide6.QtWidgets import QDialogButtonBox, QLineEdit

        def act(dialog: Any) -> None:
            field = dialog.findChild(QLineEdit, "fileNameEdit")
            field.selectAll()
            QTest.keyClicks(field, str(path.resolve()))
            save = dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Save)
            self.wait(save.isEnabled)
            for _ in range(2):  # the first click may only close the list of names that are offered
                if dialog.isVisible():
                    self.mouse(save)

        return act

    def type(self, field: Any, text: str) -> None:
        """Click into a field, and type in place of what is there."""
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        self.mouse(field)
        field.selectAll()
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)
        self.rest(0.2)

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
