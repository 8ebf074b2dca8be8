"""What an exception tells: the sentence with the user's own line, and the traceback through the user's files only."""

import importlib.util
import time

import pytest

from rtmbs.commands.cli import main
from rtmbs.errors import InputError, ModelError
from rtmbs.viewer.session.commands import StepForward
from rtmbs.viewer.session.connect import connect
from rtmbs.viewer.text import error_details, error_sentence
from tests.patience import LONGEST


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
    said = error_sentence(error)
    assert words in said
    assert f"robot.py:{line})" in said
    shown = error_details(error)
    assert "robot.py" in shown
    assert "linalg" not in shown.replace("np.linalg", "").replace("numpy.linalg.LinAlgError", "")
    assert words.split(";")[0] in shown


def test_an_error_of_rtmbs_is_its_sentence_and_the_way_there(tmp_path):
    error = raised(tmp_path, "import rtmbs\ndef build():\n    m = rtmbs.Model('m')\n    m.add_body('a', mass=-1.0)\n")
    assert isinstance(error, ModelError)
    assert error_sentence(error) == f"{error}; see {error.page}, or run: rtmbs explain (it asks for the message)"
    assert error_details(error).count("File") == 2, "of the test, and of the file"
    assert "robot.py" in error_details(error)
    assert error_details(InputError("raised nowhere")) == ""


LAW = """import numpy as np, rtmbs
class LowBattery(Exception):
    pass
def drive(t, kinematics, parameters):
    if t > 0.02:
        raise LowBattery("no more current")
    return np.array((0.0, 0.0, 9.0)), np.zeros(3)
def build():
    m = rtmbs.Model("raises")
    m.add_body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("j", rtmbs.Prismatic(axis=(0, 0, 1)), m.ground, "b", point=(0, 0, 0))
    m.add_force("odd", drive, body="b", point=(0, 0, 0))
    return m
"""
MOTOR = """import rtmbs
def drive(t):
    if t > 0.02:
        raise ValueError("no more current")
    return 1.0
def build():
    m = rtmbs.Model("raises")
    m.add_body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("j", rtmbs.Prismatic(axis=(0, 0, 1)), m.ground, "b", point=(0, 0, 0))
    m.add_force("odd", rtmbs.Motor(drive), joint="j")
    return m
"""
SLIP = "import rtmbs\ndef build():\n    return rtmbs.Model('m').add_boddy('a')\n"


@pytest.mark.parametrize(("text", "line"), [(LAW, 6), (MOTOR, 4)], ids=["law", "function of time"])
def test_what_a_function_of_the_user_raises_in_a_step_has_its_line(tmp_path, text, line):
    file = tmp_path / "robot.py"
    file.write_text(text)
    connection = connect(f"{file}:build", mode="thread")
    try:
        connection.describe()
        connection.send(StepForward(30))
        failures, end = [], time.monotonic() + LONGEST
        while not failures and time.monotonic() < end:
            failures = [message for message in connection.messages() if message.kind in ("failure", "warning")]
            time.sleep(0.02)
    finally:
        connection.close()
    assert "'odd" in failures[0].text
    assert "no more current" in failures[0].text
    assert f"robot.py:{line})" in failures[0].text
    assert "no more current" in failures[0].details
    assert f'robot.py", line {line}' in failures[0].details
    assert "rtmbs/" not in failures[0].details


@pytest.mark.parametrize("out", ["--html", "--headless"])
@pytest.mark.parametrize(("text", "line"), [(LAW, 6), (MOTOR, 4), (SLIP, 3)], ids=["law", "function of time", "slip"])
def test_a_film_and_a_page_tell_the_users_line(tmp_path, capsys, text, line, out):
    file = tmp_path / "robot.py"
    file.write_text(text)
    words = [str(tmp_path / "a.html")] if out == "--html" else ["--out", str(tmp_path / "a.png"), "--size", "64x48"]
    assert main(["view", str(file), out, *words]) in (1, 2)
    told = capsys.readouterr()
    assert f"robot.py:{line})" in told.err + told.out
    assert "rtmbs/" not in told.err + told.out
