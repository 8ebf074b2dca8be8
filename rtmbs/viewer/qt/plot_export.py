"""Export of plots as a figure of a stated size and style, or as numbers."""

import csv
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.results.curves import Abscissa, Panel, Span
from rtmbs.results.figure import PICTURES, Look, draw, save_figure
from rtmbs.viewer.qt.capture import unwritten

Array = NDArray[np.float64]


class Column(NamedTuple):
    """One curve as it is seen, every sample of it, with complete names."""

    x_label: str
    y_label: str
    x: Array  # (k,)
    y: Array  # (k,)


def write_plot(
    path: str, panels: Sequence[Panel], over: Abscissa, span: Span | None, look: Look, columns: Iterable[Column]
) -> None:
    """Write panels as a figure of a size and style (.pdf, .svg, .png), or their ``columns`` as numbers (.csv).

    Raises InputError for another ending, for a folder that is not there, for nothing to draw, without matplotlib, and
    for a disk that takes no more.
    """
    ending, folder = Path(path).suffix.lower(), Path(path).absolute().parent
    if not folder.is_dir():
        raise unwritten(path, f"there is no folder {str(folder)!r}; make it first, or name another one")
    if ending not in (".csv", *PICTURES):
        raise InputError(f"{path!r}: the ending {ending!r} is not known; it must be .csv, {', '.join(PICTURES)}")
    if not panels:
        raise InputError(f"{path!r}: an export needs a channel that is ticked")
    if ending == ".csv":
        write_csv(path, columns)
    else:
        save_figure(draw(panels, over, span=span, look=look), path, look)


def write_csv(path: str, curves: Iterable[Column]) -> None:
    """Write a column for each curve; curves over the same samples share that of the samples."""
    headings: list[str] = []
    columns: list[list[float]] = []
    samples: list[tuple[str, Array]] = []
    for curve in curves:
        if not any(curve.x_label == label and np.array_equal(x, curve.x) for label, x in samples):
            headings.append(curve.x_label)
            columns.append(curve.x.tolist())
            samples.append((curve.x_label, curve.x))
        headings.append(curve.y_label)
        columns.append(curve.y.tolist())
    try:
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(headings)
            writer.writerows(zip_longest(*columns, fillvalue=""))
    except OSError as error:
        raise unwritten(path, error.strerror or str(error)) from error
