"""Coordinate partitioning by LU with full pivoting (METHODS 2.3): q = (u, v), and v alone is free."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from rtmbs.formulations.consistent import Solve, closed_positions, closed_rates
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    Positive,
    checked_time,
    checked_vector,
    holonomic_rows,
    terms_at,
    with_rate_rows,
)
from rtmbs.formulations.reduction import (
    RANK_TOLERANCE,
    Partition,
    least_multipliers,
    pivoted,
    ratio_of,
    reduced_solution,
    refuse_dependent,
)

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Partitioning:
    """Accelerations by partitioning into dependent and independent coordinates.

    H^T M H vdd = H^T (F - M gamma') with H = [-Phi_u^-1 Phi_v; I] and gamma' = [Phi_u^-1 gamma; 0].

    A partition is kept until max |Phi_u^-1 Phi_v| exceeds ``largest``. Dependent rows are refused. ``multipliers`` asks
    for lam.

    Parameters
    ----------
    largest : float, default 10.0
        Largest entry of the dependence of rates before a new partition is chosen.
    multipliers : bool, default False
        True to compute the Lagrange multipliers too.
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot or singular value that counts, relative to the largest.

    Examples
    --------
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
        """Return accelerations a (n,) and, with ``multipliers``, lam (m,) at a state; ``memory`` is a Partition."""
        terms = terms_at(system, q, v, t)
        system = terms.system
        partition = self.memory() if memory is None else memory
        ratio = self.divide(system, terms.Phi_q, partition)
        u, free = partition.dependent, partition.independent
        N = np.zeros((system.n, len(free)))
        N[u], N[free] = -ratio, np.eye(len(free))
        particular = np.zeros(system.n)
        particular[u] = lapack.dgesv(terms.Phi_q[:, u], terms.gamma)[2] if len(u) else 0.0
        a = reduced_solution(terms, N, particular)
        return a, least_multipliers(terms, a) if self.multipliers else None

    def divide(self, system: ConstrainedSystem, Phi_q: Array, partition: Partition) -> Array:
        """Return Phi_u^-1 Phi_v (m, n - m) of the kept partition, or of a new one where the kept one is worn out.

        Parameters
        ----------
        system : ConstrainedSystem
            System of equations.
        Phi_q : ndarray
            Constraint Jacobian (m, n).
        partition : Partition
            Kept partition, changed in place.

        Returns
        -------
        ndarray
            Phi_u^-1 Phi_v (m, n - m) of the kept partition, or of a new one where the kept one is worn out.
        """
        sizes = len(partition.dependent), len(partition.dependent) + len(partition.independent)
        if partition.count and sizes == (system.m, system.n):
            ratio = ratio_of(Phi_q, partition)
            if np.abs(ratio).max(initial=0.0) <= self.largest:
                return ratio
        u, spare = pivoted(Phi_q, self.rank_tolerance)
        refuse_dependent(system, spare, "Partitioning")
        partition.dependent, partition.count = u, partition.count + 1
        partition.independent = np.setdiff1d(np.arange(system.n), u)
        return ratio_of(Phi_q, partition)

    def correct(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return q and v (n,) with Phi = 0 and Phid = 0; independent coordinates and rates stay as they are."""
        partition, system = self.memory() if memory is None else memory, with_rate_rows(system)
        q = self.positions(system, q, t, partition)
        return q, self.rates(system, q, v, t, partition)

    def positions(self, system: ConstrainedSystem, q: Array, t: float, memory: Partition) -> Array:
        """Return q (n,) with Phi = 0: the dependent coordinates by Newton from where they are, the others as given.

        Parameters
        ----------
        system : ConstrainedSystem
            System of equations.
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].
        memory : Partition
            Kept partition, changed in place.

        Returns
        -------
        ndarray
            Coordinates (n,) on the constraints.

        Raises
        ------
        FormulationError
            Naming the row that stays open.
        """
        q, t = checked_vector("q", q, system.n), checked_time(t)
        return closed_positions(system, q, t, self.dependent_change(system, q, t, memory, positions=True))

    def rates(self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Partition) -> Array:
        """Return v (n,) with Phi_q v + Phi_t = 0: dependent rates from the independent ones.

        Parameters
        ----------
        system : ConstrainedSystem
            System of equations.
        q : ndarray
            Coordinates (n,).
        v : ndarray
            Rates of the coordinates (n,).
        t : float
            Time [s].
        memory : Partition
            Kept partition, changed in place.

        Returns
        -------
        ndarray
            Rates (n,) on the constraints.
        """
        q, t = checked_vector("q", q, system.n), checked_time(t)
        return closed_rates(system, q, v, t, self.dependent_change(system, q, t, memory))

    def dependent_change(
        self, system: ConstrainedSystem, q: Array, t: float, memory: Partition, positions: bool = False
    ) -> Solve:
        """Return the solution of Phi_q x = right in dependent coordinates alone, divided anew where it has to be.

        Parameters
        ----------
        system : ConstrainedSystem
            System of equations.
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].
        memory : Partition
            Kept partition, changed in place.
        positions : bool, default False
            True for changes of positions, which rate constraints do not bind.

        Returns
        -------
        Solve
            Solution of Phi_q x = right in dependent coordinates alone, divided anew where it has to be.
        """
        Phi_q, held = system.constraint_jacobian(q, t), holonomic_rows(system)
        self.divide(system, Phi_q, memory)
        u = memory.dependent
        if positions and held < system.m:  # rate constraints bind no position
            u = pivoted(Phi_q[:held], self.rank_tolerance)[0]

        def solve(Phi_q: Array, right: Array) -> Array:
            x = np.zeros(system.n)
            *_, x[u], info = lapack.dgesv(Phi_q[:, u], right)
            return x if info == 0 else np.full(system.n, np.nan)

        return solve
