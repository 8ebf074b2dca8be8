"""Native libraries for x86-64-v2 and v3: the same bytes, and a refusal on a processor without AVX2."""

import shutil
import subprocess
from pathlib import Path

import pytest

import rtmbs
from bench.native_bytes import MECHANISMS, H, equal_steps
from bench.native_host import opened
from rtmbs.export.packages import exported, native_library
from rtmbs.library import build

pytestmark = pytest.mark.slow  # kernels are compiled for v3
V2, V3 = "x86_64_v2-linux", "x86_64_v3-linux"
INFORMATION = Path("/proc/cpuinfo")
AVX2 = INFORMATION.is_file() and " avx2 " in INFORMATION.read_text()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A compiled host in C for each target."""
    found = {}
    for target in (V2, V3):
        folder = tmp_path_factory.mktemp("processors") / target
        rtmbs.export_library(build("slider_crank").compile(), folder, outputs=["slider.position"], target=target)
        command = ["cc", "main.c", "-L.", "-lrtmbs", "-Wl,-rpath,$ORIGIN", "-o", "main"]
        subprocess.run(command, cwd=folder, check=True)
        found[target] = folder
    return found


def told(folder, *before):
    """Return the ended host after 200 steps, run by the words ``before`` it."""
    words = [*before, "./main", "spatial_slider_crank.rtm", "200"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


@pytest.mark.skipif(not AVX2, reason="the processor has no AVX2")
def test_both_give_the_same_bytes_as_python(folders):
    both = [told(folders[target]) for target in (V2, V3)]
    assert both[0].stdout == both[1].stdout
    assert "slider.position[x] = " in both[0].stdout
    one = MECHANISMS["car, two torques before every step"]
    sim = rtmbs.Simulation(one.make(), h=H)
    found = exported(sim, list(one.inputs), (), H, None)
    library = opened(native_library(found.instance, V3))
    assert library.rtmbs_target() == V3.encode()
    assert equal_steps(library, found, sim, 300, one.inputs) == 300


def test_a_processor_without_avx2_is_told_so(folders):
    emulator = shutil.which("qemu-x86_64")
    if not emulator:
        pytest.skip("qemu-user is not installed")
    old = (emulator, "-cpu", "Nehalem")
    assert "slider.position[x] = " in told(folders[V2], *old).stdout
    refused = told(folders[V3], *old)
    assert refused.returncode == 1
    assert "this library is for processors with AVX2" in refused.stderr
    assert V2 in refused.stderr
