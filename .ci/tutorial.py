"""Run the examples of the tutorial, from top to bottom, by the rtmbs that is installed: python .ci/tutorial.py FOLDER.

FOLDER is where the package must come from and where pictures are written.
"""

import os
import re
import sys
from pathlib import Path

import rtmbs

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorial.md"


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    if not Path(rtmbs.__file__).is_relative_to(folder):
        sys.exit(f"rtmbs is taken from {rtmbs.__file__}, not from {folder}")
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    os.environ["MPLBACKEND"] = "agg"
    os.chdir(folder)
    names = {"__name__": "tutorial"}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)
    print(f"{len(examples)} examples of the tutorial ran by {rtmbs.__file__}")


if __name__ == "__main__":
    main()
