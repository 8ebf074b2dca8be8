"""Model files (.mks) in Python and by Ctrl+O: the mechanism with the step that the file states."""

import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.viewer.session.commands import Reload
from rtmbs.viewer.session.connect import connect, origin_of
from tests.viewer.waiting import wait

TEXT = """MODEL pendulum
SYSTEM (DYNAMIC ANALYSIS, ending time = 1, print interval = {step});
BODY bob (mass = 2, inertia = (0.01, 0.02, 0.02), center of gravity = (0.5, 0, 0));
revolute joint hinge (body = ground, body = bob, axis = (0, 1, 0));
ENDMODEL
"""


def test_a_model_file_opens_by_its_path_and_is_read_anew(tmp_path):
    path = tmp_path / "pendulum.mks"
    path.write_text(TEXT.format(step=0.01))
    connection = connect(str(path), "thread")
    try:
        assert [body.name for body in connection.describe().bodies] == ["ground", "bob"]
        assert wait(connection, lambda frame: True).h == pytest.approx(0.01)
        path.write_text(TEXT.format(step=0.02))
        connection.send(Reload())
        assert wait(connection, lambda frame: frame.generation == 2).h == pytest.approx(0.01)  # options stay
    finally:
        connection.close()
    assert "iframe" in rtmbs.show(str(path), seconds=0.1)._repr_html_()


def test_a_model_file_that_no_window_steps_is_one_sentence(tmp_path):
    path = tmp_path / "pendulum.mks"
    dynamic = "DYNAMIC ANALYSIS, ending time = 1, print interval = 0.01"
    path.write_text(TEXT.format(step=0.01).replace(dynamic, "STATIC EQUILIBRIUM"))
    with pytest.raises(InputError, match="asks for a static analysis, which a window cannot step"):
        origin_of(str(path), None, None).make({}, {})
