"""Whether the user's script may be run again in another process, which starts by importing the script."""

import ast
import sys
from pathlib import Path

from rtmbs.files.errors import DamagedFile
from rtmbs.files.reading import text

LARGEST = 10_000_000  # bytes of a script
UNGUARDED = (
    "a process of its own imports this script again; write the call under if __name__ == '__main__': for a process"
)


def why_not_imported() -> str:
    """Return why another process must not import the user's script, "" when it may.

    A process of its own imports the script, and would come to the same call outside of
    ``if __name__ == "__main__":``. A script that comes from a pipe cannot be imported at all. Without a file, as in a
    notebook, nothing is imported.
    """
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if path is None or getattr(main, "__spec__", None) is not None:  # python -m: a package, which is guarded itself
        return ""
    if not Path(path).is_file():
        return f"a process of its own imports this script again, and {path} is no file; save the script for a process"
    try:
        tree = ast.parse(text(path, LARGEST))
    except (DamagedFile, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    guarded = any(isinstance(one, ast.If) and asks_for_name(one.test) for one in tree.body)
    return "" if guarded else UNGUARDED


def asks_for_name(test: ast.expr) -> bool:
    """True for a comparison with ``__name__``."""
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(test))
