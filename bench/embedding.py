"""Figures of docs/embedding.md: ``python -m bench.embedding [--bounded]``.

Bytes of the native library beside those of a Simulation, costs of a step in C and in an FMU, sizes, load time, memory
over a million steps, states that are saved and restored, and mutated files under AddressSanitizer. Times are processor
time, medians of 21 pairs in turn.
"""

import argparse
import copy
import random
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import rtmbs
from bench.native_host import Mechanism, opened
from rtmbs.export.mechanism_file import layout_header
from rtmbs.export.native_library import HOST, SOURCES, C, kernel_code, native_library
from rtmbs.export.packages import exported
from rtmbs.jit.native_code import TARGETS
from rtmbs.library import build

HERE = Path(__file__).parent
H = 1e-3
MECHANISMS = {
    "fourbar --ny 4 --nz 40": ("fourbar", {"ny": 4, "nz": 40}),
    "bricard": ("bricard", {}),
    "governor": ("governor", {}),
    "slider_crank": ("slider_crank", {}),
    "driven_fourbar": ("driven_fourbar", {}),
    "slider_crank, input before every step": ("slider_crank", {}),
    "engine mount, a law with a state": ("mount", {}),
    "car": ("car", {}),
}


def mount(t, k, p, s):
    """A spring, and a spring and a damper in a row beside it: a Maxwell element."""
    pull = p["series"] * (k.z - s["way"])
    return -p["spring"] * k.z - pull, pull / p["damper"]


def engine_mount():
    """Return a mass on a rail with a mount that has a state."""
    model = rtmbs.Model("engine mount")
    engine = model.add_body("engine", mass=80.0, inertia=(3.0, 4.0, 4.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 0, 1)), model.ground, engine)
    numbers = {"spring": 2e5, "series": 1e5, "damper": 3e3}
    model.add_force("mount", mount, joint="rail", states={"way": 0.0}, units={"way": "m"}, parameters=numbers)
    return model


def compiled(name, options):
    """Return the System of a mechanism of ``MECHANISMS``."""
    if name == "car":
        return rtmbs.vehicle.read("sedan", variant="from_models").compile()
    return engine_mount().compile() if name == "mount" else build(name, **options).compile()


FUZZED = ("slider_crank", "driven_fourbar", "top")


def state_bytes(sim):
    """Return the state of a Simulation as the native library keeps it."""
    state = sim.state
    arrays = (state.z, state.zd, state.zdd, state.lam, state.R0, state.memory["energy"], state.s, state.sd, state.u)
    return b"".join(array.tobytes() for array in (*arrays, state.u))


def compared(library, label, steps):
    """Print after how many steps the bytes of both worlds were still equal."""
    name, options = MECHANISMS[label]
    sim = rtmbs.Simulation(compiled(name, options), h=H)
    given = "input" in label
    it = Mechanism(library, exported(sim, ["gravity"] if given else (), (), H, None).file)
    rng, same = random.Random(35), 0
    for k in range(steps):
        if given:
            g = [rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0), -9.81 + rng.uniform(-1.0, 1.0)]
            sim.inputs["gravity"] = np.array(g)
            for axis, value in enumerate(g):
                it.set(f"gravity[{axis}]", value)
        taken = sim.step().outcome.accepted
        if taken != bool(library.rtmbs_taken(it.step())):
            print(f"bytes  {label}: outcomes differ at step {k + 1}")
            return
        if not taken or state_bytes(sim) != it.arrays:
            break
        same += 1
    print(f"bytes  {label}: equal over {same} of {steps} steps")


