"""Solves the linear equations of steps by blocks: E is block lower triangular in the order of its unknowns."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.sensitivities.saddles import Solver, solver
from rtmbs.sensitivities.step_tape import StepTape
from rtmbs.sensitivities.steps import Steps

Array = NDArray[np.float64]


class Elimination:
    """E of the steps of a chunk, ready to solve.

    The blocks: the first correction with its multipliers, the increment with its own, the velocity projection, what is
    explicit behind it (rates and kept energies), the acceleration projection, whose matrix is that of the velocities,
    and the turns.
    """

    def __init__(self, tape: StepTape, steps: Steps, alpha: Array) -> None:
        y, q4 = tape.y, 0.25 * tape.h**2
        ends = [y["first"].stop, y["push"].stop, y["mu"].stop, y["kept"].stop, y["nu"].stop, y["turn"].stop]
        self.blocks = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False) if b > a]
        self.E = steps.E
        self.solvers: list[Solver | None] = []
        for block in self.blocks:
            if block.start in (y["mu"].stop, y["nu"].stop):
                self.solvers.append(None)
            elif block.start == y["kept"].stop:
                self.solvers.append(self.solvers[-2])
            else:
                weight = q4 * alpha if block.start == y["push"].stop else alpha
                first = block.start == 0 and not np.any(steps.made == 2)
                found = None if first else solver(self.E[:, block, block], tape.n, weight, tape.redundant)
                self.solvers.append(found)

    def solve(self, right: Array) -> Array:
        """Return E^-1 right (K, ny, k)."""
        found = right.copy()
        for block, own in zip(self.blocks, self.solvers, strict=True):
            if block.start:
                found[:, block] -= self.E[:, block, : block.start] @ found[:, : block.start]
            if own is not None:
                found[:, block] = own.solve(found[:, block])
        return found

    def solve_transposed(self, right: Array) -> Array:
        """Return E^-T right (K, ny, k)."""
        found = right.copy()
        for block, own in zip(reversed(self.blocks), reversed(self.solvers), strict=True):
            if own is not None:
                found[:, block] = own.solve_transposed(found[:, block])
            if block.start:
                found[:, : block.start] -= np.swapaxes(self.E[:, block, : block.start], 1, 2) @ found[:, block]
        return found
