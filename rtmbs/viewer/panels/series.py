"""Bounded series of numbers over time, gathered from frames for the plots."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.frame import Frame

Array = NDArray[np.float64]

KEPT = 8192  # samples at most


class Series:
    """Rows of (t, values); a row of an earlier time than the last one drops what came after it."""

    def __init__(self, width: int) -> None:
        self._rows: Array = np.zeros((2 * KEPT, 1 + width))
        self._first = self._end = 0

    def add(self, rows: Array) -> None:
        """Append rows (k, 1 + width), times rising."""
        rows = rows[-KEPT:]
        if not len(rows):
            return
        kept = self.rows
        if len(kept) and rows[0, 0] <= kept[-1, 0]:  # time went back
            self._end = self._first + int(np.searchsorted(kept[:, 0], rows[0, 0]))
        if self._end + len(rows) > len(self._rows):
            kept = self.rows[-(KEPT - len(rows)) :] if len(rows) < KEPT else self.rows[:0]
            self._rows[: len(kept)] = kept
            self._first, self._end = 0, len(kept)
        self._rows[self._end : self._end + len(rows)] = rows
        self._end += len(rows)
        self._first = max(self._first, self._end - KEPT)

    def clear(self) -> None:
        """Forget everything."""
        self._first = self._end = 0

    @property
    def rows(self) -> Array:
        """What there is, oldest first; not to be kept."""
        return self._rows[self._first : self._end]


class Fresh:
    """Picks the samples of subscribed channels that a frame has and no earlier frame had."""

    def __init__(self) -> None:
        self.ticket, self.taken = 0, 0

    def begin(self) -> int:
        """Begin another subscription, and return its ticket."""
        self.ticket, self.taken = self.ticket + 1, 0
        return self.ticket

    def of(self, frame: Frame, width: int) -> Array:
        """Return new rows (k, 1 + width); none while the frame answers an earlier subscription."""
        if frame.ticket != self.ticket:
            return np.zeros((0, 1 + width))
        new = min(max(frame.samples_taken - self.taken, 0), len(frame.plots))
        self.taken = frame.samples_taken
        return frame.plots[len(frame.plots) - new :, : 1 + width]
