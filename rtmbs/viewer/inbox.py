"""Commands that came together: of the moves of a pull and the settings of one input only the last counts."""

from collections.abc import Iterable

from rtmbs.viewer.commands import Command, MoveGrab, SetInput

Key = tuple[type, str]


def coalesced(commands: Iterable[Command]) -> list[Command]:
    """Return the commands without those that a later one of the same kind replaces.

    Only MoveGrab and SetInput replace, and only when nothing but such commands stands between the two.
    """
    kept: list[Command] = []
    last: dict[Key, int] = {}  # place in ``kept``
    for command in commands:
        if not isinstance(command, MoveGrab | SetInput):
            last.clear()
            kept.append(command)
            continue
        key = type(command), command.name if isinstance(command, SetInput) else ""
        if key in last:
            kept[last[key]] = command
        else:
            last[key] = len(kept)
            kept.append(command)
    return kept
