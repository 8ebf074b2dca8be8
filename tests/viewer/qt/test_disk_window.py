"""The window keeps the history on disk by a key, and opens what was kept."""

from rtmbs.viewer.session.commands import KeepHistory
from tests.viewer.windows import follow, open_window


def test_a_key_keeps_the_history_on_disk_and_ends_it(qtbot, sim, tmp_path, monkeypatch):
    from PySide6.QtWidgets import QInputDialog

    monkeypatch.chdir(tmp_path)
    window = open_window(qtbot, sim)
    monkeypatch.setattr(QInputDialog, "getDouble", lambda *_, **__: (0.5, True))
    window.act["history"]()
    window.act.step_forward()
    follow(window)
    assert window.connection.sent[0] == KeepHistory(0.5e9)
    assert window.act.disk == 0.5e9
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("rtmbs_fourbar_stacked_2_x_2_")
    window.act["history"]()
    follow(window)
    assert (window.act.disk, window.connection.sent[-1]) == (0.0, KeepHistory(0.0))
    assert len(list(folder.glob("run_0001/*.block"))) >= 1


def test_a_dialog_that_is_closed_changes_nothing(qtbot, sim, monkeypatch):
    from PySide6.QtWidgets import QInputDialog

    window = open_window(qtbot, sim)
    monkeypatch.setattr(QInputDialog, "getDouble", lambda *_, **__: (2.0, False))
    window.act.history()
    assert window.act.disk == 0.0
    assert window.connection.sent == []
