"""A session whose process is killed leaves its history: all but the last second, playable without the model."""

import os
import signal
import time

import numpy as np
import pytest

from rtmbs.commands.cli import main
from rtmbs.viewer.session.commands import KeepHistory, Pause, Play, Seek
from rtmbs.viewer.session.connect import connect, is_result, playback
from rtmbs.viewer.session.worker import ThreadConnection
from tests.cases import quick
from tests.patience import LONGEST

FACTORY = "tests.viewer.mechanisms:motored"
LOST = 1.0  # [s] at most


def wait_for(condition, seconds=LONGEST):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
    return found


def played(connection, t):
    """Play until the time ``t`` [s], and return the frame."""

    def there():
        frame = connection.latest()
        return frame if frame is not None and frame.t >= t else None

    connection.describe()
    connection.send(Play())
    return wait_for(there)


def test_a_kill_loses_the_last_second_at_most(tmp_path):
    folder = tmp_path / "kept"
    connection = connect(FACTORY, parameters={"torque": 3.0}, options={"h": 5e-3}, disk=(5e7, str(folder)))
    try:
        frame = played(connection, 1.5)
        os.kill(connection.pid, signal.SIGKILL)
        at_kill = connection.latest() or frame
        wait_for(lambda: (connection.messages(), connection.ended)[1])
    finally:
        connection.close()
    assert is_result(folder)
    replay = playback(folder)
    scene = replay.describe()
    assert [joint.name for joint in scene.joints] == ["base", "knee", "elbow", "foot"]
    replay.send(Seek(10**9))
    last = replay.latest()
    assert at_kill.t - LOST <= last.t <= at_kill.t + LOST
    replay.send(Seek(frame.step))
    if last.t >= frame.t:
        again = replay.latest()
        assert again.t == frame.t
        np.testing.assert_allclose(again.r, frame.r, atol=1e-6)
        np.testing.assert_allclose(again.A, frame.A, atol=1e-6)


def test_a_session_that_ends_loses_nothing(tmp_path):
    folder = tmp_path / "kept"
    connection = connect(FACTORY, "thread", parameters={"torque": 3.0}, disk=(5e7, str(folder)))
    assert isinstance(connection, ThreadConnection)
    played(connection, 0.5)
    connection.send(Pause())
    last = wait_for(lambda: (found := connection.latest()) and not found.playing and found)
    wait_for(lambda: any("is kept in" in message.text for message in connection.messages()))
    connection.close()
    wait_for(lambda: len(playback(folder).recording.t) == last.step + 1)
    out = tmp_path / "page.html"
    assert main(["view", str(folder), "--html", str(out)]) == 0
    assert out.stat().st_size > 100_000


def test_a_paused_session_is_written(tmp_path):
    folder = tmp_path / "kept"
    connection = connect(FACTORY, "thread", parameters={"torque": 3.0}, disk=(5e7, str(folder)))
    try:
        played(connection, 0.3)
        connection.send(Pause())
        last = wait_for(lambda: (found := connection.latest()) and not found.playing and found)
        wait_for(lambda: list(folder.glob("*/*.block")) and len(playback(folder).recording.t) == last.step + 1, 10.0)
        connection.send(KeepHistory(0.0))
        told = []
        wait_for(
            lambda: told.extend(m.text for m in connection.messages()) or "the history is kept in memory only" in told
        )
    finally:
        connection.close()


def test_a_folder_that_cannot_be_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("")
    connection = connect(FACTORY, "thread", disk=(5e7, str(tmp_path / "file" / "kept")))
    try:
        told = []
        wait_for(lambda: told.extend(connection.messages()) or any("cannot be made" in m.text for m in told))
        assert [m.kind for m in told if "cannot be made" in m.text] == ["warning"]
        assert played(connection, 0.1).t >= 0.1
    finally:
        connection.close()


@pytest.mark.parametrize("words", [["--history", "2 barrels"], ["--history", "0GB"]])
def test_a_size_that_is_none(words, capsys):
    with pytest.raises(SystemExit):
        main(["view", "fourbar", *words])
    assert "is not a size such as 20MB or 2GB" in capsys.readouterr().err


@pytest.mark.parametrize("mode", quick(["process", "thread"], "process"))
def test_a_session_that_starts_again_goes_on_in_the_same_folder(tmp_path, monkeypatch, mode):
    monkeypatch.chdir(tmp_path)
    connection = connect(FACTORY, mode, options={"h": 5e-3}, disk=5e7)
    try:
        played(connection, 0.1)
        (folder,) = tmp_path.iterdir()
        assert folder.name.startswith("rtmbs_motored_")
        connection.restart()
        played(connection, 0.1)
        wait_for(lambda: len(list(folder.iterdir())) == 2)
    finally:
        connection.close()
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert sorted(path.name for path in folder.iterdir()) == ["run_0001", "run_0002"]
