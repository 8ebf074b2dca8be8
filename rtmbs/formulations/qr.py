"""QR with a frozen basis (METHODS 2.4): the columns of Q from an earlier state, Phi_q of this one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from rtmbs.formulations.checked import given, instant
from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.correction import closed
from rtmbs.formulations.rank import RANK_TOLERANCE, RowFactor, demand_agreement, fits, row_factor
from rtmbs.formulations.reduced import least_multipliers, reduced_solution
from rtmbs.formulations.terms import Positive, terms_at

Array = NDArray[np.float64]


@dataclass
class Basis:
    """Memory of a motion: the last factorisation of Phi_q^T; none before the first state."""

    factor: RowFactor | None = None
    count: int = 0  # factorisations made so far
    condition: float = 1.0  # at the state that the factorisation was made at


@dataclass(frozen=True)
class QR:
    """Accelerations in a null-space basis from a QR factorisation of the constraint Jacobian.

    E2^T M E2 zdd = E2^T (F - M E1 gamma), E1 = Q1 (Phi_q Q1)^-1, E2 = Q2 - E1 Phi_q Q2.

    Q = [Q1 Q2] is kept until |Phi_q| |(Phi_q Q1)^-1| exceeds ``largest_condition`` times its value at the state it was
    made at. Dependent rows are left out, and must agree with the others. ``multipliers`` asks for lam.

    Parameters
    ----------
    largest_condition : float, default 10.0
        Largest growth of the condition before the factorisation is made anew.
    multipliers : bool, default False
        True to compute the Lagrange multipliers too.
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot or singular value that counts, relative to the largest.

    Examples
    --------
    >>> a, lam = QR(multipliers=True).accelerations(system, q, v, t)  # doctest: +SKIP
    """

    largest_condition: float = 10.0
    multipliers: bool = False
    rank_tolerance: float = RANK_TOLERANCE
    redundant = True

    def __post_init__(self) -> None:
        Positive("largest_condition of QR").check(self.largest_condition)
        Positive("rank_tolerance").check(self.rank_tolerance)

    def memory(self) -> Basis:
        """Return an empty basis."""
        return Basis()

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array | None]:
        """Return a (n,), and lam (m,) when asked for, at a state; ``memory`` is a Basis."""
        terms = terms_at(system, q, v, t)
        basis = self.memory() if memory is None else memory
        factor, inner = self.basis_at(system, terms.Phi_q, basis)
        rows = factor.rows
        E1 = lapack.dgesv(inner.T, factor.Q1.T)[2].T if len(rows) else factor.Q1
        E2 = factor.Q2 - E1 @ (terms.Phi_q[rows] @ factor.Q2)
        particular = E1 @ terms.gamma[rows]
        a = reduced_solution(terms, E2, particular)
        demand_agreement(terms, a)
        return a, least_multipliers(terms, a) if self.multipliers else None

    def correct(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return q and v (n,) with Phi = 0 and Phid = 0, changed along Q1: Q2^T q and Q2^T v stay as they are."""
        q, t = given("q", q, system.n), instant(t)
        factor, _ = self.basis_at(system, system.constraint_jacobian(q, t), self.memory() if memory is None else memory)

        def solve(Phi_q: Array, right: Array) -> Array:
            if not len(factor.rows):
                return np.zeros(system.n)
            *_, x, info = lapack.dgesv(Phi_q[factor.rows] @ factor.Q1, right[factor.rows])
            return factor.Q1 @ x if info == 0 else np.full(system.n, np.nan)

        return closed(system, q, v, t, solve)

    def basis_at(self, system: ConstrainedSystem, Phi_q: Array, basis: Basis) -> tuple[RowFactor, Array]:
        """Return the kept factorisation, or a new one where it is worn out, and Phi_q Q1 (r, r).

        Parameters
        ----------
        system : ConstrainedSystem
            System of equations.
        Phi_q : ndarray
            Constraint Jacobian (m, n).
        basis : Basis
            Kept factorisation, changed in place.

        Returns
        -------
        tuple[RowFactor, ndarray]
            Kept factorisation, or a new one where it is worn out, and Phi_q Q1 (r, r).
        """
        kept = basis.factor
        if kept is not None and fits(kept, system):
            inner = Phi_q[kept.rows] @ kept.Q1
            if not len(inner) or condition(inner, Phi_q[kept.rows]) <= self.largest_condition * basis.condition:
                return kept, inner
        basis.factor, basis.count = row_factor(Phi_q, self.rank_tolerance), basis.count + 1
        inner = Phi_q[basis.factor.rows] @ basis.factor.Q1
        basis.condition = condition(inner, Phi_q[basis.factor.rows])
        return basis.factor, inner


def condition(inner: Array, rows: Array) -> float:
    """Return |Phi_q| |(Phi_q Q1)^-1|, largest singular values; infinite where Phi_q Q1 is singular.

    The condition number of Phi_q Q1 alone is blind: of a single row it is 1, however far the row has turned from Q1.
    """
    if not len(inner):
        return 1.0
    least = float(np.linalg.svd(inner, compute_uv=False)[-1])
    return float(np.linalg.norm(rows, 2)) / least if least > 0.0 else np.inf
