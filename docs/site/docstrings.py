"""An extension of griffe for docstrings that list parameters as ``name : text``, without a type.

griffe's numpy style reads the text behind a colon as a type, and every paragraph behind a list as more parameters. So
the text goes below its name, and the list to the end of the docstring. Docstrings in numpydoc form stay as they are.
"""

import re
from typing import Any

from griffe import Docstring, Extension, Function, Object

ITEM = re.compile(r"^(\*{0,2}[A-Za-z_]\w*(?:, \*{0,2}[A-Za-z_]\w*)*) : (.*)$")
BUILT_IN = "int|float|bool|str|object|complex|array_like|ndarray|callable|tuple|list|dict|slice"
TYPED = re.compile(rf"^(?:[{{A-Z]|(?:{BUILT_IN})\b)")
HEADS = ("Parameters", "Attributes")
INDENT = 4 * " "


class Docstrings(Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite the docstring of an object."""
        if isinstance(obj.docstring, Docstring):
            known = {one.name for one in obj.parameters} if isinstance(obj, Function) else set()
            obj.docstring.value = rewritten(obj.docstring.value, known)


def rewritten(value: str, known: set[str]) -> str:
    """Return a docstring with its list of parameters at the end; ``known`` names begin a list without a head."""
    lines = value.split("\n")
    if "Returns" in lines:  # numpydoc as it is written in full
        return value
    items = [(found[2], below) for found, below in zip(map(ITEM.match, lines), [*lines[1:], ""], strict=True) if found]
    if items and all(TYPED.match(text) and below.startswith(INDENT) for text, below in items):
        return value
    for k, line in enumerate(lines):
        if line in HEADS and lines[k + 1 : k + 2] == ["-" * len(line)]:
            items, rest = listed(lines[k + 2 :])
            return joined(lines[:k], rest, line, items)
        found = ITEM.match(line)
        if found and {name.lstrip("*") for name in found[1].split(", ")} <= known:
            items, rest = listed(lines[k:])
            return joined(lines[:k], rest, HEADS[0], items)
    return value


def listed(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the leading items of ``lines``, each name with its text below, and the lines behind them."""
    items: list[tuple[list[str], list[str]]] = []
    end = len(lines)
    for k, line in enumerate(lines):
        if found := ITEM.match(line):
            items.append((found[1].split(", "), [INDENT + found[2]]))
        elif items and (not line.strip() or line.startswith(INDENT)):
            items[-1][1].append(line)
        elif line.strip():
            end = k
            break
    return [one for names, text in items for name in names for one in (name, *text)], lines[end:]


def joined(before: list[str], behind: list[str], head: str, items: list[str]) -> str:
    """Return the parts of a docstring in the order that griffe reads; the text behind keeps lists of its own."""
    text = rewritten("\n".join(behind), set()) if any(line in HEADS for line in behind) else "\n".join(behind)
    listing = "\n".join([head, "-" * len(head), *items]).rstrip()
    if any(f"\n{one}\n-" in f"\n{text}" for one in HEADS):  # a second list stays last
        first, second = re.split(r"(?m)^(?=(?:Parameters|Attributes)\n-)", text, maxsplit=1)
        return "\n".join([*before, first.rstrip(), "", listing, "", second]).strip()
    return "\n".join([*before, text.rstrip(), "", listing]).strip()
