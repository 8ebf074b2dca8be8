"""The keys belong to the scene again once a number was typed."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QWidget

END_EDITING = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape)
EDITORS = (QLineEdit, QAbstractSpinBox)


class FocusReturns(QObject):
    """Gives the keyboard to ``scene`` when Enter or Esc ends an edit in its window."""

    def __init__(self, scene: QWidget) -> None:
        super().__init__(scene)
        self._scene = scene
        application().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Look at a key that goes up: the number was taken when it went down."""
        ended = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyRelease and event.key() in END_EDITING
        if ended and isinstance(watched, EDITORS) and watched.window() is self._scene.window():
            self._scene.setFocus()
        return False

    def chosen(self) -> None:
        """Something was chosen with the mouse: the keys are the scene's, unless a number is being typed."""
        if not isinstance(QApplication.focusWidget(), EDITORS):
            self._scene.setFocus()


def application() -> QApplication:
    """Return the application, which is there when there is a window."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return app
