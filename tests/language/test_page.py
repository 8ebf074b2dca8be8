"""docs/language.md: its examples are run, and it names every statement, key, unit, function and profile."""

import re
from pathlib import Path

import pytest

import rtmbs
from rtmbs import Simulation
from rtmbs.language import build, format, parse, write
from rtmbs.language.builder import STATEMENTS, callables
from rtmbs.language.expressions import FUNCTIONS, PAIRS
from rtmbs.language.parse import UNITS
from rtmbs.language.statements.elements import CHOICES, CLASSES, NUMBERS

PAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
WHOLE = re.findall(r"```mks\n(.*?)```", PAGE, re.DOTALL)
PARTS = re.findall(r"## ([^\n]*)\n(?:(?!\n## ).)*?```mks-part\n(.*?)```", PAGE, re.DOTALL)


def test_the_program_runs(capsys):
    names = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(example, "docs/language.md", "exec"), names)
    assert len(names["result"]) == 101
    again = build(names["rtmbs"].language.write(names["model"], names["analysis"]))
    assert again.model.compile().fingerprint == names["model"].compile().fingerprint
    assert capsys.readouterr().out.count("ENDMODEL") == 2


@pytest.mark.parametrize("text", WHOLE, ids=lambda text: text.split()[1])
def test_whole_models(text):
    document = build(text)
    assert format(parse(text)) == text  # the page shows the usual form
    if document.analysis.kind == "dynamic":
        result = Simulation(document.model.compile(), h=document.analysis.h).run(document.analysis.t1)
        assert len(result) > 10


@pytest.mark.parametrize(("title", "text"), PARTS, ids=[title for title, _ in PARTS])
def test_parts(title, text):
    document = build(f"MODEL part SYSTEM (KINEMATIC ANALYSIS); {text} ENDMODEL")
    assert write(build(write(document))) == write(document)
    if all(body.mass for body in document.model.bodies.values() if body.name != "ground") and document.model.joints:
        Simulation(document.model.compile(), h=1e-3).run(0.01)


def shipped():
    """Return the titles of all statements but those of joint types and force laws that have no public name."""
    return [title for title in STATEMENTS if title not in CLASSES or CLASSES[title].__name__ in rtmbs.__all__]


def test_every_statement_has_an_example():
    shown = " ".join([*WHOLE, *(text for _, text in PARTS)])
    needless = ("planar joint", "line joint", "fixed joint", "floating joint", "universal joint")  # shown in the table
    for title in shipped():
        wanted = title.upper() if title in ("body", "system") else title
        if title in needless:
            assert f"`{title.split()[0]}`" in PAGE
        else:
            assert re.search(rf"\b{wanted}\b", shown), title


def test_every_key_unit_function_and_profile_is_named():
    keys = [key for title in shipped() for key in (*STATEMENTS[title].keys, *STATEMENTS[title].repeated)]
    for word in [*keys, *NUMBERS, *CHOICES, *UNITS, *FUNCTIONS, *PAIRS]:
        assert re.search(rf"\b{re.escape(word)}\b", PAGE), word
    for kind in callables().values():
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()
        assert f"`{words}(" in PAGE, words
