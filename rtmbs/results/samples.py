"""Raw samples of a run: the states that a Recorder keeps and channels are evaluated from."""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.integrators.report import doubtful_steps
from rtmbs.integrators.settings import Chunk
from rtmbs.jit.struct import struct
from rtmbs.state import State

Array = Any  # numba types by value; the shapes stand on the fields


@struct
class Samples(NamedTuple):
    """States at S instants."""

    t: Array  # (S,) [s]
    z: Array  # (S, n) [rad or m]
    zd: Array  # (S, n)
    zdd: Array  # (S, n)
    lam: Array  # (S, m) [N or N m]
    R0: Array  # (S, nr, 3, 3) reference rotations
    u: Array  # (S, nu) inputs
    s: Array = np.zeros((0, 0))  # (S, ns) states of force laws
    doubtful: Array = np.zeros(0)  # (S,) 1 where the step that led here ended other than CONVERGED; (0,) unknown


OF_STATE = Samples._fields[1:-1]  # what a State has too


def samples_of(t: Array, chunk: Chunk) -> Samples:
    """Return a chunk of a run at the times ``t`` (S,) as samples; shares memory with them."""
    kept = {name: getattr(chunk, name) for name in OF_STATE}
    return Samples(t=t, **kept, doubtful=doubtful_steps(chunk.stats))


def one_sample(state: State) -> Samples:
    """Return a state as a single sample; shares memory with it."""
    return Samples(np.array([state.t]), *(getattr(state, name)[None] for name in OF_STATE))


def select_samples(samples: Samples, which: Any) -> Samples:
    """Return some samples, by their numbers or a slice."""
    doubtful = samples.doubtful[which] if len(samples.doubtful) else samples.doubtful
    return Samples(**{name: getattr(samples, name)[which] for name in ("t", *OF_STATE)}, doubtful=doubtful)
