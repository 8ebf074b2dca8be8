"""Mutated files of robots: URDF, SDF, MJCF and YAML of loops with cut, doubled, exchanged and forged parts.

A file is read, or refused by an RtmbsError. No other exception, no file outside of its folder, at most two seconds of
processor time, and at most 256 MB of new Python objects. MJCF needs MuJoCo, and is left out without it.
"""

import importlib.util
import re
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs.errors import RtmbsError

FILES = Path(__file__).parents[2] / "tests" / "formats" / "files"
MOST_SECONDS, MOST_BYTES = 2.0, 256e6
MEASURED = 25  # every so many cases the memory is measured, which takes ten times as long
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
ODD = (
    "nan", "inf", "-1e400", "1e308", "", "0", "-0", "1 2", "x", "1e-320", "&lt;", "../../../etc/passwd", "/etc/passwd",
    "package://../x", "file:///dev/zero", "-1", "world", "ground", "__model__", "\u0007", "9" * 400,
)  # fmt: skip
INSERTED = (
    '<!DOCTYPE a [<!ENTITY b "c">]>', "&b;", "<a>" * 500, "</a>", "<joint/>", "<link/>", "<model/>", "<![CDATA[",
    '<mesh filename="/dev/zero"/>', "<pose>1e300 0 0 0 0 0</pose>", '<mimic joint="wrist"/>', "\x00", "\ufeff",
    '<include file="../../secret.xml"/>', "<include file='x'/>", '<frame name="upper"/>', "<!--",
)  # fmt: skip


def mutated(text: str, random: np.random.Generator) -> str:
    """Return a text with one to four changes."""
    for _ in range(random.integers(1, 5)):
        kind = random.integers(7)
        a, b = np.sort(random.integers(0, len(text) + 1, 2))
        if kind == 0:
            text = text[:a] + text[min(b, a + 200) :]
        elif kind == 1:
            text = text[:b] + text[a : min(b, a + 400)] + text[b:]
        elif kind == 2:
            text = text[:a]
        elif kind == 3 and (found := list(NUMBER.finditer(text))):
            one = found[random.integers(len(found))]
            text = text[: one.start()] + ODD[random.integers(len(ODD))] + text[one.end() :]
        elif kind == 4:
            quoted = list(re.finditer(r"\"([^\"]*)\"", text))
            if len(quoted) > 1:
                one, two = (quoted[k] for k in random.integers(len(quoted), size=2))
                text = text[: one.start(1)] + two[1] + text[one.end(1) :]
        elif kind == 5:
            text = text[:a] + INSERTED[random.integers(len(INSERTED))] + text[a:]
        elif (tags := list(re.finditer(r"</?(\w+)", text))) and len(tags) > 1:
            one, two = (tags[k] for k in random.integers(len(tags), size=2))
            text = text[: one.start(1)] + two[1] + text[one.end(1) :]
    return text


def case(seed: int, tally: Tally) -> str:
    """Return what is wrong with one mutated file, or nothing."""
    random = np.random.default_rng((seed, 381))
    with_mujoco = importlib.util.find_spec("mujoco") is not None
    known = sorted(path for path in FILES.iterdir() if with_mujoco or path.suffix != ".xml")
    source = known[random.integers(len(known))]
    text = mutated(source.read_text(encoding="utf-8"), random)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"robot{source.suffix}"
        path.write_text(text, encoding="utf-8", errors="replace")
        measured = seed % MEASURED == 0
        if measured:
            tracemalloc.start()
        start = time.process_time()
        said = outcome(path)
        seconds = time.process_time() - start
        if measured:
            tally.largest("memory [MB]", tracemalloc.get_traced_memory()[1] / 1e6)
            tracemalloc.stop()
        else:
            tally.largest("processor time [s]", seconds)
    if said:
        return f"{source.name}: {said}"
    if tally.worst.get("memory [MB]", 0.0) * 1e6 > MOST_BYTES:
        return f"{source.name}: more than {MOST_BYTES / 1e6:g} MB"
    return f"{source.name}: {seconds:.1f} s" if seconds > MOST_SECONDS and not measured else ""


def outcome(path: Path) -> str:
    """Read and compile a file; return the exception that no user should see, or nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rtmbs.read(path).compile()
    except RtmbsError:
        return ""
    except Exception as error:  # noqa: BLE001 - this is what the campaign looks for
        return f"{type(error).__name__}: {error}"
    return ""


CAMPAIGN = Campaign(
    "robot_files", "a mutated URDF, SDF or MJCF is read, or refused by an RtmbsError, in bounded time and memory",
    20_000, 600, lambda cases, seed: each(case, cases, seed),
)  # fmt: skip
