"""Libraries for other processors and systems: run under qemu-user and wine where they are here, else looked into."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.export.packages import PLATFORMS, ZIG, exported, native_library
from rtmbs.library import build

pytestmark = pytest.mark.slow  # kernels are compiled for each target
if find_spec("ziglang") is None:
    pytest.skip("the ziglang package is not installed", allow_module_level=True)

STEPS = 500
HOST = r"""
#include "rtmbs.h"
#include <stdio.h>
#if defined(_WIN32)
#include <windows.h>
#define OPEN(name) (void *)LoadLibraryA(name)
#define FIND(library, name) (void *)GetProcAddress(library, name)
#else
#include <dlfcn.h>
#define OPEN(name) dlopen(name, RTLD_NOW)
#define FIND(library, name) dlsym(library, name)
#endif
#define GET(name) __typeof__(&name) my_##name = (__typeof__(&name))FIND(library, #name); if (!my_##name) return 3
int main(int count, char **words) {
    void *library = OPEN(words[1]);
    if (!library) return 2;
    GET(rtmbs_load); GET(rtmbs_step); GET(rtmbs_output_value); GET(rtmbs_output_count); GET(rtmbs_free);
    char error[256];
    rtmbs_mechanism *it = my_rtmbs_load(words[2], error, sizeof error);
    if (!it) { puts(error); return 4; }
    my_rtmbs_free(it);
    it = my_rtmbs_load("m\xc3\xa9" "canisme \xce\xa9.rtm", error, sizeof error); /* UTF-8 */
    if (!it) { puts(error); return 5; }
    int status = my_rtmbs_step(it, 500);
    for (int k = 0; k < my_rtmbs_output_count(it); k++) printf("%.17g ", my_rtmbs_output_value(it, k));
    printf("\nstatus %d %s\n", status, FIND(library, "fmi3DoStep") && FIND(library, "fmi2DoStep") ? "with FMI" : "");
    my_rtmbs_free(it);
    return count - 3;
}
"""
RUNNERS = {  # by target: program, and what must be here beside it
    "aarch64-linux": (["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], Path("/usr/aarch64-linux-gnu/lib/libm.so.6")),
    "x86_64-windows": (["wine64"], Path("/usr/lib/wine/wine64")),
}
HEADS = {"aarch64-linux": b"\x7fELF", "x86_64-windows": b"MZ"}
OUTPUTS = ["slider.position", "rod.angular_velocity", "energy.total"]


@pytest.fixture(scope="module")
def found():
    """An exported mechanism."""
    return exported(build("slider_crank").compile(), (), OUTPUTS, 1e-3, None)


def runner(target):
    """Return the command that runs programs of a target; None where it is not here."""
    command, beside = RUNNERS[target]
    place = shutil.which(command[0]) or (str(beside) if beside.name == command[0] and beside.is_file() else None)
    return [place, *command[1:]] if place and beside.exists() else None


@pytest.mark.parametrize("target", RUNNERS)
def test_libraries_of_other_targets_give_the_numbers_of_this_machine(found, target, tmp_path):
    library = native_library(found.instance, target)
    content = library.read_bytes()
    assert content.startswith(HEADS[target])
    for name in (b"rtmbs_load", b"rtmbs_linearise", b"fmi2DoStep", b"fmi3DoStep"):
        assert name in content
    assert b"Py_" not in content
    if (run := runner(target)) is None:
        pytest.skip(f"{RUNNERS[target][0][0]} is not installed, so the library was looked into only")
    (tmp_path / "host.c").write_text(HOST)
    for name in ("mechanism.rtm", "mécanisme Ω.rtm"):
        (tmp_path / name).write_bytes(found.file)
    shutil.copyfile(library, tmp_path / library.name)
    header = Path(rtmbs.__file__).parent / "export" / "c"
    program = tmp_path / ("host.exe" if "windows" in target else "host")
    command = [sys.executable, "-m", "ziglang", "cc", "-target", ZIG[target], "-O1", f"-I{header}", "host.c"]
    subprocess.run([*command, "-o", program.name], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(
        [*run, program.name, f"./{library.name}", "mechanism.rtm"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    line, status = done.stdout.strip().splitlines()
    assert status.strip() == "status 0 with FMI"
    sim = rtmbs.Simulation(build("slider_crank").compile(), h=1e-3)
    for _ in range(STEPS):
        sim.step()
    wanted = np.concatenate([np.ravel(sim[name]) for name in OUTPUTS])
    assert np.allclose(np.array(line.split(), float), wanted, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("fmi", [2, 3])
def test_one_fmu_has_the_libraries_of_all_targets(found, tmp_path, fmi):
    fmpy = pytest.importorskip("fmpy")
    from fmpy.validation import validate_fmu

    targets = ["x86_64_v2-linux", *RUNNERS]
    system = build("slider_crank").compile()
    path = rtmbs.export_fmu(system, tmp_path / "all.fmu", fmi=fmi, outputs=OUTPUTS, h=1e-3, targets=targets)
    with zipfile.ZipFile(path) as archive:
        names = {Path(name).parent.name: name for name in archive.namelist() if name.startswith("binaries/")}
        held = {folder: archive.read(name) for folder, name in names.items()}
    wanted = {PLATFORMS[target][fmi == 2]: native_library(found.instance, target).read_bytes() for target in targets}
    assert held == wanted
    assert validate_fmu(str(path)) == []
    done = fmpy.simulate_fmu(str(path), stop_time=STEPS * 1e-3, output_interval=1e-3, output=["energy.total"])
    sim = rtmbs.Simulation(system, h=1e-3)
    sim.run(STEPS * 1e-3)
    assert done["energy.total"][-1] == sim["energy.total"]
