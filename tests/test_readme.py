"""What the README shows does run."""

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_examples_run():
    names = {}
    for example in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(compile(example, "README.md", "exec"), names)
    result = names["result"]
    assert len(result) == 201
    assert result["a.angle"][0] == 0.5
    assert result["a.reaction"].shape == (201, 6)
    assert names["sim"].t == 1.0
    assert "recorded" in str(names["sim"].start_report)


def test_the_commands_stand_at_the_top():
    top = README.splitlines()[:8]
    assert any("make run" in line for line in top)
    assert any("make test" in line for line in top)
    assert any("pip install ." in line for line in top)


def test_every_folder_of_the_map_exists():
    root = Path(__file__).parent.parent
    chapter = README.partition("## Where things are")[2]
    rows = [line.split("|")[1] for line in chapter.splitlines() if line.startswith("| `")]
    places = [place for row in rows for place in re.findall(r"`([\w./]+)`", row)]
    assert places
    assert all((root / place).exists() for place in places)
