"""Which frame a window is to draw now, and how many pictures a second it draws."""

import time
from collections.abc import Callable
from dataclasses import replace

from rtmbs.viewer.connection import Connection
from rtmbs.viewer.scene.frame import Frame

DRAWN = 0.032  # [s] between pictures of a motion without a graphics card: drawing takes memory and cache from the steps
RATE_WINDOW = 1.0  # [s] over which pictures are counted


class Latest:
    """Chooses among the frames of a connection; ``clock`` is replaced in tests."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._drawn = 0.0  # when the last picture was drawn
        self._counted, self._counted_at = 0, clock()
        self.rate = 0.0  # pictures a second

    def frame(self, connection: Connection, shown: Frame | None, saving: bool) -> Frame | None:
        """Return a frame that ``shown`` is older than, None when there is none or when it comes too soon.

        saving: the processor draws, and nobody films: a motion has fewer pictures.
        A session that is gone plays no more, whatever its last frame says.
        """
        moving = shown is not None and shown.playing
        if saving and moving and not connection.ended and self._clock() - self._drawn < DRAWN:
            return None
        frame = connection.latest()
        if connection.ended and frame is not None and frame.playing:
            known = shown is not None and not shown.playing and number(shown) == number(frame)
            return None if known else replace(frame, playing=False, looping=False, actual_speed=0.0)
        return None if frame is shown else frame

    def drew(self) -> None:
        """Note that a picture is drawn."""
        self._drawn = self._clock()

    def again(self) -> None:
        """Let the next frame be drawn, however soon it comes."""
        self._drawn = 0.0

    def count(self, pictures: int) -> None:
        """Note how many pictures were drawn so far."""
        since = self._clock() - self._counted_at
        if since > RATE_WINDOW:
            self.rate = (pictures - self._counted) / since
            self._counted, self._counted_at = pictures, self._clock()


def number(frame: Frame) -> tuple[int, int]:
    """Return what no two frames of a connection share."""
    return frame.generation, frame.number
