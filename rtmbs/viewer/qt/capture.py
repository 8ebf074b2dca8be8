"""Recording of the canvas as a video of constant rate; export of plots as numbers (.csv) or a picture (.png, .svg)."""

import csv
import queue
import threading
import time
from collections.abc import Callable, Iterable
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QGraphicsView

from rtmbs.errors import InputError
from rtmbs.viewer.video import Video

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

RATE = 30  # pictures a second
BEHIND = 30  # pictures that wait to be written, above which none are taken
Array = NDArray[np.float64]

FINER = 2  # pixels of a picture for one of the screen


class Capture(QObject):
    """Recording of a canvas as a video of constant rate, in a thread, until ``stop``.

    A machine that is busy takes fewer pictures; each then stands in the video until the next one. Pictures are written
    in a thread, and fitted to the size of the first, so a panel may open meanwhile.
    clock: replaced in tests.
    """

    def __init__(
        self,
        path: str,
        take: Callable[[], Picture],
        parent: QObject | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(parent)
        self.video, self.failure = Video(path, RATE), ""
        self._take, self._clock, self._start = take, clock, clock()
        self._size: tuple[int, int] | None = None
        self._last: Picture | None = None
        self._owed = 0  # pictures handed over so far
        self._waiting: queue.Queue[tuple[Picture, int] | None] = queue.Queue()
        self._writer = threading.Thread(target=self._write, name="rtmbs video", daemon=True)
        self._writer.start()
        self._timer = QTimer(self, interval=1000 // RATE, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.add)
        self._timer.start()

    def add(self) -> None:
        """Take a picture; it is shown from the end of the one before to the present moment."""
        if self.failure or self._waiting.qsize() > BEHIND:
            return
        try:
            picture = self._take()
        except Exception as error:  # noqa: BLE001 (recording ends, the window goes on)
            self.failure = f"recording ended: {error}"
            return
        self._size = self._size or (picture.shape[1], picture.shape[0])
        self._last = fitted(picture, *self._size)
        self._hand_over(int(self.seconds() * RATE) + 1)

    def seconds(self) -> float:
        """Return for how long it has been filming [s]."""
        return self._clock() - self._start

    def _hand_over(self, until: int) -> None:
        if self._last is not None and until > self._owed:
            self._waiting.put((self._last, until - self._owed))
            self._owed = until

    def _write(self) -> None:
        """Write the queued pictures, in the thread."""
        while (entry := self._waiting.get()) is not None:
            picture, count = entry
            try:
                for _ in range(0 if self.failure else count):
                    self.video.add(picture)
            except Exception as error:  # noqa: BLE001 (a full disk: recording ends, the window goes on)
                self.failure = f"recording ended: {error}"

    @property
    def running(self) -> bool:
        """True until it is stopped, or has failed."""
        return self._timer.isActive() and not self.failure

    def stop(self) -> None:
        """Finish the file."""
        if not self._writer.is_alive():
            return
        self._timer.stop()
        self._hand_over(round(self.seconds() * RATE))
        self._waiting.put(None)
        self._writer.join()
        try:
            self.video.close()
        except Exception as error:  # noqa: BLE001 (a full disk tells it when the file is closed)
            self.failure = self.failure or f"recording ended: {error}"


def fitted(picture: Picture, width: int, height: int) -> Picture:
    """Return a picture of ``width`` x ``height`` that holds all of ``picture``; its first pixel fills what is left."""
    rows, columns = picture.shape[:2]
    if (columns, rows) == (width, height):
        return picture
    source = QImage(picture.tobytes(), columns, rows, 3 * columns, QImage.Format.Format_RGB888)
    scaled = source.scaled(
        width, height, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    )
    whole = QImage(width, height, QImage.Format.Format_RGB888)
    whole.fill(QColor(*picture[0, 0].tolist()))
    painter = QPainter(whole)
    painter.drawImage((width - scaled.width()) // 2, (height - scaled.height()) // 2, scaled)
    painter.end()
    made = np.frombuffer(whole.constBits(), np.uint8).reshape(height, whole.bytesPerLine())
    return made[:, : 3 * width].reshape(height, width, 3).copy()


class Curve(NamedTuple):
    """One curve as it is seen, every sample of it."""

    x_label: str
    y_label: str
    x: Array  # (k,)
    y: Array  # (k,)


def write_plot(path: str, view: QGraphicsView, curves: Iterable[Curve]) -> None:
    """Write the curves, or the ``view`` that shows them.

    Raises InputError for another ending, for a folder that is not there, and for a disk that takes no more.
    """
    ending, folder = Path(path).suffix.lower(), Path(path).absolute().parent
    if not folder.is_dir():
        raise unwritten(path, f"there is no folder {str(folder)!r}; make it first, or name another one")
    if ending == ".csv":
        write_csv(path, curves)
    elif ending in (".png", ".svg"):
        draw_plot(path, view)
    else:
        raise InputError(f"{path!r}: the ending {ending!r} is not known; it must be .csv, .png or .svg")


def draw_plot(path: str, view: QGraphicsView) -> None:
    """Draw the content of a view into a picture of twice the resolution, or into a drawing that scales."""
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
