"""Actions, shortcuts and menus of a window, made of the table of keys; what can be on or off has a tick."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu

from rtmbs.viewer.keys import FILES, GROUPS, KEYS
from rtmbs.viewer.scene.theme import WHITE

if TYPE_CHECKING:
    from PySide6.QtCore import Qt

    from rtmbs.viewer.window import Window

# What is on, by the name of the action that turns it on and off.
ON: dict[str, Callable[[Any], bool]] = {
    "help": lambda window: window.help.isVisible(),
    "info": lambda window: window.info_wanted,
    "profiler": lambda window: window.docks["profiler"].isVisible(),
    "plots": lambda window: window.docks["plots"].isVisible(),
    "parameters": lambda window: window.docks["parameters"].isVisible(),
    "log": lambda window: window.docks["log"].isVisible(),
    "model": lambda window: window.docks["model"].isVisible(),
    "full_screen": lambda window: window.isFullScreen(),
    "theme": lambda window: window.theme is not WHITE,
    "labels": lambda window: window.canvas.labels,
    "legend": lambda window: window.shown["legend"],
    "joints": lambda window: window.shown["joints"],
    "forces": lambda window: window.shown["forces"],
    "transparent": lambda window: window.shown["transparent"],
    "reactions": lambda window: window.shown["reactions"],
    "marker_trails": lambda window: window.scene is not None and window.scene.follows_markers(),
    "grid": lambda window: window.shown["grid"],
    "parallel": lambda window: window.canvas.camera.parallel,
    "follow": lambda window: window.framing.following is not None,
    "record": lambda window: window.capture is not None and window.capture.running,
    "history": lambda window: window.act.disk > 0.0,
    "stamp": lambda window: window.stamped,
    "loop": lambda window: window.act.looping,
}


def make_menus(window: "Window", context: "Qt.ShortcutContext") -> dict[str, QMenu]:
    """Give ``window`` an action with its shortcuts for each row of the table of keys, and return the menus of them."""
    menus = {group: window.menuBar().addMenu(group) for group in GROUPS}
    actions: dict[str, QAction] = {}
    for key in KEYS:
        action = actions[key.action] = QAction(f"{key.text[0].upper()}{key.text[1:]}", window)
        action.setObjectName(key.action)
        action.setShortcuts([QKeySequence(keys) for keys in key.keys])
        action.setShortcutContext(context)
        action.setCheckable(key.action in ON)
        action.triggered.connect(window.guarded(lambda *_, name=key.action: window.act[name]()))
        menus[key.group].addAction(action)
        window.addAction(action)  # works without the menu bar, as in full screen

    def tick() -> None:
        for name, on in ON.items():
            actions[name].setChecked(on(window))

    for menu in menus.values():
        menu.aboutToShow.connect(window.guarded(tick))
    add_last_files(window, menus[FILES])
    return menus


def add_last_files(window: "Window", menu: QMenu) -> None:
    """Add the files that were opened last, which the window knows when the menu is shown."""
    last = menu.addMenu("Open again")

    def fill() -> None:
        last.clear()
        for path in window.last_files:
            last.addAction(path).triggered.connect(window.guarded(lambda *_, path=path: window.open(path)))
        last.setEnabled(bool(window.last_files))

    menu.aboutToShow.connect(fill)
