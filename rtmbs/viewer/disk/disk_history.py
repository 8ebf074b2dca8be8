"""The folder of a history on disk: one story after another, each with a head and blocks, bounded in bytes.

A thread writes, so that no step waits. Blocks that are written stay whatever ends the process, and the oldest goes when
the folder is full. A disk that takes no more is told once; the blocks that it has stay readable.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from rtmbs.errors import InputError, ResultError
from rtmbs.observers.worker import Job, Worker
from rtmbs.simulation import Simulation
from rtmbs.state import State
from rtmbs.viewer.disk.blocks import ENDING, BodyFrames, alike, blocks_of, first_of, places_of, read_block, write_block
from rtmbs.viewer.disk.head import NAME, STORY, write_head
from rtmbs.viewer.scene.description import SceneDescription

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
        self._worker = Worker()
        self._job: Job[bool] | None = None
        self._frames: BodyFrames | None = None
        self._story: Path | None = None
        self._ends: dict[Path, int] = {}  # blocks of the present story, oldest first, and their last step
        self.span: tuple[int, int] | None = None  # first and last step of the story on disk
        self._read: dict[Path, list[State]] = {}
        self._sizes = {path: path.stat().st_size for path in sorted(self.folder.glob(f"*/*{ENDING}"))}  # oldest first
        self._total = sum(self._sizes.values())
        self.failed = False

    # ---- writing ----------------------------------------------------------------------------------------------------

    def begin(self, description: SceneDescription, sim: Simulation) -> None:
        """Start a new story; the ones before stay as far as the limit has room."""
        self.wait()
        self._ends, self._read, self.span, self.failed = {}, {}, None, False
        self._frames = BodyFrames(sim)
        taken = [int(path.name.removeprefix(STORY)) for path in self.folder.glob(f"{STORY}[0-9]*") if path.is_dir()]
        self._story = self.folder / f"{STORY}{max(taken, default=0) + 1:04d}"
        try:
            self._story.mkdir()
            write_head(self._story, description, sim.system.fingerprint, places_of(sim.system))
        except OSError as error:
            self._fail(error)

    @property
    def busy(self) -> bool:
        """True while blocks are being written."""
        return self._job is not None and not self._job.done

    def save(self, first: int, states: Sequence[State]) -> None:
        """Let the thread write states of consecutive steps from ``first`` on, which nobody changes any more."""
        self.wait()
        if states and not self.failed:
            self._job = self._worker.submit(lambda: self._write(first, states))

    def wait(self) -> None:
        """Wait for the thread; a full disk is told here."""
        if self._job is None:
            return
        job, self._job = self._job, None
        try:
            self._worker.wait(job)
        except OSError as error:
            self._fail(error)

    def _write(self, first: int, states: Sequence[State]) -> bool:
        """Write blocks, in the thread, and make room."""
        assert self._story is not None
        assert self._frames is not None
        start = 0
        for end in range(1, len(states) + 1):
            if end == len(states) or not alike(states[start], states[end]):
                path = write_block(self._story, first + start, states[start:end], self._frames)
                self._ends[path] = first + end - 1
                self._sizes[path] = path.stat().st_size
                self._total += self._sizes[path]
                self._make_room(path)
                self._measure()
                start = end
        return True

    def _make_room(self, newest: Path) -> None:
        """Remove the oldest blocks while the folder is over its limit; an older story goes with its last block."""
        while self._total > self.limit and (path := next(iter(self._sizes))) != newest:
            self._remove(path)
            if path.parent != self._story and not blocks_of(path.parent):
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
        """Note what is on disk, as one value that the other thread may read at any time."""
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
        """Forget what came after ``step``."""
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
        """Write what is under way, and end the thread."""
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
