"""States as arrays that kernels take: one, or consecutive ones, a row a step."""

import numpy as np

from rtmbs.integrators.settings import STATS_SIZE, Array, Chunk, StateArrays
from rtmbs.state import State

NO_ENERGY = np.zeros((0, 2))  # of a method that keeps none
MOST_ROWS, MOST_BYTES = 1024, 4e6  # steps in one kernel call, and the memory of their rows


def arrays_of(state: State) -> StateArrays:
    """Return the arrays that a step reads and writes, shared with ``state``."""
    energy = state.memory.get("energy", NO_ENERGY)
    return StateArrays(state.z, state.zd, state.zdd, state.lam, state.R0, energy, state.s, state.sd)


def one_row_chunk(state: State, stats: Array) -> Chunk:
    """Return the single row of a step into ``state``, shared with it."""
    energy = state.memory.get("energy", NO_ENERGY)
    return Chunk(  # in the order of the fields: every step of a loop in Python makes one
        state.z[None], state.zd[None], state.zdd[None], state.lam[None], state.R0[None], energy[None], state.u[None],
        stats[None], state.s[None], state.sd[None],
    )  # fmt: skip


def chunk_for(state: State, steps: int) -> Chunk:
    """Return a chunk for up to ``steps`` steps from states like this one."""
    like = one_row_chunk(state, np.zeros(STATS_SIZE))
    count = int(min(steps, MOST_ROWS, max(MOST_BYTES // sum(values.nbytes for values in like), 1)))
    return Chunk(*(np.zeros((count, *values.shape[1:])) for values in like))


def first(chunk: Chunk, count: int) -> Chunk:
    """Return the first ``count`` rows, shared."""
    return Chunk(*(values[:count] for values in chunk))


def take_row(state: State, chunk: Chunk, k: int) -> None:
    """Let ``state`` be what stands in row ``k``."""
    for name, values in arrays_of(state)._asdict().items():
        values[:] = getattr(chunk, name)[k]
