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
from rtmbs.files.archive import DamagedFile, read_archive, write_archive
from rtmbs.results.motion import quaternions
from rtmbs.results.resample import resample_frames
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.semirecursive.workspace import workspace
from rtmbs.simulation import Simulation
from rtmbs.state import MEMORY, State
from rtmbs.system.origins import WORLD

Array = NDArray[np.float64]

FORMAT = 1
ENDING = ".block"
ARRAYS = (*OF_STATE, "sd")
CLOCK = ("t_ref", "k", "h")
POLITE = 8  # states after which the thread lets the steps go on
REST = 1e-5  # [s]
FRAME = 27  # numbers a dof that ``resample_frames`` writes: A (9), r (3), V, acc, o (3)


class Block(NamedTuple):
    """States of consecutive steps, the first of which is ``first``."""

    first: int
    states: list[State]


class BodyFrames:
    """Origins and orientations of the bodies of a Simulation at many states, in scratch of its own.

    The kernel runs without the interpreter's lock, so a thread may ask while steps are taken.
    """

    def __init__(self, sim: Simulation) -> None:
        bodies = list(sim.system.bodies.values())
        self.tables = sim.equations.tables
        self.dofs = np.array([body.dof for body in bodies])
        self.rotations = np.array([body.rotation for body in bodies])
        self.positions = np.array([body.position for body in bodies])
        self.ws = workspace(self.tables)

    def read(self, samples: Samples) -> tuple[Array, Array]:
        """Return r (S, nb, 3) [m] and quaternions (S, nb, 4) of the bodies, ground first."""
        moving = self.dofs[self.dofs != WORLD]
        first, last = (int(moving.min()), int(moving.max())) if len(moving) else (0, -1)
        rows = np.zeros((len(samples.t), last - first + 1, FRAME))
        resample_frames(self.tables, samples, self.ws, first, rows)
        A = np.broadcast_to(np.eye(3), (len(samples.t), len(self.dofs), 3, 3)).copy()
        r = np.zeros((len(samples.t), len(self.dofs), 3))
        own = self.dofs != WORLD
        of_dof = rows[:, self.dofs[own] - first]
        A[:, own] = of_dof[..., :9].reshape(*of_dof.shape[:2], 3, 3)
        r[:, own] = of_dof[..., 9:12] + of_dof[..., 24:27]
        r += np.einsum("sbij,bj->sbi", A, self.positions)
        A = A @ self.rotations
        return r, np.stack([quaternions(A[:, body]) for body in range(A.shape[1])], axis=1)


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
    r, q = frames.read(Samples(t, *(stacked[name] for name in OF_STATE)))
    path = folder / f"{first:012d}{ENDING}"
    entries = [("fingerprint", np.array(states[0].fingerprint)), ("r", r), ("q", q), *stacked.items()]
    write_archive(path, FORMAT, entries)
    return path


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return what a block holds by name; ResultError when it is damaged or gone."""
    try:
        return read_archive(path, FORMAT, "block of a history")
    except (DamagedFile, FileNotFoundError) as error:
        raise ResultError(f"block {str(path)!r} cannot be read ({error})") from error


def read_block(path: Path) -> Block:
    """Return the states of a block; ResultError when it is damaged or gone."""
    data = read_arrays(path)
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
