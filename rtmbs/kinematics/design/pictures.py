"""Paths of points as pictures, y over x."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.results.exports import needed
from rtmbs.results.figure import PICTURES
from rtmbs.results.result import Result

Array = NDArray[np.float64]

WIDTH, HEIGHT = 6.4, 5.2  # of a picture [inch]


def plot_path(
    of: Result | Array, *points: str, axes: str = "xy", file: str | Path | None = None, marks: Array | None = None
) -> Any:
    """Draw the paths of points, one coordinate over another, and return the figure of matplotlib (extra ``plot``).

    Parameters
    ----------
    of : Result or ndarray
        A result, or points (S, 2) such as ``FourBar.path()`` returns.
    *points : str
        Markers or bodies of the result.
    axes : str, default "xy"
        The two coordinates of a result, across and up: "xy", "xz" or "yz", or the reverse.
    file : str or Path, optional
        Picture to write (.png, .pdf, .svg).
    marks : ndarray, optional
        Points (k, 2) to mark, such as those of a synthesis [m].

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    InputError
        For a result without points, axes that are none, a file that is no picture, and without matplotlib.
    """
    if len(axes) != 2 or set(axes) - set("xyz") or axes[0] == axes[1]:
        raise InputError(f"axes is {axes!r}; it must be two of x, y and z, such as 'xy'")
    if file is not None and Path(file).suffix.lower() not in PICTURES:
        raise InputError(f"file is {str(file)!r}; a picture ends in one of {', '.join(PICTURES)}")
    figure = needed("matplotlib.figure", "plot_path", "plot").Figure((WIDTH, HEIGHT), layout="constrained")
    panel = figure.subplots()
    for name, path in paths(of, points, axes):
        panel.plot(path[:, 0], path[:, 1], label=name)
    if marks is not None:
        panel.plot(*np.asarray(marks).T[:2], "o", label="wanted")
    panel.set(xlabel=f"{axes[0]} [m]", ylabel=f"{axes[1]} [m]", aspect="equal")
    panel.grid(alpha=0.3)
    if points or marks is not None:
        panel.legend()
    if file is not None:
        figure.savefig(file)
    return figure


def paths(of: Any, points: Sequence[str], axes: str) -> list[tuple[str, Array]]:
    """Return the paths to draw with their names."""
    if not isinstance(of, Result):
        return [("path", np.asarray(of, np.float64))]
    if not points:
        raise InputError("plot_path of a result needs a point: the name of a marker or of a body")
    columns = ["xyz".index(one) for one in axes]
    return [(name, of[f"{name}.position"][:, columns]) for name in points]
