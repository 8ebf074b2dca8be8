"""Whether the user's script may be run again in another process, which starts by importing the script."""

import ast
import sys
from pathlib import Path


def script_is_guarded() -> bool:
    """Return False for a script that shows a window outside of ``if __name__ == "__main__":``.

    A process of its own imports the script, and would come to the same call. Without a file, as in a notebook, nothing
    is imported.
    """
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if path is None or getattr(main, "__spec__", None) is not None:  # python -m: a package, which is guarded itself
        return True
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return True
    return any(isinstance(one, ast.If) and asks_for_name(one.test) for one in tree.body)


def asks_for_name(test: ast.expr) -> bool:
    """True for a comparison with ``__name__``."""
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(test))
