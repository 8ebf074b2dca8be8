"""What docs/workload.md shows does run."""

import re
from pathlib import Path

import numpy as np

PAGE = (Path(__file__).parents[3] / "docs" / "workload.md").read_text(encoding="utf-8")


def test_the_examples_run(capsys):
    names = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(example, "workload.md", "exec"), names)
    assert np.abs(names["both"] - names["found"].power["crank_pivot"]).max() < 1e-9
    assert np.abs(names["torque"]).max() < 1e-4
    assert names["load"].missed < 1e-12
    assert "would open by" in capsys.readouterr().out
