"""Differentiable null space by Gram-Schmidt, with its time derivative (METHODS 2.6)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.correction import closed, least_solution
from rtmbs.formulations.errors import FormulationError
from rtmbs.formulations.rank import RANK_TOLERANCE, RowFactor, demand_agreement, fits, row_factor
from rtmbs.formulations.reduced import least_multipliers, reduced_solution
from rtmbs.formulations.terms import Positive, Terms, jacobian_rate, terms_at

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

PASSES = 2  # of Gram-Schmidt: once more takes rounding away


@dataclass
class Completion:
    """Memory of a motion: the constant rows B that complete Phi_q to a square matrix; none before the first state."""

    factor: RowFactor | None = None  # B = Q2^T; rows lists the independent rows of Phi_q
    count: int = 0  # times that B was built


class NullBasis(NamedTuple):
    """Orthonormal V = [V_D V_I] and its rate: V_D spans the rows of Phi_q, V_I its null space."""

    V: Array  # (n, n)
    Vd: Array  # (n, n) [1/s]
    r: int  # columns of V_D


@dataclass(frozen=True)
class NullSpace:
    """Accelerations in a differentiable null-space basis by Gram-Schmidt.

    V_I^T M V_I zdd_I = V_I^T (F - M G), G = V_D zdd_D + Vd zd, zdd_D = (Phi_q V_D)^-1 (gamma - Phi_q Vd zd).

    V comes from the rows of Phi_q and of a constant B by Gram-Schmidt, so it is differentiable in time. B is kept until
    a normalising factor |p_i|/|w_i| exceeds ``largest_factor``. Dependent rows are left out, and must agree with the
    others. ``multipliers`` asks for lam.

    Parameters
    ----------
    largest_factor : float, default 1000000.0
        Largest normalising factor before the basis is made anew.
    multipliers : bool, default False
        True to compute the Lagrange multipliers too.
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot or singular value that counts, relative to the largest.

    Examples
    --------
    >>> a, _ = NullSpace().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    largest_factor: float = 1e6
    multipliers: bool = False
    rank_tolerance: float = RANK_TOLERANCE
    redundant = True

    def __post_init__(self) -> None:
        Positive("largest_factor of NullSpace").check(self.largest_factor)
        Positive("rank_tolerance").check(self.rank_tolerance)

    def memory(self) -> Completion:
        """Return an empty completion."""
        return Completion()

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array | None]:
        """Return a (n,), and lam (m,) when asked for, at a state; ``memory`` is a Completion."""
        terms = terms_at(system, q, v, t)
        completion = self.memory() if memory is None else memory
        basis, rows = self.basis(terms, q, v, t, completion)
        V_D, V_I = basis.V[:, : basis.r], basis.V[:, basis.r :]
        carried = basis.Vd @ (basis.V.T @ terms.v)
        inner = terms.Phi_q[rows] @ V_D
        right = terms.gamma[rows] - terms.Phi_q[rows] @ carried
        zdd_D = lapack.dgesv(inner, right)[2] if basis.r else np.zeros(0)
        G = V_D @ zdd_D + carried
        a = reduced_solution(terms, V_I, G)
        demand_agreement(terms, a)
        return a, least_multipliers(terms, a) if self.multipliers else None

    def correct(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return q and v (n,) with Phi = 0 and Phid = 0, by the least change of both."""
        return closed(system, q, v, t, least_solution)

    def basis(self, terms: Terms, q: Array, v: Array, t: float, completion: Completion) -> tuple[NullBasis, Indices]:
        """Return V with its rate, and the independent rows; B is built anew where it is worn out.

        Parameters
        ----------
        terms : Terms
            Mass, force, Jacobian and rate terms at the state.
        q : ndarray
            Coordinates (n,).
        v : ndarray
            Rates of the coordinates (n,).
        t : float
            Time [s].
        completion : Completion
            Kept basis, changed in place.

        Returns
        -------
        tuple[NullBasis, Indices]
            V with its rate, and the independent rows; B is built anew where it is worn out.

        Raises
        ------
        FormulationError
            When there is no solution.
        """
        rate, kept = jacobian_rate(terms.system, q, v, t), completion.factor
        if kept is not None and fits(kept, terms.system):
            found = completed(kept, terms, rate, 1.0 / self.largest_factor)
            if found is not None:
                return found, kept.rows
        fresh = row_factor(terms.Phi_q, self.rank_tolerance)
        completion.factor, completion.count = fresh, completion.count + 1
        found = completed(fresh, terms, rate, 0.0)
        if found is None:
            raise FormulationError("Phi_q lost all digits of a row; give its rows and coordinates nearer sizes")
        return found, fresh.rows


def completed(factor: RowFactor, terms: Terms, rate: Array, least: float) -> NullBasis | None:
    """Return the basis that Phi_q and B = Q2^T of ``factor`` make, or None where a column is left too short."""
    B = factor.Q2.T
    P, Pd = np.vstack((terms.Phi_q[factor.rows], B)).T, np.vstack((rate[factor.rows], np.zeros_like(B))).T
    found = gram_schmidt(P, Pd, least)
    return None if found is None else NullBasis(*found, len(factor.rows))


def gram_schmidt(P: Array, Pd: Array, least: float) -> tuple[Array, Array] | None:
    """Return V and Vd of the columns of P and their rates Pd, or None where a column is left shorter than ``least``.

    w_i = p_i - sum_j (v_j . p_i) v_j, v_i = w_i / |w_i|, and the derivative of each; lengths are parts of |p_i|.
    """
    V, Vd = np.zeros_like(P), np.zeros_like(P)
    for i in range(P.shape[1]):
        w, wd, size = P[:, i], Pd[:, i], np.linalg.norm(P[:, i])
        for _ in range(PASSES):
            V0, Vd0 = V[:, :i], Vd[:, :i]
            along = V0.T @ w
            wd = wd - V0 @ (Vd0.T @ w + V0.T @ wd) - Vd0 @ along
            w = w - V0 @ along
        length = np.linalg.norm(w)
        if length <= least * size:
            return None
        V[:, i] = w / length
        Vd[:, i] = (wd - V[:, i] * (V[:, i] @ wd)) / length
    return V, Vd
