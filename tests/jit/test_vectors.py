"""Rows of eight numbers as vectors: the same bytes as NumPy, compiled in both ways and not compiled at all."""

import os
import subprocess
import sys

import pytest

from tests.cases import spread

SCRIPT = """
import numpy as np
from rtmbs.jit.compiled import kernel
from rtmbs.jit.intrinsics import LANES, add_products, add_rows, multiply_rows, subtract_rows

@kernel
def work(memory, code):
    add_rows(memory, 4, 0, code[1])
    subtract_rows(memory, 5, 0, code[1])
    multiply_rows(memory, 6, code[2], 1)
    multiply_rows(memory, 0, 0, 0)
    add_products(memory, code, 0, 3, 2)

rng = np.random.default_rng(3)
code = np.array([2, 1, 3, 4, 5, 6, 3, 2, 2, 7, 1], np.uint32)  # row 2 is an operand of its own sum
given = rng.normal(size=(8, LANES))
memory, m = given.copy(), given.copy()
work(memory, code)
m[4], m[5], m[6] = m[0] + m[1], m[0] - m[1], m[3] * m[1]
m[0] = m[0] * m[0]
total = np.zeros(LANES)
for j in range(5):
    product = m[code[1 + 2 * j]] * m[code[2 + 2 * j]]
    total = total + product if j < 3 else total - product
m[2] = total
print(memory.tobytes() == m.tobytes(), np.array_equal(memory[7], given[7]))
"""


@pytest.mark.parametrize(
    "settings", spread([{}, {"RTMBS_PLAIN_JIT": "1"}, {"NUMBA_DISABLE_JIT": "1"}], 1), ids=["usual", "plain", "none"]
)
def test_rows_are_those_of_numpy(settings, tmp_path):
    script = tmp_path / "vectors.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path), "RTMBS_CACHE_DIR": str(tmp_path)}
    found = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["True", "True"], found.stderr
