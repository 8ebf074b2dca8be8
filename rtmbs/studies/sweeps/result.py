"""Results of a sweep: its table, and its folder of finished rows.

``SweepResult``: the table of a sweep, its Parquet and CSV files, and measures in words as "largest crank.rate".

The folder of a sweep: its description, and one Parquet file for each batch of finished rows.

Every file is whole or not there, so a sweep that was killed goes on where its files end. XXX puts rows into the
columns of the table and to the disk.
"""

import csv
import io
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.files import DamagedFile, from_json, replacing, whole
from rtmbs.core.names import Keyed, selected
from rtmbs.core.notebook import table_html
from rtmbs.errors import InputError, ResultError, shown, unknown_name, with_count
from rtmbs.results.channel import component_of
from rtmbs.results.result import Result
from rtmbs.results.tables import read_table
from rtmbs.studies.sweeps.designs import ERROR, RUN, Column
from rtmbs.studies.sweeps.engines import RunRow, RunRows

PARQUET, CSV = ".parquet", ".csv"
ENDINGS = (PARQUET, CSV)

Columns = Mapping[str, NDArray[Any]]


def save_columns(columns: Columns, path: str | Path) -> None:
    """Write columns in the format that the name ends in."""
    ending = Path(path).suffix.lower()
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
class Measures:
    """Reads numbers off a Result. ``wanted`` has (name, reading, channel)."""

    wanted: tuple[tuple[str, str, str], ...]

    def __call__(self, result: Result) -> dict[str, float]:
        return {name: read(result, reading, channel) for name, reading, channel in self.wanted}


def read(result: Result, reading: str, name: str) -> float:
    """Return one number of a channel; UnknownNameError for a channel, InputError for one of several components."""
    channel, axis = component_of(result, name)
    axes, values = result.about(channel)[0], result[channel]
    if axes and not axis:
        raise InputError(f"channel {name!r} has the components {', '.join(axes)}; name one, such as {name}.{axes[0]}")
    return float(READINGS[reading](values[:, axes.index(axis)] if axis else values))


def readings(words: Mapping[str, Any]) -> Measures:
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
    return Measures(tuple(found))


class Effort(NamedTuple):
    """Wall and processor time of the runs of one call; rows from before do not count."""

    runs: int
    workers: int
    wall: float  # from the start of the workers to their end [s]
    inside: float  # wall time inside the workers, in sum [s]
    processor: float  # processor time of the runs, in sum [s]

    @property
    def busy(self) -> float:
        """The share of the time of all workers that was spent in runs."""
        return self.inside / (self.wall * self.workers) if self.wall else 0.0


