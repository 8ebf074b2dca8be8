"""Formulations that reduce to the null space of Phi_q.

Null-space formulations (METHODS 2.4 to 2.6): QR with a kept basis, SVD, and a differentiable Gram-Schmidt basis.

Formulations that reduce to the null space of Phi_q at each state, and keep nothing: section 4 of the survey.

Zero eigenvalues, Householder's transformation, Gaussian elimination, Hemami and Weimer's square system, and Kane's
equations in independent speeds v = C u + D (Wampler, Buffinton and Shu-hui; METHODS 2.22).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

from rtmbs.errors import InputError, shown
from rtmbs.formulations.consistent import Solve, closed_state, least_solution
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    FormulationError,
    Positive,
    Terms,
    checked_time,
    checked_vector,
    holonomic_rows,
    jacobian_of,
    jacobian_rate,
    rate_terms,
    terms_at,
    with_rate_rows,
)
from rtmbs.formulations.reduction import (
    RANK_TOLERANCE,
    Elimination,
    RowFactor,
    demand_agreement,
    fits,
    least_multipliers,
    reduced_solution,
    row_factor,
    solve_positive,
    stacked_solution,
)

Array = NDArray[np.float64]
VARIANTS = ("pseudo-inverse", "stacked")
Indices = NDArray[np.int64]

PASSES = 2  # of Gram-Schmidt: once more takes rounding away


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
        """Return accelerations a (n,) and, with ``multipliers``, lam (m,) at a state; ``memory`` is a Basis."""
        terms = terms_at(system, q, v, t)
        system = terms.system
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
        system = with_rate_rows(system)
        q, t = checked_vector("q", q, system.n), checked_time(t)
        Phi_q, held = system.constraint_jacobian(q, t), holonomic_rows(system)
        factor, _ = self.basis_at(system, Phi_q, self.memory() if memory is None else memory)
        placing = factor if held == system.m else row_factor(Phi_q[:held], self.rank_tolerance)
        return closed_state(system, q, v, t, along(factor), along(placing))

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


def along(factor: RowFactor) -> Solve:
    """Return the solution of Phi_q x = right along Q1."""

    def solve(Phi_q: Array, right: Array) -> Array:
        n = len(factor.Q1)
        if not len(factor.rows):
            return np.zeros(n)
        *_, x, info = lapack.dgesv(Phi_q[factor.rows] @ factor.Q1, right[factor.rows])
        return factor.Q1 @ x if info == 0 else np.full(n, np.nan)

    return solve


def condition(inner: Array, rows: Array) -> float:
    """Return |Phi_q| |(Phi_q Q1)^-1|, largest singular values; infinite where Phi_q Q1 is singular.

    The condition number of Phi_q Q1 alone is blind: of a single row it is 1, however far the row has turned from Q1.
    """
    if not len(inner):
        return 1.0
    least = float(np.linalg.svd(inner, compute_uv=False)[-1])
    return float(np.linalg.norm(rows, 2)) / least if least > 0.0 else np.inf


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
        """Return accelerations a (n,) and, with ``multipliers``, lam (m,) at a state."""
        terms = terms_at(system, q, v, t)
        U1, sigma, V1, V2 = decomposed(terms.Phi_q, self.rank_tolerance)
        particular = V1 @ ((U1.T @ terms.gamma) / sigma)
        if self.variant == "stacked":
            a = stacked_solution(terms, V2, sigma[:, None] * V1.T, U1.T @ terms.gamma)
        else:
            a = reduced_solution(terms, V2, particular)
        demand_agreement(terms, a)
        return a, least_multipliers(terms, a, self.rank_tolerance) if self.multipliers else None

    def correct(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return q and v (n,) with Phi = 0 and Phid = 0, by the least change of both."""
        return closed_state(with_rate_rows(system), q, v, t, least_solution)


def decomposed(Phi_q: Array, tolerance: float) -> tuple[Array, Array, Array, Array]:
    """Return U1 (m, r), sigma (r,), V1 (n, r) and V2 (n, n - r)."""
    m, n = Phi_q.shape
    if not m:
        return np.zeros((0, 0)), np.zeros(0), np.zeros((n, 0)), np.eye(n)
    U, sigma, VT = scipy.linalg.svd(Phi_q, check_finite=False)
    r = int(np.count_nonzero(sigma > tolerance * sigma[0]))
    return U[:, :r], sigma[:r], VT[:r].T, VT[r:].T


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
        """Return accelerations a (n,) and, with ``multipliers``, lam (m,) at a state; ``memory`` is a Completion."""
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
        return closed_state(with_rate_rows(system), q, v, t, least_solution)

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


# ---- least-squares completion ----------------------------------------------------------------------------------------

