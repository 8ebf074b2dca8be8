"""Shared memory of two processes: the latest frame, and the strip, a ring of one row of plotted numbers a step.

The writer never waits. Readers use a sequence lock, so they never see half a frame or half a row.
"""

from collections.abc import Sequence
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.scene.frame import PLOTS, Frame, FrameLayout

BUFFERS = 2
SEEN = 1 + BUFFERS  # place in the header of the number of the buffer that a reader took last
HEADER = (
    SEEN + 1
) * 8  # int64: which buffer is the latest (-1 none), how often each was begun or finished, the last seen
TRIES = 100  # of a reader that is overtaken while it copies; it then waits for the next frame or row


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
        """Name by which another process opens the memory."""
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
        """Return buffer and number of the newest frame."""
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
        """Release the memory; its maker also removes it."""
        self._header = self._buffers = None
        self._memory.close()
        if self.owned:
            self._memory.unlink()


# ---- rows of all steps -----------------------------------------------------------------------------------------------

Array = NDArray[np.float64]

KEPT = 65_536  # steps: the last 65 s at h = 1 ms
T, KINETIC, GRAVITY, ELASTIC, POSITION, VELOCITY, ACCELERATION, FIRST = range(8)  # columns; the watched from FIRST on
WIDTH = FIRST + PLOTS
NUMBERS = 4 * 8  # int64: stamp (odd while it is written), ticket, first and end of the steps that are kept
START = 2 * 8  # float64: time and energy of the first step of all, kept when the ring has lost that step
STAMP, TICKET, OLDEST, END = range(4)


class Strip:
    """One row a step, oldest first, in a ring: one writer that never waits, readers that never see half a row.

    Times rise from row to row: rows of an earlier time than the last one replace what came after it.

    kept: rows at most.  shared: in memory that another process opens by ``name``; a name opens that of another one.
    """

    def __init__(self, kept: int = KEPT, shared: bool = False, name: str | None = None) -> None:
        self.owned, self._memory = shared and name is None, None
        if shared or name is not None:
            size = NUMBERS + START + 8 * kept * WIDTH
            self._memory = SharedMemory(name=name, create=name is None, size=size)
        buffer = None if self._memory is None else self._memory.buf
        self._head: Any = np.ndarray(4, np.int64, buffer)
        shift = 0 if buffer is None else 1
        self._start: Any = np.ndarray(2, np.float64, buffer, offset=shift * NUMBERS)
        self._ring: Any = np.ndarray((kept, WIDTH), np.float64, buffer, offset=shift * (NUMBERS + START))
        if name is None:
            self._head[:], self._start[:] = 0, (np.inf, 0.0)

    @property
    def name(self) -> str:
        """Name by which another process opens the memory; "" for memory of this process."""
        return "" if self._memory is None else self._memory.name

    # ---- the writer -------------------------------------------------------------------------------------------------

    def begin(self, ticket: int) -> None:
        """Clear the strip for the channels of subscription ``ticket``."""
        self._head[STAMP] += 1
        self._head[TICKET], self._head[OLDEST], self._head[END] = ticket, 0, 0
        self._start[:] = np.inf, 0.0
        self._head[STAMP] += 1

    def watch_others(self, ticket: int, sources: Sequence[int], t: Array, values: Array) -> None:
        """Watch other numbers from now on; those watched before keep all their rows.

        sources: for each number the place among those before, -1 for a new one.  values (k, len(sources)): of the new
        ones at the times t (k,) that are known; the other rows have no number (NaN) there.
        """
        self._head[STAMP] += 1
        places = np.arange(int(self._head[OLDEST]), int(self._head[END])) % len(self._ring)
        changed = [k for k, source in enumerate(sources) if source != k]
        before = self._ring[places[:, None], [FIRST + max(sources[k], 0) for k in changed]]
        before[:, [sources[k] < 0 for k in changed]] = np.nan
        times = self._ring[places, T]
        rows = np.searchsorted(times, t)
        known = rows < len(times)
        known[known] = times[rows[known]] == t[known]
        for column, k in enumerate(changed):
            if sources[k] < 0:
                before[rows[known], column] = values[known, k]
        self._ring[places[:, None], [FIRST + k for k in changed]] = before
        self._head[TICKET] = ticket
        self._head[STAMP] += 1

    def append(self, rows: Array) -> None:
        """Add rows (k, WIDTH), times rising."""
        rows = rows[-len(self._ring) :]
        if not len(rows):
            return
        self._head[STAMP] += 1
        kept, oldest = len(self._ring), int(self._head[OLDEST])
        end = self._end_before(float(rows[0, T]), oldest)
        self._ring[np.arange(end, end + len(rows)) % kept] = rows
        if rows[0, T] <= self._start[0]:
            self._start[:] = rows[0, T], rows[0, KINETIC : ELASTIC + 1].sum()
        end += len(rows)
        self._head[OLDEST], self._head[END] = max(oldest, end - kept), end
        self._head[STAMP] += 1

    def _end_before(self, t: float, oldest: int) -> int:
        """Return where the rows before time ``t`` end."""
        kept, end = len(self._ring), int(self._head[END])
        if end == oldest or self._ring[(end - 1) % kept, T] < t:
            return end
        times = self._ring[np.arange(oldest, end) % kept, T]
        return oldest + int(np.searchsorted(times, t))

    # ---- readers ----------------------------------------------------------------------------------------------------

    @property
    def ticket(self) -> int:
        """Ticket of the subscription."""
        return int(self._head[TICKET])

    @property
    def start_energy(self) -> float:
        """Total energy of the first step since the beginning [J], whether or not its row is still kept."""
        return float(self._start[1])

    @property
    def stamp(self) -> int:
        """A number that changes with every change of the rows."""
        return int(self._head[STAMP])

    def read(self, columns: Sequence[int]) -> Array | None:
        """Return the rows (k, len(columns)), oldest first; None when every try was overtaken."""
        for _ in range(TRIES):
            before = self.stamp
            if before % 2:
                continue
            oldest, end = int(self._head[OLDEST]), int(self._head[END])
            places = np.arange(oldest, end) % len(self._ring)
            rows = self._ring[places[:, None], np.array(columns)]
            if self.stamp == before:
                return np.asarray(rows)
        return None

    def close(self) -> None:
        """Release shared memory; its maker also removes it."""
        self._head = self._start = self._ring = None
        if self._memory is not None:
            self._memory.close()
            if self.owned:
                self._memory.unlink()
            self._memory = None
