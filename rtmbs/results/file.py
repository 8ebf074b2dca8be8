"""The file of a result: an ``npz`` of every channel by its name, with a table of axes and units, and no pickle."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.errors import ResultError
from rtmbs.files.archive import CHECKSUM, read_archive, write_archive
from rtmbs.files.archive import FORMAT as FIRST
from rtmbs.files.errors import DamagedFile
from rtmbs.results.channel import Kept, Source
from rtmbs.results.result import TIME, Result

FORMAT = 2
HEAD = ("model", "fingerprint", "outcome_names", "warning_names")  # words
TABLE = ("channel_names", "channel_axes", "channel_units", "channel_frames")  # words, one a channel
COUNTS = ("outcome_counts", "warning_counts")  # whole numbers, one a name
TAKEN = (FIRST, *HEAD, *COUNTS, *TABLE, CHECKSUM)  # no channel has these names
BETWEEN = ", "  # axes of one channel


def save_result(result: Result, path: str | Path) -> None:
    """Write ``result``, one channel after the other, so that they need not fit into memory together."""
    write_archive(path, FORMAT, entries(result))


def entries(result: Result) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of the file by name, the table of channels last."""
    yield "model", np.array(result.name)
    yield "fingerprint", np.array(result.fingerprint)
    yield "outcome_names", words(list(result.outcomes))
    yield "warning_names", words(list(result.warnings))
    for name, counted in zip(COUNTS, (result.outcomes, result.warnings), strict=True):
        yield name, np.array(list(counted.values()), np.int64)
    table: list[tuple[str, str, str, str]] = []
    for name in result.names():
        if name in TAKEN:
            raise ResultError(f"channel {name!r} has a name that the file keeps for itself; give its element another")
        channel = result.read(name)
        table.append((name, BETWEEN.join(channel.axes), channel.unit, channel.frame))
        yield name, channel.values
    for heading, column in zip(TABLE, list(zip(*table, strict=True)) or [()] * len(TABLE), strict=True):
        yield heading, words(list(column))


def words(values: list[str]) -> np.ndarray[Any, Any]:
    """Return words as an array of unicode, also when there are none."""
    return np.array(values, dtype=np.str_)


def load_result(path: str | Path) -> Result:
    """Read a result file; it answers by name as the Result that wrote it, and needs no System.

    Raises ResultError naming the file, and the entry where there is one, when it does not exist, is truncated, changed
    by a byte, no result file or of another format.
    """
    where = f"result file {str(path)!r}"
    try:
        data = read_archive(path, FORMAT, "result file")
    except DamagedFile as error:
        raise ResultError(f"{where} {error}") from error.__cause__
    check_head(data, where)
    table = list(zip(*(data[heading].tolist() for heading in TABLE), strict=True))
    check_channels(data, table, where)
    return Result(
        {name: stored(data[name], axes, unit, frame) for name, axes, unit, frame in table},
        name=str(data["model"]),
        fingerprint=str(data["fingerprint"]),
        outcomes=dict(zip(data["outcome_names"].tolist(), data["outcome_counts"].tolist(), strict=True)),
        warnings=dict(zip(data["warning_names"].tolist(), data["warning_counts"].tolist(), strict=True)),
    )


def check_head(data: dict[str, Any], where: str) -> None:
    """Refuse a file whose head is not that of a result: its entries, their types and lengths."""
    if missing := [name for name in (*HEAD, *COUNTS, *TABLE) if name not in data]:
        raise ResultError(f"{where} lacks {', '.join(missing)}; save it again with Result.save")
    rank = {"model": 0, "fingerprint": 0}
    for name, kind in [*((name, "U") for name in (*HEAD, *TABLE)), *((name, "i") for name in COUNTS)]:
        if data[name].dtype.kind != kind or data[name].ndim != rank.get(name, 1):
            raise ResultError(
                f"{where}: {name} is {data[name].dtype} of shape {data[name].shape}; save it again with Result.save"
            )
    for together in (("outcome_names", "outcome_counts"), ("warning_names", "warning_counts"), TABLE):
        if len({len(data[name]) for name in together}) > 1:
            raise ResultError(f"{where}: {', '.join(together)} differ in length; save it again with Result.save")


def check_channels(data: dict[str, Any], table: list[tuple[str, ...]], where: str) -> None:
    """Refuse a file without a channel that its table lists, or with one of another type or length than its axes say."""
    if lost := [name for name, *_ in [(TIME,), *table] if name not in data]:
        raise ResultError(f"{where} lacks the channel {lost[0]!r}; save it again with Result.save")
    samples = data[TIME].shape[:1]
    for name, axes, *_ in table:
        wanted = (*samples, len(axes.split(BETWEEN))) if axes else samples
        if data[name].dtype != np.float64 or data[name].shape != wanted:
            raise ResultError(
                f"{where}: channel {name!r} is {data[name].dtype} of shape {data[name].shape}, which should be {wanted}"
                " numbers; save it again with Result.save"
            )


def stored(values: Any, axes: str, unit: str, frame: str) -> Source:
    """Return the source of a channel whose values are at hand."""
    return Source(tuple(axes.split(BETWEEN)) if axes else (), unit, Kept(values), frame)
