"""Tables of a result: pandas, xarray, HTML and Parquet.

Export of a result to pandas DataFrame, xarray Dataset, and HTML of notebooks.

A result as a Parquet table (extra ``tables``): a column a component, the channels described in its metadata.

Before any library reads a file, its own bytes are held against the form that rtmbs writes. Parquet packs without bound:
a page of a few bytes may stand for gigabytes, many columns may share one page, and nested schemas exhaust the stack of
their reader. rtmbs writes flat tables, packed by snappy, in plain pages or with a dictionary. The footer and the head
of every page are read, and all else is refused.
Source: Apache Parquet Format 2.10 (parquet.thrift), and the Thrift compact protocol.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.core.files import DamagedFile, check_unpacked, from_json, opened, replacing
from rtmbs.core.notebook import folded_html
from rtmbs.errors import InputError, ResultError, with_count
from rtmbs.results.channel import (
    QUATERNION,
    TIME,
    WRENCH,
    XYZ,
    Channel,
    Contents,
    Record,
    Source,
    StoredValues,
    channel_or_component,
)


def needed(package: str, use: str, extra: str) -> Any:
    """Return a package; InputError names the use, the package and the extra when it is not installed."""
    if find_spec(package) is None:
        raise InputError(f"{use} needs {package}; install it with pip install 'rtmbs[{extra}]'")
    return import_module(package)


# ---- tables of a result ---------------------------------------------------------------------------------------------


EXTRA = "tables"
DIMENSIONS = {XYZ: "xyz", WRENCH: "wrench", QUATERNION: "quaternion"}


def to_pandas(record: Record, names: Sequence[str]) -> Any:
    """Return a DataFrame: a row a sample with the time as index, a column a component."""
    pandas = needed("pandas", "to_pandas", EXTRA)
    columns: dict[str, Any] = {}
    units: dict[str, str] = {TIME: "s"}
    for channel in channels(record, names):
        for label, unit, values in channel.components:
            columns[label], units[label] = values, unit
    frame = pandas.DataFrame(columns, index=pandas.Index(record.t, name=TIME))
    frame.attrs = {"model": record.name, "fingerprint": record.fingerprint, "units": units}
    return frame


def to_xarray(record: Record, names: Sequence[str]) -> Any:
    """Return a Dataset: a variable a channel over ``t`` and, where it has components, a dimension with their labels."""
    xarray = needed("xarray", "to_xarray", EXTRA)
    labels: dict[str, tuple[str, ...]] = {}
    variables: dict[str, Any] = {}
    for channel in channels(record, names):
        dims: tuple[str, ...] = (TIME,)
        if channel.axes:
            dimension = DIMENSIONS.get(channel.axes, f"components of {channel.name}")
            labels[dimension] = channel.axes
            dims = (TIME, dimension)
        about = {"units": channel.unit, "frame": channel.frame}
        variables[channel.name] = (dims, channel.values, {name: value for name, value in about.items() if value})
    coordinates = {TIME: ((TIME,), record.t, {"units": "s"}), **{name: list(axes) for name, axes in labels.items()}}
    head = {"model": record.name, "fingerprint": record.fingerprint}
    return xarray.Dataset(variables, coords=coordinates, attrs=head)


def channels(record: Record, names: Sequence[str]) -> list[Channel]:
    """Return the channels or components of these names, all when there is none; time is no column."""
    wanted = names or [name for name in record.names() if name != TIME]
    return [channel_or_component(record, name) for name in wanted if name != TIME]


def result_html(record: Record) -> str:
    """Return the head of a result, and its channels folded below the elements that they belong to."""
    times = f"{len(record)} samples, t = {record.t[0]:g} s to {record.t[-1]:g} s" if len(record) else "no samples"
    lines = [f"<p><b>Result {escape(repr(record.name))}</b>: {times}, {len(record.names())} channels</p>"]
    lines_of_steps = [f"{with_count(count, 'step')} {name}" for name, count in record.outcomes.items()]
    lines_of_steps += [f"warning: {what} ({with_count(count, 'time')})" for what, count in record.warnings.items()]
    if lines_of_steps:
        lines.append("<ul>" + "".join(f"<li>{escape(one)}</li>" for one in lines_of_steps) + "</ul>")
    owners: dict[str, list[tuple[str, ...]]] = {}
    for name in record.names():
        owner, _, what = name.rpartition(".")
        axes, unit = record.about(name)
        if name != TIME:
            owners.setdefault(owner, []).append((what, " ".join(axes), unit, record.frame(name)))
    for owner, rows in owners.items():
        lines.append(folded_html(owner or "system", ("channel", "components", "unit", "axes of"), rows))
    return "\n".join(lines)


SUFFIX = ".parquet"
FORMAT = 1
KEY = b"rtmbs_result"  # of the metadata

MAGIC = b"PAR1"
MOST_FOOTER = 100_000_000
DEEPEST = 12  # structures in structures
LONGEST_HEAD = 1 << 16  # bytes of the head of a page
CODECS = (0, 1)  # not packed, snappy: at most 1 : 22
DOUBLE, BYTES = 5, 6  # physical types that count here
WIDTH = {0: 1, 1: 4, 2: 8, 4: 4, DOUBLE: 8}  # bytes of a value in memory by its physical type
DATA, DICTIONARY = 0, 2  # kinds of pages
ENCODINGS = (0, 2, 8)  # of pages: plain, and keys of a dictionary in both their numbers
TRUE, FALSE, DOUBLE_VALUE, BINARY, LIST, SET, STRUCT = 1, 2, 7, 8, 9, 10, 12  # types of the protocol


def pyarrow(path: str | Path) -> Any:
    """Return pyarrow with its Parquet part; InputError when it is not installed."""
    arrow = needed("pyarrow", f"{str(path)!r} is a Parquet file, which", "tables")
    needed("pyarrow.parquet", str(path), "tables")
    return arrow


def save_parquet(result: Record, path: str | Path) -> None:
    """Write every channel; an older file stays until the new one is whole."""
    arrow = pyarrow(path)
    channels = [result.read(name) for name in result.names()]
    parts = [(label, unit, values) for channel in channels for label, unit, values in channel.components]
    about = {
        "format": FORMAT,
        "model": result.name,
        "fingerprint": result.fingerprint,
        "outcomes": result.outcomes,
        "warnings": result.warnings,
        "channels": [[one.name, one.axes, one.unit, one.frame] for one in channels],
    }
    about["checksum"] = checksum(about, (values for *_, values in parts))
    fields = [arrow.field(label, arrow.float64(), metadata={"unit": unit}) for label, unit, _ in parts]
    table = arrow.table(
        [arrow.array(values) for *_, values in parts], arrow.schema(fields, metadata={KEY: json.dumps(about)})
    )
    with replacing(path) as file:
        arrow.parquet.write_table(table, file, use_dictionary=False)  # it packs without bound


def load_parquet(path: str | Path) -> Contents:
    """Read a Parquet result; ResultError names the file when it is missing, damaged or none."""
    arrow, where = pyarrow(path), f"result file {str(path)!r}"
    try:
        table = read_table(arrow, path)
    except DamagedFile as error:
        raise ResultError(f"{where} {error}; save it again") from error
    said = (table.schema.metadata or {}).get(KEY)
    if said is None:
        raise ResultError(f"{where} is no result that rtmbs saved; save it again")
    try:
        about = from_json(said)
        if about["format"] != FORMAT:
            raise ResultError(f"{where} has format {about['format']}; this version reads {FORMAT}")
        said_sum = about.pop("checksum")
        check_labels(about["channels"], table.column_names)
        sources = {name: column(table, name, tuple(axes), unit, frame) for name, axes, unit, frame in about["channels"]}
        head = (about["model"], about["fingerprint"], about["outcomes"], about["warnings"])
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ResultError(f"{where} lacks a part of what it should hold ({error}); save it again") from error
    parts = [values for name, one in sources.items() for *_, values in one.channel(name).components]
    if said_sum != checksum(about, parts):
        raise ResultError(f"{where} is damaged: its checksum is that of other contents; save it again")
    if TIME not in sources:
        raise ResultError(f"{where} lacks the channel {TIME!r}; save it again")
    return Contents(sources, *head)


def read_table(arrow: Any, path: str | Path, words: Iterable[str] = ()) -> Any:
    """Return the table of a file that has the form of ours, ``words`` as keys of a dictionary; DamagedFile."""
    check_parquet(path)
    try:
        return arrow.parquet.ParquetFile(path, read_dictionary=list(words), memory_map=False).read(use_threads=False)
    except Exception as error:  # a damaged file may raise anything
        raise DamagedFile(f"is truncated or damaged ({' '.join(str(error).split())})") from error


def check_labels(channels: Any, columns: list[str]) -> None:
    """Refuse channels that are not made of each column once: ValueError."""
    labels = [label for name, axes, *_ in channels for label in labels_of(name, axes)]
    if labels != columns or len(set(labels)) != len(labels):
        raise ValueError("its channels are not those of its columns")


def labels_of(name: str, axes: Iterable[str]) -> list[str]:
    """Return the columns of a channel."""
    return [f"{name}[{axis}]" for axis in axes] or [name]


def column(table: Any, name: str, axes: tuple[str, ...], unit: str, frame: str) -> Source:
    """Return one channel of a table."""
    values = [np.asarray(table.column(label).to_numpy(), np.float64) for label in labels_of(name, axes)]
    return Source(axes, unit, StoredValues(np.column_stack(values) if axes else values[0]), frame)


def checksum(about: dict[str, Any], parts: Iterable[Any]) -> str:
    """Return the checksum of the description and of all columns in their order."""
    digest = hashlib.sha256(json.dumps(about).encode())
    for values in parts:
        digest.update(np.ascontiguousarray(values, np.float64).data)
    return digest.hexdigest()


# ---------------------------------------------------------------------------------------------------- form of the bytes


class Thrift:
    """Reader of values of the compact protocol; DamagedFile where a value is missing."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise DamagedFile("is damaged: its description ends too early")
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            if (shift := shift + 7) > 63:
                raise DamagedFile("is damaged: a number of its description is too long")

    def signed(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a structure by their numbers."""
        if depth > DEEPEST:
            raise DamagedFile("is damaged: its description is nested too deeply")
        found: dict[int, Any] = {}
        number = 0
        while kind := (head := self.byte()) & 15:
            number = number + (head >> 4) if head >> 4 else self.signed()
            found[number] = kind == TRUE if kind in (TRUE, FALSE) else self.value(kind, depth)
        return found

    def value(self, kind: int, depth: int) -> Any:
        if kind in (TRUE, FALSE, 3):
            return self.byte()
        if kind in (4, 5, 6):
            return self.signed()
        if kind == DOUBLE_VALUE:
            return self.bytes(8)
        if kind == BINARY:
            return self.bytes(self.unsigned())
        if kind in (LIST, SET):
            head = self.byte()
            count = head >> 4 if head >> 4 < 15 else self.unsigned()
            if count > len(self.data) - self.at:
                raise DamagedFile("is damaged: a list of its description is longer than the file")
            return [self.value(head & 15, depth + 1) for _ in range(count)]
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise DamagedFile(f"is damaged: its description has a value of kind {kind}")

    def bytes(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise DamagedFile("is damaged: a text of its description is longer than the file")
        self.at += count
        return self.data[self.at - count : self.at]


def check_parquet(path: str | Path) -> None:
    """Refuse a file that is no flat table as rtmbs writes it: DamagedFile, whose message goes on after its name."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            check_table(file, size)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            if isinstance(error, DamagedFile):
                raise
            raise DamagedFile(f"is damaged: its description lacks a part ({error})") from None


def check_table(file: Any, size: int) -> None:
    """Hold the footer of a file, and the head of every page, against its bytes."""
    file.seek(max(size - 8, 0))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if size < 12 or tail[4:] != MAGIC or length > min(size - 12, MOST_FOOTER):
        raise DamagedFile("is truncated, or no Parquet file")
    file.seek(size - 8 - length)
    about = Thrift(file.read(length)).struct()
    kinds = columns_of(about[2])
    rows, groups = about[3], about.get(4, [])
    if not 0 <= rows <= 2**40 or sum(group[3] for group in groups) != rows or any(group[3] < 0 for group in groups):
        raise DamagedFile(f"is damaged: its groups do not have the {rows} rows that it says")
    check_unpacked(rows * sum(WIDTH.get(kind, 16) for kind in kinds), size, "rows")
    packed = 0
    for group in groups:
        if len(group[1]) != len(kinds):
            raise DamagedFile("is damaged: a group has other columns than the table")
        for column, kind in zip(group[1], kinds, strict=True):
            packed += check_column(file, column, kind, group[3], size - 8 - length)
    if packed > size:
        raise DamagedFile("is damaged: its columns together are longer than the file")


def columns_of(schema: list[dict[int, Any]]) -> list[int]:
    """Return the physical type of each column of a flat table."""
    leaves = schema[1:]
    if schema[0].get(5) != len(leaves) or any(5 in leaf or leaf.get(3, 0) == 2 for leaf in leaves):
        raise DamagedFile("is no flat table")
    kinds = [leaf[1] for leaf in leaves]
    if any(kind not in WIDTH and kind != BYTES for kind in kinds):
        raise DamagedFile("has columns of a type that rtmbs does not write")
    return kinds


def check_column(file: Any, column: dict[int, Any], kind: int, rows: int, end: int) -> int:
    """Hold the pages of a column of a group against its bytes, and return the bytes."""
    about = column[3]
    if column.get(1) or about[1] != kind or about[4] not in CODECS or about[5] != rows:
        raise DamagedFile("has a column in another file, of another type, or packed in a way that rtmbs does not write")
    if not rows:
        return 0
    start, length = about[9], about[7]
    if 0 < about.get(11, 0) < start:
        start = about[11]
    if start < 4 or length < 0 or start + length > end:
        raise DamagedFile("is damaged: a column lies beyond the file")
    at, met = start, 0
    while at < start + length and met < rows:
        file.seek(at)
        reader = Thrift(file.read(min(LONGEST_HEAD, start + length - at)))
        page = reader.struct()
        unpacked, packed = page[2], page[3]
        at += reader.at + packed
        if packed < 0 or at > start + length or not 0 <= unpacked <= 32 * packed + 64:
            raise DamagedFile("is damaged: a page is longer than its column, or unpacks to far more")
        head = page.get(7 if page[1] == DICTIONARY else 5, {})
        values = head.get(1, -1)
        if page[1] not in (DATA, DICTIONARY) or head.get(2) not in ENCODINGS or not 0 <= values <= max(rows, unpacked):
            raise DamagedFile("has pages of a kind that rtmbs does not write")
        met += values if page[1] == DATA else 0
    if met != rows:
        raise DamagedFile(f"is damaged: a column has {met} values for {rows} rows")
    return int(length)
