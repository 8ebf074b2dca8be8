"""Coarse kernels are called by name, and lazy ones are compiled when first called; both from disk in new processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import config

from rtmbs.jit import PLAIN
from rtmbs.jit import lazy_kernel as lazy_slots
from rtmbs.jit.compiled import coarse_kernel, compile_lazy, kernel, lazy_kernel
from tests.cases import spread

pytestmark = pytest.mark.skipif(config.DISABLE_JIT or PLAIN, reason="nothing is kept")

ROOT = Path(__file__).parents[2]
KERNELS = """
from rtmbs.jit.compiled import coarse_inner_kernel, inner_kernel, kernel, lazy_kernel

@kernel
def uncalled(x):
    return -x

@coarse_inner_kernel
def middle(x):
    return 2.0 * x

@inner_kernel
def between(x):
    return middle(x)

@lazy_kernel
def seldom(values, x):
    values[0] += x

@kernel
def outer(values, x):
    if x > 1.0:
        seldom(values, x)
    return 1.0 + between(x)

@kernel
def another(x):
    return middle(x)
"""
PROGRAM = """
import json, sys
import numpy as np
from rtmbs.jit.compiled import listening
names, values = [], np.zeros(1)
with listening(names.append, lambda name: None):
    import kernels_here as k
    calls = [((values, x) if name == "outer" else (x,), getattr(k, name)) for name, x in json.loads(sys.argv[1])]
    found = [function(*arguments) for arguments, function in calls]
print(json.dumps([found, values[0], sorted(names)]))
"""


@pytest.fixture
def place(tmp_path):
    """Return a folder with kernels in a module of their own."""
    (tmp_path / "kernels_here.py").write_text(KERNELS)
    return tmp_path


def called(place, *calls):
    """Call kernels in a new process; return what they give, what the lazy one wrote, and the names of the compiled."""
    environment = {**os.environ, "RTMBS_CACHE_DIR": str(place / "cache"), "PYTHONPATH": f"{ROOT}:{place}"}
    words = [sys.executable, "-c", PROGRAM, json.dumps(calls)]
    done = subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return tuple(json.loads(done.stdout))


def file_of(place, name):
    [file] = (place / "cache").rglob(f"kernels_here.{name}-*.nbc")
    return file


def test_a_new_process_loads_callees_first_and_compiles_a_lazy_kernel_when_it_is_called(place):
    assert called(place, ("outer", 0.5)) == ([2.0], 0.0, ["between", "middle", "outer"])
    assert called(place, ("outer", 0.5)) == ([2.0], 0.0, [])
    assert called(place, ("outer", 2.0)) == ([5.0], 2.0, ["seldom"])
    assert called(place, ("outer", 2.0), ("outer", 3.0)) == ([5.0, 7.0], 5.0, [])
    assert called(place, ("another", 2.0)) == ([4.0], 0.0, ["another"])


@pytest.mark.slow
@pytest.mark.parametrize("damage", spread([lambda file: file.write_bytes(b"nonsense"), Path.unlink], 1))
def test_a_caller_of_a_callee_that_is_lost_is_compiled_anew(place, damage):
    called(place, ("outer", 2.0))
    damage(file_of(place, "middle"))
    assert called(place, ("outer", 2.0)) == ([5.0], 2.0, ["between", "middle", "outer"])
    assert called(place, ("outer", 2.0)) == ([5.0], 2.0, [])


@pytest.mark.slow
def test_a_callee_of_another_name_is_not_called(place):
    """numba counts functions in names of machine code: a process that compiles others before has another number."""
    called(place, ("outer", 2.0))
    file_of(place, "middle").unlink()
    called(place, ("another", 2.0))
    assert called(place, ("outer", 2.0)) == ([5.0], 2.0, ["between", "outer"])


@pytest.mark.slow
def test_a_callee_that_was_changed_is_called_as_it_is_now(place):
    called(place, ("outer", 2.0))
    (place / "kernels_here.py").write_text(KERNELS.replace("2.0 * x", "3.0 * x").replace("+= x", "+= 10.0 * x"))
    assert called(place, ("outer", 2.0))[:2] == ([7.0], 20.0)


# ------------------------------------------------------------------------------------------------------ in one process


@coarse_kernel
def doubled(x):
    return 2.0 * x


@lazy_kernel
def noted(values, x):
    values[0] = x


@lazy_kernel
def answering(x):
    return x


@kernel
def noting(values, x):
    if x > 1.0:
        noted(values, x)
    return doubled(x)


@kernel
def asking(x):
    answering(x)


def test_a_coarse_kernel_has_a_door():
    assert doubled(2.0) == 4.0


def test_lazy_kernels_can_be_compiled_before_they_are_called():
    values = np.zeros(1)
    assert noting(values, 0.5) == 1.0
    compile_lazy()
    assert noting(values, 2.0) == 4.0
    assert values[0] == 2.0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_lazy_kernel_that_cannot_be_compiled_is_an_error():
    with pytest.raises(RuntimeError, match="could not be compiled"):
        asking(2.0)
    slots = lazy_slots._slots
    (place,) = [place for place, slot in slots.items() if slot.kernel == "answering"]
    with pytest.raises(AssertionError, match="answering returns something"):
        compile_lazy()  # ends, where an exception lost in a callback would go on for ever
    del slots[place]  # other tests of this process compile all that is left
