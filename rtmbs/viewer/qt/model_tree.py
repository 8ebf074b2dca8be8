"""Tree of a mechanism: bodies, joints, constraints, forces, markers and inputs, with a search and ticks."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QLineEdit, QMenu, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from rtmbs.viewer.scene.choices import Choice, drawn, groups
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.overlays import KINDS

ROLE = Qt.ItemDataRole.UserRole
EXPANDED = 40  # a group with more elements is closed at first


class ModelTree(QWidget):
    """A tick means that an element is drawn; a click chooses."""

    chosen = Signal(object)  # a Choice, by a click or the arrow keys
    hidden = Signal(object)  # every Choice whose tick is off
    isolated = Signal(object)  # a Choice
    measured = Signal(object, bool)  # a Choice; True: to there, False: from there

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.filter, self.tree = QLineEdit(), QTreeWidget()
        self.filter.setPlaceholderText("find an element")
        self.filter.setClearButtonEnabled(True)
        self.tree.setHeaderHidden(True)
        self.tree.setUniformRowHeights(True)
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        column = QVBoxLayout(self)
        column.setContentsMargins(4, 4, 4, 4)
        column.addWidget(self.filter)
        column.addWidget(self.tree)
        self._items: dict[Choice, QTreeWidgetItem] = {}
        self._drawn: set[Choice] = set()  # what has a tick
        self._soon = QTimer(self, singleShot=True, interval=0)  # a group changes the ticks of all its elements
        self._soon.timeout.connect(lambda: self.hidden.emit(self.unticked()))
        self.filter.textChanged.connect(self._find)
        self.tree.itemChanged.connect(lambda *_: self._soon.start())
        self.tree.currentItemChanged.connect(self._current)
        self.tree.customContextMenuRequested.connect(self._menu)

    def describe(self, description: SceneDescription) -> None:
        """Offer the elements of a mechanism."""
        with QSignalBlocker(self.tree):
            self.tree.clear()
            self._items, self._drawn = {}, drawn(description)
            for heading, choices in groups(description).items():
                self._group(heading, choices)
        self._find(self.filter.text())

    def _group(self, heading: str, choices: list[Choice]) -> None:
        top = QTreeWidgetItem(self.tree, [f"{heading} ({len(choices)})"])
        if self._drawn.intersection(choices):
            top.setFlags(top.flags() | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsAutoTristate)
        for choice in choices:
            item = self._items[choice] = QTreeWidgetItem(top, [choice.name])
            item.setData(0, ROLE, choice)
            if choice in self._drawn:
                item.setCheckState(0, Qt.CheckState.Checked)
        top.setExpanded(len(choices) <= EXPANDED)

    # ---- what the window says -----------------------------------------------------------------------------------

    def choose(self, choice: Choice | None) -> None:
        """Show what is chosen, without a signal."""
        item = None if choice is None else self._items.get(choice)
        with QSignalBlocker(self.tree):
            self.tree.clearSelection()
            if item is None:
                self.tree.setCurrentIndex(QModelIndex())
            else:
                self.tree.setCurrentItem(item)
                self.tree.scrollToItem(item)
        self.tree.viewport().update()

    def tick(self, hidden: set[Choice]) -> None:
        """Show what is drawn, without a signal."""
        with QSignalBlocker(self.tree):
            for choice in self._drawn:
                state = Qt.CheckState.Unchecked if choice in hidden else Qt.CheckState.Checked
                self._items[choice].setCheckState(0, state)
        self.tree.viewport().update()

    def unticked(self) -> set[Choice]:
        """Return what is not to be drawn."""
        return {choice for choice in self._drawn if self._items[choice].checkState(0) == Qt.CheckState.Unchecked}

    # ---- what the user does -------------------------------------------------------------------------------------

    def _current(self, item: QTreeWidgetItem | None, _: object) -> None:
        choice = None if item is None else item.data(0, ROLE)
        if choice is not None:
            self.chosen.emit(Choice(*choice))

    def _find(self, text: str) -> None:
        """Show the elements whose names hold every word of ``text``, and the groups that have such elements."""
        words = text.lower().split()
        for top in tops(self.tree):
            own = children(top)
            for item in own:
                item.setHidden(not all(word in item.text(0).lower() for word in words))
            top.setHidden(all(item.isHidden() for item in own))
            top.setExpanded(bool(words) or len(own) <= EXPANDED)

    def _menu(self, place: QPoint) -> None:
        item = self.tree.itemAt(place)
        data = None if item is None else item.data(0, ROLE)
        if data is None:
            return
        menu = QMenu(self)
        for text, does in self.offers(Choice(*data)):
            menu.addAction(text).triggered.connect(lambda *_, does=does: does())
        menu.exec(self.tree.viewport().mapToGlobal(place))

    def offers(self, choice: Choice) -> list[tuple[str, Callable[[], None]]]:
        """Return the lines of the context menu of an element, and what each does."""
        found: list[tuple[str, Callable[[], None]]] = []
        if choice in self._drawn:
            off = choice in self.unticked()
            found.append(("Show" if off else "Hide", lambda: self.hidden.emit(self.unticked() ^ {choice})))
        found.append(("Show only this", lambda: self.isolated.emit(choice)))
        found.append(("Show all", lambda: self.hidden.emit(set())))
        if choice.kind in KINDS:
            found.append(("Measure from here", lambda: self.measured.emit(choice, False)))
            found.append(("Measure to here", lambda: self.measured.emit(choice, True)))
        return found


def children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    """Return the items right below one."""
    return [child for k in range(item.childCount()) if (child := item.child(k)) is not None]


def tops(tree: QTreeWidget) -> list[QTreeWidgetItem]:
    """Return the items of the highest level."""
    return children(tree.invisibleRootItem())
