"""Copies of the states of a session, in blocks of memory that are used again.

Memory that a process never touched costs several microseconds a page at its first touch. Kept state by state, that was
a tenth of a real-time step of a large mechanism. Blocks are touched before they are needed, by a thread that holds no
lock of the interpreter meanwhile, and go back to the pool when nobody has a state of theirs any more.
"""

import ctypes
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.simulation.live_state import fields_of
from rtmbs.state import State

Array = NDArray[np.float64]

BLOCK = 1 << 20  # bytes of a block, or one state where that is more
AHEAD = 4  # blocks that are touched and free


class KeptStates:
    """Copies States into rows of blocks; all states of one layout, another layout begins blocks of its own."""

    def __init__(self) -> None:
        self._shapes: tuple[Any, ...] = ()
        self._names: list[str] = []
        self._pool = Pool(0)

    def keep(self, state: State) -> State:
        """Return a copy of a state that a step has left; its arrays are parts of one row."""
        arrays = (*fields_of(state), *state.memory.values())
        shapes = tuple([array.shape for array in arrays])
        if shapes != self._shapes or list(state.memory) != self._names:
            self._lay_out(shapes, list(state.memory))
        row = self._pool.row()
        np.concatenate([array.ravel() for array in arrays], out=row)
        z, zd, zdd, lam, R0, u, s, sd, *memory = [
            row[start:end] if len(shape) == 1 else row[start:end].reshape(shape) for start, end, shape in self._parts
        ]
        head = state.fingerprint, state.t_ref, state.k, state.h
        return State(*head, z, zd, zdd, lam, R0, u, dict(zip(self._names, memory, strict=True)), s, sd)

    def _lay_out(self, shapes: tuple[Any, ...], names: list[str]) -> None:
        ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes]).tolist()
        self._parts = list(zip([0, *ends[:-1]], ends, shapes, strict=True))
        self._shapes, self._names = shapes, names
        self._pool = Pool(ends[-1])


class Pool:
    """Blocks of rows of ``width`` numbers, touched ahead of their use."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._rows = max(BLOCK // (8 * max(width, 1)), 1)  # of a block
        self._free = [touched(self._rows * width)]  # memory that nobody uses
        self._block: Array = np.zeros((0, width))
        self._used = 0  # rows of the present block
        self._toucher: threading.Thread | None = None

    def row(self) -> Array:
        """Return a row that nobody has."""
        if self._used == len(self._block):
            self._begin_block()
        self._used += 1
        row: Array = self._block[self._used - 1]
        return row

    def _begin_block(self) -> None:
        try:
            memory = self._free.pop()
        except IndexError:
            memory = np.empty(self._rows * self._width)
        lease = Lease(memory)
        self._block = np.asarray(lease).reshape(self._rows, self._width)
        weakref.finalize(lease, self._take_back, memory).atexit = False
        self._used = 0
        if len(self._free) < AHEAD and (self._toucher is None or not self._toucher.is_alive()):
            self._toucher = threading.Thread(target=self._touch, name="rtmbs memory", daemon=True)
            self._toucher.start()

    def _take_back(self, memory: Array) -> None:
        """Keep memory that nobody uses any more, unless there is plenty: a history that begins anew leaves it all."""
        if len(self._free) < 2 * AHEAD:
            self._free.append(memory)

    def _touch(self) -> None:
        """Make blocks until there are enough."""
        for _ in range(AHEAD - len(self._free)):
            self._free.append(touched(self._rows * self._width))


def touched(size: int) -> Array:
    """Return memory of ``size`` numbers that the process has; ``memset`` is called without the interpreter's lock."""
    memory = np.empty(size)
    ctypes.memset(memory.ctypes.data, 0, memory.nbytes)
    return memory


class Lease:
    """What all views of a block refer to: it goes when the last of them goes, and the memory is free."""

    def __init__(self, memory: Array) -> None:
        self.__array_interface__ = memory.__array_interface__
