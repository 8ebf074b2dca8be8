"""Every message that the page on errors explains exists, and is found by the message, its anchor and its class."""

import re
from io import StringIO
from pathlib import Path

import pytest

import rtmbs
from rtmbs.commands.arguments import anchor, matching_sections, sections
from rtmbs.commands.cli import main

PACKAGE = Path(rtmbs.__file__).parent
SOURCE = "".join(re.sub(r'"\n\s*f?"', "", path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
MESSAGES = [one for one in sections() if one.words]


def test_there_are_many_and_each_has_one_anchor():
    names = [one.name.lower() for one in sections()]
    words = [word for one in MESSAGES for word in one.words]
    assert len(MESSAGES) >= 90
    assert len(names) == len(set(names))
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("section", MESSAGES, ids=lambda one: one.name)
def test_the_words_stand_in_a_message_of_the_package(section):
    for words in section.words:
        assert words in SOURCE
    assert matching_sections(section.name) == [section]


@pytest.mark.parametrize("section", [one for one in MESSAGES if not one.many], ids=lambda one: one.name)
def test_a_section_about_one_message_is_found_by_its_words(section):
    for words in section.words:
        assert section in matching_sections(f"rtmbs.errors.InputError: x {words} y")


def test_a_section_about_many_messages_is_shown_where_there_is_no_other():
    assert [one.name for one in matching_sections("h is -1 s; it must lie between 1e-9 and 1 s")] == ["wrong-value"]
    assert [one.name for one in matching_sections("degrees are wrong, Angles are in radians; it must be")] == [
        "degrees"
    ]


def test_the_message_is_asked_for(capsys, monkeypatch):
    pasted = "\nInputError: joint 'a' is cut, so its\ncoordinates follow from others\n\nnot this; did you mean\n"
    monkeypatch.setattr("sys.stdin", StringIO(pasted))
    assert main(["explain"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("InputError\n")
    assert "\ncut-joint\n" in told
    assert "unknown-name" not in told


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


def test_a_part_of_a_message_is_enough(capsys):
    """Three words in a row that the page has, or more, without the rest of the message."""
    assert main(["explain", "is", "not", "connected", "to", "ground"]) == 0
    assert capsys.readouterr().out.startswith("not-connected\n")
