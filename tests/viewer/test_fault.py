"""What an exception tells: the sentence with the user's own line, and the traceback through the user's files only."""

import importlib.util

import pytest

from rtmbs.errors import InputError, ModelError
from rtmbs.viewer import fault


def raised(tmp_path, text):
    """Return what a user's file raises from its function ``build``."""
    file = tmp_path / "robot.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("robot", file)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        module.build()
    except Exception as error:  # noqa: BLE001 (whatever the file raises)
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("text", "kind", "words", "line"),
    [
        ("def build():\n    return lenght\n", NameError, "name 'lenght' is not defined", 2),
        ("import numpy as np\ndef build():\n    return np.linalg.inv(np.zeros((2, 2)))\n", Exception, "Singular", 3),
        ("def build(:\n", SyntaxError, "invalid syntax", 1),
        ("def build():\n    error = ValueError('no')\n    error.add_note('ask Ann')\n    raise error\n",
         ValueError, "no; ask Ann", 4),
    ],
    ids=["name", "in a package", "syntax", "note"],
)  # fmt: skip
def test_the_place_is_the_users_own_line(tmp_path, text, kind, words, line):
    error = raised(tmp_path, text)
    assert isinstance(error, kind)
    said = fault.sentence(error)
    assert words in said
    assert f"robot.py:{line})" in said
    shown = fault.details(error)
    assert "robot.py" in shown
    assert "linalg" not in shown.replace("np.linalg", "").replace("numpy.linalg.LinAlgError", "")
    assert words.split(";")[0] in shown


def test_an_error_of_rtmbs_is_its_sentence_and_the_way_there(tmp_path):
    error = raised(tmp_path, "import rtmbs\ndef build():\n    m = rtmbs.Model('m')\n    m.add_body('a', mass=-1.0)\n")
    assert isinstance(error, ModelError)
    assert fault.sentence(error) == f"{error}; see {error.page}, or run: rtmbs explain (it asks for the message)"
    assert fault.details(error).count("File") == 2, "of the test, and of the file"
    assert "robot.py" in fault.details(error)
    assert fault.details(InputError("raised nowhere")) == ""
