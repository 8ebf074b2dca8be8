"""Processes killed while they save a state or a result: the older file or the newer one is there, whole."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from rtmbs import State, load_result
from rtmbs.errors import RtmbsError

LONGEST = 0.03  # [s] that a process saves before it is killed; hundreds of saves
CHILD = """
import sys, itertools
from pathlib import Path
import numpy as np
from rtmbs.results.channel import Source
from rtmbs.results.result import Result
from rtmbs.state import State
folder, size = Path(sys.argv[1]), int(sys.argv[2])
def arrays(k):
    return np.full(size, float(k))
def state(k):
    a = arrays(k)
    R0, energy = np.zeros((0, 3, 3)), np.full((size, 2), float(k))
    return State("kills", 0.0, k, 1e-3, a, a, a, a, a + 1.0, R0, a, energy)
def result(k):
    return Result({name: Source((), "s", lambda: arrays(k)) for name in ("t", "a", "b")}, "kills")
state(0).save(folder / "state"), result(0).save(folder / "result")
print("ready", flush=True)
sys.stdin.readline()
for k in itertools.count(1):
    state(k).save(folder / "state")
    result(k).save(folder / "result")
"""


def run(cases: int, seed: int) -> Tally:
    """Kill ``cases`` processes, several at a time, from ``seed`` on."""
    tally = Tally()
    for first in range(seed, seed + cases, AT_ONCE):
        with tempfile.TemporaryDirectory() as folder:
            numbers = range(first, min(first + AT_ONCE, seed + cases))
            children = [start(Path(folder) / str(number), number) for number in numbers]
            for number, child in zip(numbers, children, strict=True):
                killed(child, np.random.default_rng(number))
                for wrong in found(Path(folder) / str(number)) or [""]:
                    tally.fail(f"seed {number}: {wrong}") if wrong else tally.survive()
    return tally


AT_ONCE = 4


def start(folder: Path, seed: int) -> subprocess.Popen[str]:
    """Return a process that is about to save again and again into ``folder``."""
    folder.mkdir()
    size = int(np.random.default_rng(seed).choice((10, 1000, 100_000)))
    command = [sys.executable, "-c", CHILD, str(folder), str(size)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def killed(child: subprocess.Popen[str], rng: np.random.Generator) -> None:
    """Let the process save for a random while, and kill it."""
    assert child.stdin
    assert child.stdout
    with child:
        assert child.stdout.readline() == "ready\n"
        child.stdin.write("\n")
        child.stdin.flush()
        time.sleep(rng.uniform(0.0, LONGEST))
        child.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)


def found(folder: Path) -> list[str]:
    """Return what is wrong with the files that a killed process left."""
    wrong = []
    try:
        state = State.load(folder / "state")
        if any(np.any(values != state.k) for values in (state.z, state.lam, state.u)):
            wrong.append("a state of two saves")
    except RtmbsError as error:
        wrong.append(str(error))
    try:
        result = load_result(folder / "result")
        if any(np.any(result[name] != result["t"][0]) for name in result):
            wrong.append("a result of two saves")
    except RtmbsError as error:
        wrong.append(str(error))
    return wrong


CAMPAIGN = Campaign(
    name="kills",
    claim="a process that is killed while it saves leaves the older file or the newer one, whole",
    full=1_000,
    bounded=60,
    run=run,
)
