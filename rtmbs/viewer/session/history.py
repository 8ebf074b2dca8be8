"""History of a session: complete states and the commands at each, bounded by count and bytes; undo and redo.

States are copied into blocks of memory that are used again. Memory that a process never touched costs several
microseconds a page at its first touch: a tenth of a real-time step of a large mechanism. A thread touches blocks ahead,
without the lock of the interpreter. A block returns to the pool when no state in it is referred to any more.

With a disk, memory holds the part of the history around the present moment, and other steps are read on demand.
"""

import ctypes
import operator
import threading
import time
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.integrators.report import StepReport
from rtmbs.simulation.options import Options
from rtmbs.state import NUMBER, State, kernel_arrays, row_layout, row_of
from rtmbs.viewer.session.commands import Command, SetInput, SetOption, key_of
from rtmbs.viewer.session.disk_history import DiskHistory
from rtmbs.viewer.session.mouse_spring import Attachment, Hold

Array = NDArray[np.float64]

BLOCK = 1 << 20  # bytes of a block, or one state where that is more
AHEAD = 4  # blocks that are touched and free


class StoredState:
    """A State in one row of a block; the State itself is made on demand, for few of many steps.

    bytes: of its arrays.
    """

    __slots__ = ("_block", "_head", "_layout", "_row", "_state", "bytes")

    def __init__(self, head: tuple[str, float, int, float], block: Array, row: int, layout: "Layout") -> None:
        self._head, self._block, self._row, self._layout = head, block, row, layout
        self._state: State | None = None
        self.bytes = layout.bytes

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the kept part of a State, which is taken over."""
        kept = cls((state.fingerprint, state.t_ref, state.k, state.h), NO_BLOCK, 0, NO_LAYOUT)
        kept._state = state
        kept.bytes = sum([array.nbytes for array in kernel_arrays(state)])
        return kept

    @property
    def state(self) -> State:
        """The State, the same one every time; not to be written into."""
        if self._state is None:
            self._state = self._layout.state(self._head, self._block[self._row])
        return self._state

    @property
    def fingerprint(self) -> str:
        """Of the System that the State belongs to."""
        return self._head[0]

    @property
    def h(self) -> float:
        """Step of the State [s]."""
        return self._head[3]

    @property
    def t(self) -> float:
        """Time of the State [s]."""
        _, t_ref, k, h = self._head
        return t_ref + k * h


class Layout:
    """Places of the arrays of a State in a row: those that a step writes first, then the inputs."""

    def __init__(self, state: State) -> None:
        self.names, self.parts = list(state.memory), row_layout(kernel_arrays(state))
        self.width = self.parts[-1][1]
        self.bytes = NUMBER * self.width

    def fits(self, state: State) -> bool:
        """True when the arrays of this state have these shapes, and the method remembers the same."""
        return list(state.memory) == self.names and row_layout(kernel_arrays(state)) == self.parts

    def state(self, head: tuple[str, float, int, float], row: Array) -> State:
        """Return the State whose numbers a row has; its arrays are parts of the row."""
        z, zd, zdd, lam, R0, s, sd, *memory, u = [
            row[start:end].reshape(shape) for start, end, shape in self.parts
        ]  # fmt: skip
        return State(*head, z, zd, zdd, lam, R0, u, dict(zip(self.names, memory, strict=True)), s, sd)


NOTHING, NO_BLOCK = np.zeros(0), np.zeros((1, 0))
NO_STATE = State("", 0.0, 0, 0.0, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)
NO_LAYOUT = Layout(NO_STATE)


class StateArrays:
    """Arrays of a live State when it was last copied, and the row that holds them; None for separate arrays."""

    __slots__ = ("R0", "_remembered", "arrays", "lam", "s", "sd", "state", "u", "whole", "width", "z", "zd", "zdd")

    def __init__(self, state: State) -> None:
        self.state, self.arrays, self.whole = state, kernel_arrays(state), row_of(state)
        self.width = 0 if self.whole is None else self.whole.size
        self.z, self.zd, self.zdd, self.lam, self.R0, self.s, self.sd, *remembered, self.u = self.arrays
        self._remembered = tuple(remembered)

    def unchanged(self) -> bool:
        """True while the State still has these arrays. Every step waits for this, so no tuple is made for it."""
        it = self.state
        return (
            it.z is self.z
            and it.zd is self.zd
            and it.zdd is self.zdd
            and it.lam is self.lam
            and it.R0 is self.R0
            and it.s is self.s
            and it.sd is self.sd
            and it.u is self.u
            and len(it.memory) == len(self._remembered)
            and all(map(operator.is_, it.memory.values(), self._remembered))
        )


NO_ARRAYS = StateArrays(NO_STATE)


class StateStore:
    """Copies States into rows of blocks; all states of one layout, another layout begins blocks of its own."""

    def __init__(self) -> None:
        self._layout, self._pool, self._inputs = NO_LAYOUT, Pool(0), 0
        self._turns = (NO_ARRAYS, NO_ARRAYS)  # the live states of a Simulation are two; the one that is due first

    def keep(self, state: State) -> StoredState:
        """Return a copy of a state that a step has left."""
        known = self._turns[0]
        if known.state is not state or not known.unchanged():
            known = self._learn(state)
        self._turns = (self._turns[1], known)
        pool = self._pool
        row = pool.row()
        if known.whole is None:
            for (start, end, _), array in zip(self._layout.parts, known.arrays, strict=True):
                pool.block[row, start:end] = array.ravel()
        else:
            pool.block[row, : known.width] = known.whole
            pool.block[row, self._inputs :] = state.u
        return StoredState((state.fingerprint, state.t_ref, state.k, state.h), pool.block, row, self._layout)

    def _learn(self, state: State) -> StateArrays:
        """Return the arrays of a State that is copied for the first time, or has new arrays."""
        if not self._layout.fits(state):
            self._layout = Layout(state)
            self._pool, self._inputs = Pool(self._layout.width), self._layout.parts[-1][0]
            self._turns = (NO_ARRAYS, NO_ARRAYS)
        return StateArrays(state)


class Pool:
    """Blocks of rows of ``width`` numbers, touched ahead of their use."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._rows = max(BLOCK // (8 * max(width, 1)), 1)  # of a block
        self._free = [touched(self._rows * width)]  # unused memory
        self.block: Array = np.zeros((0, width))  # that rows are taken from
        self._used = 0  # rows of it
        self._toucher: threading.Thread | None = None

    def row(self) -> int:
        """Return the number of an unused row of ``block``, which may be another one than before."""
        if self._used == len(self.block):
            self._begin_block()
        self._used += 1
        return self._used - 1

    def _begin_block(self) -> None:
        try:
            memory = self._free.pop()
        except IndexError:
            memory = np.empty(self._rows * self._width)
        lease = Lease(memory)
        self.block = np.asarray(lease).reshape(self._rows, self._width)
        weakref.finalize(lease, self._take_back, memory).atexit = False
        self._used = 0
        if len(self._free) < AHEAD and (self._toucher is None or not self._toucher.is_alive()):
            self._toucher = threading.Thread(target=self._touch, name="rtmbs memory", daemon=True)
            self._toucher.start()

    def _take_back(self, memory: Array) -> None:
        """Keep released memory, up to a bound: a history that begins anew releases all of it."""
        if len(self._free) < 2 * AHEAD:
            self._free.append(memory)

    def _touch(self) -> None:
        """Make blocks until there are enough."""
        for _ in range(AHEAD - len(self._free)):
            self._free.append(touched(self._rows * self._width))