ITERATIONS = 30  # of Gauss and Newton: on the constraints two are enough
LIGHT = 1e-6  # of the largest inertia: less counts as this, as of an Euler parameter along itself
SETTLED = 1e-13  # of the unknowns: a change that ends the iterations
ROUNDING = 1e-9  # likewise, of a change that no longer shrinks


@dataclass(frozen=True)
class LeastSquaresCompletion:
    """Accelerations of the completed equations: the derivative array solved in the least-squares sense.

    Unknown are q', a, q'' and lam. What is least is the sum of squares of q' - v, q'' - a, M a + Phi_q^T lam - F,
    Phi_q q' + Phi_t and Phi_q q'' - gamma(q, q'), in the metric of the inertias. On the constraints all are zero. Off
    the constraints gamma belongs to q', a rate that violates Phid less than v. Dependent rows are left out, and must
    agree with the others.

    Parameters
    ----------
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot of Phi_q that counts, relative to the largest.

    Examples
    --------
    >>> a, lam = LeastSquaresCompletion().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    rank_tolerance: float = RANK_TOLERANCE
    redundant = True

    def __post_init__(self) -> None:
        Positive("rank_tolerance").check(self.rank_tolerance)

    def memory(self) -> None:
        """Nothing is kept."""

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return a (n,) and lam (m,) at a state, which need not satisfy Phi = 0."""
        terms = terms_at(system, q, v, t)
        found = row_factor(terms.Phi_q, self.rank_tolerance)
        N, rows = found.Q2, found.rows
        if N.shape[1]:
            solve_positive(terms, N, N.T @ terms.M @ N, np.zeros(N.shape[1]))  # names what has no inertia
        array, n = DerivativeArray(terms, rows, np.asarray(q, np.float64), float(t)), len(terms.v)
        x, before = np.concatenate((terms.v, np.zeros(2 * n + len(rows)))), np.inf
        for _ in range(ITERATIONS):
            change = array.change(x)
            x, size = x + change, float(np.abs(change).max(initial=0.0))
            if size <= (SETTLED if size < before else ROUNDING) * max(1.0, float(np.abs(x).max(initial=0.0))):
                a, lam = x[n : 2 * n], np.zeros(len(terms.gamma))
                lam[rows] = x[3 * n :]
                demand_agreement(terms._replace(v=x[:n], gamma=array.gamma(x[:n])), a)
                return a, lam
            before = size
        raise FormulationError(
            f"least-squares completion leaves a change of {size:.2g} after {ITERATIONS} iterations at t = {t:g}; "
            "take a state nearer to the constraints"
        )


class DerivativeArray:
    """Residuals of the derivative array at one state, and their derivative by x = (q', a, q'', lam)."""

    def __init__(self, terms: Terms, rows: Indices, q: Array, t: float) -> None:
        self.terms, self.rows, self.q, self.t = terms, rows, q, t
        inertia = np.array(terms.M.diagonal())
        self.root = np.sqrt(np.maximum(inertia, LIGHT * inertia.max(initial=0.0)))
        size = np.linalg.norm(terms.Phi_q[rows] / self.root, axis=1)
        self.row = 1.0 / np.where(size > 0.0, size, 1.0)

    def gamma(self, rate: Array) -> Array:
        """Return gamma (m,) at other rates."""
        return rate_terms(self.terms.system, self.q, rate, self.t)[1]

    def change(self, x: Array) -> Array:
        """Return the step of Gauss and Newton from x (3n + r,)."""
        terms, n = self.terms, len(self.root)
        rate, a, second, lam = np.split(x, (n, 2 * n, 3 * n))
        P, R = terms.Phi_q[self.rows], jacobian_rate(terms.system, self.q, rate, self.t)[self.rows]
        left = np.concatenate((
            self.root * (rate - terms.v), self.root * (second - a),
            (terms.M @ a + P.T @ lam - terms.F) / self.root,
            self.row * (P @ rate + terms.Phi_t[self.rows]), self.row * (P @ second - self.gamma(rate)[self.rows]),
        ))  # fmt: skip
        eye, zero, m = np.eye(n), np.zeros((n, n)), len(P)
        M, P, R = terms.M / np.outer(self.root, self.root), self.row[:, None] * P / self.root, self.row[:, None] * R
        A = np.block([
            [eye, zero, zero, np.zeros((n, m))],
            [zero, -eye, eye, np.zeros((n, m))],
            [zero, M, zero, P.T],
            [P, np.zeros((m, 2 * n + m))],
            [2.0 * R / self.root, np.zeros((m, n)), P, np.zeros((m, m))],
        ])  # fmt: skip
        units = np.concatenate((1.0 / self.root, 1.0 / self.root, 1.0 / self.root, self.row))
        return -units * np.asarray(scipy.linalg.lstsq(A, left, check_finite=False, lapack_driver="gelsy")[0])
