"""What the name of a channel, or of one of its components, means."""

from rtmbs.errors import unknown_name
from rtmbs.results.result import Result


def split(result: Result, name: str) -> tuple[str, str]:
    """Return the channel and the axis ("" all) that a name means; UnknownNameError with the nearest names.

    A channel is NAME.QUANTITY, one component of it NAME.QUANTITY[AXIS] or NAME.QUANTITY.AXIS, one of a position NAME.x.
    """
    if name in result:
        return name, ""
    owner, _, axis = name.removesuffix("]").rpartition("[") if name.endswith("]") else name.rpartition(".")
    if owner not in result and f"{owner}.position" in result:
        owner = f"{owner}.position"
    if owner not in result:
        raise unknown_name("channel", name, result.names())
    axes = result.about(owner)[0]
    if axis not in axes:
        raise unknown_name(f"axis of channel {owner!r}", axis, axes)
    return owner, axis
