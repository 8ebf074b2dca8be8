"""The discrete adjoint: gradients of a few values by any number of parameters, one pass backwards over the steps."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.sensitivities.channels import Direction
from rtmbs.sensitivities.direct import states
from rtmbs.sensitivities.elimination import Elimination
from rtmbs.sensitivities.start import FirstChange
from rtmbs.sensitivities.step_tape import StepTape
from rtmbs.sensitivities.steps import LinearSteps, Missed, Steps

Array = NDArray[np.float64]


def backwards(steps: LinearSteps, start: FirstChange, by_samples: list[Direction]) -> tuple[Array, Missed]:
    """Return gradients (k, np) of values whose derivatives by all samples are given, and the largest miss."""
    tape, np_ = steps.tape, start.state.shape[1]
    nx, k = tape.x.size, len(by_samples)
    g = np.stack([np.hstack((one.z, one.zd, one.zdd, np.zeros((len(one.z), tape.nc)))) for one in by_samples], axis=2)
    f = np.stack([one.lam for one in by_samples], axis=2)  # (S, m, k)
    gradient, missed = np.zeros((k, np_)), Missed(0.0, 0)
    p = g[-1]
    for chunk in steps.chunks(backwards=True):
        count, first = len(chunk.E), chunk.first
        p, part = through(tape, chunk, Elimination(tape, chunk, steps.alpha), p, g[first : first + count],
                          f[first + 1 : first + count + 1])  # fmt: skip
        gradient += part
        missed = max(missed, chunk.worst)
    assert p.shape == (nx, k)
    return gradient + p.T @ start.state + f[0].T @ start.lam, missed


def through(
    tape: StepTape, chunk: Steps, elimination: Elimination, p: Array, g: Array, f: Array
) -> tuple[Array, Array]:
    """Return the adjoint (nx, k) before a chunk of steps, and what its parameters add to the gradients (k, np).

    p (nx, k) is the adjoint behind the chunk; g (K, nx, k) of the states before each step, f (K, m, k) of multipliers.
    """
    y, nx, count = tape.y, tape.x.size, len(chunk.E)
    change = -elimination.solve(chunk.F)
    onward = states(tape, change)
    force = change[:, y["push"]] + change[:, y["nu"]]
    own = np.swapaxes(force, 1, 2) @ f + g
    weights = np.zeros((count, tape.y.size, p.shape[1]))
    for i in reversed(range(count)):
        weights[i] = spread(tape, p)
        p = onward[i].T @ p + own[i]
    weights[:, y["push"]] += f
    weights[:, y["nu"]] += f
    solved = elimination.solve_transposed(weights)
    assert onward.shape[2] == nx
    return p, -np.einsum("iyk,iyp->kp", solved, chunk.H)


def spread(tape: StepTape, p: Array) -> Array:
    """Return the adjoint of a state behind a step (nx, k) as weights (ny, k) of the unknowns."""
    y, x = tape.y, tape.x
    found = np.zeros((y.size, p.shape[1]))
    found[y["inc"]] = p[x["z"]] * tape.plain[:, None]
    for e, i in enumerate(tape.first):
        first = y["turn"].start + 3 * e
        found[first : first + 3] = p[i : i + 3]
    found[y["zd"]], found[y["zdd"]], found[y["kept"]] = p[x["zd"]], p[x["zdd"]], p[x["kept"]]
    return found