class SweepResult(Keyed):
    """Table of a sweep, one row a run: ``table["c"]`` is the column of a parameter or a measure.

    Rows are in the order of the design.

    ``run`` is the number of the run (int64), ``error`` a sentence, empty for a run that did not fail. Measures of a run
    that failed are NaN. The columns are the same bytes from any engine and any number of workers. Measures stand in the
    order of their names.

    Parameters
    ----------
    parameters : Mapping[str, Column]
        Columns of the parameters.
    measures : Mapping[str, Column]
        Columns of the measures.
    run : Column
        Numbers of the runs.
    error : Column
        Messages of failed runs, empty for the others.
    effort : Effort
        Counts of the work.

    Examples
    --------
    >>> table = rtmbs.sweep(make, {"c": [10.0, 20.0]}, measure, t_end=1.0)
    >>> best = table.row(np.nanargmin(table["peak"]))
    """

    def __init__(
        self,
        parameters: Mapping[str, Column],
        measures: Mapping[str, Column],
        run: Column,
        error: Column,
        effort: Effort,
    ) -> None:
        self.parameters, self.measures = tuple(parameters), tuple(measures)
        self._columns: dict[str, Column] = {RUN: run, **parameters, **measures, ERROR: error}
        self.effort = effort

    def __getitem__(self, name: Any) -> Any:
        """Return a column (runs,); of a pattern or a list of names the columns by name.

        Raises UnknownNameError for a name that does not exist and for a pattern without a match.
        """
        if (several := selected("column", name, self._columns)) is not None:
            return {one: self._columns[one] for one in several}
        if not (isinstance(name, str) and name in self._columns):
            raise unknown_name("column", name, self._columns)
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._columns[RUN])

    def names(self) -> list[str]:
        """Return the names of all columns: the run, parameters, measures, the error.

        Returns
        -------
        list[str]
            Names of all columns: the run, parameters, measures, the error.
        """
        return list(self._columns)

    def keys(self) -> list[str]:
        """Return the names of the columns: a table is a mapping of names to columns, ``dict(table)``."""
        return self.names()

    @property
    def failed(self) -> dict[int, str]:
        """The sentence of each run that failed, by its number."""
        where = np.flatnonzero(self[ERROR] != "")
        return {int(self[RUN][k]): str(self[ERROR][k]) for k in where}

    def row(self, k: int) -> dict[str, Any]:
        """Return a row by name.

        Parameters
        ----------
        k : int
            Number of the row.

        Returns
        -------
        dict[str, object]
            Row by name.
        """
        return {name: column[k] for name, column in self._columns.items()}

    def to_pandas(self) -> Any:
        """Return the table as a pandas.DataFrame; InputError where pandas is missing.

        Returns
        -------
        object
            Table as a pandas.DataFrame; InputError where pandas is missing.

        Raises
        ------
        InputError
            For arguments out of range.
        """
        if find_spec("pandas") is None:
            raise InputError("to_pandas needs pandas; install it with pip install pandas")
        import pandas

        return pandas.DataFrame(self._columns)

    def save(self, path: str | Path) -> None:
        """Write the table as ``.parquet`` (extra ``sweep``) or ``.csv``; the file is whole or not there.

        Parameters
        ----------
        path : str or Path
            Path of the file.

        Raises
        ------
        InputError
            For another ending.
        OSError
        """
        save_columns(self._columns, path)

    def __repr__(self) -> str:
        failures = f", {len(self.failed)} failed" if self.failed else ""
        runs = f"{with_count(len(self), 'run')} of {', '.join(self.parameters)}"
        return f"SweepResult({runs}: {', '.join(self.measures)}{failures})"

    def _repr_html_(self) -> str:
        """Return the first rows as a table for notebooks."""
        rows = ([cell(column[k]) for column in self._columns.values()] for k in range(len(self)))
        return table_html(repr(self), self.names(), rows)


def cell(value: Any) -> str:
    """Return a value of a row as text."""
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


STUDY = "study.json"
FORMAT = 1
LARGEST = 1_000_000  # bytes of what was asked


