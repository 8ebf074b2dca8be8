"""Coordinate partitioning by LU with full pivoting (METHODS 2.3): q = (u, v), and v alone is free."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.errors import FormulationError
from rtmbs.formulations.multipliers import least_multipliers
from rtmbs.formulations.rank import RANK_TOLERANCE, refuse_dependent
from rtmbs.formulations.reduced import reduced_solution
from rtmbs.formulations.terms import Positive, Terms, answered, given, instant, row_names, terms_at

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

CLOSED = 1e-12  # of Newton's correction, in terms of the largest coordinate or 1
MAX_ITERATIONS = 20


@dataclass
class Partition:
    """Memory of a motion: which coordinates depend on which; empty before the first state."""

    dependent: Indices = field(default_factory=lambda: np.zeros(0, np.int64))  # u (m,)
    independent: Indices = field(default_factory=lambda: np.zeros(0, np.int64))  # v (n - m,)
    count: int = 0  # partitions made so far


@dataclass(frozen=True)
class Partitioning:
    """H^T M H vdd = H^T (F - M gamma') with H = [-Phi_u^-1 Phi_v; I] and gamma' = [Phi_u^-1 gamma; 0].

    A partition is kept until max |Phi_u^-1 Phi_v| exceeds ``largest``. Dependent rows are refused.
    ``multipliers`` asks for lam.

    >>> method = Partitioning()
    >>> memory = method.memory()
    >>> a, _ = method.accelerations(system, q, v, t, memory)  # doctest: +SKIP
    """

    largest: float = 10.0
    multipliers: bool = False
    rank_tolerance: float = RANK_TOLERANCE
    redundant = False

    def __post_init__(self) -> None:
        Positive("largest of Partitioning").check(self.largest)
        Positive("rank_tolerance").check(self.rank_tolerance)

    def memory(self) -> Partition:
        """Return an empty partition."""
        return Partition()

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array | None]:
        """Return a (n,), and lam (m,) when asked for, at a state; ``memory`` is a Partition."""
        terms = terms_at(system, q, v, t)
        partition = self.memory() if memory is None else memory
        ratio = self.divide(terms, partition)
        u, free = partition.dependent, partition.independent
        N = np.zeros((system.n, len(free)))
        N[u], N[free] = -ratio, np.eye(len(free))
        particular = np.zeros(system.n)
        particular[u] = scipy.linalg.solve(terms.Phi_q[:, u], terms.gamma) if len(u) else 0.0
        a = reduced_solution(terms, N, particular)
        return a, least_multipliers(terms, a) if self.multipliers else None

    def divide(self, terms: Terms, partition: Partition) -> Array:
        """Return Phi_u^-1 Phi_v (m, n - m) of the kept partition, or of a new one where the kept one is worn out."""
        sizes = len(partition.dependent), len(partition.dependent) + len(partition.independent)
        if partition.count and sizes == (terms.system.m, terms.system.n):
            ratio = ratio_of(terms.Phi_q, partition)
            if np.abs(ratio).max(initial=0.0) <= self.largest:
                return ratio
        u, spare = pivoted(terms.Phi_q, self.rank_tolerance)
        refuse_dependent(terms, spare, "Partitioning")
        partition.dependent, partition.count = u, partition.count + 1
        partition.independent = np.setdiff1d(np.arange(terms.system.n), u)
        return ratio_of(terms.Phi_q, partition)

    def positions(self, system: ConstrainedSystem, q: Array, t: float, memory: Partition) -> Array:
        """Return q (n,) with Phi = 0: the dependent coordinates by Newton from where they are, the others as given.

        Raises FormulationError naming the row that stays open.
        """
        q, t = given("q", q, system.n), instant(t)
        u = self.partition_at(system, q, t, memory).dependent
        for _ in range(MAX_ITERATIONS if system.m else 0):
            Phi = answered("constraints(q, t)", system.constraints(q, t), (system.m,))
            step = scipy.linalg.lstsq(system.constraint_jacobian(q, t)[:, u], Phi)[0]
            q[u] -= step
            if np.abs(step).max() <= CLOSED * max(1.0, np.abs(q).max()):
                break
        else:
            if system.m:
                worst = np.array([int(np.argmax(np.abs(system.constraints(q, t))))])
                raise FormulationError(
                    f"{row_names(system, worst)} of Phi stays open by {np.abs(system.constraints(q, t)).max():.2g} "
                    f"after {MAX_ITERATIONS} iterations at t = {t:g}; take a shorter step, or a nearer start"
                )
        return q

    def rates(self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Partition) -> Array:
        """Return v (n,) with Phi_q v + Phi_t = 0: dependent rates from the independent ones."""
        q, v, t = given("q", q, system.n), given("v", v, system.n), instant(t)
        partition = self.partition_at(system, q, t, memory)
        u, free = partition.dependent, partition.independent
        Phi_q = system.constraint_jacobian(q, t)
        Phi_t, _ = system.constraint_rate_terms(q, v, t)
        if len(u):
            v[u] = -scipy.linalg.solve(Phi_q[:, u], Phi_t + Phi_q[:, free] @ v[free])
        return v

    def partition_at(self, system: ConstrainedSystem, q: Array, t: float, memory: Partition) -> Partition:
        """Return the partition in ``memory``, divided anew where it has to be."""
        self.divide(terms_at(system, q, np.zeros(system.n), t), memory)
        return memory


def ratio_of(Phi_q: Array, partition: Partition) -> Array:
    """Return Phi_u^-1 Phi_v (m, n - m); infinite where Phi_u is singular."""
    u, free = partition.dependent, partition.independent
    lu, pivots, info = lapack.dgetrf(Phi_q[:, u]) if len(u) else (None, None, 0)
    if info > 0:
        return np.full((len(u), len(free)), np.inf)
    return scipy.linalg.lu_solve((lu, pivots), Phi_q[:, free]) if len(u) else np.zeros((0, len(free)))


def pivoted(Phi_q: Array, tolerance: float) -> tuple[Indices, Indices]:
    """Return the columns of the pivots, and the rows that have none, by LU with full pivoting."""
    m, n = Phi_q.shape
    if not m:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    size = max(m, n)
    square = np.zeros((size, size))  # LAPACK pivots square matrices only; rows of zeros are never chosen
    square[:m, :n] = Phi_q
    lu, row_swap, column_swap, _ = lapack.dgetc2(square)
    rows, columns = np.arange(size), np.arange(size)
    for k in range(size):
        rows[[k, row_swap[k]]] = rows[[row_swap[k], k]]
        columns[[k, column_swap[k]]] = columns[[column_swap[k], k]]
    pivots = np.abs(np.diag(lu))[: min(m, n)]
    rank = int(np.count_nonzero(pivots > tolerance * np.abs(Phi_q).max()))
    return np.sort(columns[:rank]), np.setdiff1d(np.arange(m), rows[:rank])
