"""Penalty on three levels: springs, dampers and masses of alpha hold Phi, Phid and Phidd."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.penalty_options import PenaltyOptions
from rtmbs.formulations.saddle import solve_saddle

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Penalty(PenaltyOptions):
    """(M + Phi_q^T alpha Phi_q) a = F + Phi_q^T alpha gamma*, alpha = ``penalty`` times the masses of the rows.

    gamma* = gamma - 2 damping frequency Phid - frequency^2 Phi, and lam = alpha (Phi_q a - gamma*). The error of a is
    about 1 / ``penalty``. The sum is not formed: [[M, Phi_q^T], [Phi_q, -1/alpha]] has the same solution, and keeps
    its digits at any penalty. Dependent rows share their force.

    >>> a, lam = Penalty(penalty=1e9).accelerations(system, q, v, t)  # doctest: +SKIP
    """

    penalty: float = 1e14

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return a (n,) and lam (m,) at a state, which need not satisfy Phi = 0."""
        terms, alpha = self.stabilised(system, q, v, t)
        return solve_saddle(terms, 1.0 / alpha)
