"""Files of results: the format by the ending of the name, ``npz`` archives, and tables of comma-separated values.

HDF5 stands in ``hdf5.py``, Parquet in ``parquet.py``. An ``npz`` file holds every channel by its name, with a table of
axes and units, and no pickle. A table is for other programs and is not read again.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

from rtmbs.core.archive import CHECKSUM, read_archive, write_archive
from rtmbs.core.archive import FORMAT as FORMAT_KEY
from rtmbs.core.atomic_file import replacing
from rtmbs.core.reading import DamagedFile, opened
from rtmbs.errors import InputError, ResultError
from rtmbs.results import hdf5, parquet
from rtmbs.results.channel import TIME, Channel, Contents, Record, Source, StoredValues

CSV_SUFFIX = ".csv"
CSV_ROWS = 1000  # formatted at once
READ = (".npz", *hdf5.SUFFIXES, parquet.SUFFIX)  # how the names of files that hold a result end
WRITTEN = (*READ, CSV_SUFFIX)
NPZ_FORMAT = 2
HEAD = ("model", "fingerprint", "outcome_names", "warning_names")  # words
TABLE = ("channel_names", "channel_axes", "channel_units", "channel_frames")  # words, one a channel
COUNTS = ("outcome_counts", "warning_counts")  # whole numbers, one a name
TAKEN = (FORMAT_KEY, *HEAD, *COUNTS, *TABLE, CHECKSUM)  # no channel has these names
AXES_BETWEEN = ", "  # axes of one channel


def save(result: Record, path: str | Path) -> None:
    """Write a result. Raises InputError for a form that does not exist."""
    check_form(path)
    ending = Path(path).suffix.lower()
    if ending in hdf5.SUFFIXES:
        hdf5.save_hdf5(result, path)
    elif ending == parquet.SUFFIX:
        parquet.save_parquet(result, path)
    elif ending == CSV_SUFFIX:
        save_csv(result, path)
    else:
        save_npz(result, path)


def check_form(path: str | Path) -> None:
    """Refuse a form that does not exist, or that this installation cannot write: InputError names what is missing."""
    ending = Path(path).suffix.lower()
    if ending[1:].isalpha() and ending not in WRITTEN:
        raise InputError(f"result file {str(path)!r} ends in {ending!r}; the forms are {', '.join(WRITTEN)}")
    if ending in hdf5.SUFFIXES:
        hdf5.needed(path)
    elif ending == parquet.SUFFIX:
        parquet.pyarrow(path)


def load(path: str | Path) -> Contents:
    """Read a result file of any format.

    Raises ResultError naming the file, and the entry where there is one, when it does not exist, is truncated, changed
    by a byte, no result file or of another format.
    """
    ending = Path(path).suffix.lower() if isinstance(path, str | Path) else ""
    if ending in hdf5.SUFFIXES:
        return hdf5.load_hdf5(path)
    if ending == parquet.SUFFIX:
        return parquet.load_parquet(path)
    if ending == CSV_SUFFIX:
        raise ResultError(
            f"result file {str(path)!r} is a table for other programs; save the result as .npz or .h5 too"
        )
    if ending[1:].isalpha() and ending not in WRITTEN and Path(path).is_file() and not is_archive(path):
        raise ResultError(
            f"file {str(path)!r} is no result file; the files that hold a result end in {', '.join(READ)}"
        )
    return load_npz(path)


def is_archive(path: str | Path) -> bool:
    """True for a regular file that holds an archive."""
    try:
        with opened(path) as file:
            return is_zipfile(file)
    except DamagedFile:
        return False


# ------------------------------------------------------------------------------------------------------------------ npz


def save_npz(result: Record, path: str | Path) -> None:
    """Write ``result``, one channel after the other, so that they need not fit into memory together."""
    write_archive(path, NPZ_FORMAT, npz_entries(result))


def npz_entries(result: Record) -> Iterator[tuple[str, Any]]:
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
        table.append((name, AXES_BETWEEN.join(channel.axes), channel.unit, channel.frame))
        yield name, channel.values
    for heading, column in zip(TABLE, list(zip(*table, strict=True)) or [()] * len(TABLE), strict=True):
        yield heading, words(list(column))


def words(values: list[str]) -> np.ndarray[Any, Any]:
    """Return words as an array of unicode, also when there are none."""
    return np.array(values, dtype=np.str_)


def load_npz(path: str | Path) -> Contents:
    """Read an ``npz`` result.

    Raises ResultError naming the file, and the entry where there is one, when it does not exist, is truncated, changed
    by a byte, no result file or of another format.
    """
    where = f"result file {str(path)!r}"
    try:
        data = read_archive(path, NPZ_FORMAT, "result file")
    except DamagedFile as error:
        raise ResultError(f"{where} {error}") from error.__cause__
    check_npz_head(data, where)
    table = list(zip(*(data[heading].tolist() for heading in TABLE), strict=True))
    check_npz_channels(data, table, where)
    return Contents(
        {name: stored_source(data[name], axes, unit, frame) for name, axes, unit, frame in table},
        name=str(data["model"]),
        fingerprint=str(data["fingerprint"]),
        outcomes=dict(zip(data["outcome_names"].tolist(), data["outcome_counts"].tolist(), strict=True)),
        warnings=dict(zip(data["warning_names"].tolist(), data["warning_counts"].tolist(), strict=True)),
    )


def check_npz_head(data: dict[str, Any], where: str) -> None:
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


def check_npz_channels(data: dict[str, Any], table: list[tuple[str, ...]], where: str) -> None:
    """Refuse a file without a channel that its table lists, or with one of another type or length than its axes say."""
    if lost := [name for name, *_ in [(TIME,), *table] if name not in data]:
        raise ResultError(f"{where} lacks the channel {lost[0]!r}; save it again with Result.save")
    samples = data[TIME].shape[:1]
    for name, axes, *_ in table:
        wanted = (*samples, len(axes.split(AXES_BETWEEN))) if axes else samples
        if data[name].dtype != np.float64 or data[name].shape != wanted:
            raise ResultError(
                f"{where}: channel {name!r} is {data[name].dtype} of shape {data[name].shape}, which should be {wanted}"
                " numbers; save it again with Result.save"
            )


def stored_source(values: Any, axes: str, unit: str, frame: str) -> Source:
    """Return the source of a channel whose values are at hand."""
    return Source(tuple(axes.split(AXES_BETWEEN)) if axes else (), unit, StoredValues(values), frame)


# ------------------------------------------------------------------------------------- tables of comma-separated values


def save_csv(result: Record, path: str | Path) -> None:
    """Write times first, then every component of every channel, under "name[axis] (unit)"; digits are exact."""
    channels = [result.read(TIME), *(result.read(name) for name in result.names() if name != TIME)]
    numbers = np.column_stack([channel.values for channel in channels])
    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text)
        writer.writerow([heading for channel in channels for heading in headings(channel)])
        for first in range(0, len(numbers), CSV_ROWS):
            writer.writerows([repr(value) for value in row] for row in numbers[first : first + CSV_ROWS].tolist())
        text.flush()
        text.detach()


def headings(channel: Channel) -> list[str]:
    """Return the heading of each component of a channel."""
    return [f"{name} ({unit})" if unit else name for name, unit, _ in channel.components]
