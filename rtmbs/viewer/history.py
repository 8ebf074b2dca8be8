"""The history of a session: complete states, and the commands that took effect at each, bounded by count and bytes."""

from collections import deque
from dataclasses import dataclass, field

from rtmbs.errors import InputError
from rtmbs.integrators.report import StepReport
from rtmbs.simulation.options import Options
from rtmbs.state import State
from rtmbs.viewer.commands import Command, SetInput, SetOption
from rtmbs.viewer.mouse_spring import Attachment, Hold

STATES = 5000  # remembered at most: 25 s at 5 ms
BYTES = 256_000_000
OVERHEAD = 2_000  # bytes of the objects around the arrays of one moment
NUMBER = 8  # bytes of a number


@dataclass(slots=True)
class Moment:
    """One step boundary: what the step left, and what was changed there before the next one."""

    step: int
    state: State  # before the commands
    options: Options  # before the commands
    attachment: Attachment | None  # where the mouse spring is attached
    hold: Hold | None  # before the commands
    report: StepReport | None = None  # of the step; None at the start
    commands: list[Command] = field(default_factory=list)  # in the order in which they took effect

    def log(self, command: Command) -> None:
        """Add a command. Of a kind that came twice before the second goes: the first tells that something changed,
        the last one to what; what stood between them leaves no trace in the numbers.
        """
        same = [k for k, other in enumerate(self.commands) if key(other) == key(command)]
        if len(same) > 1:
            del self.commands[same[-1]]
        self.commands.append(command)

    def bytes(self) -> int:
        """Return about how much memory it takes; asked twice a step, so the arrays are named."""
        s = self.state
        numbers = s.z.size + s.zd.size + s.zdd.size + s.lam.size + s.R0.size + s.u.size + s.s.size + s.sd.size
        return OVERHEAD + NUMBER * (numbers + sum([array.size for array in s.memory.values()]))


class History:
    """Moments of consecutive steps, oldest first, with a place in them: the present one.

    states: remembered at most.  limit: bytes at most; the present moment is kept whatever it takes.
    """

    def __init__(self, states: int = STATES, limit: int = BYTES) -> None:
        if states < 1 or limit < 1:
            raise InputError(f"a history of {states} states and {limit} bytes holds nothing; give 1 or more of both")
        self.states, self.limit, self.used = states, limit, 0
        self._moments: deque[Moment] = deque()
        self._place = -1

    def begin(self, moment: Moment) -> None:
        """Forget everything and start with ``moment``."""
        self._moments.clear()
        self._place, self.used = -1, 0
        self.record(moment)

    def record(self, moment: Moment) -> None:
        """Go on to ``moment``, the step after the present one. Where the history has it, its commands stay."""
        if self._place + 1 < len(self._moments):
            known = self._moments[self._place + 1]
            known.state, known.options, known.report = moment.state, moment.options, moment.report
            known.attachment, known.hold = moment.attachment, moment.hold
            self._place += 1
            return
        self._moments.append(moment)
        self._place += 1
        self.used += moment.bytes()
        while self._place > 0 and (len(self._moments) > self.states or self.used > self.limit):
            self.used -= self._moments.popleft().bytes()
            self._place -= 1

    def log(self, command: Command) -> None:
        """Add a command to the present moment; what came after it is another story now, and goes."""
        while len(self._moments) > self._place + 1:
            self.used -= self._moments.pop().bytes()
        self.present.log(command)

    def seek(self, step: int) -> Moment:
        """Make the moment of ``step`` the present one, or the nearest that is remembered, and return it."""
        self._place = min(max(step - self.oldest, 0), len(self._moments) - 1)
        return self.present

    @property
    def present(self) -> Moment:
        """The moment at which the session stands."""
        return self._moments[self._place]

    @property
    def oldest(self) -> int:
        """First step that is remembered."""
        return self._moments[0].step

    @property
    def newest(self) -> int:
        """Last step that is remembered."""
        return self._moments[-1].step

    def ahead(self) -> Moment | None:
        """Return the moment after the present one, None at the newest."""
        return self._moments[self._place + 1] if self._place + 1 < len(self._moments) else None

    def since(self, step: float) -> list[Moment]:
        """Return the moments from ``step`` on, oldest first, whatever the present one is."""
        found: list[Moment] = []
        for moment in reversed(self._moments):
            if moment.step < step:
                break
            found.append(moment)
        return found[::-1]

    def states_so_far(self) -> list[State]:
        """Return the states up to the present one; they are not to be written into."""
        return [moment.state for moment, _ in zip(self._moments, range(self._place + 1), strict=False)]

    def __len__(self) -> int:
        return len(self._moments)


def key(command: Command) -> tuple[type, str]:
    """Return what a later command must share to take the place of this one."""
    return type(command), command.name if isinstance(command, SetInput | SetOption) else ""
