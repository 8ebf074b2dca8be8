"""The discrete adjoint: gradients of a few values by any number of parameters, one pass backwards."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.sensitivities.channels import Direction
from rtmbs.sensitivities.start import FirstChange
from rtmbs.sensitivities.steps import LinearSteps, Missed
from rtmbs.sensitivities.sweeps import sweep_back

Array = NDArray[np.float64]


def backwards(steps: LinearSteps, start: FirstChange, by_samples: list[Direction]) -> tuple[Array, Missed]:
    """Return gradients (k, np) of values whose derivatives by all samples are given, and the largest miss."""
    tape, missed, k = steps.tape, Missed(0.0, 0), len(by_samples)
    g = np.stack([np.hstack((one.z, one.zd, one.zdd, np.zeros((len(one.z), tape.nc)))) for one in by_samples], axis=2)
    f = np.stack([one.lam for one in by_samples], axis=2)  # (S, m, k)
    p, w = g[-1].copy(), np.zeros((tape.y.size, k))
    gradient = np.zeros((start.state.shape[1], k))
    for chunk in steps.chunks(backwards=True):
        before = slice(chunk.first, chunk.first + len(chunk.values))
        behind = slice(before.start + 1, before.stop + 1)
        sweep_back(steps.blocks(k), chunk.values, chunk.case, chunk.made, g[before], f[behind], p, gradient, w)
        missed = max(missed, chunk.worst)
    return (gradient + start.state.T @ p + start.lam.T @ f[0]).T, missed
