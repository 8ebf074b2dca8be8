"""Raw samples of a run: what a Recorder keeps and everything else is worked out from."""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.record import record
from rtmbs.state import State

Array = Any  # numba types by value; the shapes stand on the fields


@record
class Samples(NamedTuple):
    """States at S instants."""

    t: Array  # (S,) [s]
    z: Array  # (S, n) [rad or m]
    zd: Array  # (S, n)
    zdd: Array  # (S, n)
    lam: Array  # (S, m) [N or N m]
    R0: Array  # (S, nr, 3, 3) reference rotations
    u: Array  # (S, nu) inputs


def one_sample(state: State) -> Samples:
    """Return a state as a single sample; shares memory with it."""
    return Samples(np.array([state.t]), *(getattr(state, name)[None] for name in Samples._fields[1:]))
