"""Command lines that answer a misspelt word with the nearest right one, and errors without a traceback."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from rtmbs.errors import ERRORS_PAGE, InputError, RtmbsError, UnknownNameError, unknown_name

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
        """Name the first argument nobody knows, and what comes near it."""
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
    """Return a word as a value of some kind, which messages call ``what``."""
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None


def answer(command: Callable[[], int | None]) -> int:
    """Run a command and return its exit code; errors of rtmbs become one line on standard error."""
    try:
        code = command() or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read our output has seen enough
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
    """Return where a function of the user raised what ``error`` tells, "" where none did."""
    from rtmbs.viewer.session.error_text import place  # needed after a mistake only

    return place(error)


def place_of(error: RtmbsError) -> str:
    """Return page and anchor of a message; those of the class where the message has no anchor of its own."""
    from rtmbs.commands.explain import anchor  # a command, which reads its words by this module

    own = anchor(str(error))
    return f"{ERRORS_PAGE}#{own}" if own else error.page


def file_size(text: str) -> float:
    """Read a size such as 20MB or 2GB [bytes]."""
    unit = next((unit for unit in UNITS if text.endswith(unit)), "")
    try:
        return positive(text.removesuffix(unit)) * UNITS.get(unit, 1.0)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 20MB or 2GB") from None
