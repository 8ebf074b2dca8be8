"""Kernels of a library that was made ahead: found by types, the same bytes as numba's, numba only where one is missing.

The whole library takes minutes, so quick tests make one of few kernels.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numba
import numpy as np
import pytest

from rtmbs.integrators.newton import contraction_rate, scaled_norm
from rtmbs.jit.prebuilt import type_name
from rtmbs.jit.prebuilt_code import letters_of, name_of, packed
from tests.jit.test_struct import example
from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]
HERE = "x86_64_v2-linux"
pytestmark = [
    pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled"),
    pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="needs a C compiler on Linux"),
    pytest.mark.skipif(
        not Path(sysconfig.get_path("include"), "Python.h").is_file(), reason="needs the headers of Python"
    ),
]
MATRIX = np.arange(6.0).reshape(2, 3)


def maker():
    """Return the script that makes the library of a wheel."""
    spec = importlib.util.spec_from_file_location("prebuilt_maker", ROOT / ".ci" / "prebuilt.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_a_process(code, folder, *words):
    """Run code with the kernels of a folder, and return what it printed as JSON."""
    given = {**os.environ, "RTMBS_KERNELS": str(folder), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=given, capture_output=True, text=True, timeout=LONGEST, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# --------------------------------------------------------------------------------------------------------------- names


def read_only():
    array = MATRIX.copy()
    array.flags.writeable = False
    return array


VALUES = {
    "matrix": MATRIX,
    "Fortran": np.asfortranarray(MATRIX),
    "strided": np.arange(12.0).reshape(2, 6)[:, ::2],
    "read only": read_only(),
    "integers": np.arange(3),
    "truths": np.zeros(2, bool),
    "float": 1.5,
    "numpy's": np.float64(1.5),
    "integer": 3,
    "long": np.int64(3),
    "truth": True,
    "tuple": (1.0, MATRIX, (2, False)),
    "struct": example(),
}


@pytest.mark.parametrize("what", VALUES)
def test_a_value_and_its_type_have_one_name(what):
    assert type_name(VALUES[what]) == name_of(numba.typeof(VALUES[what])) != ""


def test_other_types_have_other_names():
    names = [type_name(value) for key, value in VALUES.items() if key not in ("numpy's", "long")]
    assert len(set(names)) == len(names)
    shifted = np.frombuffer(bytes(49), np.uint8)[1:].view(np.float64)
    assert type_name(shifted) not in names  # numba's type says nothing of it, and machine code may rely on it
    assert type_name("text") == type_name((1.0, None)) == ""
    assert letters_of(numba.typeof((1.0, MATRIX, (2, False)))) == "(dA2(ib))"


# ------------------------------------------------------------------------------------------------- a small library

WANTED = """
import json, sys
import numpy as np
from rtmbs.integrators.newton import scaled_norm, contraction_rate
values = [scaled_norm(np.array(x), np.array(y), np.array(z), 0.5).hex() for x, y, z in json.loads(sys.argv[1])]
before = "numba" in sys.modules
missing = contraction_rate(0.5, 2.0)
print(json.dumps([values, before, missing, "numba" in sys.modules]))
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return the folder of a library of one kernel."""
    scratch, folder = tmp_path_factory.mktemp("scratch"), tmp_path_factory.mktemp("library")
    vector = numba.typeof(np.zeros(2))
    module = "rtmbs.integrators.newton"
    (scratch / "wishes").write_bytes(packed([(module, "scaled_norm", (vector, vector, vector, numba.float64))]))
    made = maker()
    made.compile_apart(str(scratch), [HERE])
    made.put_together(scratch, folder, [HERE])
    return folder


def test_a_kernel_of_the_library_needs_no_numba_and_has_its_bytes(small):
    rng = np.random.default_rng(35)
    cases = [
        (rng.normal(size=n).tolist(), rng.normal(size=n).tolist(), rng.uniform(0.5, 2.0, n).tolist())
        for n in (1, 2, 7, 40)
    ]
    values, before, missing, after = in_a_process(WANTED, small, json.dumps(cases))
    assert values == [scaled_norm(np.array(x), np.array(y), np.array(z), 0.5).hex() for x, y, z in cases]
    assert (before, after) == (False, True)  # the second kernel is none of the library
    assert missing == contraction_rate(0.5, 2.0)


BAD = """
import json
import numpy as np
from rtmbs.integrators.newton import scaled_norm
from rtmbs.jit.compiled import entry_for
two, found = np.ones(2), []
entry = entry_for(scaled_norm, (two, two, two, 1.0))
for last in ((), (np.ones((2, 2)), 1.0), ("text", 1.0), (1.0, 1.0), (two, two)):
    try:
        entry(two, two, *last)
    except TypeError as error:
        found.append(str(error))