def touched(size: int) -> Array:
    """Return memory of ``size`` numbers that the process has; ``memset`` is called without the interpreter's lock."""
    memory = np.empty(size)
    ctypes.memset(memory.ctypes.data, 0, memory.nbytes)
    return memory


class Lease:
    """Base object of all views of a block: its end, after the last view, releases the memory."""

    def __init__(self, memory: Array) -> None:
        self.__array_interface__ = memory.__array_interface__


# ---- history ---------------------------------------------------------------------------------------------------------

STATES = 5000  # remembered at most: 25 s at 5 ms
BYTES = 256_000_000
OVERHEAD = 2_000  # bytes of the objects around the arrays of one moment
SAVED_EVERY = 0.4  # [s] of wall time between two blocks on disk: a kill loses what came after the last
AT_ONCE = 2_000  # steps of a block at most
READ = 200  # moments at least that are read together
BEHIND = 2  # times its bounds that memory may hold while a slow disk is waited for


@dataclass(slots=True)
class Moment:
    """State after a step, with the commands that took effect before the next one."""

    step: int
    kept: StoredState  # before the commands
    options: Options  # before the commands
    attachment: Attachment | None  # where the mouse spring is attached
    hold: Hold | None  # before the commands
    report: StepReport | None = None  # of the step; None at the start
    commands: list[Command] = field(default_factory=list)  # in the order in which they took effect
    taken: int = 0  # bytes that the history counts for it

    @property
    def state(self) -> State:
        """State after the step, before the commands; not to be written to."""
        return self.kept.state

    def log(self, command: Command) -> None:
        """Add a command. Of a kind that came twice before the second goes: the first tells that something changed,
        the last one to what; what stood between them leaves no trace in the numbers.
        """
        same = [k for k, other in enumerate(self.commands) if key_of(other) == key_of(command)]
        if len(same) > 1:
            del self.commands[same[-1]]
        self.commands.append(command)


