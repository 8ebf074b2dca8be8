"""Error messages of commands: exit codes, one line with page and anchor; ``rtmbs explain`` prints the explanation."""

import os
import re
import sys
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import cache
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import NamedTuple

from rtmbs.commands.arguments import FAILED, INTERRUPTED, MISUSED, Parser
from rtmbs.errors import ERRORS_PAGE, InputError, RtmbsError, UnknownNameError, unknown_name

PAGES = (Path(__file__).with_name("errors.md"), Path(__file__).parents[2] / "docs" / "errors.md")  # installed; source
SECTION = re.compile(r"^#{2,3} (?P<name>[\w-]+)$\n(?P<text>.*?)(?=^#{2,3} |\Z)", re.MULTILINE | re.DOTALL)
SAYS = re.compile(r"\b(?:Says|Or) `([^`\n]*)`\.")
ENOUGH = 3  # words in a row that tell a message
KINDS = "## Kinds of messages"  # below it stand sections of many messages each


class Section(NamedTuple):
    """A section of the page: of a class of errors, or of messages that have one of ``words`` in them."""

    name: str
    words: tuple[str, ...]  # none for a class
    text: str
    many: bool  # of messages that no other section is about


def run(words: list[str]) -> int:
    """Explain an error: its message, its anchor in docs/errors.md, or its class. Without one, paste the message."""
    parser = Parser(prog="rtmbs explain", description=run.__doc__)
    parser.add_argument("message", metavar="MESSAGE", nargs="*", help="a message, an anchor, or a class of errors")
    text = " ".join(parser.read(words).message) or read_message()
    found = matching_sections(text)
    if not found:
        raise unknown_name("message, anchor or error", text, [one.name for one in sections()])
    print("\n\n".join(f"{one.name}\n{one.text}" for one in found))
    return 0


def read_message() -> str:
    """Read a message from the standard input, up to an empty line."""
    if sys.stdin.isatty():
        print("paste the message, then an empty line:")
    lines = iter(sys.stdin.readline, "")
    return " ".join(takewhile(str.strip, dropwhile(lambda line: not line.strip(), lines)))


def matching_sections(text: str) -> list[Section]:
    """Return the sections about a text: by name, else by words of a message and by classes named in it.

    One section about many messages is returned where none is about this one alone.
    """
    exact = [one for one in sections() if one.name.lower() == text.strip().lower()]
    if exact:
        return exact
    spoken = " ".join(text.split())
    classes = [one for one in sections() if not one.words and one.name in spoken]
    about = [one for one in sections() if is_about(one, spoken)]
    return classes + ([one for one in about if not one.many] or about[:1]) or partly_about(spoken)


def partly_about(spoken: str) -> list[Section]:
    """Return the sections that share the most words in a row with a part of a message, three at least."""
    words = re.findall(r"\w+", spoken.lower())
    shared = {one: max((words_in_row(words, says) for says in one.words), default=0) for one in sections()}
    most = max(shared.values())
    return [one for one, count in shared.items() if count == most] if most >= ENOUGH else []


def words_in_row(words: list[str], says: str) -> int:
    """Return how many words in a row a message and the text of a section share."""
    other = re.findall(r"\w+", says.lower())
    return SequenceMatcher(None, words, other, autojunk=False).find_longest_match().size


def is_about(section: Section, message: str) -> bool:
    """True when a section is about a message."""
    return any(words in message for words in section.words)


def anchor(message: str) -> str:
    """Return the anchor of a message; empty where it has none."""
    try:
        return next((one.name for one in sections() if is_about(one, message)), "")
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


def answer(command: Callable[[], int | None]) -> int:
    """Run a command and return its exit code; errors of rtmbs become one line on standard error."""
    try:
        code = command() or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (InputError, UnknownNameError) as error:
        code, message = MISUSED, f"{error}{users_line(error)} [{place_of(error)}]"
    except RtmbsError as error:
        code, message = FAILED, f"{error}{users_line(error)} [{place_of(error)}]"
    except KeyboardInterrupt:
        code, message = INTERRUPTED, "interrupted"
    print(f"rtmbs: {message}", file=sys.stderr)
    return code


def users_line(error: RtmbsError) -> str:
    """Return the line of the user's function that raised the exception behind ``error``; "" without one."""
    from rtmbs.viewer.text import error_place  # needed after a mistake only

    return error_place(error)


def place_of(error: RtmbsError) -> str:
    """Return page and anchor of a message; those of the class where the message has no anchor of its own."""
    own = anchor(str(error))
    return f"{ERRORS_PAGE}#{own}" if own else error.page
