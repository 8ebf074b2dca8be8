"""Mutated mechanism files, and calls in any order, in the C sources of the native library under AddressSanitizer.

Kernels are made by numba, so AddressSanitizer does not see them. Pages that nobody may touch stand beside every array.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from bench.embedding import H, host
from bench.native_bytes import hopping_ball
from rtmbs.export.packages import HOST, exported
from rtmbs.library import build

FLAGS = ["-g", "-O1", "-std=gnu11", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
FILES = "fuzz_mechanism.c"

MECHANISMS: dict[str, Callable[[], rtmbs.Model]] = {
    **{name: partial(build, name) for name in ("slider_crank", "driven_fourbar", "top")},
    "hopping ball": hopping_ball,
}


def fuzzed(source: str, name: str, count: int, scratch: Path, seed: int) -> subprocess.CompletedProcess[str]:
    """Run ``count`` cases of a C program on the file of a mechanism, and return the ended process."""
    system = MECHANISMS[name]().compile()
    outputs = ["energy.total", *(f"{body}.position" for body in list(system.bodies)[-1:])]
    found = exported(system, list(system.inputs)[:1], outputs, H, None)
    file = scratch / "mechanism.rtm"
    file.write_bytes(found.file)
    host(found, HOST, source, scratch / "fuzz", FLAGS)
    given = [file] if source == FILES else [found.token, scratch]
    words = [scratch / "fuzz", *given, str(count), str(seed)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` files of four mechanisms, one with a contact and a stop; without a C compiler none is tried."""
    return tally_of(FILES, cases, seed, {1: "loaded files", 3: "calls"})


def tally_of(source: str, cases: int, seed: int, counted: dict[int, str]) -> Tally:
    """Try ``cases`` of a C program, and add the numbers of its line that ``counted`` names by their place."""
    tally, sums = Tally(), dict.fromkeys(counted.values(), 0)
    if not shutil.which("cc"):
        return tally
    with tempfile.TemporaryDirectory() as folder:
        for k, name in enumerate(MECHANISMS):
            done = fuzzed(source, name, max((cases + k) // len(MECHANISMS), 1), Path(folder), seed + k + 1)
            if done.returncode:
                said = done.stderr.strip().splitlines()[:1] or ["no message"]
                tally.fail(f"{name}, seed {seed + k + 1}: exit code {done.returncode}, {said[0]}")
                continue
            numbers = list(map(int, re.findall(r"\d+", done.stdout)))
            tally.tried, tally.survived = tally.tried + numbers[0], tally.survived + numbers[0]
            for place, what in counted.items():
                sums[what] += numbers[place]
    for what, number in sums.items():
        tally.largest(what, number)
    return tally


CAMPAIGN = Campaign(
    "mechanism_files",
    "a mutated mechanism file is refused with a sentence or loaded, and no sequence of calls makes the library crash",
    1_000_000,
    20_000,
    run,
)
