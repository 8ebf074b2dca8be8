"""Ctrl+C in the terminal closes the window and its session."""

import os
import signal
import subprocess
import sys
import threading

import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from PySide6.QtCore import QSettings, QTimer

from rtmbs.viewer.qt import application, window
from rtmbs.viewer.qt.application import ended_by_interrupt
from rtmbs.viewer.session.process_connection import handled
from tests.patience import LONGEST
from tests.viewer.windows import Watched


@pytest.fixture
def forgetful(tmp_path, monkeypatch):
    """The user's own settings stay out of it."""
    monkeypatch.setattr(
        window, "window_settings", lambda: QSettings(str(tmp_path / "kept.ini"), QSettings.Format.IniFormat)
    )


def test_it_closes_the_window(qapp, sim, forgetful):
    connection, before = Watched(sim), signal.getsignal(signal.SIGINT)
    QTimer.singleShot(300, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        application.show(connection)
    assert connection.over
    assert signal.getsignal(signal.SIGINT) is before


def test_one_that_comes_before_the_loop_counts(qapp):
    def open_slowly():
        with ended_by_interrupt(qapp):
            os.kill(os.getpid(), signal.SIGINT)
            assert qapp.exec() == 0

    with pytest.raises(KeyboardInterrupt):
        open_slowly()


def test_a_second_one_ends_the_process():
    script = (
        "import os, signal\n"
        "from PySide6.QtCore import QCoreApplication\n"
        "from rtmbs.viewer.qt.application import ended_by_interrupt\n"
        "with ended_by_interrupt(QCoreApplication([])):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], timeout=LONGEST, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGINT


def test_a_window_of_another_thread_leaves_the_signal_alone():
    found = []

    def look():
        with handled(signal.SIG_IGN):
            found.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [before]
