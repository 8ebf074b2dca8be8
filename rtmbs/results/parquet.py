"""A result as a Parquet table (extra ``tables``): a column a component, the channels described in its metadata."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.errors import ResultError
from rtmbs.files.atomic_file import replacing
from rtmbs.files.errors import DamagedFile
from rtmbs.files.parquet_form import check_parquet
from rtmbs.files.reading import from_json
from rtmbs.results.channel import Kept, Source
from rtmbs.results.extras import needed
from rtmbs.results.result import TIME, Result

SUFFIX = ".parquet"
FORMAT = 1
KEY = b"rtmbs_result"  # of the metadata


def pyarrow(path: str | Path) -> Any:
    """Return pyarrow with its Parquet part; InputError when it is not installed."""
    arrow = needed("pyarrow", f"{str(path)!r} is a Parquet file, which", "tables")
    needed("pyarrow.parquet", str(path), "tables")
    return arrow


def save_parquet(result: Result, path: str | Path) -> None:
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


def load_parquet(path: str | Path) -> Result:
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
    return Result(sources, *head)


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
    return Source(axes, unit, Kept(np.column_stack(values) if axes else values[0]), frame)


def checksum(about: dict[str, Any], parts: Iterable[Any]) -> str:
    """Return the checksum of the description and of all columns in their order."""
    digest = hashlib.sha256(json.dumps(about).encode())
    for values in parts:
        digest.update(np.ascontiguousarray(values, np.float64).data)
    return digest.hexdigest()
