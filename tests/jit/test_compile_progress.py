"""Compilations are announced once, and kernels from the cache are not announced at all."""

import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import config

from rtmbs.jit.compile_progress import announced, kernel_count
from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]
CODE = """
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.intrinsics import ticks
with announced() as compilations:
    ticks()
print(compilations.count)
"""


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_one_line_when_compiling_and_none_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RTMBS_CACHE_DIR", str(tmp_path))
    runs = [
        subprocess.run(
            [sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=True
        )
        for _ in range(2)
    ]
    assert [run.stdout for run in runs] == ["1\n", "0\n"]
    assert runs[0].stderr.startswith("compiling kernels, the first time only")
    assert runs[0].stderr.count("\n") == 1
    assert runs[1].stderr == ""


def test_nothing_happens_when_nothing_is_compiled(capsys):
    with announced() as compilations:
        pass
    assert compilations.count == 0
    assert capsys.readouterr().err == ""


def test_the_sources_hold_kernels():
    assert kernel_count() > 50
