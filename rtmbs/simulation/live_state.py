"""Arrays of the live State of a Simulation: all of them, and a copy without checks."""

from operator import attrgetter
from typing import Any

from rtmbs.state import State, remembered

fields_of = attrgetter("z", "zd", "zdd", "lam", "R0", "u", "s", "sd")  # the arrays of a State


def copied(state: State) -> State:
    """Return a copy as ``State.copy`` does, without its checks: a step has left the arrays."""
    s, memory = state, {name: value.copy() for name, value in state.memory.items()}
    motion = s.z.copy(), s.zd.copy(), s.zdd.copy(), s.lam.copy(), s.R0.copy(), s.u.copy()
    return State(s.fingerprint, s.t_ref, s.k, s.h, *motion, memory, s.s.copy(), s.sd.copy())


def arrays_in(state: State) -> tuple[Any, ...]:
    """Return all that kernels take of a state, whatever the user put there."""
    return (*fields_of(state), *remembered(state).values())
