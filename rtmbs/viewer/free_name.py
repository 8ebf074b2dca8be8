"""Names of files and folders that nobody has taken: after the mechanism, and the time."""

import re
import time
from pathlib import Path

LONGEST = 60  # letters of a title
NO_NAME = re.compile(r"[^\w.+-]+")  # what no name of a file should have


def free_name(title: str, ending: str) -> str:
    """Return a name in the present folder, ``ending`` at its end; signs that no file should have become "_"."""
    stem = "_".join(["rtmbs", NO_NAME.sub("_", title).strip("_")[:LONGEST], time.strftime("%Y%m%d_%H%M%S")])
    path, number = Path(stem + ending), 1
    while path.exists():
        number += 1
        path = Path(f"{stem}_{number}{ending}")
    return str(path)
