"""What commands on model files share: which words are files, and how refusals name the file."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rtmbs.commands.arguments import SUFFIX, Parser
from rtmbs.errors import InputError, LanguageError, ModelError, StartError
from rtmbs.language import Document, Place
from rtmbs.language.source import load

SINGULAR = {"bodies": "body"}


def is_file(word: str) -> bool:
    """True for the path of a model file; anything else is the name of a mechanism of the library."""
    return word.endswith(SUFFIX) or Path(word).suffix != "" or "/" in word


def add_large(parser: Parser) -> None:
    """Add the switch that lifts the limits of ``rtmbs.language.sizes``."""
    parser.add_argument("--large", action="store_true", help="take more bodies, words, rows and steps than usual")


@contextmanager
def refusals(file: str, document: Document | None = None) -> Iterator[None]:
    """Turn what the whole model is refused for into an error of its file, at the first element that it names."""
    try:
        yield
    except LanguageError:
        raise
    except (ModelError, StartError, InputError) as error:
        place = place_of(str(error), document) if document else None
        if place is None:
            raise LanguageError(str(error), file=file) from None
        raise error_at(place, str(error)) from None


def error_at(place: Place, message: str) -> LanguageError:
    """Return the error at a place of a file, with the line that stands there."""
    try:
        return load(Path(place.file), place.file).error_at(place, message)
    except (LanguageError, IndexError):  # another file stands there by now
        return LanguageError(message, file=place.file, line=place.line, column=place.column)


def place_of(message: str, document: Document) -> Place | None:
    """Return where the first element of the file stands that a message names; ``cut joint 'a'``, ``spherical 'a'``.

    A message about bodies names several; one that names nothing is about SYSTEM.
    """
    for word, name in re.findall(r"(\w+) '([^']*)'", message):
        for kind in (SINGULAR.get(word, word), "joint"):
            if place := document.places.get(f"{kind} {name}"):
                return place
    return document.places.get("system")
