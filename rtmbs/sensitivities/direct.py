"""The direct method: the derivatives of every state, step after step."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.sensitivities.elimination import Elimination
from rtmbs.sensitivities.start import FirstChange
from rtmbs.sensitivities.step_tape import StepTape
from rtmbs.sensitivities.steps import LinearSteps, Missed

Array = NDArray[np.float64]


def states(tape: StepTape, change: Array) -> Array:
    """Return the changes (K, nx, k) of the states behind steps, from those of all unknowns, the first nx by dx."""
    y = tape.y
    z = change[:, y["inc"]].copy()
    plain = np.flatnonzero(tape.plain)
    z[:, plain, plain] += 1.0
    for e, i in enumerate(tape.first):
        first = y["turn"].start + 3 * e
        z[:, i : i + 3] = change[:, first : first + 3]
    return np.concatenate((z, change[:, y["zd"]], change[:, y["zdd"]], change[:, y["kept"]]), axis=1)


def directly(steps: LinearSteps, start: FirstChange) -> tuple[Array, Array, Missed]:
    """Return derivatives of all states (K + 1, nx, np) and multipliers (K + 1, m, np), and the largest miss."""
    tape, count = steps.tape, steps.recorded.steps
    nx, missed = tape.x.size, Missed(0.0, 0)
    X = np.zeros((count + 1, *start.state.shape))
    lam = np.zeros((count + 1, *start.lam.shape))
    X[0], lam[0] = start.state, start.lam
    for chunk in steps.chunks():
        change = -Elimination(tape, chunk, steps.alpha).solve(np.concatenate((chunk.F, chunk.H), axis=2))
        onward = states(tape, change)
        force = change[:, tape.y["push"]] + change[:, tape.y["nu"]]
        first, last = chunk.first, chunk.first + len(change)
        for k, one in enumerate(onward, first):
            X[k + 1] = one[:, :nx] @ X[k] + one[:, nx:]
        lam[first + 1 : last + 1] = force[:, :, :nx] @ X[first:last] + force[:, :, nx:]
        missed = max(missed, chunk.worst)
    return X, lam, missed
