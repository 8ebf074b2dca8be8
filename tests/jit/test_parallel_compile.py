"""Workers fill the cache; whatever becomes of them, the program that started them goes on."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from numba.core import config

from rtmbs.commands import warmup
from rtmbs.jit import compile_progress as apart
from rtmbs.jit.cache_folder import CachePlace
from rtmbs.jit.compile_progress import Compilations
from rtmbs.semirecursive.step import march
from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]
COMPILED = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
PATIENT = "import os, sys, time; print('kernel', flush=True); sys.stdin.read(); os._exit(0)"


def python(code):
    return [sys.executable, "-c", code]


def counted(codes, jobs):
    compilations = Compilations(1.0)
    try:
        apart.compile_in_processes([python(code) for code in codes], jobs, compilations)
    finally:
        compilations.close()
    return compilations.count


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_kernels_of_all_workers_are_counted(jobs, capsys, monkeypatch):
    monkeypatch.setattr(Compilations, "said", False)
    assert counted(["print('a'); print('b')", "print('c')", "pass"], jobs) == 3
    assert capsys.readouterr().err.count("compiling kernels, the first time only") == 1


@pytest.mark.parametrize("code", ["import os; os._exit(3)", "import os; os.kill(os.getpid(), 9)", "raise ValueError"])
def test_a_worker_that_dies_is_no_error(code):
    assert counted([f"print('a', flush=True); {code}", "print('b')"], 2) == 2


def test_workers_end_with_an_interrupted_program(monkeypatch):
    started = []
    start = apart.start_worker
    monkeypatch.setattr(apart, "start_worker", lambda *words: started.append(start(*words)) or started[-1])

    class Interrupted(Compilations):
        def begin(self, kernel):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apart.compile_in_processes([python(PATIENT)] * 2, 2, Interrupted(1.0))
    assert all(worker.poll() is not None for worker in started)


def test_a_worker_ends_when_its_parent_is_gone():
    code = "from rtmbs.jit.compile_progress import run_worker; import time; run_worker({'-': lambda: time.sleep(3600)})"
    worker = subprocess.Popen([*python(code), "-"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    time.sleep(0.5)
    assert worker.poll() is None
    worker.stdin.close()  # as the system does for a parent that was killed
    assert worker.wait(timeout=LONGEST) == 1
    worker.stdout.close()


@COMPILED
def test_only_an_empty_cache_is_worth_it(tmp_path, monkeypatch):
    monkeypatch.setattr(apart, "place_of_process", lambda: CachePlace(None, "nothing can be written"))
    assert not apart.cache_is_empty()
    monkeypatch.setattr(apart, "place_of_process", lambda: CachePlace(tmp_path, ""))
    assert apart.cache_is_empty()
    (tmp_path / "kernel.nbc").touch()
    assert not apart.cache_is_empty()


@COMPILED
def test_the_step_is_compiled_for_the_types_it_is_called_with():
    warmup.small_simulation(*warmup.MECHANISMS[0]).step()
    warmup.compile_step()
    assert len(march.signatures) == 1


@COMPILED
@pytest.mark.slow
def test_nothing_is_left_to_compile(tmp_path):
    """A program with an empty cache, on two cores, and again: from a folder without rtmbs, as an installed one."""
    environment = {**os.environ, "RTMBS_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "rtmbs", "warmup", "--jobs", "2"]
    runs = [
        subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=LONGEST
        )
        for _ in range(2)
    ]
    assert "(0 compiled now)" not in runs[0].stdout
    assert runs[0].stderr.count("compiling kernels") == 1
    assert "(0 compiled now)" in runs[1].stdout
    assert runs[1].stderr == ""
    assert not list(tmp_path.rglob("*.tmp*")), "no half-written file"
