"""What was set in a session, so that a session that takes its place can be given the same."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.viewer.commands import (
    Command,
    Inspect,
    KeepHistory,
    Rebuild,
    SetInput,
    SetOption,
    SetSpeed,
    ShowReactions,
    Subscribe,
)
from rtmbs.viewer.disk.head import HISTORY
from rtmbs.viewer.free_name import free_name
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame

Key = tuple[type, str]
KEPT = 20  # earlier commands of a kind that are remembered


class Settings:
    """The last of each kind of setting among the commands that were sent; ``name`` is that of the mechanism.

    built: parameters that the mechanism stood with last, of those that were asked for.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._sent = 0  # commands to the present session
        self._last: dict[Key, tuple[int, Command]] = {}  # with the number of the command
        self._histories: list[KeepHistory] = []  # that were asked for, the last ones
        self._asked: dict[str, list[Any]] = {}  # values of each parameter that builds were asked for with
        self.built: dict[str, Any] = {}

    def note(self, command: Command) -> Command:
        """Look at a command, and return it as it is to be sent.

        A history without a folder gets one here, so that the next session goes on in the same folder.
        """
        self._sent += 1
        if isinstance(command, KeepHistory):
            if command.limit and not command.folder:
                command = replace(command, folder=free_name(self._name, HISTORY))
            self._histories = [*self._histories[-KEPT:], command]
        if isinstance(command, Rebuild):
            for name, value in command.parameters.items():
                self._asked[name] = [*self._asked.get(name, [])[-KEPT:], value]
        elif isinstance(command, SetInput | SetOption):
            self._last[type(command), command.name] = self._sent, command
        elif isinstance(command, SetSpeed | Subscribe | KeepHistory | ShowReactions | Inspect):
            self._last[type(command), ""] = self._sent, command
        return command

    def again(self, scene: SceneDescription | None, frame: Frame | None) -> list[Command]:
        """Return the commands that set all this in a new session, and count them as sent to it.

        scene, frame: the last of the session that is over. Of the commands that it had taken those values count which
        the frame shows: a refused one has left no trace there.
        """
        if scene is not None:
            standing = scene.parameters.items()
            self.built |= {name: value for name, value in standing if value in self._asked.get(name, [])}
        if scene is not None and frame is not None and frame.generation == scene.generation:
            self._correct(scene, frame)
        commands = [command for _, command in self._last.values()]
        commands.sort(key=lambda one: not (isinstance(one, SetOption) and one.name == "method"))  # it brings options
        self._sent = 0
        for command in commands:
            self.note(command)
        return commands

    def _correct(self, scene: SceneDescription, frame: Frame) -> None:
        """Let what was refused be forgotten."""
        corrected: dict[Key, tuple[int, Command]] = {}
        for key, (number, command) in self._last.items():
            if number > frame.taken:
                corrected[key] = number, command
            else:
                for one in self._stood(command, scene, frame):
                    corrected[key] = number, one
        self._last = corrected

    def _stood(self, command: Command, scene: SceneDescription, frame: Frame) -> Iterator[Command]:
        """Yield a command with the value that a frame shows; nothing where that is the model's own or no value."""
        if isinstance(command, SetInput):
            for entry in scene.inputs:
                values = frame.inputs[entry.place]
                if entry.name == command.name and not np.array_equal(values, entry.default):
                    yield replace(command, value=tuple(values.tolist()) if len(values) > 1 else float(values[0]))
        elif isinstance(command, SetOption):
            value = frame.option(command.name, scene.choices.get(command.name, ()))
            if value is not None:
                yield replace(command, value=value)
        elif isinstance(command, SetSpeed):
            yield SetSpeed(frame.desired_speed)
        elif isinstance(command, KeepHistory):
            same = [one for one in self._histories if one.limit == frame.disk_limit > 0.0 and Path(one.folder).is_dir()]
            yield from same[-1:]
        else:
            yield command
