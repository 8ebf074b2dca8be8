"""``rtmbs explain``: what a message, its anchor or a class of errors means, from the page on errors."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rtmbs.commands.arguments import Parser
from rtmbs.errors import InputError, unknown_name

PAGES = (Path(__file__).with_name("errors.md"), Path(__file__).parents[2] / "docs" / "errors.md")  # installed; source
SECTION = re.compile(r"^#{2,3} (?P<name>[\w-]+)$\n(?P<text>.*?)(?=^#{2,3} |\Z)", re.MULTILINE | re.DOTALL)
SAYS = re.compile(r"^Says `(?P<words>.*)`\.$", re.MULTILINE)


class Section(NamedTuple):
    """A section of the page: of a class of errors, or of a message that has ``words`` in it."""

    name: str
    words: str  # empty for a class
    text: str


def run(words: list[str]) -> int:
    """Say what an error message means: the message itself, its anchor, or a class of errors."""
    parser = Parser(prog="rtmbs explain", description=run.__doc__)
    parser.add_argument("message", metavar="MESSAGE", nargs="+", help="a message, an anchor, or a class of errors")
    text = " ".join(parser.read(words).message)
    found = explained(text)
    if not found:
        raise unknown_name("message, anchor or error", text, [one.name for one in sections()])
    print("\n\n".join(f"{one.name}\n{one.text}" for one in found))
    return 0


def explained(text: str) -> list[Section]:
    """Return the sections that a text means: by name, else by words of a message and by classes named in it."""
    exact = [one for one in sections() if one.name.lower() == text.strip().lower()]
    if exact:
        return exact
    spoken = " ".join(text.split())
    return [one for one in sections() if (one.words in spoken if one.words else one.name in spoken)]


def anchor(message: str) -> str:
    """Return the anchor of a message; empty where it has none of its own."""
    try:
        return next((one.name for one in sections() if one.words and one.words in message), "")
    except InputError:
        return ""


@cache
def sections() -> tuple[Section, ...]:
    """Return the sections of the page; InputError where it was not installed."""
    page = next((page for page in PAGES if page.is_file()), None)
    if page is None:
        raise InputError("the page on errors was not installed; install rtmbs from its wheel or its repository")
    found = []
    for one in SECTION.finditer(page.read_text(encoding="utf-8")):
        says = SAYS.search(one["text"])
        found.append(Section(one["name"], says["words"] if says else "", one["text"].strip()))
    return tuple(found)
