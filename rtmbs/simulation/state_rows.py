"""States in rows of memory: arrays of a State are parts of one row, so that one copy copies all but the inputs."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.state import State, remembered

Array = NDArray[np.float64]

motion_arrays = attrgetter("z", "zd", "zdd", "lam", "R0", "s", "sd")  # what a step writes, but memory
ALIGNED = 2  # numbers: an array in a row begins where memory of its own would
NUMBER = 8  # bytes of a number


MOTION = 4  # first entries of ``State.basis``: what ``State.motion`` returns


def copied(state: State) -> State:
    """Return a copy as ``State.copy`` does, without its checks: a step has left the arrays."""
    s, memory = state, {name: value.copy() for name, value in state.memory.items()}
    motion = s.z.copy(), s.zd.copy(), s.zdd.copy(), s.lam.copy(), s.R0.copy(), s.u.copy()
    return State(s.fingerprint, s.t_ref, s.k, s.h, *motion, memory, s.s.copy(), s.sd.copy(), before=s.before)


def row_arrays(state: State) -> tuple[Any, ...]:
    """Return the arrays that stand in the row of a State, in their order."""
    return (*motion_arrays(state), *remembered(state).values())


def kernel_arrays(state: State) -> tuple[Any, ...]:
    """Return all arrays of a State that kernels take, as they are; the inputs last."""
    return (*row_arrays(state), state.u)


def row_layout(arrays: Iterable[Array]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return the layout of arrays in a row of numbers: start, end and shape of each."""
    found, start = [], 0
    for array in arrays:
        found.append((start, start + array.size, array.shape))
        start += -(-array.size // ALIGNED) * ALIGNED
    return found


def state_pair(state: State) -> tuple[State, State]:
    """Return a State and a spare one for the next step, each in a row of its own."""
    state.given = None  # from now on ``StateStore`` looks at what is written into it
    spare = state.copy()
    pack_row(state)
    pack_row(spare)
    return state, spare


def pack_row(state: State) -> None:
    """Move the arrays of a State that a step writes into one row, with the same numbers.

    An entry that is no array of numbers leaves the State as it is.
    """
    arrays = row_arrays(state)
    for array in arrays:
        if not (isinstance(array, np.ndarray) and array.dtype == np.float64):
            return
    where = row_layout(arrays)
    row = np.zeros(where[-1][1])
    parts = [row[start:end].reshape(shape) for start, end, shape in where]
    for part, array in zip(parts, arrays, strict=True):
        part[...] = array
    state.z, state.zd, state.zdd, state.lam, state.R0, state.s, state.sd, *memory = parts
    state.memory = dict(zip(state.memory, memory, strict=True))


def row_of(state: State) -> Array | None:
    """Return the row that the arrays of a state are parts of; None when one of them is not in its place."""
    arrays = row_arrays(state)
    row = arrays[0].base
    if row is None or any(array.base is not row or not array.flags.c_contiguous for array in arrays):
        return None
    where, first = row_layout(arrays), address(row)
    there = all(
        not array.size or address(array) == first + NUMBER * start
        for array, (start, _, _) in zip(arrays, where, strict=True)
    )
    return row if there and row.size == where[-1][1] else None


def address(array: Array) -> int:
    """Return where the numbers of an array begin in memory."""
    return int(array.ctypes.data)
