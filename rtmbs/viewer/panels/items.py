"""Items of a tree of widgets."""

from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem


def children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    """Return the items right below one."""
    return [child for k in range(item.childCount()) if (child := item.child(k)) is not None]


def tops(tree: QTreeWidget) -> list[QTreeWidgetItem]:
    """Return the items of the highest level."""
    return children(tree.invisibleRootItem())
