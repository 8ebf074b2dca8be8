"""A script without a guard keeps its session in a thread: another process would import the script again."""

import sys
import types

import pytest

from rtmbs.viewer.main_guard import script_is_guarded

PLAIN = "import rtmbs\nrtmbs.view('fourbar')\n"
GUARDED = "import rtmbs\nif __name__ == '__main__':\n    rtmbs.view('fourbar')\n"


@pytest.mark.parametrize(("text", "guarded"), [(PLAIN, False), (GUARDED, True), ("x = (", True)])
def test_what_a_script_says(text, guarded, tmp_path, monkeypatch):
    script, main = tmp_path / "script.py", types.ModuleType("__main__")
    script.write_text(text, encoding="utf-8")
    main.__file__, main.__spec__ = str(script), None
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert script_is_guarded() is guarded


def test_a_notebook_and_a_package_need_no_guard(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    assert script_is_guarded()
