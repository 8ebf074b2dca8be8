"""What was set in a session, so that a session that takes its place can be given the same."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rtmbs.viewer.commands import (
    Command,
    Inspect,
    KeepHistory,
    LoadState,
    Rebuild,
    Reset,
    SetInput,
    SetOption,
    SetSpeed,
    ShowReactions,
    Subscribe,
)
from rtmbs.viewer.disk.head import free_folder


class Settings:
    """The last of each kind of setting among the commands that were sent; ``name`` is that of the mechanism."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parameters: set[str] = set()
        self._last: dict[tuple[type, str], Command] = {}

    def note(self, command: Command) -> Command:
        """Look at a command, and return it as it is to be sent.

        A history without a folder gets one here, so that the next session goes on in the same folder.
        """
        if isinstance(command, KeepHistory) and command.limit and not command.folder:
            command = replace(command, folder=str(free_folder(self._name)))
        if isinstance(command, Rebuild):
            self._parameters |= set(command.parameters)
        elif isinstance(command, SetInput | SetOption):
            self._last[type(command), command.name] = command
        elif isinstance(command, SetSpeed | Subscribe | KeepHistory | ShowReactions | Inspect):
            self._last[type(command), ""] = command
        elif isinstance(command, Reset | LoadState):  # the inputs are those of the model again, or of a file
            self._last = {key: one for key, one in self._last.items() if not isinstance(one, SetInput)}
        return command

    def again(self, built: Mapping[str, Any]) -> list[Command]:
        """Return the commands that set all this in a new session.

        built: parameters of the mechanism that stood last. A build that was refused is not asked for again.
        """
        parameters = {name: built[name] for name in built if name in self._parameters}
        building: list[Command] = [Rebuild(parameters)] if parameters else []
        return building + list(self._last.values())
