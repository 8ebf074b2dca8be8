"""Garbage with objects of Qt in it is collected in the thread of the window."""

import gc
import threading

import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from PySide6.QtCore import QSettings, QTimer

from rtmbs.viewer import remember, view
from rtmbs.viewer.collecting import collected_here
from rtmbs.viewer.panels.plots import Plots
from rtmbs.viewer.window import Window
from tests.viewer.windows import Watched, open_window


class Cycle:
    """Garbage that only the collector finds; says which thread found it."""

    def __init__(self, where):
        self.me, self.where = self, where

    def __del__(self):
        self.where.append(threading.current_thread())


def litter(where, stop):
    """Make garbage until told to stop."""
    while not stop.is_set():
        Cycle(where)


def test_only_the_loop_collects_and_the_rest_goes_at_the_end(qapp):
    found, stop = [], threading.Event()
    thread = threading.Thread(target=litter, args=(found, stop))
    with collected_here():
        thread.start()
        QTimer.singleShot(800, qapp.quit)
        qapp.exec()
        stop.set()
        thread.join()
        within = len(found)
        Cycle(found)
    assert within > 1000
    assert len(found) > within
    assert set(found) == {threading.main_thread()}
    assert gc.isenabled()


def test_it_begins_again_after_a_compilation_in_another_thread_ended_the_rest(qapp):
    with collected_here():
        gc.enable()
        QTimer.singleShot(600, qapp.quit)
        qapp.exec()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_rests_goes_on_resting(qapp):
    gc.disable()
    try:
        with collected_here():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_window_is_gone_when_view_returns(qapp, sim, tmp_path, monkeypatch):
    monkeypatch.setattr(remember, "settings", lambda: QSettings(str(tmp_path / "x.ini"), QSettings.Format.IniFormat))
    QTimer.singleShot(300, qapp.quit)
    view.show(Watched(sim))
    assert windows_of(qapp) == []
    assert not any(type(one) is Plots for one in gc.get_objects()), "nor what Python had of it"


def test_windows_of_tests_do_not_pile_up(qtbot, qapp, sim):
    open_window(qtbot, sim)
    assert len(windows_of(qapp)) == 1


def windows_of(app):
    """Return the main windows that Qt has."""
    return [widget for widget in app.topLevelWidgets() if isinstance(widget, Window)]
