"""Record what the canvas shows, at a steady rate of wall time."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer

from rtmbs.viewer.video import Video

RATE = 25  # pictures a second


class Capture(QObject):
    """Adds a picture to a video every 1 / RATE seconds until it is stopped."""

    def __init__(self, path: str, take: Callable[[], NDArray[np.uint8]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.video = Video(path, RATE)
        self.failure = ""
        self._take = take
        self._timer = QTimer(self, interval=1000 // RATE)
        self._timer.timeout.connect(self._add)
        self._timer.start()

    def _add(self) -> None:
        try:
            self.video.add(self._take())
        except Exception as error:  # noqa: BLE001 (a full disk, a resized window: recording ends, the window goes on)
            self.failure = f"recording ended: {error}"
            self.stop()

    @property
    def running(self) -> bool:
        """True until it is stopped, or has failed."""
        return self._timer.isActive()

    def stop(self) -> None:
        """Finish the file."""
        self._timer.stop()
        self.video.close()
