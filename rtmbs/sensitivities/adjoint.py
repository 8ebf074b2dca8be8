"""The discrete adjoint: gradients of a few values by any number of parameters, one pass backwards."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.sensitivities.channels import Direction
from rtmbs.sensitivities.start import FirstChange
from rtmbs.sensitivities.step_tape import StepTape
from rtmbs.sensitivities.steps import LinearSteps, Missed
from rtmbs.sensitivities.sweeps import sweep_back, take_parameters

Array = NDArray[np.float64]


class Adjoint:
    """Gradients of k values, gathered from the last segment of a run to the first."""

    def __init__(self, tape: StepTape, k: int) -> None:
        self.p, self.gradient = np.zeros((tape.x.size, k)), np.zeros((tape.variations.count, k))
        self.began = False

    def through(self, steps: LinearSteps, by_samples: list[Direction]) -> Missed:
        """Go back over a segment, given derivatives of the values by its samples; return the largest miss.

        The last sample of a segment is the first of the one behind, which has counted it as the state before a step.
        """
        nc, ns, missed = steps.tape.nc, steps.tape.ns, Missed(0.0, 0)
        none = np.zeros((len(by_samples[0].z), nc)), np.zeros((len(by_samples[0].z), ns))
        parts = [np.hstack((one.z, one.zd, one.zdd, none[0], one.s, none[1])) for one in by_samples]
        g, self.f = np.stack(parts, axis=2), np.stack([one.lam for one in by_samples], axis=2)
        if not self.began:
            self.p += g[-1]
            self.began = True
        for chunk in steps.chunks(backwards=True):
            before = slice(chunk.first, chunk.first + len(chunk.values))
            behind = slice(before.start + 1, before.stop + 1)
            blocks, w = steps.blocks(self.p.shape[1]), np.zeros((len(chunk.values), steps.tape.y.size, self.p.shape[1]))
            sweep_back(blocks, chunk.values, chunk.case, chunk.made, g[before], self.f[behind], self.p, w)
            if steps.by_parameters:
                take_parameters(blocks, chunk.values, chunk.case, w, self.gradient)
            else:
                self.gradient -= steps.pulled(chunk, w)
            missed = max(missed, chunk.worst)
        return missed

    def ended(self, start: FirstChange) -> Array:
        """Return the gradients (k, np), with what parameters do to the first state."""
        return np.asarray((self.gradient + start.state.T @ self.p + start.lam.T @ self.f[0]).T)


def backwards(steps: LinearSteps, start: FirstChange, by_samples: list[Direction]) -> tuple[Array, Missed]:
    """Return gradients (k, np) over a whole run, and the largest miss."""
    found = Adjoint(steps.tape, len(by_samples))
    missed = found.through(steps, by_samples)
    return found.ended(start), missed
