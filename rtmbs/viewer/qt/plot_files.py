"""Export of plots: numbers (.csv) or a picture (.png, .svg)."""

import csv
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QGraphicsView

from rtmbs.errors import InputError

Array = NDArray[np.float64]

FINER = 2  # pixels of a picture for one of the screen


class Curve(NamedTuple):
    """One curve as it is seen, every sample of it."""

    x_label: str
    y_label: str
    x: Array  # (k,)
    y: Array  # (k,)


def write(path: str, view: QGraphicsView, curves: Iterable[Curve]) -> None:
    """Write the curves, or the ``view`` that shows them.

    Raises InputError for another ending, for a folder that is not there, and for a disk that takes no more.
    """
    ending, folder = Path(path).suffix.lower(), Path(path).absolute().parent
    if not folder.is_dir():
        raise unwritten(path, f"there is no folder {str(folder)!r}; make it first, or name another one")
    if ending == ".csv":
        write_csv(path, curves)
    elif ending in (".png", ".svg"):
        draw(path, view)
    else:
        raise InputError(f"{path!r}: the ending {ending!r} is not known; it must be .csv, .png or .svg")


def draw(path: str, view: QGraphicsView) -> None:
    """Draw what a view shows into a picture, twice as fine as on the screen, or into a drawing that scales."""
    # The rectangle of the scene is of no use here: it grows by everything that was ever drawn outside of the view.
    shown = view.mapToScene(view.viewport().rect()).boundingRect()
    size = view.viewport().size()
    target = QRectF(0.0, 0.0, size.width(), size.height())
    canvas: QImage | QSvgGenerator
    if path.lower().endswith(".png"):
        canvas = QImage(size * FINER, QImage.Format.Format_RGB32)
        canvas.setDevicePixelRatio(FINER)
        canvas.fill(view.backgroundBrush().color())
    else:
        canvas = QSvgGenerator()
        canvas.setFileName(path)
        canvas.setSize(size)
        canvas.setViewBox(target)
        canvas.setResolution(view.logicalDpiX())  # axes are drawn in these dots, and would be smaller than the curves
    painter = QPainter(canvas)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    view.scene().render(painter, target, shown)
    painter.end()
    if not (canvas.save(path) if isinstance(canvas, QImage) else Path(path).is_file()):
        raise unwritten(path)


def unwritten(path: str, reason: str = "look whether the disk is full, and at the folder and its rights") -> InputError:
    """Return the error of a file that cannot be written."""
    return InputError(f"{path!r} could not be written: {reason}")


def write_csv(path: str, curves: Iterable[Curve]) -> None:
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
