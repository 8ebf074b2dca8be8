"""docs/recursion.md runs: its code blocks are executed one after the other."""

import re
from pathlib import Path

import rtmbs.recursive

PAGE = (Path(__file__).parents[2] / "docs" / "recursion.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(compile(block, "recursion.md", "exec"), names)
    assert names["motion"].z.shape == (6, 14)


def test_public_names_are_there():
    for name in rtmbs.recursive.__all__:
        assert getattr(rtmbs.recursive, name).__name__ == name
