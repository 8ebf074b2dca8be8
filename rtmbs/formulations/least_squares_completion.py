"""Least-squares completion of the derivative array (Campbell, Numer. Math. 65 (1993) 77; METHODS 2.22)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.formulations.contract import (
    ConstrainedSystem,
    FormulationError,
    Positive,
    Terms,
    jacobian_rate,
    rate_terms,
    terms_at,
)
from rtmbs.formulations.reduction import RANK_TOLERANCE, demand_agreement, row_factor, solve_positive

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

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
