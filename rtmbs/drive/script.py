"""Drives by a script: a table of wishes over time in place of a person, without a window."""

import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtmbs.core.files import text
from rtmbs.drive.controls import Wishes
from rtmbs.drive.person import WISHES, DrivingCar
from rtmbs.errors import InputError
from rtmbs.model.checks import Array
from rtmbs.results import Result

COLUMNS = ("t", *WISHES)
LARGEST = 1e8  # [bytes] of a file


class Script(NamedTuple):
    """Wishes over time."""

    t: Array  # (k,) increasing [s]
    wishes: Array  # (k, 3) steering, throttle, brake

    def at(self, t: float) -> Wishes:
        """Return the wishes of a time, linear in between and held beyond the ends."""
        return Wishes(*(float(np.interp(t, self.t, column)) for column in self.wishes.T))


def read_script(path: str | Path) -> Script:
    """Return the script of a CSV file with the columns t, steering, throttle, brake.

    Raises InputError for another file.
    """
    rows = list(csv.reader(text(path, LARGEST).splitlines()))
    if not rows or tuple(word.strip() for word in rows[0]) != COLUMNS:
        raise InputError(f"script {str(path)!r}: its first line must be {','.join(COLUMNS)}")
    try:
        table = np.array([[float(word) for word in row] for row in rows[1:] if row], dtype=np.float64)
    except ValueError as error:
        raise InputError(f"script {str(path)!r}: {error}; every line must be four numbers") from None
    if (
        table.ndim != 2
        or table.shape[1:] != (4,)
        or not np.all(np.isfinite(table))
        or np.any(np.diff(table[:, 0]) <= 0)
    ):
        raise InputError(f"script {str(path)!r}: lines must be four finite numbers with increasing times")
    return Script(table[:, 0], table[:, 1:])


def write_script(path: str | Path, rows: Any) -> None:
    """Write rows (t, steering, throttle, brake) as a script."""
    lines = [",".join(COLUMNS), *(",".join(f"{value:.9g}" for value in row) for row in rows)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def drive_by_script(driving: DrivingCar, script: Script, t_end: float | None = None) -> Result:
    """Drive by a script to its end, or to a time, and return the record of every hundredth of a second."""
    end = float(script.t[-1]) if t_end is None else t_end
    driving.script = script
    return driving.run(end, every=0.01)
