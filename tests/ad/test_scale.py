"""The largest tape of the paper's table, K and C of stacked 4 x 40, within the time and memory promised."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, time
import numpy as np
from rtmbs.ad.traced import recorder
from rtmbs.ad.trace import Traced
from rtmbs.library import fourbar
from rtmbs.semirecursive import page, page_elements
system = fourbar(4, 40, "stacked").compile()
n = len(system.z0)
Q = lambda x, xp: page.force(page_elements.recursive(xp), system.tables, system.u0, system.R0, x[:, :n], x[:, n:])
Traced(lambda x: x * x, 2).jacobian(np.ones(2))  # compiles the kernels
made = Traced(Q, 2 * n, batched=True)
x = np.concatenate((system.z0, system.zd0))
J = made.jacobian(x)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
V = np.random.default_rng(0).normal(size=(2 * n, 2))
apart = np.abs(J @ V - made.forward(x, V)).max() / np.abs(J).max()
print(made.tape.operations, made.jacobian_entries.sparse.tape.operations, memory, apart)
"""


@pytest.mark.slow
def test_stacked_4_by_40_is_recorded_in_1_gigabyte():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    operations, derived, memory, apart = (float(word) for word in done.stdout.split())
    assert memory < 1.0  # [GB], with everything that is loaded
    assert operations < 50_000
    assert derived < 1_600_000  # what forward accumulation takes
    assert apart < 1e-13
