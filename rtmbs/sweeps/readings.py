"""Measures in words: ``{"peak": "largest crank.rate"}`` reads a number off a channel of a Result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.results.component import split
from rtmbs.results.result import Result

READINGS: dict[str, Callable[[Any], Any]] = {
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "max": np.max,
    "min": np.min,
    "mean": np.mean,  # of the samples
    "rms": lambda x: np.sqrt(np.mean(x**2)),
    "largest": lambda x: np.max(np.abs(x)),
    "range": np.ptp,
}


@dataclass(frozen=True)
class Readings:
    """Reads numbers off a Result. ``wanted`` has (name, reading, channel)."""

    wanted: tuple[tuple[str, str, str], ...]

    def __call__(self, result: Result) -> dict[str, float]:
        return {name: read(result, reading, channel) for name, reading, channel in self.wanted}


def read(result: Result, reading: str, name: str) -> float:
    """Return one number of a channel; UnknownNameError for a channel, InputError for one of several components."""
    channel, axis = split(result, name)
    axes, values = result.about(channel)[0], result[channel]
    if axes and not axis:
        raise InputError(f"channel {name!r} has the components {', '.join(axes)}; name one, such as {name}.{axes[0]}")
    return float(READINGS[reading](values[:, axes.index(axis)] if axis else values))


def readings(words: Mapping[str, Any]) -> Readings:
    """Return the measure that ``words`` describe: a name, and a reading with its channel.

    Raises InputError for a measure that is not two words, UnknownNameError for a reading that does not exist.
    """
    found = []
    for name, text in words.items():
        parts = text.split() if isinstance(text, str) else ()
        if len(parts) != 2:
            raise InputError(
                f"measure {shown(name)} is {shown(text)}; it must be a reading and a channel: 'largest crank.rate'"
            )
        if parts[0] not in READINGS:
            raise unknown_name(f"reading of measure {name!r}", parts[0], READINGS)
        found.append((name, parts[0], parts[1]))
    if not found:
        raise InputError("measure is empty; give one measure at least: {'peak': 'largest crank.rate'}")
    return Readings(tuple(found))
