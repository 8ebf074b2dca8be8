"""History on disk: blocks of states and poses in a folder of runs, bounded in bytes, and their replay as a Result.

A block is a file that is whole or absent, so a killed process leaves all blocks before. A thread writes, so no step
waits. The oldest block is removed when the folder is full. A full disk is reported once; its blocks stay readable.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.files import DamagedFile, check_unpacked, read_archive, write_archive
from rtmbs.errors import InputError, ResultError
from rtmbs.numerics.rotations.quaternions import quaternions, rotations
from rtmbs.results.channel import QUATERNION, TIME, XYZ, Source
from rtmbs.results.channel import WORLD as WORLD_AXES
from rtmbs.results.result import Result
from rtmbs.results.sample_kernels import resample_frames
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.semirecursive.workspace import workspace
from rtmbs.simulation import Simulation
from rtmbs.simulation.observers.observer import Job, WriterThread
from rtmbs.state import MEMORY, State
from rtmbs.system.components import WORLD
from rtmbs.system.system import System
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.session.disk_head import NAME, RUN_PREFIX, Head, Places, read_head, write_head

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
    frames is computed by the replay.
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


def same_layout(one: State, other: State) -> bool:
    """True when two states go into one block."""
    return one.fingerprint == other.fingerprint and one.memory.keys() == other.memory.keys()


def write_block(folder: Path, first: int, states: Sequence[State], frames: BodyFrames) -> Path:
    """Write states of one layout, and return the file. Raises OSError when the disk is full."""
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
    """Return the arrays of a block by name; ResultError when it is damaged or gone."""
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
    """Return the blocks of a run, oldest first."""
    return sorted(path for path in folder.glob(f"*{ENDING}") if path.stem.isdigit())


# ---- the folder ------------------------------------------------------------------------------------------------------

LEAST = 1_000_000  # bytes of a folder at least
REMEMBERED = 3  # blocks that were read last


class DiskHistory:
    """Blocks of states of one folder.

    limit: bytes of all blocks.  tell: takes the sentence of a disk that takes no more.
    Raises InputError for a limit that holds nothing, and a folder that cannot be made.
    """

    def __init__(self, folder: str | Path, limit: float, tell: Callable[[str], None]) -> None:
        if not limit >= LEAST:
            raise InputError(f"a history of {limit:g} bytes on disk holds nothing; give {LEAST:,} or more")
        self.folder, self.limit, self._tell = Path(folder), limit, tell
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"history {str(folder)!r} cannot be made: {error.strerror or error}") from error
        self._worker = WriterThread()
        self._job: Job[bool] | None = None
        self._frames: BodyFrames | None = None
        self._run: Path | None = None
        self._ends: dict[Path, int] = {}  # blocks of the present run, oldest first, and their last step
        self.span: tuple[int, int] | None = None  # first and last step of the run on disk
        self._read: dict[Path, list[State]] = {}
        self._sizes = {path: path.stat().st_size for path in sorted(self.folder.glob(f"*/*{ENDING}"))}  # oldest first
        self._total = sum(self._sizes.values())
        self.failed = False

    # ---- writing ----------------------------------------------------------------------------------------------------

    def begin(self, description: SceneDescription, sim: Simulation) -> None:
        """Start a new run; the ones before stay as far as the limit has room."""
        self.wait()
        self._ends, self._read, self.span, self.failed = {}, {}, None, False
        self._frames = BodyFrames(sim)
        taken = [
            int(path.name.removeprefix(RUN_PREFIX)) for path in self.folder.glob(f"{RUN_PREFIX}[0-9]*") if path.is_dir()
        ]
        self._run = self.folder / f"{RUN_PREFIX}{max(taken, default=0) + 1:04d}"
        try:
            self._run.mkdir()
            write_head(self._run, description, sim.system.fingerprint, places_of(sim.system))
        except OSError as error:
            self._fail(error)

    @property
    def busy(self) -> bool:
        """True while blocks are being written."""
        return self._job is not None and not self._job.done

    def save(self, first: int, states: Sequence[State]) -> None:
        """Write, in the thread, states of consecutive steps from ``first`` on, which do not change any more."""
        self.wait()
        if states and not self.failed:
            self._job = self._worker.submit(lambda: self._write(first, states))

    def wait(self) -> None:
        """Wait for the thread; a full disk is reported here."""
        if self._job is None:
            return
        job, self._job = self._job, None
        try:
            self._worker.wait(job)
        except OSError as error:
            self._fail(error)

    def _write(self, first: int, states: Sequence[State]) -> bool:
        """Write blocks, in the thread, and make room."""
        assert self._run is not None
        assert self._frames is not None
        start = 0
        for end in range(1, len(states) + 1):
            if end == len(states) or not same_layout(states[start], states[end]):
                path = write_block(self._run, first + start, states[start:end], self._frames)
                self._ends[path] = first + end - 1
                self._sizes[path] = path.stat().st_size
                self._total += self._sizes[path]
                self._make_room(path)
                self._measure()
                start = end
        return True

    def _make_room(self, newest: Path) -> None:
        """Remove the oldest blocks while the folder is over its limit; an older run goes with its last block."""
        while self._total > self.limit and (path := next(iter(self._sizes))) != newest:
            self._remove(path)
            if path.parent != self._run and not blocks_of(path.parent):
                with suppress(OSError):
                    (path.parent / NAME).unlink(missing_ok=True)
                    path.parent.rmdir()

    def _remove(self, path: Path) -> None:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        self._total -= self._sizes.pop(path)
        self._ends.pop(path, None)
        self._read.pop(path, None)
        self._measure()

    def _measure(self) -> None:
        """Note the sizes on disk, as one value that the other thread may read at any time."""
        ends = list(self._ends.items())
        self.span = (first_of(ends[0][0]), ends[-1][1]) if ends else None

    def _fail(self, error: OSError) -> None:
        """Write no more, and say so."""
        self.failed = True
        stays = f"its steps up to {self.span[1]} stay readable" if self.span else "nothing of this run is there"
        self._tell(
            f"history {str(self.folder)!r} takes no more ({error.strerror or error}); {stays}, and the run goes on in "
            "memory"
        )

    def cut(self, step: int) -> None:
        """Forget everything after ``step``."""
        self.wait()
        for path, last in list(self._ends.items()):
            if first_of(path) > step:
                self._remove(path)
            elif last > step:
                states = self._states(path)[: step - first_of(path) + 1]
                self._remove(path)
                self.save(first_of(path), states)
                self.wait()

    def close(self) -> None:
        """Write the last block, and end the thread."""
        self.wait()
        self._worker.end()

    # ---- reading ----------------------------------------------------------------------------------------------------

    def read(self, step: int) -> tuple[int, list[State]]:
        """Return the first step and the states of the block that has ``step``; ResultError when it is gone."""
        path = next((path for path, last in list(self._ends.items()) if first_of(path) <= step <= last), None)
        if path is None:
            raise ResultError(f"history {str(self.folder)!r} has no step {step} any more")
        return first_of(path), self._states(path)

    def _states(self, path: Path) -> list[State]:
        if path not in self._read:
            while len(self._read) >= REMEMBERED:
                del self._read[next(iter(self._read))]
            self._read[path] = read_block(path).states
        return self._read[path]


# ---- replay ----------------------------------------------------------------------------------------------------------

POSE = 128  # bytes of a body at one time: rotation, position, quaternion
Part = tuple[Array, Array, Array]  # t (S,) [s], r (S, nb, 3) [m] and q (S, nb, 4) of a block


def load_history(target: str | Path) -> tuple[Result, SceneDescription]:
    """Return the last run of a history, or the one that is named, with its scene.

    A damaged block is left out, and ``warnings`` of the Result say which time is missing.
    Raises ResultError when there is no whole block.
    """
    path = Path(target)
    folder = path.parent if path.name == NAME else path
    runs = [folder] if (folder / NAME).is_file() else sorted(folder.glob(f"{RUN_PREFIX}*"))
    runs = [run for run in runs if blocks_of(run)]
    if not runs:
        raise ResultError(f"history {str(target)!r} holds no whole block")
    run = runs[-1]
    head = read_head(run)
    parts, warnings = readable_parts(run, head)
    t, r, q = (np.concatenate(values) for values in zip(*parts, strict=True))
    try:
        channels = sources(head.description, t, r, continuous_quaternions(q))
    except Exception as error:  # a head that was made up may hold anything
        raise ResultError(f"history {str(run)!r} has a damaged {NAME} ({error})") from error
    return Result(channels, head.description.name, head.fingerprint, warnings=warnings), head.description


def readable_parts(run: Path, head: Head) -> tuple[list[Part], dict[str, int]]:
    """Return the readable parts of a run, and sentences about the missing ones."""
    found: list[Part] = []
    warnings: dict[str, int] = {}
    expected, damaged = -1, 0
    blocks = blocks_of(run)
    for number, path in enumerate(blocks):
        try:
            data = read_arrays(path)
            check_poses(data, head.places, path)
        except ResultError:
            damaged += 1
            continue
        if expected >= 0 and first_of(path) != expected and not damaged:  # of a history that was cut here
            text = f"history {str(run)!r} lacks the steps after {expected - 1}; what comes later is left out"
            warnings[text] = len(blocks[number:])
            break
        t = data["t_ref"] + data["k"] * data["h"]
        if damaged:
            warnings[missing(run, damaged, found[-1][0][-1] if found else None, t[0])] = damaged
        found.append((t, *of_bodies(data["A"], data["r"], head.places)))
        expected, damaged = first_of(path) + len(data["k"]), 0
    if not found:
        raise ResultError(f"history {str(run)!r} holds no whole block")
    if damaged:
        warnings[missing(run, damaged, found[-1][0][-1], None)] = damaged
    return found, warnings


def check_poses(data: dict[str, np.ndarray], places: Places, path: Path) -> None:
    """Refuse a block whose poses are not those of the bodies of the head: ResultError."""
    count, moving = len(np.atleast_1d(data.get("k", ()))), int(places.moving.sum())
    shapes = {"k": (count,), "t_ref": (count,), "h": (count,), "A": (count, moving, 9), "r": (count, moving, 3)}
    for name, shape in shapes.items():
        if name not in data or data[name].shape != shape or data[name].dtype.kind not in "fi" or not count:
            raise ResultError(f"block {str(path)!r} cannot be read ({name} has no shape {shape})")
    try:
        check_unpacked(POSE * count * len(places.moving), sum(array.nbytes for array in data.values()), "poses")
    except DamagedFile as error:
        raise ResultError(f"block {str(path)!r} {error}") from None


def missing(run: Path, count: int, before: float | None, after: float | None) -> str:
    """Return the sentence of damaged blocks between two times [s]; None for the begin or the end of the run."""
    blocks = "a damaged block" if count == 1 else f"{count} damaged blocks"
    since = "all" if before is None else f"what comes after t = {before:.6g} s"
    until = "" if after is None else f" before t = {after:.6g} s" if before is None else f" and before {after:.6g} s"
    return f"history {str(run)!r} has {blocks}: {since}{until} is missing"


def of_bodies(A: Array, r: Array, places: Places) -> tuple[Array, Array]:
    """Return r (S, nb, 3) and q (S, nb, 4) of the bodies, from the A (S, k, 9) and r (S, k, 3) of their dofs."""
    shape = len(A), len(places.moving)
    turns, origins = np.broadcast_to(np.eye(3), (*shape, 3, 3)).copy(), np.zeros((*shape, 3))
    turns[:, places.moving], origins[:, places.moving] = A.reshape(len(A), -1, 3, 3), r
    r = origins + (turns @ places.positions[:, :, None])[..., 0]
    return r, quaternions((turns @ places.rotations).reshape(-1, 3, 3)).reshape(*shape, 4)


def continuous_quaternions(q: Array) -> Array:
    """Return quaternions (S, nb, 4) of which none jumps to its negative from sample to sample."""
    signs = np.where(np.einsum("sbi,sbi->sb", q[1:], q[:-1]) < 0.0, -1.0, 1.0)
    return np.concatenate((q[:1], q[1:] * np.cumprod(signs, axis=0)[:, :, None]))


def sources(description: SceneDescription, t: Array, r: Array, q: Array) -> dict[str, Source]:
    """Return the channels of the bodies, and of the markers, by the names that a result has."""
    found = {TIME: Source((), "s", lambda: t)}
    for number, body in enumerate(description.bodies):
        if number == 0:
            continue
        found[f"{body.name}.position"] = Source(XYZ, "m", partial(np.asarray, r[:, number]), WORLD_AXES)
        found[f"{body.name}.orientation"] = Source(QUATERNION, "1", partial(np.asarray, q[:, number]), WORLD_AXES)
        at = partial(world_points, r[:, number], q[:, number], body.center_of_mass)
        found[f"{body.name}.mass_center"] = Source(XYZ, "m", at, WORLD_AXES)
    for marker in description.markers:
        at = partial(world_points, r[:, marker.body], q[:, marker.body], marker.point)
        found.setdefault(f"{marker.name}.position", Source(XYZ, "m", at, WORLD_AXES))
    return found


def world_points(r: Array, q: Array, point: Array) -> Array:
    """Return where a point of a body is (S, 3)."""
    return np.asarray(r + np.einsum("sij,j->si", rotations(q), point))
