"""``SweepResult``: the table of a sweep."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.limits.names import Keyed, selected
from rtmbs.limits.notebook import table_html
from rtmbs.sweeps.parameters import ERROR, RUN

Column = NDArray[Any]


class Effort(NamedTuple):
    """What the runs of one call took; rows that were there before do not count."""

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
    """One row a run, in the order of the design: ``table["c"]`` is the column of a parameter or a measure.

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
        """Return what ``names`` does: a table is a mapping of names to columns, ``dict(table)``."""
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
        from rtmbs.sweeps.forms import save  # those files import packages

        save(self, path)

    def __repr__(self) -> str:
        failures = f", {len(self.failed)} failed" if self.failed else ""
        return f"SweepResult({len(self)} runs of {', '.join(self.parameters)}: {', '.join(self.measures)}{failures})"

    def _repr_html_(self) -> str:
        """Return the first rows as a table for notebooks."""
        rows = ([cell(column[k]) for column in self._columns.values()] for k in range(len(self)))
        return table_html(repr(self), self.names(), rows)


def cell(value: Any) -> str:
    """Return a value of a row as text."""
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
