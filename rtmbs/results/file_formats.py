"""Files of results: the format by the ending of the name, ``npz`` archives, HDF5, and comma-separated values.

Parquet stands in ``tables.py``. An ``npz`` file holds every channel by its name, with a table of axes and units, and no
pickle. A table is for other programs and is not read again. Stores take the blocks of a record during a run: in memory,
in HDF5, or in a table.

An HDF5 file (extra ``hdf5``) has a data set a channel, with axes, unit and frame as its attributes. The user block in
front holds a checksum of all that follows, so that a damaged file is never handed to HDF5, which may hang on one. Other
programs read the file as any other. ``Hdf5Store`` writes a file in blocks while a run goes on. It is in the
single-writer mode of HDF5, so what was flushed stays readable whatever ends the process. The table ``blocks`` has a row
(samples, crc32) for each whole block; a row is written after its samples. ``close`` puts the outcomes and the checksum
in, and then the file is as one that ``Result.save`` wrote. Channels of such a file are read at their first use.
"""

import csv
import hashlib
import io
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary
from zipfile import is_zipfile

import numpy as np

from rtmbs.core.files import CHECKSUM, DamagedFile, from_json, opened, read_archive, reason, replacing, write_archive
from rtmbs.core.files import FORMAT as FORMAT_KEY
from rtmbs.errors import InputError, ResultError, shown
from rtmbs.results import hdf5_check, tables
from rtmbs.results.channel import TIME, Array, Channel, Contents, Record, Source, StoredValues
from rtmbs.results.hdf5_check import CHANNELS, ClosedView

FORMAT = 1
SUFFIXES = (".h5", ".hdf5")
ROWS = "block_samples"  # attribute of files written in blocks
BLOCK = 512  # bytes of the user block
MARK = b"rtmbs result, sha256 of what follows byte 512: "
SLASHES = (("%", "%25"), ("/", "%2F"))  # HDF5 takes a slash for a folder
UNFINISHED = b"rtmbs result in blocks, not finished"
TABLE_ROWS = 1024  # a chunk of the table
MARGIN = 1 << 20  # bytes kept free beside a block: what HDF5 writes about it
NUMBER = np.dtype("<f8")


def needed(path: str | Path) -> Any:
    """Return h5py; InputError when it is not installed."""
    if find_spec("h5py") is None:
        raise InputError(f"{str(path)!r} is an HDF5 file, which needs h5py; install it with pip install 'rtmbs[hdf5]'")
    import h5py

    return h5py


def save_hdf5(result: Record, path: str | Path) -> None:
    """Write every channel; an older file stays until the new one is whole."""
    h5py = needed(path)
    content = io.BytesIO()
    with h5py.File(content, "w", userblock_size=BLOCK) as file:
        file.attrs["rtmbs_result"] = FORMAT
        file.attrs["model"], file.attrs["fingerprint"] = result.name, result.fingerprint
        file.attrs["outcomes"], file.attrs["warnings"] = json.dumps(result.outcomes), json.dumps(result.warnings)
        group = file.create_group(CHANNELS, track_order=True)
        for name in result.names():
            channel = result.read(name)
            describe(h5py, group.create_dataset(escaped(name), data=channel.values), channel)
    whole = content.getbuffer()
    mark = MARK + hashlib.sha256(whole[BLOCK:]).hexdigest().encode()
    whole[: len(mark)] = mark
    with replacing(path) as target:
        target.write(whole)


def describe(h5py: Any, data: Any, channel: Channel | Source) -> None:
    """Write axes, unit and frame beside a data set."""
    data.attrs["axes"] = np.array(channel.axes, dtype=h5py.string_dtype())
    data.attrs["unit"], data.attrs["frame"] = channel.unit, channel.frame


def load_hdf5(path: str | Path) -> Contents:
    """Read an HDF5 result; ResultError names the file when it is missing, damaged or none."""
    h5py, where = needed(path), f"result file {str(path)!r}"
    try:
        with opened(path) as file:
            mark = file.read(BLOCK)
    except DamagedFile as error:
        raise ResultError(f"{where} cannot be read: it {error}") from None
    if mark.startswith(UNFINISHED):
        return unfinished(path, where)
    if not mark.startswith(MARK):
        raise ResultError(f"{where} is no result that rtmbs saved; save it again")
    if mark[len(MARK) : len(MARK) + 64] != checksum(path):
        raise ResultError(f"{where} is truncated or damaged: its checksum is that of other contents; save it again")
    hdf5_check.check_form(Path(path).absolute(), None, where)
    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("rtmbs_result") != FORMAT:
                raise ResultError(f"{where} has format {file.attrs.get('rtmbs_result')}; this version reads {FORMAT}")
            channels = file[CHANNELS]
            sources = block_sources(path, channels) if ROWS in file.attrs else all_sources(channels)
            head = {name: str(file.attrs[name]) for name in ("model", "fingerprint")}
            counted = {name: counts(file.attrs[name]) for name in ("outcomes", "warnings")}
    except ResultError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise ResultError(f"{where} cannot be read ({error}); save it again") from error
    check(sources, where)
    return Contents(sources, head["model"], head["fingerprint"], counted["outcomes"], counted["warnings"])


