"""Copies of the states of a session, in blocks of memory that are used again.

Memory that a process never touched costs several microseconds a page at its first touch. Kept state by state, that was
a tenth of a real-time step of a large mechanism. Blocks are touched before they are needed, by a thread that holds no
lock of the interpreter meanwhile, and go back to the pool when nobody has a state of theirs any more.
"""

import ctypes
import operator
import threading
import weakref
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.simulation.live_state import arrays_in, places, row_of
from rtmbs.state import State

Array = NDArray[np.float64]

BLOCK = 1 << 20  # bytes of a block, or one state where that is more
AHEAD = 4  # blocks that are touched and free
LIVE = 2  # states of a Simulation that take turns


class KeptState:
    """A State in one row of numbers; the State itself is made when somebody asks, which few steps of many need."""

    __slots__ = ("_head", "_layout", "_row", "_state")

    def __init__(self, head: tuple[str, float, int, float], row: Array, layout: "Layout") -> None:
        self._head, self._row, self._layout = head, row, layout
        self._state: State | None = None

    @classmethod
    def of(cls, state: State) -> Self:
        """Return a State as what is kept of it; it is taken over."""
        kept = cls((state.fingerprint, state.t_ref, state.k, state.h), NOTHING, NO_LAYOUT)
        kept._state = state
        return kept

    @property
    def state(self) -> State:
        """The State, the same one every time; not to be written into."""
        if self._state is None:
            self._state = self._layout.state(self._head, self._row)
        return self._state

    @property
    def fingerprint(self) -> str:
        """Of the System that the State belongs to."""
        return self._head[0]

    @property
    def h(self) -> float:
        """Step of the State [s]."""
        return self._head[3]

    @property
    def t(self) -> float:
        """Time of the State [s]."""
        _, t_ref, k, h = self._head
        return t_ref + k * h

    @property
    def bytes(self) -> int:
        """Bytes of its arrays."""
        return self._row.nbytes if self._state is None else sum([array.nbytes for array in arrays_in(self._state)])


class Layout:
    """Where the arrays of a State stand in a row: those that a step writes first, then the inputs."""

    def __init__(self, state: State) -> None:
        self.names, self.parts = list(state.memory), places(arrays_in(state))
        self.width = self.parts[-1][1]

    def fits(self, state: State) -> bool:
        """True when the arrays of this state have these shapes, and the method remembers the same."""
        return list(state.memory) == self.names and places(arrays_in(state)) == self.parts

    def state(self, head: tuple[str, float, int, float], row: Array) -> State:
        """Return the State whose numbers a row has; its arrays are parts of the row."""
        z, zd, zdd, lam, R0, s, sd, *memory, u = [
            row[start:end].reshape(shape) for start, end, shape in self.parts
        ]  # fmt: skip
        return State(*head, z, zd, zdd, lam, R0, u, dict(zip(self.names, memory, strict=True)), s, sd)


NOTHING: Array = np.zeros(0)
NO_LAYOUT = Layout(State("", 0.0, 0, 0.0, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING))


class KeptStates:
    """Copies States into rows of blocks; all states of one layout, another layout begins blocks of its own."""

    def __init__(self) -> None:
        self._layout, self._pool, self._inputs = NO_LAYOUT, Pool(0), 0
        self._known: dict[int, Known] = {}  # the live states of a Simulation are two, which take turns

    def keep(self, state: State) -> KeptState:
        """Return a copy of a state that a step has left."""
        known = self._known.get(id(state))
        if known is None or not known.still():
            known = self._learn(state)
        row = self._pool.row()
        if known.whole is None:
            for (start, end, _), array in zip(self._layout.parts, known.arrays, strict=True):
                row[start:end] = array.ravel()
        else:
            row[: known.whole.size] = known.whole
            row[self._inputs :] = known.arrays[-1]
        return KeptState((state.fingerprint, state.t_ref, state.k, state.h), row, self._layout)

    def ready(self) -> None:
        """Bring the next row into the processor's cache, while nobody waits for a step."""
        self._pool.fetch()

    def _learn(self, state: State) -> "Known":
        """Return how a state is copied that was not seen before, or whose arrays somebody replaced."""
        if not self._layout.fits(state):
            self._layout = Layout(state)
            self._pool, self._inputs = Pool(self._layout.width), self._layout.parts[-1][0]
            self._known.clear()
        if len(self._known) > LIVE:
            self._known.clear()
        known = self._known[id(state)] = Known(state)
        return known


class Known:
    """A live state, its arrays when it was looked at, and the row they are parts of; None where each is alone."""

    __slots__ = ("_state", "arrays", "whole")

    def __init__(self, state: State) -> None:
        self._state, self.arrays, self.whole = state, arrays_in(state), row_of(state)

    def still(self) -> bool:
        """True while the state has these arrays."""
        return all(map(operator.is_, arrays_in(self._state), self.arrays))


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

    def fetch(self) -> None:
        """Write into the row that is next in this block."""
        if self._used < len(self._block):
            self._block[self._used].fill(0.0)

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
