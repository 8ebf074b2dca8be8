"""``rtmbs explain``: what a message, its anchor or a class of errors means, from the page on errors."""

import re
import sys
from functools import cache
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import NamedTuple

from rtmbs.commands.arguments import Parser
from rtmbs.errors import InputError, unknown_name

PAGES = (Path(__file__).with_name("errors.md"), Path(__file__).parents[2] / "docs" / "errors.md")  # installed; source
SECTION = re.compile(r"^#{2,3} (?P<name>[\w-]+)$\n(?P<text>.*?)(?=^#{2,3} |\Z)", re.MULTILINE | re.DOTALL)
SAYS = re.compile(r"\b(?:Says|Or) `([^`\n]*)`\.")
KINDS = "## Kinds of messages"  # below it stand sections of many messages each


class Section(NamedTuple):
    """A section of the page: of a class of errors, or of messages that have one of ``words`` in them."""

    name: str
    words: tuple[str, ...]  # none for a class
    text: str
    many: bool  # of messages that no other section is about


def run(words: list[str]) -> int:
    """Say what an error message means: the message, its anchor, or a class of errors; asked for when none is given."""
    parser = Parser(prog="rtmbs explain", description=run.__doc__)
    parser.add_argument("message", metavar="MESSAGE", nargs="*", help="a message, an anchor, or a class of errors")
    text = " ".join(parser.read(words).message) or pasted()
    found = explained(text)
    if not found:
        raise unknown_name("message, anchor or error", text, [one.name for one in sections()])
    print("\n\n".join(f"{one.name}\n{one.text}" for one in found))
    return 0


def pasted() -> str:
    """Return what is typed or piped in, up to an empty line."""
    if sys.stdin.isatty():
        print("paste the message, then an empty line:")
    lines = iter(sys.stdin.readline, "")
    return " ".join(takewhile(str.strip, dropwhile(lambda line: not line.strip(), lines)))


def explained(text: str) -> list[Section]:
    """Return the sections that a text means: by name, else by words of a message and by classes named in it.

    One section about many messages is returned where none is about this one alone.
    """
    exact = [one for one in sections() if one.name.lower() == text.strip().lower()]
    if exact:
        return exact
    spoken = " ".join(text.split())
    classes = [one for one in sections() if not one.words and one.name in spoken]
    told = [one for one in sections() if says(one, spoken)]
    return classes + ([one for one in told if not one.many] or told[:1])


def says(section: Section, message: str) -> bool:
    """Return whether a section is about a message."""
    return any(words in message for words in section.words)


def anchor(message: str) -> str:
    """Return the anchor of a message; empty where it has none."""
    try:
        return next((one.name for one in sections() if says(one, message)), "")
    except InputError:
        return ""


@cache
def sections() -> tuple[Section, ...]:
    """Return the sections of the page; InputError where it was not installed."""
    page = next((page for page in PAGES if page.is_file()), None)
    if page is None:
        raise InputError("the page on errors was not installed; install rtmbs from its wheel or its repository")
    text = page.read_text(encoding="utf-8")
    return tuple(
        Section(one["name"], tuple(SAYS.findall(one["text"])), one["text"].strip(), one.start() > text.find(KINDS))
        for one in SECTION.finditer(text)
    )
