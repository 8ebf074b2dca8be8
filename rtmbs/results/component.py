"""What the name of a channel, or of one of its components, means."""

from rtmbs.errors import unknown_name
from rtmbs.results.channel import Channel, units_of
from rtmbs.results.result import Result


def split(result: Result, name: str) -> tuple[str, str]:
    """Return the channel and the axis ("" all) that a name means; UnknownNameError with the nearest names.

    A channel is NAME.QUANTITY, one component of it NAME.QUANTITY[AXIS] or NAME.QUANTITY.AXIS, one of a position NAME.x.
    """
    if not isinstance(name, str):
        raise unknown_name("channel", name, result.names())
    if name in result:
        return name, ""
    owner, _, axis = name.removesuffix("]").rpartition("[") if name.endswith("]") else name.rpartition(".")
    if owner not in result and f"{owner}.position" in result and len(axis) == 1:
        owner = f"{owner}.position"
    if owner not in result:
        raise unknown_name("channel", name, result.names())
    axes = result.about(owner)[0]
    if axis not in axes:
        raise unknown_name(f"axis of channel {owner!r}", axis, axes)
    return owner, axis


def chosen(result: Result, name: str) -> Channel:
    """Return the channel that a name means, or the one component of it under its full name."""
    owner, axis = split(result, name)
    channel = result.channel(owner)
    if not axis:
        return channel
    k = channel.axes.index(axis)
    return Channel(f"{owner}[{axis}]", (), units_of(channel.axes, channel.unit)[k], channel.values[:, k], channel.frame)
