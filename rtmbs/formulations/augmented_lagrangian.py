"""Augmented Lagrangian: penalties with multipliers that iterations correct, so that their size does not matter."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.errors import FormulationError
from rtmbs.formulations.penalty_options import PenaltyOptions
from rtmbs.formulations.reduced import least_multipliers, solve_positive
from rtmbs.formulations.terms import row_names

Array = NDArray[np.float64]

SETTLED = 1e-15  # of the largest correction: one that ends the iterations
ROUNDING = 1e-9  # likewise, of a correction that grows again


@dataclass(frozen=True)
class AugmentedLagrangian(PenaltyOptions):
    """Accelerations by the augmented Lagrangian iteration.

    (M + Phi_q^T alpha Phi_q) da = F - M a - Phi_q^T (lam + alpha r), r = Phi_q a - gamma*, lam += alpha r.

    alpha is ``penalty`` times the masses of the rows; gamma* feeds Phi and Phid back as in Penalty. Each iteration
    takes a factor of about 1 / ``penalty`` off the error. Rounding of lam is corrected by least squares at the end.
    Dependent rows share their force.

    Parameters
    ----------
    penalty : float, default 1000000.0
        Penalty as a multiple of the masses of the rows.
    frequency : float, default 20.0
        [1/s], of Phi.
    damping : float, default 1.0
        [1], 1 is critical.
    iterations : int, default 30
        Largest number of iterations.

    Examples
    --------
    >>> a, lam = AugmentedLagrangian().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    penalty: float = 1e6
    iterations: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.iterations, int) or isinstance(self.iterations, bool) or self.iterations < 1:
            raise InputError(f"iterations of AugmentedLagrangian is {shown(self.iterations)}; 1 or more is wanted")

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return a (n,) and lam (m,) at a state, which need not satisfy Phi = 0."""
        terms, alpha = self.stabilised(system, q, v, t)
        P = terms.Phi_q
        A, whole = terms.M + P.T @ (alpha[:, None] * P), np.eye(system.n)
        a, lam, previous, largest = np.zeros(system.n), np.zeros(system.m), np.inf, 0.0
        for _ in range(self.iterations):
            violation = P @ a - terms.gamma
            change = solve_positive(terms, whole, A, terms.F - terms.M @ a - P.T @ (lam + alpha * violation))
            a = a + change
            lam = lam + alpha * (P @ a - terms.gamma)
            size = float(np.abs(change).max(initial=0.0))
            largest = max(largest, size)
            if size <= SETTLED * largest or (size >= previous and size <= ROUNDING * largest):
                left = terms._replace(F=terms.F - P.T @ lam)
                return a, lam + least_multipliers(left, a)
            previous = size
        worst = np.array([int(np.argmax(np.abs(P @ a - terms.gamma)))]) if system.m else np.zeros(0, np.int64)
        raise FormulationError(
            f"no multipliers after {self.iterations} iterations; {row_names(system, worst)} of Phi_q a = gamma is left "
            "with the largest error; take a larger penalty, or rows that agree with each other"
        )
