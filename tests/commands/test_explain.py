"""Every message that the page on errors explains exists, and is found by the message, its anchor and its class."""

import re
from pathlib import Path

import pytest

import rtmbs
from rtmbs.commands.cli import main
from rtmbs.commands.explain import anchor, explained, sections

PACKAGE = Path(rtmbs.__file__).parent
SOURCE = "".join(re.sub(r'"\n\s*f?"', "", path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
MESSAGES = [one for one in sections() if one.words]


def test_there_are_many_and_each_has_one_anchor():
    names = [one.name.lower() for one in sections()]
    assert len(MESSAGES) >= 40
    assert len(names) == len(set(names))
    assert len({one.words for one in MESSAGES}) == len(MESSAGES)


@pytest.mark.parametrize("section", MESSAGES, ids=lambda one: one.name)
def test_the_words_stand_in_a_message_of_the_package(section):
    assert section.words in SOURCE
    assert section in explained(f"rtmbs.errors.InputError: x {section.words} y")
    assert explained(section.name) == [section]


def test_a_pasted_message_and_a_class(capsys):
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile())
    with pytest.raises(rtmbs.errors.InputError) as caught:
        sim.set("knee.angle", 1.0)
    assert anchor(str(caught.value)) == "cut-joint"
    assert main(["explain", *str(caught.value).split()]) == 0
    assert capsys.readouterr().out.startswith("cut-joint\n")
    assert main(["explain", "starterror"]) == 0
    assert "No consistent start exists" in capsys.readouterr().out
    assert main(["explain", "no", "such", "words"]) == 2
    assert "rtmbs: there is no message, anchor or error named 'no such words'" in capsys.readouterr().err


def test_the_console_script_links_to_the_anchor_of_the_message(capsys):
    assert main(["check", "crank_rockr"]) == 2
    assert "[docs/errors.md#unknown-name]" in capsys.readouterr().err
    assert anchor("nothing like it") == ""
