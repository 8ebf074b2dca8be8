"""Stores for the blocks of a record during a run: memory, HDF5, or a table of comma-separated values."""

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np

from rtmbs.core.reading import DamagedFile, opened, reason
from rtmbs.errors import InputError, ResultError, shown
from rtmbs.results import hdf5
from rtmbs.results.channel import Array, Channel, Source
from rtmbs.results.file_formats import CSV_SUFFIX, headings

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
