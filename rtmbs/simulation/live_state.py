"""Arrays of the live State of a Simulation: parts of one row, so that a copy of all is one copy of a row.

The inputs stay by themselves: whoever sets an input may hold their array.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.state import State, remembered

Array = NDArray[np.float64]

written = attrgetter("z", "zd", "zdd", "lam", "R0", "s", "sd")  # the arrays of a State that a step writes
ALIGNED = 2  # numbers: an array in a row begins where memory of its own would
NUMBER = 8  # bytes of a number


def copied(state: State) -> State:
    """Return a copy as ``State.copy`` does, without its checks: a step has left the arrays."""
    s, memory = state, {name: value.copy() for name, value in state.memory.items()}
    motion = s.z.copy(), s.zd.copy(), s.zdd.copy(), s.lam.copy(), s.R0.copy(), s.u.copy()
    return State(s.fingerprint, s.t_ref, s.k, s.h, *motion, memory, s.s.copy(), s.sd.copy())


def in_row(state: State) -> tuple[Any, ...]:
    """Return the arrays that stand in the row of a live state, in their order."""
    return (*written(state), *remembered(state).values())


def arrays_in(state: State) -> tuple[Any, ...]:
    """Return all that kernels take of a state, whatever the user put there; the inputs last."""
    return (*in_row(state), state.u)


def places(arrays: Iterable[Array]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return where arrays stand in a row of numbers: start, end and shape of each."""
    found, start = [], 0
    for array in arrays:
        found.append((start, start + array.size, array.shape))
        start += -(-array.size // ALIGNED) * ALIGNED
    return found


def pair(state: State) -> tuple[State, State]:
    """Return a state that counts from now on, and the one that the next step writes, each in a row of its own."""
    spare = state.copy()
    in_a_row(state)
    in_a_row(spare)
    return state, spare


def in_a_row(state: State) -> None:
    """Let the arrays of a state that a step writes be parts of one row, with the same numbers.

    One that is no array of numbers, as a user may put there, leaves the state as it is.
    """
    arrays = in_row(state)
    if not all(isinstance(array, np.ndarray) and array.dtype == np.float64 for array in arrays):
        return
    where = places(arrays)
    row = np.zeros(where[-1][1])
    parts = [row[start:end].reshape(shape) for start, end, shape in where]
    for part, array in zip(parts, arrays, strict=True):
        part[...] = array
    state.z, state.zd, state.zdd, state.lam, state.R0, state.s, state.sd, *memory = parts
    state.memory = dict(zip(state.memory, memory, strict=True))


def row_of(state: State) -> Array | None:
    """Return the row that the arrays of a state are parts of; None when one of them is not in its place."""
    arrays = in_row(state)
    row = arrays[0].base
    if row is None or any(array.base is not row or not array.flags.c_contiguous for array in arrays):
        return None
    where, first = places(arrays), address(row)
    there = all(
        not array.size or address(array) == first + NUMBER * start
        for array, (start, _, _) in zip(arrays, where, strict=True)
    )
    return row if there and row.size == where[-1][1] else None


def address(array: Array) -> int:
    """Return where the numbers of an array begin in memory."""
    return int(array.ctypes.data)
