"""Quiet steps: nothing is allocated inside, nothing grows over thousands of them, and the first is like the others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]

ALLOCATIONS = """
import inspect, json, sys, tracemalloc
import numba, numpy as np
from numba.core.runtime import rtsys
from rtmbs import Simulation, library
from rtmbs.integrators import penalty_trapezoidal
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.semirecursive import compiled_steps
from rtmbs.semirecursive.compiled_steps import FusedKernel

def addresses(sim):
    eq = sim.equations
    held = [getattr(state, name) for state in sim._store.states for name in ("z", "zd", "zdd", "lam", "R0", "u")]
    held += [values for state in sim._store.states for values in state.memory.values()]
    held += [*eq.ws, *eq.work, sim._store.work.stats]
    return sorted(value.ctypes.data for value in held)

@numba.njit
def control(n):
    return np.zeros(n).sum()

crossing = ((penalty_trapezoidal, PenaltyTrapezoidal.advance), (compiled_steps, FusedKernel.__call__))
here = [
    tracemalloc.Filter(False, module.__file__, lineno=number + k)
    for module, function in crossing
    for lines, number in [inspect.getsourcelines(function)]
    for k in range(len(lines))
]
found = {}
control(3)
before = rtsys.get_allocation_stats()
control(3)
found["control"] = rtsys.get_allocation_stats().mi_alloc - before.mi_alloc
for name in ("crank_rocker", "top"):
    sim = Simulation(library.build(name).compile(), h=1e-3)
    for _ in range(3000):
        sim.step()
    places, before = addresses(sim), rtsys.get_allocation_stats()
    blocks = sys.getallocatedblocks()
    for _ in range(10_000):
        assert sim.step().outcome.accepted
    blocks = sys.getallocatedblocks() - blocks
    tracemalloc.start()
    for _ in range(20):
        sim.step()
    rounds = []
    for _ in range(4):
        first = tracemalloc.take_snapshot().filter_traces(here)
        for _ in range(3000):
            sim.step()
        last = tracemalloc.take_snapshot().filter_traces(here)
        rounds.append(sum(line.size_diff for line in last.compare_to(first, "lineno")))
    grown = min(rounds)
    tracemalloc.stop()
    after = rtsys.get_allocation_stats()
    found[name] = {"alloc": after.alloc - before.alloc, "mi_alloc": after.mi_alloc - before.mi_alloc,
                   "grown": grown, "blocks": blocks, "same": addresses(sim) == places}
print(json.dumps(found))
"""

FIRST = """
import json
from rtmbs import Simulation, library
from rtmbs.jit.compiled import listening
system = library.build("fourbar", ny=4, nz=40).compile()
sim = Simulation(system, h=5e-3)
compiled = []
with listening(compiled.append, lambda kernel: None):
    sim.step()
print(json.dumps(compiled))
"""


def run(code, **environment):
    """Run Python in a process of its own; return what it printed."""
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST, check=True)
    return json.loads(done.stdout)


def test_ten_thousand_steps_allocate_nothing():
    """numba's own count. The kernels are compiled without its memory runtime, so any allocation inside would not even
    compile, and arrays that cross from Python are borrowed: the count is zero, not arrays times calls.

    Python's count of blocks grows by some hundred, its free lists, and then no more. tracemalloc loses sight of what a
    call without the interpreter lock gives back (an empty kernel "grows" by a byte a call, now and then by seven), so
    the line that crosses is left to the count of blocks, and the least of four rounds counts: a leak is in all of them.
    """
    found = run(ALLOCATIONS, NUMBA_NRT_STATS="1")
    assert found.pop("control") == 1, "the count sees what an ordinary kernel allocates"
    for name, counts in found.items():
        assert (counts["alloc"], counts["mi_alloc"]) == (0, 0), name
        assert counts["grown"] < 10_000, f"{name}: three bytes a step, and an array has eight at least"
        assert counts["blocks"] < 1000, name
        assert counts["same"], f"{name}: the arrays of the last step are those of the first"


@pytest.mark.slow
def test_the_first_step_is_like_the_others():
    """Nothing is left to be compiled or loaded for it."""
    assert run(FIRST) == []
