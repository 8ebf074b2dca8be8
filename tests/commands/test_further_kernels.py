"""``rtmbs warmup`` meets the kernels of analyses too, and a run of the main job does not load the analyses."""

import os
import subprocess
import sys

import pytest

from tests.patches import ROOT
from tests.patience import LONGEST

COMPILED = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")

UNMET = """
from rtmbs.commands.warmup import compile_kernels
compile_kernels()
from rtmbs.kinematics.path_kernel import march
from rtmbs.recursive.part import place_frames, tell_posts
from rtmbs.recursive.passes import accelerations_here
from rtmbs.recursive.part_kernels import march_part
from rtmbs.semirecursive.input_jump import follow_inputs
from rtmbs.ad.simd_programs import evaluate_rows
from rtmbs.studies.sensitivities.saddles import solve_all
from rtmbs.studies.sensitivities.step_solver import evaluate_back, sweep_forward
kernels = march, accelerations_here, march_part, follow_inputs, evaluate_rows, solve_all
kernels = *kernels, tell_posts, place_frames, sweep_forward, evaluate_back
print(*(kernel.py_func.__name__ for kernel in kernels if not kernel.signatures))
"""
LOADED = """
import sys
import rtmbs.bench.fourbar
rooms = "rtmbs.studies.sensitivities", "rtmbs.recursive", "rtmbs.kinematics"
print(*(name for name in sys.modules if name.startswith(rooms)))
"""


def printed(code):
    """What a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@COMPILED
def test_every_analysis_finds_its_kernels():
    assert printed(UNMET) == ""


def test_the_main_job_does_not_wait_for_analyses():
    assert printed(LOADED) == ""