def counts(text: str) -> dict[str, int]:
    """Return how often what happened; DamagedFile for a text that does not say so."""
    found = from_json(text)
    if not isinstance(found, dict) or not all(type(count) is int for count in found.values()):
        raise DamagedFile("its outcomes are no counts by name")
    return found


def checksum(path: str | Path) -> bytes:
    """Return the checksum of a file behind its user block."""
    with opened(path) as file:
        file.seek(BLOCK)
        return hashlib.file_digest(file, "sha256").hexdigest().encode()


def all_sources(channels: Any) -> dict[str, Source]:
    """Return every data set of a group as the source of a channel, its values read."""
    return {
        original(name): source(data, StoredValues(np.array(data[()], np.float64))) for name, data in channels.items()
    }


def source(data: Any, values: Callable[[], Any]) -> Source:
    """Return one data set as the source of a channel."""
    axes = tuple(str(axis) for axis in data.attrs["axes"].tolist())
    return Source(axes, str(data.attrs["unit"]), values, str(data.attrs["frame"]))


def check(sources: dict[str, Source], where: str) -> None:
    """Refuse channels without times, or of another length than their axes say."""
    if TIME not in sources or sources[TIME].axes:
        raise ResultError(f"{where} lacks the channel {TIME!r}; save it again")
    samples = len(sources[TIME].values())
    for name, one in sources.items():
        if one.values().shape != ((samples, len(one.axes)) if one.axes else (samples,)):
            raise ResultError(f"{where}: channel {name!r} has another size than its axes say; save it again")


def escaped(name: str) -> str:
    for plain, code in SLASHES:
        name = name.replace(plain, code)
    return name


def original(name: str) -> str:
    for plain, code in reversed(SLASHES):
        name = name.replace(code, plain)
    return name


# ---------------------------------------------------------------------------------------------------- written in blocks


class Hdf5Store:
    """Writes the blocks of a record. ``size`` is the samples of a block; the last one may have fewer."""

    def __init__(self, path: Path, columns: Mapping[str, Source], name: str, fingerprint: str, size: int) -> None:
        h5py = needed(path)
        self.path, self.size = path, size
        self.bytes = NUMBER.itemsize * size * sum(max(len(one.axes), 1) for one in columns.values())
        try:
            self.file = h5py.File(path, "w", libver="latest", userblock_size=BLOCK)
        except OSError as error:
            raise ResultError(f"result file {str(path)!r} cannot be written: {reason(path, error)}") from None
        try:
            self._describe(h5py, columns, name, fingerprint)
            mark(path, UNFINISHED)
        except BaseException:
            self.release()
            raise
        self.open = True

    def _describe(self, h5py: Any, columns: Mapping[str, Source], name: str, fingerprint: str) -> None:
        """Write the head of the file: attributes and empty data sets."""
        size = self.size
        head = {"rtmbs_result": FORMAT, "model": name, "fingerprint": fingerprint, ROWS: size}
        self.file.attrs.update({**head, "outcomes": "{}", "warnings": "{}"})
        group = self.file.create_group(CHANNELS, track_order=True)
        self.data: dict[str, Any] = {}
        for channel, one in columns.items():
            inner = (len(one.axes),) if one.axes else ()
            data = group.create_dataset(
                escaped(channel), (0, *inner), NUMBER, maxshape=(None, *inner), chunks=(size, *inner)
            )
            describe(h5py, data, one)
            self.data[channel] = data
        self.low = {name: data.id for name, data in self.data.items()}  # without the checks that take most of the time
        self.table = self.file.create_dataset(
            hdf5_check.TABLE, (0, 2), np.int64, maxshape=(None, 2), chunks=(TABLE_ROWS, 2)
        )
        self.file.swmr_mode = True

    def write(self, first: int, values: Mapping[str, Array]) -> None:
        """Write a block from sample ``first`` on, in the place of an older one. OSError: the disk is full."""
        count = len(next(iter(values.values())))
        reserve(self.path, self.file.id.get_filesize() + 2 * self.bytes + MARGIN)
        crc = 0
        for name, data in self.low.items():
            inner = values[name].shape[1:]
            block = np.ascontiguousarray(values[name], NUMBER)
            if count < self.size:
                block = np.concatenate((block, np.zeros((self.size - count, *inner), NUMBER)))
            crc = zlib.crc32(block.data, crc)
            data.set_extent((first + count, *inner))
            data.write_direct_chunk((first, *(0 for _ in inner)), block)
        self.file.flush()
        row = first // self.size
        self.table.resize(row + 1, axis=0)
        self.table[row] = count, crc
        self.file.flush()

    def read(self, name: str, count: int) -> Array:
        """Return the first ``count`` samples of a channel."""
        if self.open:
            return np.array(self.data[name][:count], np.float64)
        return read_channel(self.path, escaped(name), count)

    def close(self, count: int, outcomes: Mapping[str, int], warnings: Mapping[str, int]) -> None:
        """Finish the file: ``count`` samples, how the steps ended, and the checksum. OSError: the disk is full."""
        if not self.open:
            return
        self.open = False
        self.file.close()
        reserve(self.path, os.path.getsize(self.path) + MARGIN)
        with needed(self.path).File(self.path, "r+") as file:
            for data in file[CHANNELS].values():
                if data.shape[0] != count:
                    data.resize(count, axis=0)
            file.attrs["outcomes"], file.attrs["warnings"] = json.dumps(dict(outcomes)), json.dumps(dict(warnings))
        mark(self.path, MARK + checksum(self.path))

    def release(self) -> None:
        """Let go of the file, as it is."""
        self.open = False
        self.file.close()


