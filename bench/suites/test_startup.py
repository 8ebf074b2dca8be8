"""What comes before the first step: import, compiling a model, a consistent start, all of it in a fresh interpreter.

Kernels are in the cache.
"""

import subprocess
import sys

import pytest

from bench.peers.registry import ROOT
from bench.peers.rtmbs_joints import model
from bench.suites.conftest import STEP
from rtmbs import Simulation

FIRST_STEP = """
from rtmbs import Simulation, library
Simulation(library.build("fourbar", ny=4, nz=40).compile(), h=5e-3).step()
"""
PROGRAMS = {"import": "import rtmbs", "first step": FIRST_STEP}


@pytest.mark.parametrize("name", PROGRAMS)
def test_fresh_interpreter(benchmark, name):
    command = [sys.executable, "-c", PROGRAMS[name]]
    benchmark.pedantic(lambda: subprocess.run(command, cwd=ROOT, check=True), rounds=8, warmup_rounds=1)


def test_compile(benchmark, mechanism):
    """Model to System: trees are tried, the pattern is ordered."""
    written = model(mechanism)
    benchmark.pedantic(written.compile, rounds=8, warmup_rounds=1)


def test_start(benchmark, mechanism):
    """System to Simulation: assembly, rates, penalties, rank, first accelerations."""
    system = model(mechanism).compile()
    benchmark.pedantic(lambda: Simulation(system, STEP), rounds=8, warmup_rounds=1)
