"""The numbers of a channel: their names, and their names with a unit."""

from rtmbs.results.channel import units_of
from rtmbs.viewer.description import ChannelDescription


def labels(channel: ChannelDescription) -> list[str]:
    """Return the names of the numbers of a channel, each with its own unit."""
    units = units_of(channel.axes, channel.unit)
    return [f"{name}{bracketed(unit)}" for name, unit in zip(components(channel), units, strict=True)]


def bracketed(unit: str) -> str:
    """Return a unit behind a name; numbers without one have none."""
    return f" [{unit}]" if unit not in ("", "1") else ""


def components(channel: ChannelDescription) -> tuple[str, ...]:
    """Return the names of the numbers of a channel."""
    return tuple(f"{channel.name}[{axis}]" for axis in channel.axes) or (channel.name,)
