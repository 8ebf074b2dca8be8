"""Arguments of commands: a parser that names the nearest option of a misspelt one, readers of values, output paths."""

import argparse
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from rtmbs.errors import InputError, unknown_name

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
