"""XML elements with their lines, from a text without a document type, by the parser of the standard library (expat).

A document type may define entities, which unpack to gigabytes or name other files. It is refused whole, so no entity
but the five of XML exists. Depth, elements and bytes are bounded.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple
from xml.parsers import expat

from rtmbs.errors import LanguageError, shown

MOST_BYTES = 32_000_000
MOST_DEPTH = 200
MOST_ELEMENTS = 400_000


class XMLSource(NamedTuple):
    """Name and bytes of an XML file, for messages."""

    file: str
    data: bytes

    def fault_of(self, message: str, line: int = 0, column: int = 1) -> LanguageError:
        """Return an error at a place of the file, with the text of its line."""
        lines = self.data.splitlines()
        text = lines[line - 1].decode("utf-8", "replace") if 0 < line <= len(lines) else ""
        return LanguageError(message, file=self.file, line=line, column=column, text=text)


class Element:
    """An XML element: tag, attributes, children, text and line; prefixes of names stay as they are written."""

    def __init__(self, tag: str, attributes: dict[str, str], source: XMLSource, line: int, column: int) -> None:
        self.tag, self.attributes, self.source, self.line, self.column = tag, attributes, source, line, column
        self.children: list[Element] = []
        self.parts: list[str] = []

    @property
    def text(self) -> str:
        """Text of the element without its children."""
        return "".join(self.parts).strip()

    def all(self, tag: str) -> list["Element"]:
        """Return the children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> "Element | None":
        """Return the first child with a tag, or None."""
        return next((child for child in self.children if child.tag == tag), None)

    def walk(self) -> Iterator["Element"]:
        """Yield this element and all below it, in the order of the text."""
        waiting = [self]
        while waiting:
            here = waiting.pop()
            yield here
            waiting += reversed(here.children)

    def fault(self, message: str) -> LanguageError:
        """Return an error at the place of this element."""
        return self.source.fault_of(message, self.line, self.column)

    def name(self) -> str:
        """Return the attribute ``name``; LanguageError without one."""
        found = self.attributes.get("name", "").strip()
        if not found or not found.isprintable():
            raise self.fault(f"<{self.tag}> has no name; it needs an attribute name")
        return found

    def numbers(self, attribute: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """Return the numbers of an attribute, ``default`` where it is missing; LanguageError for anything else."""
        if attribute not in self.attributes:
            if default is None:
                raise self.fault(f"<{self.tag}> has no {attribute}; it needs {count_text(count)}")
            return default
        return self.floats(self.attributes[attribute], count, attribute)

    def number(self, attribute: str, default: float | None = None) -> float:
        """Return the number of an attribute."""
        return self.numbers(attribute, 1, None if default is None else (default,))[0]

    def text_numbers(self, count: int) -> tuple[float, ...]:
        """Return the numbers of the text."""
        return self.floats(self.text, count, "text")

    def floats(self, text: str, count: int, what: str) -> tuple[float, ...]:
        """Return so many finite numbers of a text."""
        try:
            found = tuple(float(word) for word in text.replace(",", " ").split())
        except ValueError:
            found = ()
        if len(found) != count or not all(map(math.isfinite, found)):
            raise self.fault(f"<{self.tag}>: {what} is {shown(text)}; it must be {count_text(count)}")
        return found

    def child_number(self, tag: str, default: float) -> float:
        """Return the number that a child has as its text, ``default`` without that child."""
        child = self.first(tag)
        return default if child is None or not child.text else child.text_numbers(1)[0]

    def child_text(self, tag: str, default: str = "") -> str:
        """Return the text of a child, ``default`` without that child."""
        child = self.first(tag)
        return default if child is None else child.text


def count_text(count: int) -> str:
    """Return a count of numbers in words."""
    return "one finite number" if count == 1 else f"{count} finite numbers"


class TreeBuilder:
    """Handlers of expat that build the elements of one text."""

    def __init__(self, source: XMLSource) -> None:
        self.source, self.count = source, 0
        self.open: list[Element] = []
        self.root: Element | None = None
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.data
        self.parser.StartDoctypeDeclHandler = self.refuse

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        element = Element(tag, attributes, self.source, line, column)
        self.count += 1
        if self.count > MOST_ELEMENTS or len(self.open) >= MOST_DEPTH:
            raise element.fault(f"there are more than {MOST_ELEMENTS} elements, or {MOST_DEPTH} inside each other")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        """Close the element that was opened last."""
        self.open.pop()

    def data(self, text: str) -> None:
        """Take text of the open element."""
        if self.open:
            self.open[-1].parts.append(text)

    def refuse(self, *about: object) -> None:
        """Refuse a document type."""
        raise self.source.fault_of(
            "the file has a document type (<!DOCTYPE>), which may define entities; take that line out",
            self.parser.CurrentLineNumber,
        )


def parse_xml(data: bytes, file: str) -> Element:
    """Return the root element of a text; LanguageError with the line for one that is no XML."""
    source = XMLSource(file, data.lstrip())
    builder = TreeBuilder(source)
    try:
        builder.parser.Parse(source.data, True)
    except expat.ExpatError as error:
        raise source.fault_of(
            f"the file is no XML: {expat.ErrorString(error.code)}", error.lineno, error.offset + 1
        ) from None
    except LanguageError:
        raise
    except (ValueError, LookupError) as error:  # an encoding that Python does not know
        raise source.fault_of(f"the file is no XML: {error}", 1) from None
    assert builder.root is not None  # expat refuses a text without elements
    return builder.root
