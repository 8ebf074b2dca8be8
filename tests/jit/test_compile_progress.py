"""Compilations are announced once, and kernels from the cache are not announced at all."""

import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from numba.core import config

from rtmbs.jit import compile_progress
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


def test_a_compilation_of_another_thread_at_the_end_leaves_the_collector_on(monkeypatch, capsys):
    """A thread may open the bar of an announcement that ends meanwhile, or begin a kernel right behind it."""
    opening, go_on = threading.Event(), threading.Event()

    def counted():
        opening.set()
        go_on.wait(LONGEST)
        return 100

    monkeypatch.setattr(compile_progress, "kernel_count", counted)
    assert gc.isenabled()
    with announced() as compilations:
        thread = threading.Thread(target=compilations.begin, args=("kernel",))
        thread.start()
        opening.wait(LONGEST)
        threading.Timer(0.1, go_on.set).start()
    thread.join()
    assert gc.isenabled()
    with announced() as other:
        pass
    other.begin("kernel")
    other.end("kernel")
    assert gc.isenabled()
    assert other.count == 1


def test_an_announcement_that_fails_to_close_its_bar_leaves_nothing_behind(monkeypatch, capsys):
    class Bar:
        disable = True

        def set_postfix_str(self, words):
            pass

        def close(self):
            raise KeyboardInterrupt

    def compiled():
        with announced() as compilations:
            compilations.begin("kernel")
            assert not gc.isenabled()

    monkeypatch.setattr(compile_progress, "tqdm", lambda **_: Bar())
    with pytest.raises(KeyboardInterrupt):
        compiled()
    assert gc.isenabled()
    assert not compile_progress._active
