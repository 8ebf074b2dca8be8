"""Nonholonomic constraints: rows of rates beside those of positions, as one set of rows for all formulations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, vstack

from rtmbs.errors import InputError
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    SystemWrapper,
    checked_answer,
)

Array = NDArray[np.float64]

PARTS = "rate_rows", "rate_constraints", "rate_constraint_jacobian", "rate_constraint_terms"
STEP = 1e-7  # of a difference of A, in terms of the coordinate, or 1


class StackedRows(SystemWrapper):
    """A system whose rate constraints follow its rows of Phi.

    Rows are Phid: Phi_q v + Phi_t above, Psi = A v + b below. ``constraints`` has zeros for the rows of Psi, which bind
    no position; ``holonomic`` counts the rows above.
    """

    def __init__(self, system: Any) -> None:
        self.system, self.holonomic, self.rate_rows = system, int(system.m), rate_row_count(system)
        above, below = getattr(system, "row_names", None), getattr(system, "rate_row_names", None)
        self.row_names = None
        if above is not None or below is not None:
            first = list(above) if above is not None else [f"Phi {i}" for i in range(self.holonomic)]
            last = list(below) if below is not None else [f"rate {i}" for i in range(self.rate_rows)]
            self.row_names = [*first, *last]

    @property
    def m(self) -> int:
        return self.holonomic + self.rate_rows

    def constraints(self, q: Array, t: float) -> Array:
        return np.append(self.system.constraints(q, t), np.zeros(self.rate_rows))

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        return np.vstack((self.system.constraint_jacobian(q, t), self.rate_jacobian(q, t)))

    def sparse_constraint_jacobian(self, q: Array, t: float) -> csc_array:
        """Return Phi_q and A (m, n), sparse."""
        above = self.system.sparse_constraint_jacobian(q, t)  # type: ignore[attr-defined]
        return csc_array(vstack((above, csc_array(self.rate_jacobian(q, t)))))

    def linearisation(self, q: Array, v: Array, a: Array, lam: Array, t: float) -> tuple[Array, Array] | None:
        """Return K and C of the system, with the terms of A^T lam by differences of A; None where it has none."""
        inner = getattr(self.system, "linearisation", None)
        found = inner(q, v, a, lam[: self.holonomic], t) if inner is not None else None
        if found is None:
            return None
        K, C = found
        push, middle = lam[self.holonomic :], self.rate_jacobian(q, t)
        K = K.copy()
        for i in range(self.n):
            moved = q.copy()
            moved[i] += STEP * max(1.0, abs(q[i]))
            K[:, i] += (self.rate_jacobian(moved, t) - middle).T @ push / (moved[i] - q[i])
        return K, C

    def rate_jacobian(self, q: Array, t: float) -> Array:
        """Return A (k, n), checked."""
        found = self.system.rate_constraint_jacobian(q, t)  # type: ignore[attr-defined]
        return checked_answer("rate_constraint_jacobian(q, t)", found, (self.rate_rows, self.n))

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and b, and gamma of both."""
        shape, system = (self.rate_rows,), self.system
        Phi_t, gamma = system.constraint_rate_terms(q, v, t)
        b = system.rate_constraints(q, np.zeros(self.n), t)  # type: ignore[attr-defined]
        more = system.rate_constraint_terms(q, v, t)  # type: ignore[attr-defined]
        b, more = (
            checked_answer("rate_constraints(q, v, t)", b, shape),
            checked_answer("rate_constraint_terms(q, v, t)", more, shape),
        )
        return np.append(Phi_t, b), np.append(gamma, more)


def rate_row_count(system: Any) -> int:
    """Return how many rate constraints a system has."""
    if not all(hasattr(system, name) for name in PARTS):
        return 0
    count = system.rate_rows
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0:
        raise InputError(f"rate_rows is {count!r}; a whole number of rate constraints is wanted")
    return int(count)


def with_rate_rows(system: Any) -> Any:
    """Return a system with its rate constraints among its rows; the system itself where there is nothing to add."""
    if hasattr(system, "holonomic") or not rate_row_count(system):
        return system
    return StackedRows(system)


def holonomic_rows(system: ConstrainedSystem) -> int:
    """Return how many rows of Phi bind positions; rate constraints follow them."""
    return int(getattr(system, "holonomic", system.m))
