"""The package without POSIX modules and calls: imports, a run, files; and the table of docs/portability.md."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

from tests.patience import LONGEST
from tests.trees import tree_of

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "rtmbs"
PAGE = (ROOT / "docs" / "portability.md").read_text(encoding="utf-8")
MODULES = ("fcntl", "grp", "posix_ipc", "pwd", "resource", "termios")  # of POSIX systems
CALLS = {
    "os": ("fork", "forkpty", "getuid", "geteuid", "killpg", "sched_getaffinity", "setsid", "sysconf"),
    "signal": ("ITIMER_PROF", "alarm", "pthread_kill", "setitimer", "sigwait"),
}
OTHERS = {
    "os": ("sched_yield",),
    "signal": ("SIGALRM", "SIGKILL", "SIGPROF"),
}  # not hidden: kernels of the cache call it
FOLDERS = ("/proc/", "/sys/", "/tmp/.X11")

HIDDEN = f"""
import builtins, importlib, json, os, pkgutil, signal, sys, tempfile
from pathlib import Path

for name in {MODULES!r}:
    sys.modules[name] = None  # an import raises ModuleNotFoundError
for module, names in ((os, {CALLS["os"]!r}), (signal, {CALLS["signal"]!r})):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""

IMPORTS = """
import rtmbs
found = []
for one in pkgutil.walk_packages(rtmbs.__path__, "rtmbs."):
    if not one.name.endswith("__main__") and not one.name.startswith((
        "rtmbs.viewer.qt", "rtmbs.drive.window", "rtmbs.gym.environments", "rtmbs.recursive.motion"
    )):
        importlib.import_module(one.name)
        found.append(one.name)
print(json.dumps(found))
"""

RUNS = """
import rtmbs
from rtmbs.jit.cache_folder import PLACE
from rtmbs.jit.compile_progress import usable_cores
from rtmbs.core.bounds import machine_memory
from rtmbs.results.hdf5_check import look

sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
result = sim.run(0.1)
with tempfile.TemporaryDirectory() as folder:
    state = Path(folder, "state.npz")
    sim.state.save(state)
    loaded = rtmbs.State.load(state)
    result.save(Path(folder, "run.h5"))
    told = look(Path(folder, "run.h5"), None)
    again = rtmbs.load_result(Path(folder, "run.h5"))
print(json.dumps({
    "t": sim.t, "z": sim.state.z.tolist(), "loaded": loaded.z.tolist(), "folder": PLACE.folder is not None,
    "cores": usable_cores(), "memory": machine_memory() > 0.0, "told": told, "samples": len(again.t),
}))
"""


def hidden(program):
    """Return what a process without these modules and calls prints."""
    command = [sys.executable, "-c", HIDDEN + program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_module_imports_without_them():
    assert len(hidden(IMPORTS)) > 300


def test_a_run_is_the_same_without_them():
    import rtmbs

    found = hidden(RUNS)
    sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
    sim.run(0.1)
    assert found["z"] == sim.state.z.tolist() == found["loaded"]
    assert found["t"] == sim.t
    assert (found["told"], found["samples"]) == ("good", 101)
    assert found["cores"] >= 1
    assert found["memory"]


def uses(path):
    """Return whether a file names what only some systems have."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import) and any(alias.name.partition(".")[0] in MODULES for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES:
            return True
        owner = ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""
        if owner in CALLS and node.attr in (*CALLS[owner], *OTHERS[owner]):
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(FOLDERS):
            return True
    return False


def test_the_page_names_every_file():
    named = {ROOT / name for name in re.findall(r"`(rtmbs/[\w/]+\.py)`", PAGE)}
    assert all(path.exists() for path in named), sorted(str(path) for path in named if not path.exists())
    found = {path for path in PACKAGE.rglob("*.py") if uses(path)}
    assert found, "nothing is found any more: the search is wrong"
    assert found <= named, f"say in docs/portability.md what {sorted(map(str, found - named))} do elsewhere"


def test_nothing_forks():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Attribute) and node.attr in ("fork", "forkpty", "ForkingPickler"):
                raise AssertionError(f"{path}:{node.lineno}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get_context":
                assert [ast.unparse(one) for one in node.args] == ["'spawn'"], f"{path}:{node.lineno}"