def costs(library_file, label, steps, scratch):
    """Print load time, times of a step and memory of one mechanism in a C host, beside the kernel in Python."""
    name, options = MECHANISMS[label]
    found = exported(build(name, **options).compile(), (), (), H, None)
    (scratch / "mechanism.rtm").write_bytes(found.file)
    program = scratch / "embedding"
    subprocess.run(
        ["cc", "-O2", f"-I{C}", f"-I{C / 'fmi'}", HERE / "embedding.c", "-ldl", "-o", program], check=True
    )  # fmt: skip
    words = [program, library_file, scratch / "mechanism.rtm", found.token, scratch, str(steps)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    load, many, single, communication, growth = map(float, done.stdout.split())
    kernel = kernel_time(rtmbs.Simulation(build(name, **options).compile(), h=H))
    print(
        f"costs  {label}: file {len(found.file)} bytes, load {load:.2f} ms; a step {many:.2f} us in one call, "
        f"{single:.2f} us in its own, {communication:.2f} us as fmi3DoStep; kernel of Python {kernel:.2f} us; memory "
        f"grows by {growth:.0f} kB over {steps} steps"
    )


def kernel_time(sim, steps=2000, rounds=7):
    """Return the processor time of a step of the first ``steps`` in kernel calls of Python [us]: runs in chunks."""
    times = []
    for _ in range(rounds):
        again = copy.copy(sim)
        begin = time.process_time()
        again.run(again.t + steps * H, record=rtmbs.At([again.t + steps * H]))
        times.append(1e6 * (time.process_time() - begin) / steps)
    return float(np.median(times))


def states(library, count):
    """Print at how many random points a saved state goes on with the same bytes in another instance."""
    content = exported(build("governor").compile(), (), (), H, None).file
    one, other, rng, same = Mechanism(library, content), Mechanism(library, content), random.Random(3), 0
    for _ in range(count):
        one.step(rng.randrange(1, 20))
        other.step(rng.randrange(0, 5))
        other.state = one.state
        further = one.state
        one.step(3)
        other.step(3)
        same += one.state == other.state
        one.state = further
    print(f"states {same} of {count} go on with the same bytes")


def fuzzed(name, count, scratch, seed=7):
    """Load mutated files of a mechanism, and call what a host may call, under AddressSanitizer; returns the process."""
    system = build(name).compile()
    outputs = ["energy.total", *(f"{body}.position" for body in list(system.bodies)[-1:])]
    found = exported(system, list(system.inputs)[:1], outputs, H, None)
    (scratch / "layout.h").write_text(layout_header(found.instance, rtmbs.__version__))
    (scratch / "fuzzed.rtm").write_bytes(found.file)
    code = kernel_code(found.instance)
    sources = [HERE / "fuzz_mechanism.c", *(C / one for one in SOURCES if not one.startswith("fmi"))]
    flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", f"-I{scratch}", f"-I{C}"]
    subprocess.run(["cc", *flags, *sources, code, "-lm", "-o", scratch / "fuzz"], check=True)
    return subprocess.run(
        [scratch / "fuzz", scratch / "fuzzed.rtm", str(count), str(seed)], capture_output=True, text=True, check=False
    )


def main():
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bounded", action="store_true", help="a tenth of the steps and files")
    parser.add_argument("--target", default=HOST, choices=[one for one in TARGETS if one.startswith("x86_64_v")])
    parser.add_argument("--only-bytes", action="store_true", help="compare the bytes of steps, and measure nothing")
    given = parser.parse_args()
    share = 10 if given.bounded else 1
    library_file = native_library(exported(build("top").compile(), (), (), H, None).instance, given.target)
    library = opened(library_file)
    print(f"library {library_file.stat().st_size} bytes")
    for label in MECHANISMS:
        compared(library, label, 10_000 // share)
    if given.only_bytes:
        return
    states(library, 1000 // share)
    with tempfile.TemporaryDirectory() as folder:
        for label in ("fourbar --ny 4 --nz 40", "slider_crank"):
            costs(library_file, label, 1_000_000 // share if label == "slider_crank" else 20_000 // share, Path(folder))
        for name in FUZZED:
            done = fuzzed(name, 100_000 // share, Path(folder))
            last = done.stderr.strip().splitlines()[-1:] or [""]
            print(f"fuzz   {name}: {done.stdout.strip()}, exit code {done.returncode} {last[0]}")


if __name__ == "__main__":
    main()
