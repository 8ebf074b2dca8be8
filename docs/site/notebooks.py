"""Notebooks of the tutorial, the gallery and the course, made of their pages: python docs/site/notebooks.py."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
FOLDER = DOCS / "notebooks"
BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
SOLUTION, EMPTY = "# solution\n", "# your solution\n"
GALLERY = ("four_bar", "slider_crank", "peaucellier", "jansen", "gyroscope", "double_wishbone")
SHOWN = """import {name}

shown = {name}.main()
print(shown.told, shown.error)
shown.result.show(model=shown.model)
"""


def cells(page: str, solved: bool) -> list[tuple[str, str]]:
    """Return (kind, text) of a page in Markdown; solutions are empty cells unless ``solved``."""
    found, parts = [], BLOCK.split(page)
    for number, text in enumerate(parts):
        if number % 2 and text.startswith(SOLUTION):
            found.append(("code", text.removeprefix(SOLUTION) if solved else EMPTY))
        elif text.strip():
            found.append(("code" if number % 2 else "markdown", text.strip()))
    return found


def notebook(given: list[tuple[str, str]]) -> str:
    """Return a notebook without outputs, format 4.5."""
    made: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(given):
        name = hashlib.sha1(f"{number}{text}".encode(), usedforsecurity=False).hexdigest()[:8]
        cell: dict[str, Any] = {"cell_type": kind, "id": name, "metadata": {}, "source": text.splitlines(keepends=True)}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    head = {"metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({"cells": made, **head}, indent=1, ensure_ascii=False) + "\n"


def gallery() -> list[tuple[str, str]]:
    """Return the cells of the gallery: scripts of apps/gallery, run and played."""
    first = (
        "import sys\nfrom pathlib import Path\n\n"
        "apps = next(p / 'apps/gallery' for p in Path.cwd().resolve().parents if (p / 'apps/gallery').is_dir())\n"
        "sys.path.insert(0, str(apps))"
    )
    made = [
        ("markdown", "# Gallery\n\nMechanisms of `apps/gallery`. Each is run and played."),
        ("code", first),
    ]
    for name in GALLERY:
        made += [("markdown", f"## {name.replace('_', ' ').capitalize()}"), ("code", SHOWN.format(name=name).strip())]
    return made


def notebooks() -> dict[Path, str]:
    """Return the text of every notebook by its path below ``FOLDER``."""
    found = {Path("tutorial.ipynb"): notebook(cells((DOCS / "tutorial.md").read_text(encoding="utf-8"), True))}
    found[Path("gallery.ipynb")] = notebook(gallery())
    for page in sorted((DOCS / "course").glob("[0-9]*.md")):
        text = page.read_text(encoding="utf-8")
        found[Path("course", f"{page.stem}.ipynb")] = notebook(cells(text, False))
        found[Path("course", f"{page.stem}-solution.ipynb")] = notebook(cells(text, True))
    return found


def main() -> None:
    """Write them."""
    for path, text in notebooks().items():
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
