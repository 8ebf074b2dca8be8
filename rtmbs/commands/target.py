"""Where a command writes to: refused before anything is computed."""

import os
from collections.abc import Collection
from pathlib import Path

from rtmbs.errors import InputError


def check_target(path: str, endings: Collection[str]) -> None:
    """Refuse a place that no file can be written to, and a name that ends in none of ``endings``."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"--out {path}: there is no folder {folder}")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"--out {path} cannot be written")
    if Path(path).suffix.lower() not in endings:
        raise InputError(f"--out {path} must end in one of {', '.join(endings)}")
