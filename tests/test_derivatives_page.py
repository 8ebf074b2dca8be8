"""docs/derivatives.md runs: its code blocks are executed one after the other, with the assertions in them."""

import re
import subprocess
import sys
from pathlib import Path

from tests.patience import LONGEST

PAGE = Path(__file__).parents[1] / "docs" / "derivatives.md"


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 9
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], capture_output=True, text=True, check=False, timeout=LONGEST
    )
    assert done.returncode == 0, done.stderr
    tape, branch, mismatch = done.stdout.strip().splitlines()
    for said in (tape, branch.split(":")[0], mismatch.split(",")[0]):
        assert said in PAGE.read_text(encoding="utf-8"), "what is printed is what the page says in a comment"
