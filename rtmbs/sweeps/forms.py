"""Forms of a table in a file: Parquet and CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, ResultError
from rtmbs.files.atomic_file import replacing
from rtmbs.files.errors import DamagedFile
from rtmbs.results.parquet import read_table
from rtmbs.sweeps.result import SweepResult

PARQUET, CSV = ".parquet", ".csv"
ENDINGS = (PARQUET, CSV)

Columns = Mapping[str, NDArray[Any]]


def save(table: SweepResult, path: str | Path) -> None:
    """Write a table in the form that the name ends in."""
    ending = Path(path).suffix.lower()
    columns = {name: table[name] for name in table}
    if ending == PARQUET:
        write_parquet(path, columns)
    elif ending == CSV:
        write_csv(path, columns)
    else:
        raise InputError(f"{str(path)!r} must end in one of {', '.join(ENDINGS)}")


def parquet(what: str) -> Any:
    """Return pyarrow with its Parquet; InputError where it is missing."""
    if find_spec("pyarrow") is None:
        raise InputError(f"{what} needs pyarrow; install it with pip install 'rtmbs[sweep]'")
    import pyarrow
    import pyarrow.parquet

    return pyarrow


def write_parquet(path: str | Path, columns: Columns) -> None:
    """Write columns; the file is whole or not there."""
    arrow = parquet(f"{str(path)!r}")
    with replacing(path) as file:
        arrow.parquet.write_table(arrow.table(dict(columns)), file)


def read_parquet(path: str | Path, words: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the columns of a file, some of which are ``words``; ResultError naming it when it is damaged."""
    arrow = parquet(f"{str(path)!r}")
    try:
        table = read_table(arrow, path, words)
    except DamagedFile as error:
        raise ResultError(f"{str(path)!r} {error}; take it away, and its runs are made again") from error
    return {name: values_of(arrow, table[name].combine_chunks()) for name in table.column_names}


def values_of(arrow: Any, column: Any) -> NDArray[Any]:
    """Return a column; equal words are one object, so that many take no more room than one."""
    if not isinstance(column, arrow.DictionaryArray):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
    return np.asarray(words[column.indices.fill_null(len(words) - 1).to_numpy()])


def write_csv(path: str | Path, columns: Columns) -> None:
    """Write a line of names and a line a row; numbers read back to the same bits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True))
    with replacing(path) as file:
        file.write(text.getvalue().encode())
