"""Menus of a window, made of the table of keys: letters for Alt, lines between groups, ticks, the last files."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from rtmbs.viewer.keys import FILES, GROUPS, KEYS
from rtmbs.viewer.qt.actions import Actions, Host
from rtmbs.viewer.scene.theme import WHITE

AGAIN = "g"  # letter of the menu of the last files
LAST_FILES = 8  # files that are offered again

# What is on, by the name of the action that turns it on and off.
ON: dict[str, Callable[[Actions], bool]] = {
    "help": lambda act: act.window.help.isVisible(),
    "info": lambda act: act.window.info_wanted,
    "profiler": lambda act: act.window.docks["profiler"].isVisible(),
    "plots": lambda act: act.window.docks["plots"].isVisible(),
    "parameters": lambda act: act.window.docks["parameters"].isVisible(),
    "log": lambda act: act.window.docks["log"].isVisible(),
    "model": lambda act: act.window.docks["model"].isVisible(),
    "full_screen": lambda act: act.window.isFullScreen(),
    "theme": lambda act: act.window.theme is not WHITE,
    "labels": lambda act: act.window.canvas.labels,
    "legend": lambda act: act.window.shown["legend"],
    "joints": lambda act: act.window.shown["joints"],
    "forces": lambda act: act.window.shown["forces"],
    "transparent": lambda act: act.window.shown["transparent"],
    "reactions": lambda act: act.window.shown["reactions"],
    "marker_trails": lambda act: act.window.scene is not None and act.window.scene.follows_markers(),
    "grid": lambda act: act.window.shown["grid"],
    "parallel": lambda act: act.window.canvas.camera.parallel,
    "follow": lambda act: act.window.framing.following is not None,
    "record": lambda act: act.window.capture is not None and act.window.capture.running,
    "history": lambda act: act.disk > 0.0,
    "stamp": lambda act: act.window.stamped,
    "loop": lambda act: act.looping,
}


def make_menus(window: QMainWindow, act: Actions, context: Qt.ShortcutContext) -> dict[str, QMenu]:
    """Give ``window`` an action with its shortcuts for each row of the table of keys, and return the menus of them."""
    letters: dict[str, set[str]] = {group: {AGAIN} for group in ("", *GROUPS)}
    menus = {group: window.menuBar().addMenu(with_letter(group, letters[""])) for group in GROUPS}
    actions: dict[str, QAction] = {}
    for key in KEYS:
        text = with_letter(f"{key.text[0].upper()}{key.text[1:]}", letters[key.group])
        action = actions[key.action] = QAction(text, window)
        if key.apart:
            menus[key.group].addSeparator()
        action.setObjectName(key.action)
        action.setShortcuts([QKeySequence(keys) for keys in key.keys])
        action.setShortcutContext(context)
        action.setCheckable(key.action in ON)
        action.triggered.connect(act.window.guarded(lambda *_, name=key.action: act[name]()))
        menus[key.group].addAction(action)
        window.addAction(action)  # works without the menu bar, as in full screen

    def tick() -> None:
        for name, on in ON.items():
            actions[name].setChecked(on(act))

    for menu in menus.values():
        menu.aboutToShow.connect(act.window.guarded(tick))
    add_last_files(act.window, menus[FILES])
    return menus


def with_letter(text: str, taken: set[str]) -> str:
    """Return a text with "&" before the letter that Alt or the open menu calls it by, which is none of ``taken``."""
    starts = [k for k, letter in enumerate(text) if letter.isalnum() and (k == 0 or text[k - 1] == " ")]
    for k in [*starts, *range(len(text))]:
        if text[k].isalnum() and text[k].lower() not in taken:
            taken.add(text[k].lower())
            return f"{text[:k]}&{text[k:]}"
    return text


def add_last_files(window: Host, menu: QMenu) -> None:
    """Add the files that were opened last, which the window knows when the menu is shown."""
    last = QMenu(f"Open a&{AGAIN}ain", menu)
    menu.insertMenu(menu.actions()[1], last)

    def fill() -> None:
        last.clear()
        for path in window.last_files:
            last.addAction(path).triggered.connect(window.guarded(lambda *_, path=path: window.open(path)))
        last.setEnabled(bool(window.last_files))

    menu.aboutToShow.connect(fill)


def with_first(path: str, files: list[str]) -> list[str]:
    """Return the last files once ``path`` was opened."""
    return [path, *(file for file in files if file != path)][:LAST_FILES]
