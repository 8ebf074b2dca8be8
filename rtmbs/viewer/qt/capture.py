"""Recording of the canvas as a video of constant rate."""

import queue
import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QColor, QImage, QPainter

from rtmbs.errors import InputError
from rtmbs.viewer.video import Video

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

RATE = 30  # pictures a second
BEHIND = 30  # pictures that wait to be written, above which none are taken
Array = NDArray[np.float64]


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


def unwritten(path: str, reason: str = "look whether the disk is full, and at the folder and its rights") -> InputError:
    """Return the error of a file that cannot be written."""
    return InputError(f"{path!r} could not be written: {reason}")
