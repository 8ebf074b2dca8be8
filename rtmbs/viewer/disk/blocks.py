"""A block of a history on disk: consecutive states of one System with the poses of its bodies, in one file.

A file is whole or not there, so a kill at any moment leaves all blocks before.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ResultError
from rtmbs.files.archive import read_archive, write_archive
from rtmbs.files.errors import DamagedFile
from rtmbs.results.resample import resample_frames
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.semirecursive.workspace import workspace
from rtmbs.simulation import Simulation
from rtmbs.state import MEMORY, State
from rtmbs.system.origins import WORLD
from rtmbs.system.system import System
from rtmbs.viewer.disk.head import Places

Array = NDArray[np.float64]

FORMAT = 1
ENDING = ".block"
ARRAYS = (*OF_STATE, "sd")
CLOCK = ("t_ref", "k", "h")
TOGETHER = 16  # states whose frames are worked out together
POLITE = 8  # states after which the thread lets the steps go on
REST = 1e-5  # [s]
FRAME = 27  # numbers a dof that ``resample_frames`` writes: A (9), r (3), V, acc, o (3)


class Block(NamedTuple):
    """States of consecutive steps, the first of which is ``first``."""

    first: int
    states: list[State]


class BodyFrames:
    """Frames of the dofs that bodies sit on, at many states, in scratch of its own.

    The kernel runs without the interpreter's lock, so a thread may ask while steps are taken. What follows from the
    frames is worked out by whoever reads them (``replay.py``).
    """

    def __init__(self, sim: Simulation) -> None:
        dofs = np.array([body.dof for body in sim.system.bodies.values()])
        self.tables, self.ws = sim.equations.tables, workspace(sim.equations.tables)
        self.dofs = dofs[dofs != WORLD]
        self.first, end = (int(self.dofs.min()), int(self.dofs.max()) + 1) if len(self.dofs) else (0, 0)
        self.rows = np.zeros((TOGETHER, end - self.first, FRAME))

    def read(self, samples: Samples) -> tuple[NDArray[np.float32], Array]:
        """Return A (S, k, 9), dof axes to world, and r (S, k, 3) [m] of the dofs of all bodies that move."""
        count, own = len(samples.t), self.dofs - self.first
        A, r = np.empty((count, len(own), 9), np.float32), np.empty((count, len(own), 3))
        for start in range(0, count, TOGETHER):
            part = Samples(*(values[start : start + TOGETHER] for values in samples[: 1 + len(OF_STATE)]))
            rows = self.rows[: len(part.t)]
            resample_frames(self.tables, part, self.ws, self.first, rows)
            here = slice(start, start + len(rows))
            A[here], r[here] = rows[:, own, :9], rows[:, own, 9:12] + rows[:, own, 24:27]
        return A, r


def places_of(system: System) -> Places:
    """Return where the bodies of a System sit on their dofs."""
    bodies = list(system.bodies.values())
    moving = np.array([body.dof != WORLD for body in bodies])
    return Places(moving, np.array([body.rotation for body in bodies]), np.array([body.position for body in bodies]))


def alike(one: State, other: State) -> bool:
    """True when two states go into one block."""
    return one.fingerprint == other.fingerprint and one.memory.keys() == other.memory.keys()


def write_block(folder: Path, first: int, states: Sequence[State], frames: BodyFrames) -> Path:
    """Write states that are ``alike``, and return the file. Raises OSError when the disk is full."""
    stacked: dict[str, np.ndarray] = {}
    for number, state in enumerate(states):
        values = {name: getattr(state, name) for name in (*CLOCK, *ARRAYS)}
        values |= {MEMORY + name: value for name, value in state.memory.items()}
        for name, value in values.items():
            if number == 0:
                stacked[name] = np.zeros((len(states), *np.shape(value)), np.asarray(value).dtype)
            stacked[name][number] = value
        if number % POLITE == POLITE - 1:
            time.sleep(REST)
    t = stacked["t_ref"] + stacked["k"] * stacked["h"]
    A, r = frames.read(Samples(t, *(stacked[name] for name in OF_STATE)))
    path = folder / f"{first:012d}{ENDING}"
    entries = [("fingerprint", np.array(states[0].fingerprint)), ("A", A), ("r", r), *stacked.items()]
    write_archive(path, FORMAT, entries)
    return path


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return what a block holds by name; ResultError when it is damaged or gone."""
    try:
        return read_archive(path, FORMAT, "block of a history")
    except DamagedFile as error:
        raise ResultError(f"block {str(path)!r} cannot be read ({error})") from error


def read_block(path: Path) -> Block:
    """Return the states of a block; ResultError when it is damaged or gone."""
    data = read_arrays(path)
    for name in (*CLOCK, *ARRAYS, "fingerprint"):
        if name not in data or (name != "fingerprint" and data[name].shape[:1] != data["k"].shape[:1]):
            raise ResultError(f"block {str(path)!r} cannot be read (it lacks {name} of its states)")
    kept = [name.removeprefix(MEMORY) for name in data if name.startswith(MEMORY)]
    states = [
        State(
            fingerprint=str(data["fingerprint"]),
            t_ref=float(data["t_ref"][row]),
            k=int(data["k"][row]),
            h=float(data["h"][row]),
            memory={name: data[MEMORY + name][row].copy() for name in kept},
            **{name: data[name][row].copy() for name in ARRAYS},
        )
        for row in range(len(data["k"]))
    ]
    return Block(first_of(path), states)


def first_of(path: Path) -> int:
    """Return the first step of a block."""
    return int(path.stem)


def blocks_of(folder: Path) -> list[Path]:
    """Return the blocks of a story, oldest first."""
    return sorted(path for path in folder.glob(f"*{ENDING}") if path.stem.isdigit())
