"""A result as a table of comma-separated values: a column a component, for other programs; it is not read again."""

import csv
import io
from pathlib import Path

import numpy as np

from rtmbs.files.atomic_file import replacing
from rtmbs.results.channel import Channel
from rtmbs.results.result import TIME, Result

SUFFIX = ".csv"
ROWS = 1000  # formatted at once


def save_table(result: Result, path: str | Path) -> None:
    """Write times first, then every component of every channel, under "name[axis] (unit)"; digits are exact."""
    channels = [result.read(TIME), *(result.read(name) for name in result.names() if name != TIME)]
    numbers = np.column_stack([channel.values for channel in channels])
    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text)
        writer.writerow([heading for channel in channels for heading in headings(channel)])
        for first in range(0, len(numbers), ROWS):
            writer.writerows([repr(value) for value in row] for row in numbers[first : first + ROWS].tolist())
        text.flush()
        text.detach()


def headings(channel: Channel) -> list[str]:
    """Return the heading of each component of a channel."""
    return [f"{name} ({unit})" for name, unit, _ in channel.components]
