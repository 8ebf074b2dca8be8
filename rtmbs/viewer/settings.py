"""What was set in a session, so that a session that takes its place can be given the same."""

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


class Settings:
    """The last of each kind of setting among the commands that were sent."""

    def __init__(self) -> None:
        self._parameters: dict[str, Any] = {}
        self._last: dict[tuple[type, str], Command] = {}

    def note(self, command: Command) -> None:
        """Look at a command that is sent."""
        if isinstance(command, Rebuild):
            self._parameters |= command.parameters
        elif isinstance(command, SetInput | SetOption):
            self._last[type(command), command.name] = command
        elif isinstance(command, SetSpeed | Subscribe | KeepHistory | ShowReactions | Inspect):
            self._last[type(command), ""] = command
        elif isinstance(command, Reset | LoadState):  # the inputs are those of the model again, or of a file
            self._last = {key: one for key, one in self._last.items() if not isinstance(one, SetInput)}

    def again(self) -> list[Command]:
        """Return the commands that set all this in a new session."""
        building: list[Command] = [Rebuild(dict(self._parameters))] if self._parameters else []
        return building + list(self._last.values())
