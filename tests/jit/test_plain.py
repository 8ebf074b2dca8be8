"""RTMBS_PLAIN_JIT=1: the same kernels through numba's public names alone, the same bytes of results.

Nothing is kept on disk there, so that every process compiles what it runs. Short runs share one process.
RTMBS_PLAIN_PYTHON names the interpreter of another environment for the plain runs, one with a newer numba.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled"),
    pytest.mark.slow,  # without a cache either kind compiles for minutes
]

STATES = """
import gc, json, sys
gc.set_threshold(100_000)  # collections walk what numba keeps of every kernel, an eighth of the time
from rtmbs import Simulation, library
from rtmbs.simulation.options import by_name
found = {}
for name, built, h, t_end, options in json.loads(sys.argv[1]):
    sim = Simulation(library.build(name, **built).compile(), h=h, **by_name(**options))
    sim.run(t_end)
    state = sim.state
    arrays = {key: getattr(state, key) for key in ("z", "zd", "zdd", "lam", "R0")} | state.memory
    found[f"{name} {options}"] = {key: value.tobytes().hex() for key, value in arrays.items()}
found["private"] = sorted(name for name in ("rtmbs.jit.private", "rtmbs.jit.dispatch") if name in sys.modules)
found["core"] = sorted(
    name for name, module in sys.modules.items() if name.startswith("rtmbs.")
    for value in vars(module).values() if str(getattr(value, "__name__", "")).startswith("numba.core")
    and name not in ("rtmbs.jit.intrinsics", "rtmbs.jit.cache_folder")
)
print(json.dumps(found))
"""

READABLE = {"fused": False}
RUNS = {
    "kernels that Python calls": [
        ("pendulum", {}, 1e-3, 0.3, READABLE),
        ("crank_rocker", {}, 5e-3, 0.5, READABLE),
        ("fourbar", {"ny": 2, "nz": 3}, 5e-3, 0.25, READABLE),
        ("crank_rocker", {}, 5e-3, 0.1, {"jacobian": "trace"}),
    ],
    "the fused kernel": [
        ("pendulum", {}, 1e-3, 0.3, {}),
        ("crank_rocker", {}, 5e-3, 0.5, {}),
        ("fourbar", {"ny": 2, "nz": 3}, 5e-3, 0.25, {}),
        ("top", {}, 1e-3, 0.1, {}),
        ("governor", {}, 1e-3, 0.1, {}),
        ("driven_fourbar", {}, 1e-3, 0.1, {"tangent_terms": "exact"}),
        ("slider_crank", {}, 1e-3, 0.1, {"projection_metric": "mass"}),
        ("bricard", {}, 1e-3, 0.1, {}),
    ],
}


def states(runs, plain):
    """Return the bytes of the last state of every run, from a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RTMBS_PLAIN_JIT": "1" if plain else "0"}
    python = os.environ.get("RTMBS_PLAIN_PYTHON", sys.executable) if plain else sys.executable
    command = [python, "-c", STATES, json.dumps(runs)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST, check=True)
    return json.loads(done.stdout)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", RUNS)
def test_the_same_bytes(kind):
    """Both ways end in the same bytes; the plain one loads none of the private names."""
    ours, plain = states(RUNS[kind], plain=False), states(RUNS[kind], plain=True)
    assert ours.pop("private") == ["rtmbs.jit.dispatch", "rtmbs.jit.private"]
    assert plain.pop("private") == []
    assert plain.pop("core") == []
    ours.pop("core")
    assert plain == ours
