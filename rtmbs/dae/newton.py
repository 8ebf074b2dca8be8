"""Newton's iteration with a matrix that is kept from step to step, as long as it contracts.

The loop stands alone beside ``converged`` of ``numerics/linear/least_change.py``, which trusts corrections of a matrix
made at the iterate: here the matrix belongs to another state, so its contraction judges the end.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Counts, MotionError
from rtmbs.formulations.augmented_system import Solver
from rtmbs.numerics.linear.solver import DenseSolver, LinearSolver

Array = NDArray[np.float64]

TOLERANCE = 1e-13  # of a correction, in terms of the scale of its unknown
ROUNDING = 1e-9  # likewise, of a correction that no longer shrinks
NOISE = 10.0  # times the change that rounding of the equations makes: corrections as small are rounding
SIGNS = np.array([1.0, -1.0, -1.0])  # in turn, of the rounding of the equations
CONTRACTION = 0.2  # of corrections: a kept matrix that does less is made anew
KEPT_ITERATIONS = 12
ITERATIONS = 25


class Newton:
    """The iteration of one run, its matrix factored by ``solver``, a class of ``rtmbs.numerics.linear``."""

    def __init__(self, counts: Counts, who: str, solver: Solver = DenseSolver) -> None:
        self.counts, self.who, self.solver = counts, who, solver
        self.matrix: LinearSolver | None = None
        self.added: Array | float = 0.0
        self.sizes = np.zeros((0, 0))  # (k, k) of the entries of the matrix

    def kept(self) -> tuple[LinearSolver | None, Array]:
        """Return what the iteration keeps from step to step."""
        return self.matrix, self.sizes

    def put_back(self, kept: tuple[LinearSolver | None, Array]) -> None:
        """Set what was kept at an earlier step."""
        self.matrix, self.sizes = kept

    def solve(
        self, residual: Callable[[Array], Array], matrix: Callable[[Array], Array], x: Array, scale: Array, t: float,
        added: Array | float = 0.0,
    ) -> Array:  # fmt: skip
        """Return x (k,) with residual(x) = 0 from a first x; ``scale`` (k,) are the sizes of the unknowns.

        The equations look at x plus ``added`` (k,), as at positions over h^2 where accelerations are unknown: this sum
        rounds as its larger part does. Raises MotionError for a matrix without inverse, or corrections that do not
        shrink.
        """
        self.added = added
        if self.matrix is not None:
            found, done = self.iterate(residual, x, scale, fresh=False)
            if done:
                return found
        for _ in range(ITERATIONS):
            self.factor(matrix(x), t)
            x, done = self.iterate(residual, x, scale, fresh=True)
            if done:
                return x
            if not np.all(np.isfinite(x)):
                break
        raise MotionError(f"Newton of {self.who} does not converge at t = {t:g}; take a shorter step than this one")

    def iterate(self, residual: Callable[[Array], Array], x: Array, scale: Array, fresh: bool) -> tuple[Array, bool]:
        """Return the last x, and whether it solves the equations. Only a fresh matrix may end in rounding."""
        assert self.matrix is not None
        before = np.inf
        for _ in range(KEPT_ITERATIONS):
            self.counts.iterations += 1
            step = self.matrix.solve(residual(x))
            size = float(np.abs(step / scale).max(initial=0.0))
            x = x - step
            if not np.isfinite(size):
                return x, False
            slow, left = size >= CONTRACTION * before, size * min(size / before, 1.0)  # before inf at first: left is 0
            if size <= TOLERANCE or (np.isfinite(before) and not slow and left <= TOLERANCE):
                return x, True
            if fresh and slow and (size <= ROUNDING or size <= NOISE * self.noise(x, scale)):
                return x, True
            if slow:
                return x, False
            before = size
        return x, False

    def noise(self, x: Array, scale: Array) -> float:
        """Return the largest change of x (k,) that rounding of the equations makes, in terms of its scale."""
        assert self.matrix is not None
        rounding = np.finfo(np.float64).eps * (self.sizes @ (np.abs(x) + self.added))
        changes = [self.matrix.solve(signs * rounding) for signs in (1.0, np.resize(SIGNS, len(x)))]
        return max(float(np.abs(change / scale).max(initial=0.0)) for change in changes)

    def factor(self, A: Array, t: float) -> None:
        """Factor a matrix (k, k); raises MotionError for a singular one."""
        self.counts.factorisations += 1
        if not np.all(np.isfinite(A)):
            raise MotionError(f"the Newton matrix of {self.who} is not finite at t = {t:g}; take a shorter step")
        self.matrix, self.sizes = self.solver.of(A), np.abs(A)
        if self.matrix.factor(A):
            raise MotionError(f"the Newton matrix of {self.who} is singular at t = {t:g}; no coordinate may be loose")


def scale_of(*parts: Array) -> Array:
    """Return scales for stacked unknowns: of each part its largest value, or 1."""
    return np.concatenate([np.full(len(part), max(1.0, float(np.abs(part).max(initial=0.0)))) for part in parts])


def constraint_scales(Phi_q: Array, v: Array, a: Array, h: float) -> tuple[Array, Array]:
    """Return scales (m,) of mu and tau: Phi_q^T mu is a rate, Phi_q^T tau an acceleration."""
    rate = max(1.0, float(np.abs(v).max(initial=0.0)) + h * float(np.abs(a).max(initial=0.0)))
    size = float(np.abs(Phi_q).max(initial=0.0)) or 1.0
    acceleration = max(1.0, float(np.abs(a).max(initial=0.0)))
    return np.full(len(Phi_q), rate / size), np.full(len(Phi_q), acceleration / size)
