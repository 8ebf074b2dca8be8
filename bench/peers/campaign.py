"""The measurements: every run in turns with the others, round after round, and medians over the rounds.

Seconds are those of the steps alone: models are built, first accelerations solved for and code loaded before.
"""

import importlib.metadata
import math
import os
import platform
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from tqdm import tqdm

from bench.peers.mechanism import LAYOUTS
from bench.peers.registry import JACOBIANS, KERNELS, PEERS, SMALL, Peer, work
from rtmbs.library import references

NY, NZ, T_END = 4, 40, 1.0
STEP = 5e-3  # of the table [s]
STEPS = (10e-3, 5e-3, 2e-3, 1e-3, 0.5e-3)  # of the plot [s]
ROUNDS = 5
UNDISTURBED = 0.95  # share of its core that a worker has on a quiet machine

Record = dict[str, Any]
Job = tuple[Peer, tuple[Any, ...]]  # a worker and its arguments


def measure(rounds: int, steps: Sequence[float], nz: int = NZ, only: Sequence[str] = ()) -> Record:
    """Return the runs, the kernels, the Jacobians, the small mechanisms, and the machine.

    only: names of modules; nothing else is measured.
    """
    peers, kernels, jacobians, small = (available(group, only) for group in (PEERS, KERNELS, JACOBIANS, SMALL))
    jobs: list[Job] = [
        (peer, (layout, NY, nz, h, T_END))
        for h in steps
        for layout in LAYOUTS
        for peer in peers
        if layout in peer.layouts
    ]
    jobs += [(peer, (layout, NY, nz)) for layout in LAYOUTS for peer in (*kernels, *jacobians)]
    jobs += [(peer, (LAYOUTS[0], 1, 1)) for peer in small]
    answers, disturbed = asked(jobs, rounds)
    return {
        "machine": machine(),
        "disturbed": [disturbed, sum(len(found) for found in answers.values())],
        "rounds": rounds,
        "nz": nz,
        "runs": [run(*job, found, nz) for job, found in answers.items() if job[0] in PEERS],
        "kernels": [medians(*job, found) for job, found in answers.items() if job[0] in KERNELS],
        "jacobians": [medians(*job, found) for job, found in answers.items() if job[0] in JACOBIANS],
        "small": [medians(*job, found) for job, found in answers.items() if job[0] in SMALL],
    }


def asked(jobs: list[Job], rounds: int) -> tuple[dict[Job, list[Record]], int]:
    """Return what the workers answered, every job once a round, and how many others kept from their core."""
    answers: dict[Job, list[Record]] = {}
    disturbed = 0
    for peer, arguments in tqdm(jobs * rounds, desc="peers", unit="run", disable=None):
        try:
            answer, share = work(peer, *arguments)
            answers.setdefault((peer, arguments), []).append(answer)
            disturbed += share < UNDISTURBED
        except Exception as error:  # noqa: BLE001  a peer that fails is a line in the log, not the end of the rest
            print(f"{peer.name()} {arguments}: {error}", file=sys.stderr)
    return answers, disturbed


def available(peers: Sequence[Peer], only: Sequence[str] = ()) -> list[Peer]:
    """Return those that can be measured, of those that are wanted; say which cannot."""
    wanted = [peer for peer in peers if not only or peer.module in only]
    for peer in wanted:
        if missing := peer.missing():
            print(f"{peer.label.replace(' *', '')}: {missing}, skipped", file=sys.stderr)
    return [peer for peer in wanted if not peer.missing()]


def added(record: Record, more: Record) -> Record:
    """Return a campaign with some measurements in the place of its own, and a note of which were made later."""
    found = {**record, "later": sorted({*record.get("later", []), *(entry["peer"] for entry in more["runs"])})}
    for group in ("runs", "kernels", "jacobians", "small"):
        new = {key_of(entry): entry for entry in more[group]}
        found[group] = [new.pop(key_of(entry), entry) for entry in record[group]] + list(new.values())
    return found


def key_of(entry: Record) -> tuple[Any, ...]:
    """Return what tells a measurement from others of its group."""
    return entry["module"], entry["layout"], entry.get("h")


@cache
def exact_angles(layout: str, nz: int) -> tuple[float, ...]:
    """Return the angles of the rows at the end [rad]; every program is compared with them."""
    return tuple(references.fourbar(NY, nz, T_END, layout).q.tolist())


def run(peer: Peer, arguments: tuple[Any, ...], answers: list[Record], nz: int) -> Record:
    """Return the medians of the same run."""
    layout, h, theta = arguments[0], arguments[3], answers[0]["theta"]
    exact = exact_angles(layout, nz)
    return {
        "peer": peer.name(),
        "module": peer.module,
        "layout": layout,
        "h": h,
        "seconds": median(answer["seconds"] for answer in answers),
        "spread": [min(answer["seconds"] for answer in answers), max(answer["seconds"] for answer in answers)],
        "error": abs(theta[0] - exact[0]),
        "error_max": max(abs(found - right) for found, right in zip(theta, exact, strict=True)),
        "gap": max(answers[0]["loop_gap"], answers[0]["pin_gap"]),
        "good": math.isfinite(theta[0]),
    }


def medians(peer: Peer, arguments: tuple[Any, ...], answers: list[Record]) -> Record:
    """Return the medians of all numbers of an answer."""
    values = {name: median(answer[name] for answer in answers) for name in answers[0]}
    return {"peer": peer.name(), "module": peer.module, "layout": arguments[0], "values": values}


def machine() -> str:
    """Return processor, cores, system, Python and what compiles rtmbs in one line."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    versions = ", ".join(f"{name} {importlib.metadata.version(name.lower())}" for name in ("NumPy", "numba"))
    python = f"Python {platform.python_version()}, {versions}"
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, {python}"
