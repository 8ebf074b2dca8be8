"""Records in blocks of random mechanisms, killed at random times: whole blocks are there, with the right numbers.

A case is a random mechanism with loops, a random block, a random choice of channels and of the file's kind. A process
records it and is killed. The file is then held against an ordinary record of the same run.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from rtmbs import load_result
from rtmbs.errors import ResultError
from rtmbs.results.result import Result
from tests.contracts.machines import closed_simulation

LONGEST = 2000  # steps
PATIENCE = 0.5  # [s] that a process goes on, at most

RECORDS = """
import sys
import numpy as np
from rtmbs.simulation.observers import recorder as channel_recorder
from tests.contracts.machines import closed_simulation
seed, block, path, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
channel_recorder.FEWEST, channel_recorder.BLOCK_BYTES = block, 0
sim = closed_simulation(seed, driven=False)
print("ready", flush=True)
sim.run(sim.h * 2000, channels=names, file=path)
"""


def run(cases: int, seed: int) -> Tally:
    """Kill ``cases`` processes, from ``seed`` on."""
    tally = Tally()
    for number in range(seed, seed + cases):
        with tempfile.TemporaryDirectory() as folder:
            try:
                one(number, Path(folder), tally)
            except AssertionError as error:
                tally.fail(f"seed {number}: {error}")
            else:
                tally.survive()
    return tally


def one(seed: int, folder: Path, tally: Tally) -> None:
    """Record, kill, and compare."""
    rng = np.random.default_rng(seed)
    block, path = int(rng.integers(5, 300)), folder / "run.h5"
    sim = closed_simulation(seed % 40, driven=False)
    offered = [name for name in sim.run(sim.h).names() if name != "t"]
    names = [str(name) for name in rng.choice(offered, size=int(rng.integers(1, 12)), replace=False)]
    command = [sys.executable, "-c", RECORDS, str(seed % 40), str(block), str(path), *names]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout
        assert child.stdout.readline() == "ready\n", "the process did not begin"
        time.sleep(rng.uniform(0.0, PATIENCE))
        child.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    try:
        found = load_result(path)
    except ResultError as error:
        told = str(error)
        if path.exists() and "holds no whole block" not in told and "is no result" not in told:
            raise AssertionError(told) from error
        return
    wanted = closed_simulation(seed % 40, driven=False)
    compare(found, wanted.run(wanted.h * (len(found) - 1)) if len(found) > 1 else None, names)
    tally.largest("share of the run that was kept", len(found) / (LONGEST + 1))


def compare(found: Result, wanted: Result | None, names: list[str]) -> None:
    """Raise AssertionError where a number differs."""
    assert found.names() == ["t", *names], "other channels"
    for name in names if wanted is not None else ():
        assert np.array_equal(found[name], wanted[name]), f"{name} differs"


if find_spec("h5py"):
    CAMPAIGN = Campaign(
        name="blocks",
        claim="a process that is killed while it records in blocks leaves whole blocks with the right numbers",
        full=400,
        bounded=25,
        run=run,
    )
