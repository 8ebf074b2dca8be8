"""The direct method: the derivatives of every state, step after step."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.sensitivities.start import FirstChange
from rtmbs.sensitivities.steps import LinearSteps, Missed
from rtmbs.sensitivities.sweeps import sweep_forward

Array = NDArray[np.float64]


def directly(steps: LinearSteps, start: FirstChange) -> tuple[Array, Array, Missed]:
    """Return derivatives of all states (K + 1, nx, np) and multipliers (K + 1, m, np), and the largest miss."""
    tape, count, missed = steps.tape, steps.recorded.steps, Missed(0.0, 0)
    X = np.zeros((count + 1, *start.state.shape))
    lam = np.zeros((count + 1, *start.lam.shape))
    X[0], lam[0] = start.state, start.lam
    dy = np.zeros((tape.y.size, start.state.shape[1]))
    for chunk in steps.chunks():
        part = slice(chunk.first, chunk.first + len(chunk.values) + 1)
        sweep_forward(steps.blocks(dy.shape[1]), chunk.values, chunk.case, chunk.made, X[part], lam[part], dy)
        missed = max(missed, chunk.worst)
    return X, lam, missed
