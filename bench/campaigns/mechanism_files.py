"""Mutated mechanism files, and calls in any order, in the C sources of the native library under AddressSanitizer."""

import re
import shutil
import tempfile
from pathlib import Path

from bench.campaigns.campaign import Campaign, Tally
from bench.embedding import FUZZED, fuzzed


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` files of three mechanisms; without a C compiler none is tried."""
    tally, loaded = Tally(), 0
    if not shutil.which("cc"):
        return tally
    with tempfile.TemporaryDirectory() as folder:
        for k, name in enumerate(FUZZED):
            count = max((cases + k) // len(FUZZED), 1)
            done = fuzzed(name, count, Path(folder), seed + k + 1)
            if done.returncode:
                said = done.stderr.strip().splitlines()[:1] or ["no message"]
                tally.fail(f"{name}, seed {seed + k + 1}: exit code {done.returncode}, {said[0]}")
                continue
            files, found = map(int, re.findall(r"\d+", done.stdout))
            tally.tried, tally.survived, loaded = tally.tried + files, tally.survived + files, loaded + found
    tally.largest("files that were loaded", loaded)
    return tally


CAMPAIGN = Campaign(
    "mechanism_files",
    "a mutated mechanism file is refused with a sentence or loaded, and no sequence of calls makes the library crash",
    1_000_000,
    20_000,
    run,
)
