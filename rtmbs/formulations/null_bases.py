"""Formulations that reduce to the null space of Phi_q at each state, and keep nothing: section 4 of the survey.

Zero eigenvalues, Householder's transformation, Gaussian elimination, Hemami and Weimer's square system, and Kane's
equations in independent speeds v = C u + D (Wampler, Buffinton and Shu-hui; METHODS 2.22).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem, checked_time, checked_vector
from rtmbs.formulations.correction import closed_state, least_solution
from rtmbs.formulations.elimination import Elimination
from rtmbs.formulations.rate_constraints import with_rate_rows
from rtmbs.formulations.reduction import (
    RANK_TOLERANCE,
    demand_agreement,
    least_multipliers,
    reduced_solution,
    row_factor,
    stacked_solution,
)
from rtmbs.formulations.terms import Positive, Terms, jacobian_of, rate_terms, terms_at

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


REFINEMENTS = 3  # of basis and particular solution: Phi_q^T Phi_q has the square of the condition of Phi_q


@dataclass(frozen=True)
class NullBasisForm(ReducedForm):
    """Accelerations in a basis N of the null space that is made at each state: a = N x + c, Phi_q c = gamma."""

    def _bases(self, terms: Terms) -> tuple[Array, Array]:
        """Return N (n, n - r), and c (n,) with Phi_q c = gamma, at the state of ``terms``."""
        raise NotImplementedError

    def _solution(self, terms: Terms) -> Array:
        return reduced_solution(terms, *self._bases(terms))


@dataclass(frozen=True)
class ZeroEigenvalues(NullBasisForm):
    """Accelerations in the eigenvectors of Phi_q^T Phi_q with eigenvalue zero (Walton and Steeves; Kamman and Huston).

    The other eigenvectors give the particular solution. Dependent rows must agree with the others.

    Parameters
    ----------
    multipliers : bool, default False
        True to compute the Lagrange multipliers too.
    rank_tolerance : float, default 1e-06
        Smallest root of an eigenvalue that counts, relative to the largest.

    Examples
    --------
    >>> a, _ = ZeroEigenvalues().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    rank_tolerance: float = 1e-6

    def _bases(self, terms: Terms) -> tuple[Array, Array]:
        P = terms.Phi_q
        values, vectors = scipy.linalg.eigh(P.T @ P, check_finite=False)
        small = values <= self.rank_tolerance**2 * values.max(initial=0.0)
        N, V = vectors[:, small], vectors[:, ~small]
        back = V / values[~small] @ V.T @ P.T
        c = back @ terms.gamma
        for _ in range(REFINEMENTS):
            N, c = N - back @ (P @ N), c + back @ (terms.gamma - P @ c)
        return N, c


@dataclass(frozen=True)
class Householder(NullBasisForm):
    """Accelerations in the null-space basis of Householder's transformation of Phi_q^T (Amirouche, Jia and Ider).

    Phi_q^T = Q1 R1 with reflections and exchanged columns at every state, N = Q2 and c = Q1 R1^-T gamma. QR keeps its
    basis instead. Dependent rows are left out, and must agree with the others.

    Parameters
    ----------
    multipliers : bool, default False
        True to compute the Lagrange multipliers too.
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot that counts, relative to the largest.

    Examples
    --------
    >>> a, _ = Householder().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    def _bases(self, terms: Terms) -> tuple[Array, Array]:
        found = row_factor(terms.Phi_q, self.rank_tolerance)
        if not len(found.rows):
            return found.Q2, np.zeros(terms.system.n)
        x = scipy.linalg.solve_triangular(found.R1, terms.gamma[found.rows], trans="T", check_finite=False)
        return found.Q2, found.Q1 @ x


@dataclass(frozen=True)
class IderAmirouche(NullBasisForm):
    """Accelerations in the null-space basis of Gaussian elimination with full pivoting (Ider and Amirouche).

    With Phi_u (r, r) the columns of the pivots, N = [-Phi_u^-1 Phi_v; I] and c = [Phi_u^-1 gamma; 0] at every state.
    Partitioning keeps its choice of columns instead. Dependent rows are left out, and must agree with the others.

    Parameters
    ----------
    multipliers : bool, default False
        True to compute the Lagrange multipliers too.
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot that counts, relative to the largest.

    Examples
    --------
    >>> a, _ = IderAmirouche().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    def _bases(self, terms: Terms) -> tuple[Array, Array]:
        eliminated = Elimination(terms.Phi_q, self.rank_tolerance)
        return eliminated.basis(), eliminated.particular(terms.gamma)


@dataclass(frozen=True)
class HemamiWeimer(ReducedForm):
    """Accelerations from the square system of projected equations and constraints (Hemami and Weimer).

    [N^T M; Phi_q] a = [N^T F; gamma], with N orthonormal on the null space of Phi_q at every state. Dependent rows are
    left out, and must agree with the others.

    Parameters
    ----------
    multipliers : bool, default False
        True to compute the Lagrange multipliers too.
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot that counts, relative to the largest.

    Examples
    --------
    >>> a, _ = HemamiWeimer().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    def _solution(self, terms: Terms) -> Array:
        found = row_factor(terms.Phi_q, self.rank_tolerance)
        return stacked_solution(terms, found.Q2, terms.Phi_q[found.rows], terms.gamma[found.rows])


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
