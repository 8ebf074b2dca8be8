"""Direct integration of the augmented system, index 1 (METHODS 2.1). Phi drifts with the square of time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.rank import RANK_TOLERANCE, demand_full_rank
from rtmbs.formulations.saddle import solve_saddle
from rtmbs.formulations.terms import Positive, terms_at

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Direct:
    """[[M, Phi_q^T], [Phi_q, 0]] [a; lam] = [F; gamma]. Dependent rows are refused.

    >>> a, lam = Direct().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    rank_tolerance: float = RANK_TOLERANCE
    redundant = False

    def __post_init__(self) -> None:
        Positive("rank_tolerance").check(self.rank_tolerance)

    def memory(self) -> None:
        """Nothing is kept."""

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return a (n,) and lam (m,) at a state."""
        terms = terms_at(system, q, v, t)
        demand_full_rank(terms, self.rank_tolerance, "Direct")
        return solve_saddle(terms)
