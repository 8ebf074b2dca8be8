"""Files that were made to harm: whole containers with right checksums, and fields that lie, for every reader.

Each reader gives back what its file says, or refuses it by name. It takes at most 2 s of processor time and 256 MB, and
reads no other file. A child process reads many files, and a watchdog ends one that does not answer.
"""

import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.campaigns import forged_archives, forged_meshes, forged_tables, forged_texts
from bench.campaigns.campaign import Campaign, Tally
from rtmbs.errors import RtmbsError
from rtmbs.results import hdf5_check

SECONDS = 2.0  # of processor time for a file
MEMORY = 256e6  # bytes above those of before
PATIENCE = 600.0  # [s] until a process that does not answer is ended: the machine may be busy
BATCH = 1000  # files of a process
ROOT = Path(__file__).parents[2]
OTHERS = ("/proc/", "/sys/", "/dev/null", sys.prefix, sys.base_prefix, str(ROOT))
ROOMS = (forged_archives, forged_meshes, forged_tables, forged_texts)


class Forger(NamedTuple):
    """Makes a file of one kind; ``forge`` writes it into a folder, and returns its path and what it says.

    Nothing where the file must be refused. ``read`` returns what a reader says of it.
    """

    name: str
    forge: Callable[[np.random.Generator, Path], tuple[Path, Any]]
    read: Callable[[Path], Any]


def forgers() -> list[Forger]:
    """Return the forgers of all rooms."""
    return [Forger(f"{room.__name__.rpartition('.')[2]} {forge.__name__}", forge, read)
            for room in ROOMS for forge, read in room.forgers()]  # fmt: skip


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` files from ``seed`` on."""
    tally, known = Tally(), forgers()
    number = seed
    while number < seed + cases:
        number = batch(known, number, min(number + BATCH, seed + cases), tally)
    return tally


def batch(known: list[Forger], first: int, end: int, tally: Tally) -> int:
    """Let one process read files, and return the number of the first one that it did not answer for."""
    words = [sys.executable, "-m", "bench.campaigns.forged_files", str(first), str(end)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)
    assert process.stdout is not None
    out = process.stdout.fileno()
    number, text = first, b""
    while number < end:
        ready = select.select([out], [], [], PATIENCE)[0]
        more = os.read(out, 65536) if ready else b""
        text += more
        while b"\n" in text:
            line, _, text = text.partition(b"\n")
            count(line.decode(), known, number, tally)
            number += 1
        if not more:
            break
    if number < end:
        tally.fail(
            f"seed {number}, {known[number % len(known)].name}: no answer in {PATIENCE:g} s, or the process died"
        )
        number += 1
    process.kill()
    process.wait()
    process.stdout.close()
    return number


def count(line: str, known: list[Forger], number: int, tally: Tally) -> None:
    """Take the answer of a process: processor time, memory, and what is wrong."""
    seconds, memory, wrong = line.split("\t", 2)
    name = known[number % len(known)].name
    tally.largest("seconds of a file", float(seconds))
    tally.largest("megabytes of a file", float(memory) / 1e6)
    if float(seconds) > SECONDS:
        wrong += f" took {seconds} s"
    if float(memory) > MEMORY:
        wrong += f" took {memory} bytes"
    if wrong:
        tally.fail(f"seed {number}, {name}: {wrong}")
    else:
        tally.survive()


def child(first: int, end: int) -> None:
    """Read files, and write a line for each."""
    hdf5_check.look = forked_look
    known = forgers()
    strays: list[str] = []
    allowed = [*OTHERS]
    sys.addaudithook(lambda event, values: watch(event, values, allowed, strays))
    for number in range(first, end):
        with tempfile.TemporaryDirectory() as folder:
            allowed[len(OTHERS) :] = [folder]
            seconds, memory, wrong = one(known[number % len(known)], number, Path(folder), strays)
        line = " ".join(f"{wrong}".split())[:300]
        os.write(1, f"{seconds:.3f}\t{memory}\t{line}\n".encode(errors="replace"))


def watch(event: str, values: tuple[Any, ...], allowed: list[str], strays: list[str]) -> None:
    """Note a file that is opened and is not one of ``allowed``."""
    if event == "open" and isinstance(values[0], str) and not os.path.abspath(values[0]).startswith(tuple(allowed)):
        strays.append(values[0])


def one(forger: Forger, number: int, folder: Path, strays: list[str]) -> tuple[float, int, str]:
    """Forge and read a file; return processor time [s], memory [bytes], and what is wrong."""
    path, truth = forger.forge(np.random.default_rng(number), folder)
    strays.clear()
    before, begun = peak(), spent()
    wrong = judged(forger.read, path, truth)
    return spent() - begun, peak() - before, wrong or (f"it read {strays[0]}" if strays else "")


def judged(read: Callable[[Path], Any], path: Path, truth: Any) -> str:
    """Return what is wrong with how a file is read."""
    try:
        found = read(path)
    except RtmbsError as error:
        return "" if path.name in str(error) or path.parent.name in str(error) else f"it is not named: {error}"
    except BaseException as error:  # noqa: BLE001 - any other one is what is looked for
        return f"{type(error).__name__}: {error}"
    if truth is None:
        return "it was taken"
    return "" if same(found, truth) else "it was taken with other contents"


def same(found: Any, truth: Any) -> bool:
    """True for equal contents, arrays included."""
    if isinstance(truth, np.ndarray):
        return np.shape(found) == truth.shape and np.allclose(found, truth, rtol=1e-6, atol=1e-9)
    return bool(truth == found)


def peak() -> int:
    """Return the largest memory of this process so far [bytes]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def spent() -> float:
    """Return the processor time of this process and of those that it waited for [s]."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def forked_look(path: Path, first: int | None) -> str:
    """Look at an HDF5 file as ``hdf5_check.look`` does, in a copy of this process: a new one takes longer to start."""
    import h5py

    out, into = os.pipe()
    process = os.fork()
    if process == 0:
        hdf5_check.limit(os.path.getsize(path))
        os.write(into, hdf5_check.verdict(h5py, str(path), first).encode(errors="replace")[:1000])
        os._exit(0)
    os.close(into)
    end = time.monotonic() + PATIENCE / 2
    while os.waitpid(process, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            os.kill(process, signal.SIGKILL)
        time.sleep(5e-3)
    told = os.read(out, 1000).decode()
    os.close(out)
    return told or "HDF5 ends with it"


CAMPAIGN = Campaign(
    name="forged_files",
    claim="every reader gives back what a file says, or refuses it by name, in 2 s and 256 MB, and reads no other file",
    full=20_000,
    bounded=1_200,
    run=run,
)


if __name__ == "__main__":
    child(int(sys.argv[1]), int(sys.argv[2]))
