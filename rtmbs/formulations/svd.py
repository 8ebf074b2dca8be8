"""Singular value decomposition in two variants (METHODS 2.5): for constraints of unknown rank."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.correction import closed, least_solution
from rtmbs.formulations.rank import RANK_TOLERANCE, demand_agreement
from rtmbs.formulations.reduced import least_multipliers, reduced_solution, refuse_singular
from rtmbs.formulations.terms import Positive, Terms, terms_at

Array = NDArray[np.float64]

VARIANTS = ("pseudo-inverse", "stacked")
SINGULAR = 1e-13  # smallest pivot of the stacked matrix, rows of length one, that counts as regular


@dataclass(frozen=True)
class SVD:
    """Accelerations in a null-space basis from a singular value decomposition.

    Phi_q = U1 Sigma V1^T with V2 for the null space; the numerical rank decides what V1 is.

    ``variant`` "pseudo-inverse": a = V2 x + Phi_q^+ gamma with V2^T M V2 x = V2^T (F - M Phi_q^+ gamma). "stacked":
    [V2^T M; Sigma V1^T] a = [V2^T F; U1^T gamma]. V2 is not continuous in time, so nothing is kept. ``multipliers``
    asks for lam.

    Parameters
    ----------
    variant : str, default "pseudo-inverse"
        ``"pseudo-inverse"`` or ``"stacked"``.
    multipliers : bool, default False
        True to compute the Lagrange multipliers too.
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot or singular value that counts, relative to the largest.

    Examples
    --------
    >>> a, _ = SVD(variant="stacked").accelerations(system, q, v, t)  # doctest: +SKIP
    """

    variant: str = "pseudo-inverse"
    multipliers: bool = False
    rank_tolerance: float = RANK_TOLERANCE
    redundant = True

    def __post_init__(self) -> None:
        Positive("rank_tolerance").check(self.rank_tolerance)
        if self.variant not in VARIANTS:
            raise InputError(f"variant of SVD is {shown(self.variant)}; there are {', '.join(map(repr, VARIANTS))}")

    def memory(self) -> None:
        """Nothing is kept."""

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array | None]:
        """Return a (n,), and lam (m,) when asked for, at a state."""
        terms = terms_at(system, q, v, t)
        U1, sigma, V1, V2 = decomposed(terms.Phi_q, self.rank_tolerance)
        particular = V1 @ ((U1.T @ terms.gamma) / sigma)
        if self.variant == "stacked":
            a = stacked_solution(terms, U1, sigma, V1, V2)
        else:
            a = reduced_solution(terms, V2, particular)
        demand_agreement(terms, a)
        return a, least_multipliers(terms, a, self.rank_tolerance) if self.multipliers else None

    def correct(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return q and v (n,) with Phi = 0 and Phid = 0, by the least change of both."""
        return closed(system, q, v, t, least_solution)


def decomposed(Phi_q: Array, tolerance: float) -> tuple[Array, Array, Array, Array]:
    """Return U1 (m, r), sigma (r,), V1 (n, r) and V2 (n, n - r)."""
    m, n = Phi_q.shape
    if not m:
        return np.zeros((0, 0)), np.zeros(0), np.zeros((n, 0)), np.eye(n)
    U, sigma, VT = scipy.linalg.svd(Phi_q, check_finite=False)
    r = int(np.count_nonzero(sigma > tolerance * sigma[0]))
    return U[:, :r], sigma[:r], VT[:r].T, VT[r:].T


def stacked_solution(terms: Terms, U1: Array, sigma: Array, V1: Array, V2: Array) -> Array:
    """Return a (n,) of the square system [V2^T M; Sigma V1^T] a = [V2^T F; U1^T gamma], rows of length one."""
    A = np.vstack((V2.T @ terms.M, sigma[:, None] * V1.T))
    b = np.concatenate((V2.T @ terms.F, U1.T @ terms.gamma))
    length = np.linalg.norm(A, axis=1)
    scale = 1.0 / np.where(length > 0.0, length, 1.0)
    lu, pivots, info = scipy.linalg.lapack.dgetrf(scale[:, None] * A)
    if info > 0 or np.abs(np.diag(lu)).min() < SINGULAR:
        refuse_singular(terms, V2, V2.T @ terms.M @ V2)
    return np.asarray(scipy.linalg.lu_solve((lu, pivots), scale * b, check_finite=False))