def mark(path: Path, words: bytes) -> None:
    """Write into the user block."""
    with open(path, "r+b") as file:
        file.write(words.ljust(BLOCK, b"\0"))


def reserve(path: Path, size: int) -> None:
    """Let the file be ``size`` bytes long before HDF5 counts on them: HDF5 cannot close a file whose disk is full.

    HDF5 cuts the file to its length again. Raises OSError when the disk has no room.
    """
    if hasattr(os, "posix_fallocate"):
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    elif shutil.disk_usage(path.parent).free < size - os.path.getsize(path):
        raise OSError(28, "No space left on device")


def read_channel(path: Path, key: str, count: int) -> Array:
    """Return the first ``count`` samples of a data set."""
    try:
        with open_finished_or_not(path) as file:
            return np.array(file[CHANNELS][key][:count], np.float64)
    except ResultError:
        raise
    except Exception as error:
        raise ResultError(
            f"result file {str(path)!r} was there when the result was loaded, and now it cannot be read ({error})"
        ) from error


@contextmanager
def open_finished_or_not(path: Path) -> Iterator[Any]:
    """Yield the file, open for reading, whether it was finished or not."""
    with ExitStack() as stack:
        with opened(path) as file:
            going_on = file.read(BLOCK).startswith(UNFINISHED)
        hdf5_check.check_form(path, BLOCK if going_on else None, f"result file {str(path)!r}")
        content = stack.enter_context(ClosedView(path, BLOCK)) if going_on else path
        yield stack.enter_context(needed(path).File(content, "r"))


def block_sources(path: str | Path, channels: Any, count: int | None = None) -> dict[str, Source]:
    """Return sources that read a channel, or its first ``count`` samples, at its first use."""
    found = {}
    for key, data in channels.items():
        samples = len(data) if count is None else count
        found[original(key)] = source(data, partial(read_channel, Path(path).absolute(), key, samples))
    return found


def unfinished(path: str | Path, where: str) -> Contents:
    """Return the contents of an unfinished file: all whole blocks that the run has written."""
    try:
        with open_finished_or_not(Path(path).absolute()) as file:
            count = whole_samples(file)
            sources = block_sources(path, file[CHANNELS], count)
            head = str(file.attrs["model"]), str(file.attrs["fingerprint"])
    except ResultError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise ResultError(f"{where} was not finished and cannot be read ({error}); run it again") from error
    if not count:
        raise ResultError(f"{where} was not finished and holds no whole block; run it again")
    return Contents(sources, *head, {}, {"not finished: blocks that were written before it ended": 1})


def whole_samples(file: Any) -> int:
    """Return the samples of the leading blocks whose checksum is right."""
    size, count = int(file.attrs[ROWS]), 0
    for samples, crc in file[hdf5_check.TABLE][()].tolist():
        found = 0
        for data in file[CHANNELS].values():
            try:
                found = zlib.crc32(data.id.read_direct_chunk((count, *(0 for _ in data.shape[1:])))[1], found)
            except Exception:  # noqa: BLE001 - a chunk that is not there, or cannot be read
                return count
        if found != crc or not 0 < samples <= size:
            return count
        count += samples
    return count


CSV_SUFFIX = ".csv"
CSV_ROWS = 1000  # formatted at once
READ = (".npz", *SUFFIXES, tables.SUFFIX)  # how the names of files that hold a result end
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
    if ending in SUFFIXES:
        save_hdf5(result, path)
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
    if ending in SUFFIXES:
        needed(path)
    elif ending == tables.SUFFIX:
        tables.pyarrow(path)


def load(path: str | Path) -> Contents:
    """Read a result file of any format.

    Raises ResultError naming the file, and the entry where there is one, when it does not exist, is truncated, changed
    by a byte, no result file or of another format.
    """
    ending = Path(path).suffix.lower() if isinstance(path, str | Path) else ""
    if ending in SUFFIXES:
        return load_hdf5(path)
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


ENDINGS = (*SUFFIXES, CSV_SUFFIX)
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
    if path.suffix.lower() in SUFFIXES:
        needed(path)
    return path


def open_store(path: Path | None, columns: Mapping[str, Source], name: str, fingerprint: str, size: int) -> Store:
    """Return the store for blocks of these channels, ``size`` samples each."""
    if path is None:
        return MemoryStore(size)
    store: Store
    if (before := OWNERS.pop(path.resolve(), None)) is not None:
        before.release()  # a fault may have left it open, and kept
    if path.suffix.lower() in SUFFIXES:
        store = Hdf5Store(path, columns, name, fingerprint, size)
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
