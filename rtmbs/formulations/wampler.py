"""Kane's equations in independent speeds, v = C u + D (Wampler, Buffinton and Shu-hui; METHODS 2.22)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem, checked_time, checked_vector
from rtmbs.formulations.elimination import Elimination
from rtmbs.formulations.rate_constraints import with_rate_rows
from rtmbs.formulations.reduced_form import ReducedForm
from rtmbs.formulations.reduction import demand_agreement, least_multipliers, reduced_solution
from rtmbs.formulations.terms import jacobian_of, rate_terms, terms_at

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Wampler(ReducedForm):
    """Accelerations by Kane's equations of a constrained system in its independent speeds u.

    v = C u + D solves Phi_q v + Phi_t = 0, and a = C ud + Cd u + Dd. C^T M C ud = C^T (F - M (Cd u + Dd)).

    Speeds of the columns without a pivot are independent. Forces and gamma are evaluated at C u + D, so that what v
    violates has no part in the accelerations. Dependent rows are left out, and must agree with the others.

    Parameters
    ----------
    multipliers : bool, default False
        True to compute the Lagrange multipliers too.
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot that counts, relative to the largest.

    Examples
    --------
    >>> a, _ = Wampler().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array | None]:
        """Return a (n,), and lam (m,) when asked for, at a state."""
        system = with_rate_rows(system)
        q, v, t = checked_vector("q", q, system.n), checked_vector("v", v, system.n), checked_time(t)
        eliminated = Elimination(jacobian_of(system, q, t, sparse=False), self.rank_tolerance)
        C, D = eliminated.basis(), eliminated.particular(-rate_terms(system, q, v, t)[0])
        terms = terms_at(system, q, C @ v[eliminated.free] + D, t)
        a = reduced_solution(terms, C, eliminated.particular(terms.gamma))  # gamma is what Phi_q (Cd u + Dd) is
        demand_agreement(terms, a)
        return a, least_multipliers(terms, a) if self.multipliers else None