@dataclass(slots=True)
class StepSettings:
    """Options and pull from a step on, and the commands of that step, none of which blocks on disk hold."""

    step: int
    options: Options
    attachment: Attachment | None
    hold: Hold | None
    commands: list[Command]

    def holds_for(self, moment: Moment) -> bool:
        """True when options and pull of a later moment are the same."""
        now = moment.options, moment.attachment, moment.hold
        return not (self.commands or moment.commands) and now == (self.options, self.attachment, self.hold)


class History:
    """Moments of consecutive steps, oldest first, with a place in them: the present one.

    states: in memory at most.  limit: bytes at most; the present moment is kept in any case.
    """

    def __init__(self, states: int = STATES, limit: int = BYTES) -> None:
        if states < 1 or limit < 1:
            raise InputError(f"a history of {states} states and {limit} bytes holds nothing; give 1 or more of both")
        self.states, self.limit, self.used = states, limit, 0
        self._moments: deque[Moment] = deque()
        self._place = -1
        self._disk: DiskHistory | None = None
        self._begin_on_disk: Callable[[], None] = lambda: None
        self._settings: list[StepSettings] = []
        self._unsaved = 0  # first step that the disk was not given
        self._saved_at = 0.0  # wall clock

    def begin(self, moment: Moment) -> None:
        """Forget everything and start with ``moment``."""
        self.save()
        self._moments.clear()
        self._settings.clear()
        self._place, self.used = -1, 0
        self._unsaved = moment.step
        if self._disk is not None:
            self._begin_on_disk()
        self.record(moment)

    def record(self, moment: Moment) -> bool:
        """Go on to ``moment``, the step after the present one. Where the history has it, its commands stay.

        Returns whether the history had it. Every step waits for this: what no disk needs is not asked.
        """
        if self._place + 1 < len(self._moments) or self._disk is not None:
            if (known := self.ahead()) is not None:
                known.kept, known.options, known.report = moment.kept, moment.options, moment.report
                known.attachment, known.hold = moment.attachment, moment.hold
                self._place += 1
                return True
            self._note(moment)
        self._append(moment)
        self._place += 1
        if self._disk is not None:
            self.save_new_moments()
        if len(self._moments) > self.states or self.used > self.limit:
            self._forget()
        return False

    def _append(self, moment: Moment) -> None:
        self._moments.append(moment)
        moment.taken = OVERHEAD + moment.kept.bytes
        self.used += moment.taken

    def _forget(self) -> None:
        """Discard the oldest moments above the bounds of memory, once the disk has them."""
        while self._place > 0 and (len(self._moments) > self.states or self.used > self.limit):
            if self._keeping and self._moments[0].step >= self._unsaved:
                over = max(len(self._moments) / self.states, self.used / self.limit)
                if over < BEHIND:
                    return
                self.save()
            self.used -= self._moments.popleft().taken
            self._place -= 1

    def log(self, command: Command) -> None:
        """Add a command to the present moment; later moments are discarded."""
        self._discard_later()
        self.present.log(command)
        self._note(self.present)

    def replace_commands(self, commands: list[Command]) -> None:
        """Replace the commands of the present moment; later moments are discarded."""
        self._discard_later()
        self.present.commands[:] = commands
        self._note(self.present)

    def _discard_later(self) -> None:
        step = self.present.step
        while len(self._moments) > self._place + 1:
            self.used -= self._moments.pop().taken
        if self._disk is not None and self._unsaved > step + 1:
            self._disk.cut(step)
            self._unsaved = step + 1
        while self._settings and self._settings[-1].step > step:
            self._settings.pop()

    def seek(self, step: int) -> Moment:
        """Make the moment of ``step`` the present one, or the nearest that is remembered, and return it."""
        step = min(max(step, self.oldest), self.newest)
        if not self._moments[0].step <= step <= self._moments[-1].step:
            self._load(step)
        first, last = self._moments[0].step, self._moments[-1].step
        self._place = min(max(step, first), last) - first
        return self.present

    @property
    def present(self) -> Moment:
        """The present moment of the session."""
        return self._moments[self._place]

    @property
    def oldest(self) -> int:
        """First step that is remembered."""
        first = self._moments[0].step
        return min(first, self._span[0]) if self._span else first

    @property
    def newest(self) -> int:
        """Last step that is remembered."""
        last = self._moments[-1].step
        return max(last, self._span[1]) if self._span else last

    def ahead(self) -> Moment | None:
        """Return the moment after the present one, None at the newest."""
        if (
            self._disk is not None
            and self._moments
            and self._place + 1 == len(self._moments)
            and self.newest > self.present.step
        ):
            step = self.present.step
            self._load(step)
            self._place = step - self._moments[0].step
        return self._moments[self._place + 1] if self._place + 1 < len(self._moments) else None

    def since(self, step: float) -> list[Moment]:
        """Return the moments in memory from ``step`` on, oldest first, later than the present one too."""
        found: list[Moment] = []
        for moment in reversed(self._moments):
            if moment.step < step:
                break
            found.append(moment)
        return found[::-1]

    def so_far(self) -> list[Moment]:
        """Return the moments in memory up to the present one."""
        return [moment for moment, _ in zip(self._moments, range(self._place + 1), strict=False)]

    def __len__(self) -> int:
        return self.newest - self.oldest + 1

    # ---- on disk ----------------------------------------------------------------------------------------------------

    def keep_on(self, disk: DiskHistory | None, begin: Callable[[], None] = lambda: None) -> None:
        """Keep everything from the oldest moment in memory on ``disk`` too, or on none any more.

        begin: starts a run on the disk; called now, and whenever the history begins anew.
        """
        if self._disk is not None:
            self.save()
        self._disk, self._begin_on_disk, self._unsaved = disk, begin, self._moments[0].step
        self._settings.clear()
        if disk is None:
            return
        begin()
        for moment in self._moments:
            self._note(moment)

    @property
    def _keeping(self) -> bool:
        """True while the disk takes new blocks."""
        return self._disk is not None and not self._disk.failed

    @property
    def _span(self) -> tuple[int, int] | None:
        """First and last step on disk that can be gone to."""
        return self._disk.span if self._disk is not None and not self._disk.failed else None

    def _note(self, moment: Moment) -> None:
        """Record options, pull and commands of a moment where they change."""
        if self._disk is None or (self._settings and self._settings[-1].holds_for(moment)):
            return
        if self._settings and self._settings[-1].step == moment.step:
            self._settings.pop()
        own = moment.options, moment.attachment, moment.hold
        self._settings.append(StepSettings(moment.step, *own, moment.commands))

    def save_new_moments(self) -> None:
        """Write new moments to the disk at intervals; called after every step, and in pause."""
        disk = self._disk
        if disk is None or disk.failed or disk.busy:
            return
        now, waiting = time.perf_counter(), self._moments[-1].step + 1 - self._unsaved
        if waiting > 0 and (now - self._saved_at >= SAVED_EVERY or waiting >= AT_ONCE):
            self._saved_at = now
            self._hand_over()

    def save(self) -> None:
        """Write everything that the disk does not have, and wait for it."""
        if self._disk is not None:
            self._hand_over()
            self._disk.wait()

    def _hand_over(self) -> None:
        assert self._disk is not None
        new = self.since(self._unsaved)
        if new:
            self._disk.save(new[0].step, [moment.state for moment in new])
            self._unsaved = new[-1].step + 1
            self._drop_settings(self._disk)

    def _drop_settings(self, disk: DiskHistory) -> None:
        """Remove settings of steps that are no longer on disk."""
        if disk.span:
            steps = [own.step for own in self._settings]
            del self._settings[: max(bisect_right(steps, disk.span[0]) - 1, 0)]

    def _load(self, step: int) -> None:
        """Bring the moments about ``step`` from disk into memory, in place of those that are there."""
        assert self._disk is not None
        self.save()
        if not (span := self._span):  # it took no more: what memory has stays
            return
        first, states = self._disk.read(step)  # before anything is let go of: a block may be damaged
        self._moments.clear()
        self._place, self.used = -1, 0
        while True:
            for number, state in enumerate(states):
                self._append(self._moment_from_disk(first + number, state))
            wanted = first + len(states)
            if wanted > span[1] or (wanted > step + 1 and len(self._moments) >= READ):
                return
            first, states = self._disk.read(wanted)

    def _moment_from_disk(self, step: int, state: State) -> Moment:
        """Return a moment that was on disk."""
        settings = self._settings
        own = settings[max(bisect_right([one.step for one in settings], step) - 1, 0)]
        commands = own.commands if own.step == step else []
        return Moment(step, StoredState.of(state), own.options, own.attachment, own.hold, None, commands)


