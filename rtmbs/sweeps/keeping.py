"""Rows as they come: into the columns of the table, and to the disk in batches."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ResultError
from rtmbs.sweeps.designs import Column
from rtmbs.sweeps.folder import Folder
from rtmbs.sweeps.parameters import ERROR, RUN
from rtmbs.sweeps.result import Effort, SweepResult
from rtmbs.sweeps.task import Row, Rows

BATCH_SECONDS = 1.0  # between two files: what a kill may lose
BATCH_ROWS = 20_000


class Rowkeeper:
    """Takes rows in any order, and gives the table in the order of the runs."""

    def __init__(self, parameters: Mapping[str, Column], folder: Folder | None, bar: Any) -> None:
        self.parameters, self.folder, self.bar = parameters, folder, bar
        self.count = len(next(iter(parameters.values())))
        self.done = np.zeros(self.count, bool)
        self.errors: dict[int, str] = {}
        self.measures: dict[str, NDArray[np.float64]] = {}
        self.waiting: list[Row] = []
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
            self.note(Row(run, {} if error else {name: float(columns[name][k]) for name in names}, error))

    def note(self, row: Row) -> None:
        """Write a row into the columns."""
        self.done[row.run] = True
        if row.error:
            self.errors[row.run] = row.error
        for name, value in row.measures.items():
            if name not in self.measures:
                self.measures[name] = np.full(self.count, np.nan)
            self.measures[name][row.run] = value

    def take(self, rows: Rows) -> None:
        """Take the rows of a chunk."""
        for row in rows.rows:
            self.note(row)
        self.waiting += rows.rows
        self.made += len(rows.rows)
        self.inside += rows.seconds
        self.processor += rows.processor_seconds
        self.bar.update(len(rows.rows))

    def tick(self) -> None:
        """Write what waits when it has waited long enough."""
        if time.monotonic() - self.written >= BATCH_SECONDS or len(self.waiting) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
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
