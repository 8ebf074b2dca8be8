"""Base of the formulations that reduce to the null space of Phi_q at each state, and keep nothing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.correction import closed_state, least_solution
from rtmbs.formulations.rate_constraints import with_rate_rows
from rtmbs.formulations.reduction import RANK_TOLERANCE, demand_agreement, least_multipliers
from rtmbs.formulations.terms import Positive, Terms, terms_at

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ReducedForm:
    """Accelerations by a reduction to the null space that is made at each state.

    Parameters
    ----------
    multipliers : bool, default False
        True to compute the Lagrange multipliers too.
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot that counts, relative to the largest.
    """

    multipliers: bool = False
    rank_tolerance: float = RANK_TOLERANCE
    redundant = True

    def __post_init__(self) -> None:
        Positive("rank_tolerance").check(self.rank_tolerance)

    def memory(self) -> None:
        """Nothing is kept."""

    def _solution(self, terms: Terms) -> Array:
        """Return a (n,) at the state of ``terms``."""
        raise NotImplementedError

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array | None]:
        """Return a (n,), and lam (m,) when asked for, at a state."""
        terms = terms_at(system, q, v, t)
        a = self._solution(terms)
        demand_agreement(terms, a)
        return a, least_multipliers(terms, a) if self.multipliers else None

    def correct(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return q and v (n,) with Phi = 0 and Phid = 0, by the least change of both."""
        return closed_state(with_rate_rows(system), q, v, t, least_solution)
