"""Files of results: the format by the ending of the name, ``npz`` archives, and tables of comma-separated values.

HDF5 stands in ``hdf5.py``, Parquet in ``tables.py``. An ``npz`` file holds every channel by its name, with a table of
axes and units, and no pickle. A table is for other programs and is not read again. Stores take the blocks of a record
during a run: in memory, in HDF5, or in a table.
"""

import csv
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary
from zipfile import is_zipfile

import numpy as np

from rtmbs.core.files import CHECKSUM, DamagedFile, opened, read_archive, reason, replacing, write_archive
from rtmbs.core.files import FORMAT as FORMAT_KEY
from rtmbs.errors import InputError, ResultError, shown
from rtmbs.results import hdf5, tables
from rtmbs.results.channel import TIME, Array, Channel, Contents, Record, Source, StoredValues

CSV_SUFFIX = ".csv"
CSV_ROWS = 1000  # formatted at once
READ = (".npz", *hdf5.SUFFIXES, tables.SUFFIX)  # how the names of files that hold a result end
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
    elif ending == tables.SUFFIX:
        tables.save_parquet(result, path)
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
    elif ending == tables.SUFFIX:
        tables.pyarrow(path)


def load(path: str | Path) -> Contents:
    """Read a result file of any format.

    Raises ResultError naming the file, and the entry where there is one, when it does not exist, is truncated, changed
    by a byte, no result file or of another format.
    """
    ending = Path(path).suffix.lower() if isinstance(path, str | Path) else ""
    if ending in hdf5.SUFFIXES:
        return hdf5.load_hdf5(path)
    if ending == tables.SUFFIX:
        return tables.load_parquet(path)
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


ENDINGS = (*hdf5.SUFFIXES, CSV_SUFFIX)
OWNERS: "WeakValueDictionary[Path, Any]" = WeakValueDictionary()  # the last store of this process that took a file


class Store(Protocol):
    """Takes blocks of samples in their order; the one written last may be written again."""

    def write(self, first: int, values: Mapping[str, Array]) -> None: ...
    def read(self, name: str, count: int) -> Array: ...
    def close(self, count: int, outcomes: Mapping[str, int], warnings: Mapping[str, int]) -> None: ...
    def release(self) -> None: ...


def check_file(file: object) -> Path | None:
    """Return the path of a record that is written in blocks, or None for memory; InputError when it cannot be one."""
    if file is None:
        return None
    if not isinstance(file, str | os.PathLike):
        raise InputError(f"file is {shown(file)}; it must be the path of a file such as 'run.h5'")
    path = Path(file)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"file {str(path)!r} cannot be written while a run goes on; its name must end in one of "
            f"{', '.join(ENDINGS)}, and result.save(...) writes other forms afterwards"
        )
    if not path.parent.is_dir():
        raise InputError(f"file {str(path)!r} cannot be written: there is no folder {str(path.parent)!r}")
    if path.suffix.lower() in hdf5.SUFFIXES:
        hdf5.needed(path)
    return path


def open_store(path: Path | None, columns: Mapping[str, Source], name: str, fingerprint: str, size: int) -> Store:
    """Return the store for blocks of these channels, ``size`` samples each."""
    if path is None:
        return MemoryStore(size)
    store: Store
    if (before := OWNERS.pop(path.resolve(), None)) is not None:
        before.release()  # a fault may have left it open, and kept
    if path.suffix.lower() in hdf5.SUFFIXES:
        store = hdf5.Hdf5Store(path, columns, name, fingerprint, size)
    else:
        store = TableStore(path, columns)
    OWNERS[path.resolve()] = store
    return store


def check_owner(path: Path | None, store: Store) -> None:
    """Refuse to read from a file that a later record has taken: ResultError."""
    if path is not None and OWNERS.get(path.resolve()) is not store:
        raise ResultError(
            f"result file {str(path)!r} was written anew by a later record, so this result has lost its samples; give "
            "each run a file of its own"
        )


class MemoryStore:
    """Keeps the blocks."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.blocks: list[Mapping[str, Array]] = []

    def write(self, first: int, values: Mapping[str, Array]) -> None:
        """Keep a block."""
        self.blocks[first // self.size :] = [values]

    def read(self, name: str, count: int) -> Array:
        """Return the first ``count`` samples of a channel."""
        return np.concatenate([block[name] for block in self.blocks])[:count]

    def close(self, count: int, outcomes: Mapping[str, int], warnings: Mapping[str, int]) -> None:
        """Nothing to do."""

    def release(self) -> None:
        """Nothing to do."""


class TableStore:
    """Appends rows to a table for other programs; a kill loses the row that it was writing and those behind."""

    def __init__(self, path: Path, columns: Mapping[str, Source]) -> None:
        self.path, self.places, self.ends = path, {}, {0: 0}
        heads, width = [], 0
        for name, one in columns.items():
            empty = np.zeros((0, len(one.axes)) if one.axes else 0)
            heads += headings(Channel(name, one.axes, one.unit, empty))
            self.places[name] = range(width, len(heads)) if one.axes else width
            width = len(heads)
        try:
            with path.open("wb") as file:
                file.write(text_of([heads]))
                self.ends[0] = file.tell()
        except OSError as error:
            raise ResultError(f"result file {str(path)!r} cannot be written: {reason(path, error)}") from None

    def write(self, first: int, values: Mapping[str, Array]) -> None:
        """Append a block in the place of what stood there. OSError: the disk is full; rows before it stay."""
        numbers = np.column_stack([values[name] for name in self.places])
        data = text_of([[repr(value) for value in row] for row in numbers.tolist()])
        begin = self.ends[first]
        with self.path.open("r+b") as file:
            try:
                file.truncate(begin)
                file.seek(begin)
                file.write(data)
                file.flush()
            except OSError:
                file.truncate(begin)
                raise
            self.ends[first + len(numbers)] = begin + len(data)

    def read(self, name: str, count: int) -> Array:
        """Return the first ``count`` samples of a channel."""
        columns = self.places[name]
        try:
            with opened(self.path) as file:
                return np.loadtxt(file, delimiter=",", skiprows=1, usecols=columns, max_rows=count, ndmin=1)
        except (DamagedFile, ValueError) as error:
            raise ResultError(f"result file {str(self.path)!r} has changed since it was written ({error})") from None

    def close(self, count: int, outcomes: Mapping[str, int], warnings: Mapping[str, int]) -> None:
        """Nothing to do: a table has no place for them."""

    def release(self) -> None:
        """Nothing to do: the file is open while a block is written only."""


def text_of(rows: list[list[str]]) -> bytes:
    """Return rows as lines of comma-separated values."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8")
