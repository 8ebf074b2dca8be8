"""Rank of Phi_q: which rows are independent, and a sentence about those that are not."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem, FormulationError
from rtmbs.formulations.terms import Terms, inertias, row_names

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

RANK_TOLERANCE = 1e-8  # singular values or pivots below this part of the largest count as zero
CONTRADICTION = 1e-6  # of the terms of Phidd: what dependent rows may disagree by


class RowFactor(NamedTuple):
    """Phi_q[rows]^T = Q1 R1 with the independent rows first; Q2 spans the null space of Phi_q."""

    Q1: Array  # (n, r)
    Q2: Array  # (n, n - r)
    R1: Array  # (r, r) upper triangle
    rows: Indices  # (r,) independent rows, in the order of R1
    dependent: Indices  # (m - r,)


def row_factor(Phi_q: Array, tolerance: float = RANK_TOLERANCE) -> RowFactor:
    """Return the QR factorisation of Phi_q^T with column pivoting, cut at its numerical rank."""
    m, n = Phi_q.shape
    if not m:
        return RowFactor(np.zeros((n, 0)), np.eye(n), np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros(0, np.int64))
    Q, R, order = scipy.linalg.qr(Phi_q.T, pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(R))
    r = int(np.count_nonzero(pivots > tolerance * pivots[0])) if pivots[0] > 0.0 else 0
    order = order.astype(np.int64)
    return RowFactor(Q[:, :r], Q[:, r:], R[:r, :r], order[:r], order[r:])


def fits(factor: RowFactor, system: ConstrainedSystem) -> bool:
    """Return whether a factorisation kept from an earlier state has the sizes of this system."""
    return factor.Q1.shape[0] == system.n and len(factor.rows) + len(factor.dependent) == system.m


def demand_full_rank(terms: Terms, tolerance: float, who: str) -> None:
    """Raise FormulationError naming the dependent rows, when there are some."""
    refuse_dependent(terms.system, row_factor(terms.Phi_q, tolerance).dependent, who)


def refuse_dependent(system: ConstrainedSystem, dependent: Indices, who: str) -> None:
    """Raise FormulationError naming these rows, when there are some."""
    if len(dependent):
        verb = "depends" if len(dependent) == 1 else "depend"
        raise FormulationError(
            f"{row_names(system, dependent)} of Phi_q {verb} on the other rows, and {who} needs full rank; "
            "take QR, SVD, NullSpace, Penalty or AugmentedLagrangian, or leave these rows out"
        )


def demand_agreement(terms: Terms, a: Array) -> None:
    """Raise FormulationError naming the row, when the accelerations a (n,) found do not satisfy Phi_q a = gamma.

    What is left is compared with the terms of Phidd, those that forces and rates alone would make among them.
    """
    if not terms.system.m:
        return
    (inertia, positive), speed = inertias(terms), np.abs(terms.v)
    free = np.divide(np.abs(terms.F), inertia, out=np.zeros(terms.system.n), where=positive)
    parts = np.abs(terms.Phi_q) @ (np.abs(a) + free + speed * speed.max()) + np.abs(terms.gamma)
    left = np.abs(terms.Phi_q @ a - terms.gamma)
    i = int(np.argmax(left))
    if left[i] > CONTRADICTION * parts.max():
        raise FormulationError(contradiction(terms.system, i, float(left[i])))


def contradiction(system: ConstrainedSystem, row: int, left: float) -> str:
    """Return the sentence about a dependent row of Phi_q a = gamma that others do not agree with."""
    return (
        f"{row_names(system, np.array([row]))} of Phi_q a = gamma contradicts the rows it depends on by "
        f"{abs(left):.2g}; let positions and rates satisfy Phi = 0 and Phid = 0, or take the row out"
    )
