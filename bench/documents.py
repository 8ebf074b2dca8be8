"""Tables in the documents: what a script measured goes between two markers that carry its name."""

import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
KINEMATICS, LANGUAGE = DOCS / "kinematics.md", DOCS / "language.md"


def insert(page: Path, name: str, text: str) -> None:
    """Put ``text`` between the markers called ``name`` of a page; ValueError when the page has no such pair."""
    page.write_text(inserted(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def told(text: str, page: Path, name: str) -> None:
    """Print a text; with ``--write`` on the command line put it into its page too."""
    print(text)
    if "--write" in sys.argv[1:]:
        insert(page, name, text)


def inserted(text_of_page: str, name: str, text: str) -> str:
    """Return the page with ``text`` in place of what stood between its markers called ``name``."""
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    if text_of_page.count(begin) != 1 or text_of_page.count(end) != 1:
        raise ValueError(f"the page needs one line '{begin}' and, below it, one line '{end}'")
    before, rest = text_of_page.split(begin)
    if end not in rest:
        raise ValueError(f"'{end}' stands above '{begin}'; it must stand below")
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