# ---- undo and redo of poses, inputs and options ----------------------------------------------------------------------

ONE_CHANGE = 0.6  # [s] between two settings of one input that are one change: a slider under the mouse
MOST_CHANGES = 200  # changes that are remembered


@dataclass
class Setting:
    """An input or option with its values before and after."""

    command: SetInput | SetOption
    before: SetInput | SetOption
    at: float  # of the last setting [s]


@dataclass
class Pose:
    """The commands of a step before and after the drags of one gesture."""

    gesture: int
    step: int
    before: list[Command]
    after: list[Command]


Change = Setting | Pose


class Changes:
    """Changes that can be taken back, and those that were; ``clock`` is replaced in tests."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.done, self.undone = clock, list[Change](), list[Change]()

    def note_setting(self, command: SetInput | SetOption, old: Any) -> None:
        """Remember a setting that took effect, and the value before it."""
        last, now = self.done[-1] if self.done else None, self.clock()
        same = isinstance(last, Setting) and type(last.command) is type(command) and last.command.name == command.name
        if isinstance(last, Setting) and same and now - last.at < ONE_CHANGE:
            last.command, last.at = command, now
        else:
            self._add(Setting(command, type(command)(command.name, old), now))
        self.undone.clear()

    def note_pose(self, gesture: int, step: int, before: list[Command], after: list[Command]) -> None:
        """Remember a drag, with the commands of its step before and after it."""
        last = self.done[-1] if self.done else None
        if isinstance(last, Pose) and (last.gesture, last.step) == (gesture, step):
            last.after = after
        else:
            self._add(Pose(gesture, step, before, after))
        self.undone.clear()

    def _add(self, change: Change) -> None:
        self.done.append(change)
        del self.done[:-MOST_CHANGES]

    def take(self, again: bool) -> Change | None:
        """Return the next change to take back, or to make ``again``; None where there is none."""
        source, target = (self.undone, self.done) if again else (self.done, self.undone)
        if not source:
            return None
        target.append(source.pop())
        return target[-1]
