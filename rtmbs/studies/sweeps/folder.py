"""The folder of a sweep: its description, and one Parquet file for each batch of finished rows.

Every file is whole or not there, so a sweep that was killed goes on where its files end. XXX puts rows into the
columns of the table and to the disk.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.files import DamagedFile, from_json, replacing, whole
from rtmbs.errors import InputError, ResultError, shown
from rtmbs.studies.sweeps.designs import ERROR, RUN, Column
from rtmbs.studies.sweeps.result import PARQUET, Effort, SweepResult, parquet, read_parquet, write_parquet
from rtmbs.studies.sweeps.task import RunRow, RunRows

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
