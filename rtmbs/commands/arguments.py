"""What all commands share: arguments, files of robots, error messages and exit codes.

Arguments of commands: a parser that names the nearest option of a misspelt one, readers of values, output paths.

Options of commands for files of robots (URDF, SDF, MJCF), and the Model that they read.

Error messages of commands: exit codes, one line with page and anchor; ``rtmbs explain`` prints the explanation.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

from rtmbs.errors import ERRORS_PAGE, InputError, RtmbsError, UnknownNameError, unknown_name
from rtmbs.formats.files import ROBOTS, read
from rtmbs.model import Model

SUFFIX = ".mks"  # of model files
UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
FAILED, MISUSED, INTERRUPTED = 1, 2, 130  # exit codes; 2 is argparse's own

Value = TypeVar("Value", int, float)


class Parser(argparse.ArgumentParser):
    """An argument parser without abbreviations that names the nearest option of an unknown one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse all words, or end with code 2 and one line that helps."""
        found, left = self.parse_known_args(words)
        if left:
            self.refuse(left)
        return found

    def refuse(self, left: Sequence[str]) -> NoReturn:
        """End with the first unknown argument and the nearest option."""
        unknown = left[0].split("=")[0]
        options = [option for action in self._actions for option in action.option_strings if option.startswith("--")]
        self.error(str(unknown_name("argument", unknown, options)))


def positive(text: str) -> float:
    """Read a finite number greater than zero."""
    value = number(text)
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"{text} is not a number greater than 0")
    return value


def number(text: str) -> float:
    """Read a finite number."""
    value = converted(text, float, "a number")
    if value - value != 0.0:
        raise argparse.ArgumentTypeError(f"{text} is not a finite number")
    return value


def count(text: str) -> int:
    """Read a whole number of at least 1."""
    value = converted(text, int, "a whole number")
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def converted(text: str, kind: Callable[[str], Value], what: str) -> Value:
    """Convert a word to a number; ``what`` is its kind in messages."""
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None


def file_size(text: str) -> float:
    """Read a size such as 20MB or 2GB [bytes]."""
    unit = next((unit for unit in UNITS if text.endswith(unit)), "")
    try:
        return positive(text.removesuffix(unit)) * UNITS.get(unit, 1.0)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 20MB or 2GB") from None


def check_target(path: str, endings: Collection[str], option: str = "--out") -> None:
    """Refuse a place that no file can be written to, and a name that ends in none of ``endings``."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"{option} {path}: there is no folder {folder}")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path} cannot be written")
    if Path(path).suffix.lower() not in endings:
        raise InputError(f"{option} {path} must end in one of {', '.join(endings)}")


def option_parser(program: str, defaults: Mapping[str, Any], description: str) -> Parser:
    """Return a parser with one option for every parameter of a mechanism, in its own units (SI, rad)."""
    parser = Parser(prog=program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in defaults.items():
        if isinstance(default, bool):
            reader: Callable[[str], Any] = yes_or_no
        else:
            reader = number if isinstance(default, float) else type(default)
        parser.add_argument(f"--{option.replace('_', '-')}", type=reader, default=default, help=f"default: {default}")
    return parser


def yes_or_no(text: str) -> bool:
    """Read yes or no."""
    words = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
    if text.lower() not in words:
        raise argparse.ArgumentTypeError(f"{text!r} is neither yes nor no")
    return words[text.lower()]


def is_robot_file(word: str) -> bool:
    """True for a name with the ending of a robot's file."""
    return Path(word).suffix.lower() in ROBOTS


def add_reading(parser: Parser) -> None:
    """Add the options of reading to a parser."""
    reading = parser.add_argument_group("files of robots (URDF, SDF, MJCF)")
    base = reading.add_mutually_exclusive_group()
    base.add_argument("--floating", action="store_true", help="let the root link of a URDF float")
    base.add_argument("--fixed", action="store_true", help="fix the root link of a URDF to ground")
    reading.add_argument("--strict", action="store_true", help="refuse a file with elements that are not read")
    reading.add_argument(
        "--package", action="append", default=[], metavar="NAME=FOLDER", help="folder of a package; may be repeated"
    )
    reading.add_argument("--friction", action="store_true", help="add the dry friction of joints")
    reading.add_argument("--loops", metavar="FILE", help="YAML file with the closed loops of a URDF")
    reading.add_argument("--keyframe", metavar="NAME", help="keyframe of an MJCF that the motion starts from")


def robot_model(path: str, options: argparse.Namespace, meshes: bool) -> Model:
    """Return the Model of a robot's file as the options say."""
    return read(
        path, strict=options.strict, floating=True if options.floating else False if options.fixed else None,
        meshes=meshes, packages=packages_of(options.package), friction=options.friction, loops=options.loops,
        keyframe=options.keyframe,
    )  # fmt: skip


def packages_of(words: list[str]) -> dict[str, str]:
    """Return folders of packages by name; InputError for a word that is no NAME=FOLDER."""
    found = {}
    for word in words:
        name, equals, folder = word.partition("=")
        if not (equals and name and folder):
            raise InputError(f"--package takes NAME=FOLDER, not {word!r}, such as --package arm=robots/arm")
        found[name] = folder
    return found


def read_options(program: str, path: str, words: list[str], meshes: bool) -> Model:
    """Return the Model of a robot's file and its options on the command line."""
    parser = Parser(prog=f"{program} {path}", description="Read a file of a robot.")
    add_reading(parser)
    return robot_model(path, parser.read(words), meshes)


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
