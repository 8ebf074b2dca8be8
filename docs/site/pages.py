"""A hook of mkdocs: the pages that play the gallery, of what docs/gallery holds, and patches as blocks of code."""

import json
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
FOLDER, PROGRAM = "gallery", "player.js"


def pages() -> dict[str, bytes]:
    """Return the program and the pages by their names."""
    if str(DOCS.parent) not in sys.path:
        sys.path.insert(0, str(DOCS.parent))
    from rtmbs.viewer.web.content import page_text, program

    made = {PROGRAM: program().encode("utf-8")}
    for path in sorted((DOCS / FOLDER).glob("*.json")):
        made[f"{path.stem}.html"] = page_text(json.loads(path.read_text(encoding="utf-8")), PROGRAM)
    return made


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the files of the site."""
    from mkdocs.structure.files import File

    for name, content in pages().items():
        files.append(File.generated(config, f"{FOLDER}/{name}", content=content))
    return files


def on_page_markdown(markdown: str, **given: Any) -> str:
    """Return a page whose patches, ``diff file=PATH``, are blocks with the path as their title."""
    return re.sub(r"(?m)^(```+\w+) file=(\S+)$", r'\1 title="\2"', markdown)
