"""Further bases of the null space of Phi_q from section 4 of the survey (METHODS 2.22).

Zero eigenvalues, Householder's transformation, Gaussian elimination, and Hemami and Weimer's square system.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.formulations.elimination import Elimination
from rtmbs.formulations.reduced_form import ReducedForm
from rtmbs.formulations.reduction import reduced_solution, row_factor, stacked_solution
from rtmbs.formulations.terms import Terms

Array = NDArray[np.float64]

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
