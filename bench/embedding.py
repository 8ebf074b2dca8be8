"""Figures of docs/embedding.md: ``python -m bench.embedding [--bounded] [--target x86_64_v3-linux]``.

Costs of a step in C and in an FMU over the kernel alone, sizes, load time, memory over a million steps, and states that
are saved and restored at random points. Times are processor time, medians of 41 turns. Bytes have a table of their own
(``bench.native_bytes``), mutated files and calls a campaign (``bench.campaigns mechanism_files``).
"""

import argparse
import copy
import random
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import rtmbs
from bench.documents import table
from bench.native_bytes import X86
from bench.native_host import Mechanism, opened
from rtmbs.export.instance import layout_header
from rtmbs.export.packages import HOST, SOURCES, C, Exported, exported, kernel_code, native_library, told_target
from rtmbs.library import build

HERE = Path(__file__).parent
H = 1e-3
TIMED = {  # label: name, options and steps of the library's mechanisms
    "four-bar 4 x 40": ("fourbar", {"ny": 4, "nz": 40}, 20_000),
    "four-bar 4 x 10": ("fourbar", {"ny": 4, "nz": 10}, 100_000),
    "slider-crank": ("slider_crank", {}, 1_000_000),
}


def host(found: Exported, target: str, source: str, program: Path, flags: list[str]) -> None:
    """Compile a C program of bench/ with the sources of the native library and its kernels."""
    (program.parent / "layout.h").write_text(layout_header(found.instance, rtmbs.__version__))
    code = kernel_code(found.instance, target)
    sources = [HERE / source, *(C / one for one in SOURCES)]
    includes = [*told_target(target), f"-I{program.parent}", f"-I{C}", f"-I{C / 'fmi'}"]
    subprocess.run(["cc", *flags, *includes, *sources, code, "-lm", "-o", program], check=True)


def costs(label: str, share: int, target: str, scratch: Path) -> list[str]:
    """Return a line of the table of costs."""
    name, options, steps = TIMED[label]
    system = build(name, **options).compile()
    found = exported(system, (), (), H, None)
    (scratch / "mechanism.rtm").write_bytes(found.file)
    host(found, target, "embedding.c", scratch / "embedding", ["-O2", "-std=gnu11", "-ffp-contract=off"])
    words = [scratch / "embedding", scratch / "mechanism.rtm", found.token, scratch, str(steps // share)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    load, kernel, many, single, communication, growth = map(float, done.stdout.split())
    python = kernel_time(rtmbs.Simulation(system, h=H), min(steps, 2000))
    numbers = (f"{kernel:.2f}", f"{python:.2f}", f"{many:+.3f}", f"{single:+.3f}", f"{communication:+.3f}")
    return [label, f"{len(found.file) / 1e6:.3f}", f"{load:.2f}", *numbers, f"{steps // share:,}", f"{growth:.0f}"]


def kernel_time(sim: rtmbs.Simulation, steps: int, rounds: int = 7) -> float:
    """Return the processor time of a step of the first ``steps`` in kernel calls of Python [us]: runs in chunks."""
    times = []
    for _ in range(rounds):
        again = copy.copy(sim)
        begin = time.process_time()
        again.run(again.t + steps * H, record=rtmbs.At([again.t + steps * H]))
        times.append(1e6 * (time.process_time() - begin) / steps)
    return float(np.median(times))


def states(library: Any, count: int) -> int:
    """Return at how many random points a saved state goes on with the same bytes in another instance."""
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
    return same


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bounded", action="store_true", help="a tenth of the steps")
    parser.add_argument("--target", default=HOST, choices=X86)
    given = parser.parse_args()
    share = 10 if given.bounded else 1
    file = native_library(exported(build("top").compile(), (), (), H, None).instance, given.target)
    print(f"target {given.target}, library {file.stat().st_size / 1e6:.3f} MB")
    count = 1000 // share
    print(f"saved states that go on with the same bytes: {states(opened(file), count)} of {count}\n")
    head = ["mechanism", "file [MB]", "load [ms]", "kernel in C [us]", "in Python [us]", "rtmbs_step(n) adds [us]"]
    head += ["rtmbs_step(1) adds [us]", "fmi3DoStep adds [us]", "steps", "memory grows [kB]"]
    with tempfile.TemporaryDirectory() as folder:
        print(table(head, [costs(label, share, given.target, Path(folder)) for label in TIMED]))


if __name__ == "__main__":
    main()
