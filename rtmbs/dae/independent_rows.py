"""Rows of a system that are independent of each other, for methods that need full rank."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.dae.contract import MotionError, Point
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    FormulationError,
    SystemWrapper,
    holonomic_rows,
    row_names,
    terms_at,
)
from rtmbs.formulations.reduction import CONTRADICTION, least_multipliers, row_factor

Array = NDArray[np.float64]

APART = 100.0  # times what kept rows are left by: what others may be
WORN = 1e-2  # of the least singular value of all rows, over the largest: rows with less are chosen anew


class IndependentRows(SystemWrapper):
    """A system with some of its rows of Phi, for a method that refuses dependent ones."""

    def __init__(self, system: ConstrainedSystem, rows: NDArray[np.int64]) -> None:
        self.system, self.rows = system, np.sort(rows)
        if hasattr(system, "linearisation"):  # solvers ask whether there is one
            self.linearisation = self.linearised

    @property
    def m(self) -> int:
        return len(self.rows)

    @property
    def holonomic(self) -> int:
        """Number of rows that bind positions."""
        return int(np.count_nonzero(self.rows < holonomic_rows(self.system)))

    @property
    def row_names(self) -> list[str] | None:
        """Names of the rows."""
        names = getattr(self.system, "row_names", None)
        return None if names is None else [names[i] for i in self.rows]

    def constraints(self, q: Array, t: float) -> Array:
        return self.system.constraints(q, t)[self.rows]

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        return self.system.constraint_jacobian(q, t)[self.rows]

    def sparse_constraint_jacobian(self, q: Array, t: float) -> csc_array:
        """Return Phi_q (m, n), sparse."""
        return csc_array(self.system.sparse_constraint_jacobian(q, t)[self.rows])  # type: ignore[attr-defined]

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        Phi_t, gamma = self.system.constraint_rate_terms(q, v, t)
        return Phi_t[self.rows], gamma[self.rows]

    def linearised(self, q: Array, v: Array, a: Array, lam: Array, t: float) -> tuple[Array, Array] | None:
        """Return K and C of the system; None where it cannot tell."""
        whole = np.zeros(self.system.m)
        whole[self.rows] = lam
        found: tuple[Array, Array] | None = self.system.linearisation(q, v, a, whole, t)  # type: ignore[attr-defined]
        return found

    def renew(self, point: Point) -> bool:
        """Choose the rows anew where those kept are nearly dependent; return whether they are others now.

        Raises MotionError where the rank is another one.
        """
        Phi_q = self.system.constraint_jacobian(point.q, point.t)
        if self.regular(Phi_q):
            return False
        found = row_factor(Phi_q)
        if len(found.rows) != len(self.rows):
            lost = row_names(self.system, np.setdiff1d(self.rows, found.rows))
            raise MotionError(
                f"Phi_q has rank {len(found.rows)} at t = {point.t:g} and had {len(self.rows)} before ({lost}); "
                "a method that leaves dependent rows out cannot pass: take QR, SVD, NullSpace or Index3Lagrangian"
            )
        rows = np.sort(found.rows)
        changed = not np.array_equal(rows, self.rows)
        self.rows = rows
        return changed

    def regular(self, Phi_q: Array) -> bool:
        """Return whether the kept rows are as far from dependent as all rows let them."""
        if not len(self.rows):
            return True
        sizes = np.linalg.norm(Phi_q, axis=1)
        scaled = Phi_q / np.where(sizes > 0.0, sizes, 1.0)[:, None]
        own = np.linalg.svd(scaled[self.rows], compute_uv=False)
        whole = np.linalg.svd(scaled, compute_uv=False)
        return bool(own[-1] > WORN * whole[len(self.rows) - 1])

    def shared(self, point: Point) -> Point:
        """Return a point with multipliers of all rows, dependent ones sharing their load. Raises FormulationError."""
        terms = terms_at(self.system, point.q, point.v, point.t)
        held = holonomic_rows(self.system)
        for left, size in (
            (self.system.constraints(point.q, point.t)[:held], point.q),
            (terms.Phi_q @ point.v + terms.Phi_t, point.v),
        ):
            self.demand_agreement(
                np.abs(left), float(np.abs(size).max(initial=1.0)) * np.abs(terms.Phi_q).max(), point.t
            )
        return point._replace(lam=least_multipliers(terms, point.a))

    def demand_agreement(self, left: Array, size: float, t: float) -> None:
        """Raise FormulationError naming a row that was left out, and that is open where those kept are not."""
        kept = self.rows[self.rows < len(left)]
        allowed = CONTRADICTION * size + APART * float(left[kept].max(initial=0.0))
        worst = np.array([int(np.argmax(left))])
        if left[worst[0]] > allowed:
            raise FormulationError(
                f"{row_names(self.system, worst)} is left by {left[worst[0]]:.2g} at t = {t:g}, "
                "where the rows it depends on hold; it contradicts them: take it out, or let it agree with them"
            )


def chosen_rows(system: ConstrainedSystem, q: Array, t: float, method: Any) -> IndependentRows | None:
    """Return independent rows for a method that leaves dependent ones out; None where all rows are independent."""
    if getattr(method, "redundant", True) or not getattr(method, "leaves_out", False) or not system.m:
        return None
    found = row_factor(system.constraint_jacobian(q, t))
    return IndependentRows(system, found.rows) if len(found.dependent) else None
