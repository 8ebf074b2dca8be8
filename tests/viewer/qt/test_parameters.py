"""Numbers in the panel of parameters: with or without a unit, refused out of bounds with the text that was typed."""

import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from rtmbs.simulation import Simulation
from rtmbs.viewer.qt.parameters import STEPS, NumberBox
from rtmbs.viewer.session.connection import Message
from tests.viewer.mechanisms import motored
from tests.viewer.windows import open_window


def typed(box, text):
    """Return the number in the field once a text was typed, and the sentence of a refusal."""
    said = []
    box.refused.connect(said.append)
    box.lineEdit().setText(text)
    if box.interpret() is False:
        box.fixup(text)
    else:
        box.editingFinishedEvent()
    return box.value(), said


@pytest.mark.parametrize(
    ("text", "value"),
    [("4", 4.0), ("4 ms", 4.0), ("4ms", 4.0), ("0.005 s", 5.0), ("2e3 us", 2.0), ("0,5 ms", 0.5), ("1e-3s", 1.0)],
)
def test_a_step_is_taken_in_any_prefix_of_its_unit(qtbot, text, value):
    box = NumberBox(value=7.0, bounds=STEPS, suffix="ms")
    qtbot.addWidget(box)
    number, said = typed(box, text)
    assert (number, said) == (pytest.approx(value), [])


REFUSED = ["-5", "0", "1e9", "1e9 ms", "2000 s", "5 m", "5 kg", "abc", "", "5 5", "nan", "inf s"]


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_that_is_no_step_is_refused_as_it_was_typed(qtbot, text):
    box = NumberBox(value=7.0, bounds=STEPS, suffix="ms")
    qtbot.addWidget(box)
    number, (sentence,) = typed(box, text)
    assert number == 7.0
    assert sentence == f"{text!r} is refused; it must be a number of ms from 1e-09 to 1e+06"


def test_a_refusal_goes_with_the_next_change_that_takes_effect(qtbot):
    window = open_window(qtbot, Simulation(motored().compile()))
    window.refuse("step h: '-5' is refused")
    assert window.banner.isVisible()
    window._show_message(Message("info", "something else"))
    assert window.banner.isVisible()
    window._show_message(Message("log", "h = 0.002"))
    assert not window.banner.isVisible()
    window._show_message(Message("failure", "step 3 failed"))
    window._show_message(Message("log", "h = 0.002"))
    assert window.banner.isVisible(), "a failed step needs a way out"