print(json.dumps([found, entry(two, two, two, 1.0)]))
"""


def test_a_wrong_call_of_machine_code_is_refused(small):
    found, value = in_a_process(BAD, small)
    assert len(found) == 5
    assert "another number of arguments" in found[0]
    assert "another rank" in found[1]
    assert value == scaled_norm(np.ones(2), np.ones(2), np.ones(2), 1.0)


def test_a_library_of_other_sources_is_not_used(small, tmp_path):
    """Neither one of another text, nor a damaged one, nor none."""
    code = "import json; from rtmbs.jit.compiled import is_prebuilt; print(json.dumps(is_prebuilt()))"
    assert in_a_process(code, small)
    for name, text in (("other", '{"sources": "other", "kernels": {}}'), ("damaged", "{")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernels.json").write_text(text)
        shutil.copy(small / f"{HERE}.so", tmp_path / name)
        assert not in_a_process(code, tmp_path / name)
    (tmp_path / "cut").mkdir()
    shutil.copy(small / "kernels.json", tmp_path / "cut")
    (tmp_path / "cut" / f"{HERE}.so").write_bytes((small / f"{HERE}.so").read_bytes()[:1000])
    assert not in_a_process(code, tmp_path / "cut")
    assert not in_a_process(code, "numba")


PICKLED = """
import copy, json, pickle
from rtmbs.integrators.newton import scaled_norm
print(json.dumps([copy.deepcopy(scaled_norm) is scaled_norm, pickle.loads(pickle.dumps(scaled_norm)) is scaled_norm]))
"""


def test_a_kernel_is_copied_and_pickled_by_its_name(small):
    assert in_a_process(PICKLED, small) == [True, True]


# ------------------------------------------------------------------------------------------------ the whole library

RUN = """
import json, sys
from rtmbs import Simulation, library
found = {}
for name, options in json.loads(sys.argv[1]):
    sim = Simulation(library.build(name, **options).compile(), h=1e-3)
    sim.run(0.2)
    sim.step()
    state = sim.state
    found[name] = b"".join(a.tobytes() for a in (state.z, state.zd, state.zdd, state.lam, state.R0)).hex()
print(json.dumps([found, "numba" in sys.modules]))
"""
EIGHT = [
    ("fourbar", {"ny": 4, "nz": 40}), ("bricard", {}), ("governor", {}), ("slider_crank", {}), ("driven_fourbar", {}),
    ("crank_rocker", {}), ("top", {}), ("windows", {}),
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The library that a wheel carries, for the processor of this machine."""
    folder = tmp_path_factory.mktemp("kernels")
    maker().main(folder, [HERE])
    return folder


@pytest.mark.slow
def test_eight_mechanisms_have_the_bytes_of_numba(whole):
    """One set of kernels, two ways to load."""
    words = json.dumps(EIGHT)
    found, numba_there = in_a_process(RUN, whole, words)
    assert not numba_there
    assert found == in_a_process(RUN, "numba", words)[0]


ROOMS = """
import json, sys

class NoNumba:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"{name} is not here")

sys.meta_path.insert(0, NoNumba())
from rtmbs.commands import further_kernels, warmup
runs = {one.__name__: one for one in (*further_kernels.TASKS.values(), *further_kernels.RUNS)}
failures = {}
for name, run in runs.items():
    try:
        run()
    except Exception as error:
        failures[name] = f"{type(error).__name__}: {error}"
print(json.dumps([len(runs), failures]))
"""


@pytest.mark.slow
def test_no_room_of_a_wheel_needs_numba(whole):
    """Methods, inputs, laws, sensitivities, recursion, kinematics, threads and analyses run where numba is not."""
    count, failures = in_a_process(ROOMS, whole)
    assert count >= 10
    assert failures == {}
