"""The history of a session: complete states, and the commands that took effect at each, bounded by count and bytes.

What memory has no room for is gone, or is on disk. With a disk, memory holds a part of the history that follows the
present moment, and everything else is read when somebody goes there.
"""

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from rtmbs.errors import InputError
from rtmbs.integrators.report import StepReport
from rtmbs.simulation.options import Options
from rtmbs.state import State
from rtmbs.viewer.commands import Command, SetInput, SetOption
from rtmbs.viewer.disk.disk_history import DiskHistory
from rtmbs.viewer.kept_states import KeptState
from rtmbs.viewer.mouse_spring import Attachment, Hold

STATES = 5000  # remembered at most: 25 s at 5 ms
BYTES = 256_000_000
OVERHEAD = 2_000  # bytes of the objects around the arrays of one moment
SAVED_EVERY = 0.4  # [s] of wall time between two blocks on disk: a kill loses what came after the last
AT_ONCE = 2_000  # steps of a block at most
READ = 200  # moments at least that are read together
BEHIND = 2  # times its bounds that memory may hold while a slow disk is waited for


@dataclass(slots=True)
class Moment:
    """One step boundary: what the step left, and what was changed there before the next one."""

    step: int
    kept: KeptState  # before the commands
    options: Options  # before the commands
    attachment: Attachment | None  # where the mouse spring is attached
    hold: Hold | None  # before the commands
    report: StepReport | None = None  # of the step; None at the start
    commands: list[Command] = field(default_factory=list)  # in the order in which they took effect
    taken: int = 0  # bytes that the history counts for it

    @property
    def state(self) -> State:
        """What the step left, before the commands; not to be written into."""
        return self.kept.state

    def log(self, command: Command) -> None:
        """Add a command. Of a kind that came twice before the second goes: the first tells that something changed,
        the last one to what; what stood between them leaves no trace in the numbers.
        """
        same = [k for k, other in enumerate(self.commands) if key(other) == key(command)]
        if len(same) > 1:
            del self.commands[same[-1]]
        self.commands.append(command)

    def bytes(self) -> int:
        """Return about how much memory it takes."""
        return OVERHEAD + self.kept.bytes


@dataclass(slots=True)
class Remark:
    """What a block on disk does not say: options and pulls from a step on, and the commands of that step."""

    step: int
    options: Options
    attachment: Attachment | None
    hold: Hold | None
    commands: list[Command]

    def holds_for(self, moment: Moment) -> bool:
        """True when it goes for a later moment too."""
        now = moment.options, moment.attachment, moment.hold
        return not (self.commands or moment.commands) and now == (self.options, self.attachment, self.hold)


class History:
    """Moments of consecutive steps, oldest first, with a place in them: the present one.

    states: in memory at most.  limit: bytes at most; the present moment is kept whatever it takes.
    """

    def __init__(self, states: int = STATES, limit: int = BYTES) -> None:
        if states < 1 or limit < 1:
            raise InputError(f"a history of {states} states and {limit} bytes holds nothing; give 1 or more of both")
        self.states, self.limit, self.used = states, limit, 0
        self._moments: deque[Moment] = deque()
        self._place = -1
        self._disk: DiskHistory | None = None
        self._begin_on_disk: Callable[[], None] = lambda: None
        self._remarks: list[Remark] = []
        self._unsaved = 0  # first step that the disk was not given
        self._saved_at = 0.0  # wall clock

    def begin(self, moment: Moment) -> None:
        """Forget everything and start with ``moment``."""
        self.save()
        self._moments.clear()
        self._remarks.clear()
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
            self.keep_up()
        if len(self._moments) > self.states or self.used > self.limit:
            self._forget()
        return False

    def _append(self, moment: Moment) -> None:
        self._moments.append(moment)
        moment.taken = moment.bytes()
        self.used += moment.taken

    def _forget(self) -> None:
        """Let go of the oldest moments that memory has no room for, once the disk has them."""
        while self._place > 0 and (len(self._moments) > self.states or self.used > self.limit):
            if self._keeping and self._moments[0].step >= self._unsaved:
                over = max(len(self._moments) / self.states, self.used / self.limit)
                if over < BEHIND:
                    return
                self.save()
            self.used -= self._moments.popleft().taken
            self._place -= 1

    def log(self, command: Command) -> None:
        """Add a command to the present moment; what came after it is another story now, and goes."""
        step = self.present.step
        while len(self._moments) > self._place + 1:
            self.used -= self._moments.pop().taken
        if self._disk is not None and self._unsaved > step + 1:
            self._disk.cut(step)
            self._unsaved = step + 1
        while self._remarks and self._remarks[-1].step > step:
            self._remarks.pop()
        self.present.log(command)
        self._note(self.present)

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
        """The moment at which the session stands."""
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
        """Return the moments in memory from ``step`` on, oldest first, whatever the present one is."""
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

        begin: starts a story on the disk; called now, and whenever the history begins anew.
        """
        if self._disk is not None:
            self.save()
        self._disk, self._begin_on_disk, self._unsaved = disk, begin, self._moments[0].step
        self._remarks.clear()
        if disk is None:
            return
        begin()
        for moment in self._moments:
            self._note(moment)

    @property
    def _keeping(self) -> bool:
        """True while the disk takes what is new."""
        return self._disk is not None and not self._disk.failed

    @property
    def _span(self) -> tuple[int, int] | None:
        """First and last step on disk that can be gone to."""
        return self._disk.span if self._disk is not None and not self._disk.failed else None

    def _note(self, moment: Moment) -> None:
        """Remember what the blocks do not say, where it changes."""
        if self._disk is None or (self._remarks and self._remarks[-1].holds_for(moment)):
            return
        if self._remarks and self._remarks[-1].step == moment.step:
            self._remarks.pop()
        own = moment.options, moment.attachment, moment.hold
        self._remarks.append(Remark(moment.step, *own, moment.commands))

    def keep_up(self) -> None:
        """Give the disk what is new, now and then; asked after every step, and while nobody steps."""
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
            self._drop_remarks(self._disk)

    def _drop_remarks(self, disk: DiskHistory) -> None:
        """Forget remarks that no step on disk needs any more."""
        if disk.span:
            steps = [remark.step for remark in self._remarks]
            del self._remarks[: max(bisect_right(steps, disk.span[0]) - 1, 0)]

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
                self._append(self._told(first + number, state))
            wanted = first + len(states)
            if wanted > span[1] or (wanted > step + 1 and len(self._moments) >= READ):
                return
            first, states = self._disk.read(wanted)

    def _told(self, step: int, state: State) -> Moment:
        """Return a moment that was on disk."""
        remarks = self._remarks
        remark = remarks[max(bisect_right([one.step for one in remarks], step) - 1, 0)]
        commands = remark.commands if remark.step == step else []
        return Moment(step, KeptState.of(state), remark.options, remark.attachment, remark.hold, None, commands)


def key(command: Command) -> tuple[type, str]:
    """Return what a later command must share to take the place of this one."""
    return type(command), command.name if isinstance(command, SetInput | SetOption) else ""
