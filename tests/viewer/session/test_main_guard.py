"""A script without a guard keeps its session in a thread: another process would import the script again."""

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from rtmbs.viewer.session.connect import reimport_error
from tests.patience import LONGEST

PLAIN = "import rtmbs\nrtmbs.view('fourbar')\n"
GUARDED = "import rtmbs\nif __name__ == '__main__':\n    rtmbs.view('fourbar')\n"


@pytest.mark.parametrize(("text", "guarded"), [(PLAIN, False), (GUARDED, True), ("x = (", True)])
def test_what_a_script_says(text, guarded, tmp_path, monkeypatch):
    script, main = tmp_path / "script.py", types.ModuleType("__main__")
    script.write_text(text, encoding="utf-8")
    main.__file__, main.__spec__ = str(script), None
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert (reimport_error() == "") is guarded


def test_a_notebook_and_a_package_need_no_guard(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    assert reimport_error() == ""


CONNECTS = """
from rtmbs.viewer.session.connect import connect

connection = connect("fourbar", parameters={"ny": 1, "nz": 1})
print(connection.describe().mode, *(message.text for message in connection.messages() if message.kind == "warning"))
connection.close()
"""


@pytest.mark.parametrize(("piped", "why"), [(False, "write the call under if __name__"), (True, "is no file")])
def test_a_script_without_a_guard_connects_to_a_thread(piped, why, tmp_path):
    (tmp_path / "script.py").write_text(CONNECTS, encoding="utf-8")
    words = [sys.executable] if piped else [sys.executable, str(tmp_path / "script.py")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    ended = subprocess.run(
        words, input=CONNECTS, text=True, capture_output=True, timeout=LONGEST, env=environment, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("thread ")
    assert why in ended.stdout
