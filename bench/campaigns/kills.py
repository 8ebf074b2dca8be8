"""Processes killed while they save or record: the older file or the newer one is there, whole, and nothing lies.

Half of the processes save states and results again and again. The other half record: ``rtmbs run FILE --out PATH``, the
run and the file that it ends in, over and over. What a kill leaves beside the file is read too: a part of a file must
be refused in words.
"""

import csv
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from rtmbs import State, load_result
from rtmbs.errors import RtmbsError
from rtmbs.results.result import Result

AT_ONCE = 4
SAVING, RECORDING = 0.03, 0.3  # [s] that a process goes on before it is killed, at most: several files of either kind
SAMPLES = 101  # of a recorded run
SIZES = (10, 1000, 100_000)  # of the arrays that are saved
ENDINGS = (".npz", ".h5", ".csv") if find_spec("h5py") else (".npz", ".csv")

SAVES = """
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
    return State("kills", 0.0, k, 1e-3, a, a, a, a, R0, a, {"alpha": a + 1.0, "energy": energy}, a, a)
def result(k):
    return Result({name: Source((), "s", lambda: arrays(k)) for name in ("t", "a", "b")}, "kills")
state(0).save(folder / "state"), result(0).save(folder / "result")
print("ready", flush=True)
sys.stdin.readline()
for k in itertools.count(1):
    state(k).save(folder / "state")
    result(k).save(folder / "result")
"""

RECORDS = """
import contextlib, itertools, os, sys
from pathlib import Path
from rtmbs.commands.files import run_command as run
folder, ending = Path(sys.argv[1]), sys.argv[2]
def record(k):
    model = folder / "model.mks"
    model.write_text(f'''MODEL kills
SYSTEM (DYNAMIC ANALYSIS, ending time = 1, print interval = 0.01, gravity = (0, 0, 0));
BODY block (mass = 2, inertia = (1, 1, 1), center of gravity = (0, 0, 0));
translational joint rail (body = ground, body = block, axis = (1, 0, 0));
initial rail (rate = {k});
ENDMODEL
''')
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        run([str(model), "--out", str(folder / ("record" + ending))])
record(1)
print("ready", flush=True)
sys.stdin.readline()
for k in itertools.count(2):
    record(k)
"""


def run(cases: int, seed: int) -> Tally:
    """Kill ``cases`` processes, several at a time, from ``seed`` on."""
    tally = Tally()
    for first in range(seed, seed + cases, AT_ONCE):
        with tempfile.TemporaryDirectory() as folder:
            numbers = range(first, min(first + AT_ONCE, seed + cases))
            children = [start(Path(folder) / str(number), number) for number in numbers]
            for number, child in zip(numbers, children, strict=True):
                killed(child, number)
                for wrong in list(found(Path(folder) / str(number))) or [""]:
                    tally.fail(f"seed {number}: {wrong}") if wrong else tally.survive()
    return tally


def records(seed: int) -> bool:
    """True when the process of this case records; the others save."""
    return seed % 2 == 1


def start(folder: Path, seed: int) -> subprocess.Popen[str]:
    """Return a process that is about to write again and again into ``folder``."""
    folder.mkdir()
    what = ENDINGS[seed // 2 % len(ENDINGS)] if records(seed) else str(np.random.default_rng(seed).choice(SIZES))
    command = [sys.executable, "-c", RECORDS if records(seed) else SAVES, str(folder), what]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def killed(child: subprocess.Popen[str], seed: int) -> None:
    """Let the process go on for a random while, and kill it."""
    assert child.stdin
    assert child.stdout
    with child:
        assert child.stdout.readline() == "ready\n"
        child.stdin.write("\n")
        child.stdin.flush()
        time.sleep(np.random.default_rng(seed).uniform(0.0, RECORDING if records(seed) else SAVING))
        child.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)


def found(folder: Path) -> Iterator[str]:
    """Yield what is wrong with the files that a killed process left."""
    try:
        if (folder / "state").exists():
            yield from wrong_state(State.load(folder / "state"))
            yield from wrong_saved(load_result(folder / "result"))
        for path in folder.glob("record.*"):
            yield from wrong_table(path) if path.suffix == ".csv" else wrong_record(load_result(path))
    except RtmbsError as error:
        yield str(error)
    for part in folder.glob(".*.part"):
        yield from wrong_part(part)


def wrong_state(state: State) -> Iterator[str]:
    """A state holds its number everywhere."""
    if any(np.any(values != state.k) for values in (state.z, state.lam, state.u)):
        yield "a state of two saves"


def wrong_saved(result: Result) -> Iterator[str]:
    """A result that was saved holds its number everywhere."""
    if any(np.any(result[name] != result["t"][0]) for name in result):
        yield "a result of two saves"


def wrong_record(result: Result) -> Iterator[str]:
    """A run is that of one block: its way is its rate times the time, to the end."""
    if len(result) != SAMPLES or not moves_on(result.t, result["rail.displacement"], result["rail.rate"]):
        yield "a record that is not one run"


def wrong_table(path: Path) -> Iterator[str]:
    """A table has all its rows, and they are those of one run."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    if len(rows) != 1 + SAMPLES or len({len(row) for row in rows}) > 1:
        yield f"a table of {len(rows)} rows"
        return
    values = dict(zip(rows[0], np.array(rows[1:], float).T, strict=True))
    way, rate = values["rail.displacement (m)"], values["rail.rate (m/s)"]
    if not moves_on(values["t (s)"], way, rate):
        yield "a table that is not one run"


def moves_on(t: np.ndarray, way: np.ndarray, rate: np.ndarray) -> bool:
    """True when a block went its way at one rate, a whole number of m/s."""
    return bool(np.all(np.abs(rate - np.round(rate[0])) < 1e-9) and np.all(np.abs(way - rate[0] * t) < 1e-9))


def wrong_part(part: Path) -> Iterator[str]:
    """What is left of a file that was being written is refused by name, or whole, whatever it is taken for."""
    for ending in (".part", *ENDINGS):
        if ending == ".csv":  # a table is not read again
            continue
        taken = part.rename(part.with_name(f"left{ending}"))
        for load in (State.load, load_result):
            try:
                load(taken)
            except RtmbsError as error:
                if not re.search(re.escape(taken.name), str(error)):
                    yield f"a part of a file is refused without its name: {error}"
        part = taken


CAMPAIGN = Campaign(
    name="kills",
    claim="a process that is killed while it saves or records leaves the older file or the newer one, whole",
    full=1_000,
    bounded=60,
    run=run,
)
