"""Garbage with objects of Qt in it is collected in the thread of the window."""

import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from PySide6.QtCore import QTimer

from rtmbs.jit.compile_progress import announced
from rtmbs.viewer.qt.application import collect, collect_due_generations, collected_here
from rtmbs.viewer.qt.window import Window
from tests.patience import LONGEST
from tests.viewer.windows import open_window


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
        QTimer.singleShot(400, qapp.quit)
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


def test_it_goes_on_where_the_loop_began_within_a_compilation(qapp):
    with announced() as compilations:
        compilations.begin("kernel")
        assert not gc.isenabled()
        loop = collected_here()
        loop.__enter__()
    collect_due_generations()  # the loop goes on behind the compilation
    loop.__exit__(None, None, None)
    assert gc.isenabled()


def test_a_collector_that_rests_goes_on_resting(qapp):
    gc.disable()
    try:
        with collected_here():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


OPENED_TWICE = """
import gc
from PySide6.QtCore import QTimer
from rtmbs.library import build
from rtmbs.simulation import Simulation
from rtmbs.viewer.qt.application import application
from rtmbs.viewer.qt.plots import Plots
from rtmbs.viewer.qt.window import Window
from rtmbs.viewer.view import view

app, system = application(), build("crank_rocker").compile()
for _ in range(2):
    QTimer.singleShot(500, app.quit)
    view(Simulation(system), mode="thread")
    windows = [widget for widget in app.topLevelWidgets() if isinstance(widget, Window)]
    print(len(windows), sum(type(one) is Plots for one in gc.get_objects()))
"""


@pytest.mark.slow
def test_a_window_is_gone_when_view_returns(display, tmp_path):
    settings = {"XDG_CONFIG_HOME": str(tmp_path)}  # the user's own stay out of it
    ran = subprocess.run(
        [sys.executable, "-c", OPENED_TWICE],
        env=os.environ | settings,
        timeout=LONGEST,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.split() == ["0", "0"] * 2, ran.stderr


PENDING = """
import gc
from PySide6.QtWidgets import QWidget
from rtmbs.viewer.qt.application import application, keep_overrides

app = application()

class Moved(QWidget):
    def moveEvent(self, event):
        raise ValueError("pending")

    def resizeEvent(self, event):
        pass

if KEPT:
    keep_overrides()
for _ in range(50):
    one = Moved()
    one.setGeometry(10, 10, 300, 200)
    one.show()
    app.processEvents()
    gc.collect()
print("alive")
"""


def test_an_exception_that_is_pending_frees_no_method():
    """PySide gives up references of ``resizeEvent``; the next collection would crash."""
    ran = subprocess.run(
        [sys.executable, "-c", PENDING.replace("KEPT", "True")],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "165"},
        timeout=LONGEST,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.split() == ["alive"], ran.stderr


def test_windows_of_tests_do_not_pile_up(qtbot, qapp, sim):
    open_window(qtbot, sim)
    assert len(windows_of(qapp)) == 1


def test_a_closed_window_is_garbage(qtbot, sim):
    """Whatever outlives a window, such as the application, must not keep it."""
    window = open_window(qtbot, sim)
    gone = weakref.ref(window)
    window.close()
    window.deleteLater()
    del window
    collect()
    assert gone() is None


def windows_of(app):
    """Return the main windows that Qt has."""
    return [widget for widget in app.topLevelWidgets() if isinstance(widget, Window)]
