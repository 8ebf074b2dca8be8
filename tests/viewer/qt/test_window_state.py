"""A window comes back as it was left, and its menus say what is on."""

from dataclasses import replace

import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from PySide6.QtCore import QRect, QSettings
from PySide6.QtGui import QAction

from rtmbs.simulation import Simulation
from rtmbs.viewer.qt.docks import NAMES
from rtmbs.viewer.qt.menus import ON, with_first
from rtmbs.viewer.qt.window import keep_on_screen, restore_window, save_window
from rtmbs.viewer.scene.theme import DARK, WHITE
from tests.viewer.mechanisms import motored
from tests.viewer.windows import follow, open_window


@pytest.fixture
def kept(tmp_path):
    return QSettings(str(tmp_path / "viewer.ini"), QSettings.Format.IniFormat)


def another(kept):
    """Return the settings as another program reads them."""
    kept.sync()
    return QSettings(kept.fileName(), QSettings.Format.IniFormat)


def test_a_window_comes_back_as_it_was_left(qtbot, kept):
    window = open_window(qtbot, Simulation(motored().compile()))
    window.resize(931, 612)
    for action in ("plots", "labels", "joints", "info", "info", "theme"):
        window.act[action]()
    window.last_files = ["arm.py", "run.h5"]
    save_window(window, kept)
    again = open_window(qtbot, Simulation(motored().compile()))
    restore_window(again, another(kept), theme_given=False)
    assert (again.width(), again.height()) == (931, 612)
    assert again.docks["plots"].isVisible()
    assert set(NAMES) & set(filter(again.panels.__contains__, NAMES)) == {"plots"}, (
        "panels that nobody sees are not made"
    )
    assert not again.docks["log"].isVisible()
    assert (again.canvas.labels, again.info_wanted) == (True, False)
    assert (again.shown["joints"], again.shown["grid"]) == (False, True)
    assert (again.theme, again.last_files) == (DARK, ["arm.py", "run.h5"])
    restore_window(again, another(kept), theme_given=True)
    again.set_theme(WHITE)
    restore_window(again, another(kept), theme_given=True)
    assert again.theme is WHITE, "a theme that is asked for counts"


def test_nothing_and_nonsense_are_taken_as_they_come(qtbot, kept):
    window = open_window(qtbot, Simulation(motored().compile()))
    before = (window.canvas.labels, dict(window.shown), window.info_wanted)
    restore_window(window, kept, theme_given=False)
    for name in ("geometry", "panels", "labels", "dark", "files", "info"):
        kept.setValue(name, "rubbish")
    restore_window(window, another(kept), theme_given=False)
    assert window.isVisible()
    assert window.shown == before[1]
    assert window.last_files == ["rubbish"]


def test_the_last_files(qtbot):
    files = []
    for number in range(20):
        files = with_first(f"{number % 10}.py", files)
    assert files == ["9.py", "8.py", "7.py", "6.py", "5.py", "4.py", "3.py", "2.py"]
    assert with_first("5.py", files)[:3] == ["5.py", "9.py", "8.py"]


def test_menus_say_what_is_on(qtbot):
    window = open_window(qtbot, Simulation(motored().compile()))
    actions = {action.objectName(): action for action in window.findChildren(QAction) if action.objectName()}
    menus = [action.menu() for action in window.menuBar().actions()]

    def ticks():
        for menu in menus:
            menu.aboutToShow.emit()
        return {name for name in ON if actions[name].isChecked()}

    assert ticks() == {"info", "joints", "forces", "grid"}
    assert all(actions[name].isCheckable() == (name in ON) for name in actions)
    for name in ("info", "info", "plots", "labels", "grid", "loop", "theme"):
        actions[name].trigger()
    follow(window)
    assert ticks() == {"plots", "joints", "forces", "labels", "theme"}, "a program that steps has no loop"
    window.frame = replace(window.frame, looping=True, disk_limit=1e9)
    assert ticks() == {"plots", "joints", "forces", "labels", "theme", "loop", "history"}
    actions["theme"].trigger()


@pytest.mark.parametrize(("width", "height"), [(640, 400), (1280, 800)])
def test_a_window_fits_on_its_screen_with_every_panel(qtbot, width, height):
    """At 200 % a screen of 1280 x 800 has room for 640 x 400."""
    window = open_window(qtbot, Simulation(motored().compile()))
    screen = QRect(30, 20, width, height)
    for name in ("model", "plots"):
        window.toggle(name)
    window.resize(2000, 1500)
    window.move(1000, -40)
    keep_on_screen(screen, window)
    qtbot.wait(50)
    assert screen.contains(window.geometry())
    for name in ("model", "parameters", "profiler", "plots", "log"):
        if not window.docks[name].isVisible():
            window.toggle(name)
        qtbot.wait(50)
        assert window.size().width() <= width
        assert window.size().height() <= height


def test_a_window_that_fits_stays_where_it_was_restored(qtbot, kept):
    """Every move before the window has its frame shifts it by the frame."""
    window = open_window(qtbot, Simulation(motored().compile()))
    window.setGeometry(40, 60, 700, 500)
    save_window(window, kept)
    again = open_window(qtbot, Simulation(motored().compile()))
    again.hide()
    moves = []
    again.move = lambda *place: moves.append(place)
    restore_window(again, another(kept), theme_given=False)
    assert moves == []
    assert again.geometry() == QRect(40, 60, 700, 500)


def test_the_frame_of_a_window_fits_on_the_screen_too(qtbot):
    window = open_window(qtbot, Simulation(motored().compile()))
    window.setGeometry(0, 0, 640, 400)
    window.frameGeometry = lambda: window.geometry().adjusted(-1, -20, 1, 5)
    screen = QRect(0, 0, 640, 400)
    keep_on_screen(screen, window)
    qtbot.wait(50)
    assert (window.width(), window.height()) == (638, 375)
