"""What docs/analysis.md shows does run."""

import re
from pathlib import Path

import numpy as np

PAGE = (Path(__file__).parents[3] / "docs" / "analysis.md").read_text(encoding="utf-8")


def test_the_examples_run(capsys):
    names = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(example, "analysis.md", "exec"), names)
    found, lin, space = names["found"], names["lin"], names["space"]
    assert found.stable
    assert names["rest"].stable
    said = capsys.readouterr().out
    assert "motor.torque' cannot hold this pose" in said
    assert "elbow.angle" in said
    assert len(found.frequencies) == 2
    assert lin.coordinates == ("shoulder.angle", "elbow.angle")
    np.testing.assert_array_equal(space.B, lin.B)
    np.testing.assert_allclose(np.ptp(names["period"]["shoulder.angle"]), 0.4, rtol=0.05)
    assert names["diagram"].frequencies.shape == (3, 2)
    assert [one.stable for one in names["several"]] == [True, False, False, False]
