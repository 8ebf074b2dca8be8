"""The latest frame in shared memory: one writer that never waits, readers that never see half a frame."""

from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from rtmbs.viewer.scene.frame import Frame, FrameLayout

BUFFERS = 2
SEEN = 1 + BUFFERS  # place in the header of the number of the buffer that a reader took last
HEADER = (
    SEEN + 1
) * 8  # int64: which buffer is the latest (-1 none), how often each was begun or finished, the last seen
TRIES = 100  # a reader that is overtaken so often while it copies takes the next picture


class SharedFrames:
    """Two buffers that are written in turn, each with a number that is odd while it is being written (a seqlock).

    The writer fills the buffer that is not the latest, then says so. A reader copies the latest and looks whether its
    number is still the same: with two buffers it is overtaken only when two frames come while it copies one.

    layout: of the frames.  name: of a memory that another process made; None makes one.
    """

    def __init__(self, layout: FrameLayout, name: str | None = None) -> None:
        self.layout, self.owned = layout, name is None
        size = HEADER + BUFFERS * layout.size
        self._memory = SharedMemory(name=name, create=name is None, size=size)
        self._header: Any = np.ndarray(SEEN + 1, np.int64, self._memory.buf)
        self._buffers: Any = np.ndarray(BUFFERS, layout.dtype, self._memory.buf, offset=HEADER)
        if self.owned:
            self._header[:] = -1, *(0,) * BUFFERS, 0

    @property
    def name(self) -> str:
        """What another process opens it by."""
        return self._memory.name

    def publish(self, frame: Frame) -> None:
        """Make ``frame`` the latest one."""
        k = (int(self._header[0]) + 1) % BUFFERS
        self._header[1 + k] += 1
        self.layout.write(frame, self._buffers[k])
        self._header[1 + k] += 1
        self._header[0] = k

    @property
    def taken(self) -> bool:
        """True when a reader has the latest frame: numbers of one buffer grow, and those of the other are as large."""
        k, number = self.number()
        return int(self._header[SEEN]) == BUFFERS * number + k

    def number(self) -> tuple[int, int]:
        """Return what changes with every frame: buffer and its number."""
        k = int(self._header[0])
        return k, int(self._header[1 + k]) if k >= 0 else 0

    def read(self) -> Frame | None:
        """Return the latest frame, None before the first, or when every try was overtaken."""
        for _ in range(TRIES):
            k, before = self.number()
            if k < 0:
                return None
            if before % 2:
                continue
            copy = self._buffers[k].copy()
            if int(self._header[1 + k]) == before:
                self._header[SEEN] = BUFFERS * before + k
                return self.layout.read(copy)
        return None

    def close(self) -> None:
        """Let go of the memory; whoever made it also removes it."""
        self._header = self._buffers = None
        self._memory.close()
        if self.owned:
            self._memory.unlink()