class Folder:
    """Keeps the rows of one study.

    study : what tells this sweep from others, in plain words and numbers

    Raises InputError for a place that cannot be written, one that holds another study, and where pyarrow is missing.
    """

    def __init__(self, path: str | Path, study: Mapping[str, Any]) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"folder is {shown(path)}; it must be a path")
        parquet("a sweep with a folder")
        self.path = Path(path)
        asked = {"format": FORMAT, **study}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if (self.path / STUDY).exists():
                self.check(asked)
            else:
                with replacing(self.path / STUDY) as file:
                    file.write(json.dumps(asked, indent=1).encode())
        except OSError as error:
            raise InputError(f"folder {str(path)!r} cannot be used: {error.strerror}") from None

    def check(self, asked: Mapping[str, Any]) -> None:
        """Refuse the folder of another study."""
        try:
            found = from_json(whole(self.path / STUDY, LARGEST))
            if not isinstance(found, dict):
                raise DamagedFile("is damaged: it describes no study")
        except DamagedFile as error:
            raise ResultError(f"{str(self.path / STUDY)!r} {error}; name another folder") from None
        differ = [name for name in asked if found.get(name) != asked[name]]
        if differ:
            raise InputError(
                f"folder {str(self.path)!r} holds another study: {', '.join(differ)} differ; name another folder"
            )

    def batches(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the columns of each file. Raises ResultError naming a file that is damaged."""
        for path in sorted(self.path.glob(f"*{PARQUET}")):
            columns = read_parquet(path, [ERROR])
            if not sound(columns):
                raise ResultError(f"{str(path)!r} holds no rows of a sweep; take it out of the folder")
            yield columns

    def write(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Keep finished rows. No run is finished twice, so the first one gives the file its name."""
        write_parquet(self.path / f"rows-{int(columns[RUN][0]):09d}{PARQUET}", columns)


def sound(columns: Mapping[str, NDArray[Any]]) -> bool:
    """True for rows of a sweep: whole numbers of runs, sentences, and measures that are numbers."""
    if not {RUN, ERROR} <= columns.keys() or columns[RUN].dtype != np.int64:
        return False
    return all(isinstance(word, str) for word in columns[ERROR])


BATCH_SECONDS = 1.0  # between two files: what a kill may lose
BATCH_ROWS = 20_000


class RowTable:
    """Takes rows in any order, and gives the table in the order of the runs."""

    def __init__(self, parameters: Mapping[str, Column], folder: Folder | None, bar: Any) -> None:
        self.parameters, self.folder, self.bar = parameters, folder, bar
        self.count = len(next(iter(parameters.values())))
        self.done = np.zeros(self.count, bool)
        self.errors: dict[int, str] = {}
        self.measures: dict[str, NDArray[np.float64]] = {}
        self.waiting: list[RunRow] = []
        self.written = time.monotonic()
        self.inside = self.processor = 0.0
        self.made = 0
        if folder is not None:
            for columns in folder.batches():
                self.recall(columns)
            bar.update(int(self.done.sum()))

    def recall(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Take the rows of a file."""
        names = [name for name in columns if name not in (RUN, ERROR) and name not in self.parameters]
        if wrong := [name for name in names if columns[name].dtype != np.float64]:
            raise ResultError(f"the folder has a measure {wrong[0]!r} that is no number; name another folder")
        for k, run in enumerate(columns[RUN].tolist()):
            if not 0 <= run < self.count:
                raise ResultError(
                    f"the folder has a row of run {run}, and the study has {self.count}; name another folder"
                )
            error = str(columns[ERROR][k])
            self.note(RunRow(run, {} if error else {name: float(columns[name][k]) for name in names}, error))

    def note(self, row: RunRow) -> None:
        """Write a row into the columns."""
        self.done[row.run] = True
        if row.error:
            self.errors[row.run] = row.error
        for name, value in row.measures.items():
            if name not in self.measures:
                self.measures[name] = np.full(self.count, np.nan)
            self.measures[name][row.run] = value

    def take(self, rows: RunRows) -> None:
        """Take the rows of a chunk."""
        for row in rows.rows:
            self.note(row)
        self.waiting += rows.rows
        self.made += len(rows.rows)
        self.inside += rows.seconds
        self.processor += rows.processor_seconds
        self.bar.update(len(rows.rows))

    def tick(self) -> None:
        """Write waiting rows when they have waited long enough."""
        if time.monotonic() - self.written >= BATCH_SECONDS or len(self.waiting) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write waiting rows."""
        if self.folder is not None and self.waiting:
            self.folder.write(self.columns(np.array([row.run for row in self.waiting], np.int64)))
        self.waiting = []
        self.written = time.monotonic()

    def columns(self, runs: NDArray[np.int64]) -> dict[str, Column]:
        """Return the columns of these runs."""
        return {
            RUN: runs,
            **{name: values[runs] for name, values in self.parameters.items()},
            **{name: self.measures[name][runs] for name in sorted(self.measures)},  # whichever run came first
            ERROR: np.array([self.errors.get(int(run), "") for run in runs], dtype=object),
        }

    def result(self, workers: int, wall: float) -> SweepResult:
        """Return the table of all runs that are finished."""
        columns = self.columns(np.flatnonzero(self.done))
        run, error = columns.pop(RUN), columns.pop(ERROR)
        parameters = {name: columns.pop(name) for name in self.parameters}
        return SweepResult(
            parameters, columns, run, error, Effort(self.made, workers, wall, self.inside, self.processor)
        )
