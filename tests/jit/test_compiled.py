"""The compiled parts: what every kernel promises, the cache that follows its sources, the same numbers uncompiled."""

import ast
import importlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

import rtmbs
from rtmbs.integrators.newton import scaled_norm
from rtmbs.jit.cache_folder import PLACE, kernel_sources
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.deferred_kernel import Inner
from rtmbs.jit.dispatch import InnerDispatcher
from rtmbs.semirecursive.step import march
from tests.contracts.machines import LIBRARY, accepted_steps, closed_simulation, library_simulation
from tests.patience import LONGEST

PACKAGE = Path(rtmbs.__file__).parent
ROOT = PACKAGE.parent
WITHOUT = ("viewer", "gym", "drive")  # rooms that need more than the core


def of_numba(value):
    """Return numba's object of a deferred kernel; anything else as it is."""
    return value.numba if isinstance(value, Inner) else value


def kernels():
    """Return every kernel of the package by name."""
    found = {}
    for module in pkgutil.walk_packages([str(PACKAGE)], "rtmbs."):
        if module.name.split(".")[1] in WITHOUT or module.name.endswith("__main__"):
            continue
        for value in map(of_numba, vars(importlib.import_module(module.name)).values()):
            if isinstance(value, CPUDispatcher):
                found[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return found


KERNELS = kernels()


# ----------------------------------------------------------------------------------------------------------- promises


def test_no_kernel_can_allocate():
    """Without numba's memory runtime nothing that allocates compiles; no lock, no fast mathematics, NumPy's errors."""
    assert len(KERNELS) > 50
    for name, kernel in KERNELS.items():
        options = kernel.targetoptions
        assert options["_nrt"] is False, name
        assert options["nopython"] is True, name
        assert options["nogil"] is True, name
        assert options["error_model"] == "numpy", name
        assert not options.get("fastmath"), name
        assert not options.get("parallel"), name


def test_every_kernel_is_kept_in_the_folder_of_its_sources():
    for name, kernel in KERNELS.items():
        assert kernel._cache.cache_path == str(PLACE.folder), name
        assert kernel._cache.stamp == "", name
        assert Path(kernel.py_func.__code__.co_filename) in kernel_sources(), name


def test_kernels_call_each_other_by_name():
    """A jitted function captured by a factory, or given as an argument, would never hit the cache."""
    for name, kernel in KERNELS.items():
        function = kernel.py_func
        if kernel.targetoptions.get("inline") == "always" and not kernel.signatures:
            continue  # written into its caller: it has no machine code that could be kept
        assert function.__closure__ is None, name
        assert function.__defaults__ is None, name
        assert any(of_numba(known) is kernel for known in vars(sys.modules[function.__module__]).values()), name
        for signature in kernel.signatures:
            assert not any(isinstance(argument, numba.types.Dispatcher) for argument in signature), name


def test_inner_kernels_have_no_door():
    inner = [kernel for kernel in KERNELS.values() if isinstance(kernel, InnerDispatcher)]
    assert inner
    with pytest.raises(TypeError, match="inner kernel"):
        inner[0]()
    assert any(not isinstance(kernel, InnerDispatcher) for kernel in KERNELS.values())


def test_allocation_does_not_compile():
    from rtmbs.jit.compiled import kernel

    def allocate(x):
        return np.zeros(3) + x

    with pytest.raises(numba.core.errors.NumbaError):
        kernel_without_cache(kernel, allocate)(1.0)


def kernel_without_cache(kernel, function):
    """Decorate a function of this file without leaving it on disk."""
    dispatcher = kernel(function)
    dispatcher._cache = numba.core.caching.NullCache()
    return dispatcher


def test_numba_keeps_the_caches_of_others():
    """Kernels have a cache of their own, and nobody else's setting is touched."""
    assert str(PLACE.folder) not in str(numba.config.CACHE_DIR)


def test_one_compilation_serves_every_mechanism():
    """Types do not depend on the mechanism, nor on how its arrays came about."""
    for name in LIBRARY:
        accepted_steps(library_simulation(name), 2)
    sim = closed_simulation(0, alpha=1e9, projection_metric="mass")
    accepted_steps(sim, 2)
    sim.h = 5e-4
    accepted_steps(sim, 2)
    assert len(march.signatures) == 1


# ----------------------------------------------------------------------------------------------- nothing is allocated


def flat(records):
    """Return every array of nested records."""
    return [value for part in records for value in (flat(part) if isinstance(part, tuple) else [part])]


def arrays(sim):
    """Return the memory of everything that a step reads and writes."""
    states = [
        value for state in sim._store.states for value in (state.z, state.zd, state.zdd, state.lam, state.R0, state.u)
    ]
    tables = flat(sim.equations.tables)
    return sorted(value.ctypes.data for value in (*states, *tables, *sim.equations.ws, *sim.equations.work))


def test_steps_work_in_the_same_arrays():
    for sim in (library_simulation("driven_fourbar"), library_simulation("top"), closed_simulation(0)):
        before, pair = arrays(sim), {id(state) for state in sim._store.states}
        for _ in range(100):
            assert sim.step().outcome.accepted
            assert {id(state) for state in sim._store.states} == pair
        assert arrays(sim) == before


def test_steps_leave_no_memory_behind():
    """Free lists of the interpreter fill up first; from then on a step takes nothing, and holds no array twice."""
    sim = library_simulation("driven_fourbar")
    held = [*sim.equations.ws, *sim.equations.work, sim.state.z, sim.state.u]
    for _ in range(3000):
        sim.step()
    before, counts = sys.getallocatedblocks(), [sys.getrefcount(value) for value in held]
    for _ in range(3000):
        sim.step()
    assert sys.getallocatedblocks() - before < 1000, "blocks held, a third of one a step"
    assert [sys.getrefcount(value) for value in held] == counts


def test_the_system_never_changes():
    """Neither start nor steps, nor an assembly offset, write into what many simulations share."""
    for name in ("bricard", "driven_fourbar", "top"):
        sim = library_simulation(name)
        system = sim.system
        before = [value.tobytes() for value in flat(system.tables)]
        more = [getattr(system, field).tobytes() for field in ("z0", "zd0", "R0", "u0", "weights", "typical")]
        accepted_steps(sim, 20)
        sim.inputs["gravity"] = (1.0, 2.0, 3.0)
        accepted_steps(sim, 5)
        assert [value.tobytes() for value in flat(system.tables)] == before
        assert [getattr(system, f).tobytes() for f in ("z0", "zd0", "R0", "u0", "weights", "typical")] == more


# --------------------------------------------------------------------------------------------------- the cache folder

LEAF_CALLER = """
import json, sys
import numpy as np
from rtmbs.semirecursive import passes
from rtmbs.system.tables import Dofs
n = 3
dofs = Dofs(np.full(n, 2), np.arange(-1, n - 1), np.full(n, -1), np.full(n, 2), np.tile(np.eye(3), (n, 1, 1)),
              np.zeros(n, np.int64), np.zeros((n, 3)), np.eye(3), np.zeros(n),
              np.array([0, -1, -1]), np.ones(n), np.zeros((n, 3)), np.zeros((n, 3, 3)))
R0 = np.eye(3)[None].copy()
passes.commit_rotations(dofs, np.array([0.1, 1.2, 0.3]), R0)
stats = passes.commit_rotations.stats
print(json.dumps({"R0": R0.tolist(), "hits": sum(stats.cache_hits.values()),
                  "misses": sum(stats.cache_misses.values()), "file": passes.__file__}))
"""


def run_copy(code, folder, cache, **environment):
    """Run Python on a copy of the package with a cache of its own; return what it printed."""
    environment = {**os.environ, "RTMBS_CACHE_DIR": str(cache), "PYTHONPATH": str(folder), **environment}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("writable", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_an_edited_leaf_is_seen(tmp_path, writable):
    """numba looks only at the file of the function that is called; the folder looks at every kernel's text.

    So does the one that is taken when the chosen one cannot be written. numba would fall back to the sources' folders.
    """
    package, chosen, spare = tmp_path / "package", tmp_path / "cache", tmp_path / "spare"
    cache = chosen if writable else spare / f"rtmbs-{os.getuid()}"
    spare.mkdir()
    chosen.mkdir() if writable else chosen.touch()
    run = partial(run_copy, LEAF_CALLER, package, chosen, TMPDIR=str(spare))
    shutil.copytree(PACKAGE, package / "rtmbs")
    leaf = package / "rtmbs" / "numerics" / "spatial.py"
    text, name = leaf.read_text(encoding="utf-8"), "def dot3(a, b):\n"
    body = text.index("return", text.index(name))
    changed = text[:body] + "return 2.0 * a[0] * b[0]  # " + text[body:]

    first = run()
    assert Path(first["file"]).is_relative_to(package)
    assert first["misses"] == 1
    again = run()
    assert (again["R0"], again["hits"], again["misses"]) == (first["R0"], 1, 0)
    leaf.write_text(changed, encoding="utf-8")
    edited = run()
    assert edited["R0"] != first["R0"]
    assert edited["misses"] == 1
    leaf.write_text(text, encoding="utf-8")
    back = run()
    assert (back["R0"], back["hits"]) == (first["R0"], 1)
    assert len(list(cache.iterdir())) == 2
    assert not [path for path in package.rglob("*") if path.suffix in (".nbi", ".nbc")]


def test_every_file_with_a_kernel_is_a_kernel_source():
    sources = set(kernel_sources())
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"^@(?:\w*kernel|struct)\b", text, re.MULTILINE):
            assert path in sources, f"add the room of {path} to KERNEL_ROOMS, or the file to KERNEL_FILES"


def test_kernels_take_constants_from_kernel_sources_only():
    """A constant of another file is compiled into a kernel: a change of it must change the folder too."""
    sources = {dotted(path) for path in kernel_sources()}
    missing = {
        name for path in kernel_sources() for name in compiled_in(path) if name.rpartition(":")[0] not in sources
    }
    assert not missing, f"add the files of {sorted(missing)} to KERNEL_FILES"


def dotted(path):
    """Return the name of a module of the package by its file."""
    return ".".join(("rtmbs", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def compiled_in(path):
    """Yield ``module:name`` of what kernels of a file, or functions that make some, take from other modules."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported, assigned, used = {}, {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rtmbs."):
            imported |= {one.asname or one.name: (node.module, one.name) for one in node.names}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            assigned |= {one.id: node.value for target in targets for one in names_in(target)}
        elif isinstance(node, ast.FunctionDef) and makes_kernel(node):
            used |= {one.id for statement in node.body for one in names_in(statement)}
    for _ in assigned:  # constants of constants
        used |= {one.id for name in used & assigned.keys() for one in names_in(assigned[name])}
    for name in used & imported.keys():
        module, real = imported[name]
        inside = PACKAGE.joinpath(*module.split(".")[1:], f"{real}.py")
        yield f"{dotted(inside)}:{name}" if inside.exists() else f"{module}:{name}"


def names_in(node):
    """Return the names below a node, those of annotations left out."""
    notes = {id(sub) for one in ast.walk(node) for note in annotations(one) for sub in ast.walk(note)}
    return [one for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in notes]


def annotations(node):
    """Return the annotations that a node itself carries."""
    return [note for field in ("annotation", "returns") if (note := getattr(node, field, None)) is not None]


def makes_kernel(function):
    """True of a kernel, and of a function whose nested functions become kernels."""
    nested = any(isinstance(one, ast.FunctionDef) for one in ast.walk(function) if one is not function)
    return nested or any("kernel" in ast.unparse(one) for one in function.decorator_list)


@pytest.mark.parametrize(
    "file",
    ["__init__.py", "model/joints.py", "semirecursive/start/assembly.py", "system/compile.py", "system/pattern.py"],
)
def test_files_without_kernels_discard_none(file):
    assert PACKAGE / file not in kernel_sources()


# --------------------------------------------------------------------------------------------------------- uncompiled

MOTIONS = """
import json
from tests.contracts.machines import closed_simulation, accepted_steps, library_simulation
found = {}
for name, sim, steps in (
    ("crank_rocker", library_simulation("crank_rocker"), 4),
    ("driven_fourbar", library_simulation("driven_fourbar", projection_metric="mass", tangent_terms="exact"), 3),
    ("top", library_simulation("top", h=0.02), 12),
    ("closed", closed_simulation(2, tangent_terms="lagged"), 2),
):
    reports = accepted_steps(sim, steps)
    state = sim.state
    found[name] = {"counts": [[r.iterations, r.projections] for r in reports], "R0": state.R0.ravel().tolist(),
                   "z": state.z.tolist(), "zd": state.zd.tolist(), "zdd": state.zdd.tolist(), "lam": state.lam.tolist()}
import numba
found["disabled"] = bool(numba.config.DISABLE_JIT)
print(json.dumps(found))
"""


def test_uncompiled_kernels_give_the_same_numbers(tmp_path):
    """NUMBA_DISABLE_JIT=1: the same text run by Python. lam is alpha times rounding, so it is compared with alpha."""
    cache = PLACE.folder.parent if PLACE.folder else tmp_path
    plain = run_copy(MOTIONS, ROOT, cache, NUMBA_DISABLE_JIT="1")
    fast = run_copy(MOTIONS, ROOT, cache, NUMBA_DISABLE_JIT="0")
    assert (plain.pop("disabled"), fast.pop("disabled")) == (True, False)
    for name, expected in fast.items():
        found = plain[name]
        assert found["counts"] == expected["counts"], name
        for field, tolerance in {"z": 1e-12, "zd": 1e-12, "R0": 1e-12, "zdd": 1e-10, "lam": 1e-4}.items():
            size = np.abs(expected[field]).max(initial=1.0)
            np.testing.assert_allclose(found[field], expected[field], atol=tolerance * size, err_msg=f"{name} {field}")


# ------------------------------------------------------------------------------------------------------------ entries


def test_an_entry_is_the_kernel_for_its_types():
    dz, ones = np.array([3e-9, 4e-9]), np.ones(2)
    arguments = (dz, ones, 1e-9 * ones, 0.0)
    assert entry_for(scaled_norm, arguments)(*arguments) == scaled_norm(*arguments)
    assert scaled_norm(*arguments) == pytest.approx(np.sqrt(12.5))
