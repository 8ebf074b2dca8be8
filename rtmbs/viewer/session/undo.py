"""Undo and redo of a session: poses of drags, inputs and options."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rtmbs.viewer.session.commands import Command, SetInput, SetOption

TOGETHER = 0.6  # [s] between two settings of one input that are one change: a slider under the mouse
MOST = 200  # changes that are remembered


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
        if isinstance(last, Setting) and same and now - last.at < TOGETHER:
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
        del self.done[:-MOST]

    def take(self, again: bool) -> Change | None:
        """Return the next change to take back, or to make ``again``; None where there is none."""
        source, target = (self.undone, self.done) if again else (self.done, self.undone)
        if not source:
            return None
        target.append(source.pop())
        return target[-1]
