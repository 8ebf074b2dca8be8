"""What docs/sensitivities.md shows does run, and so do the examples of apps."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "sensitivities.md").read_text(encoding="utf-8")


def test_the_examples_run():
    names = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(example, "sensitivities.md", "exec"), names)
    assert names["found"].gradient.shape == (3,)
    assert names["ends"].jacobian.shape == (9, 3)
    by_length = names["by_length"].jacobian
    assert np.abs(by_length[:, 1]).max() < 1e-10 * np.abs(by_length).max()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["synthesis", "identification"])
def test_apps_check_themselves(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "apps"))
    sys.modules.pop(name, None)
    assert __import__(name).main() == 0
