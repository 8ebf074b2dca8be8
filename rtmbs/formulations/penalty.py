"""Penalty formulations: the penalty method, and the augmented Lagrangian whose multipliers iterations correct."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.formulations.augmented_system import Solver, check_solver, is_sparse, solve_saddle, solver_for, takes_parts
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    FormulationError,
    Positive,
    Terms,
    checked_time,
    checked_vector,
    inertias,
    row_names,
    terms_at,
    with_rate_rows,
)
from rtmbs.formulations.reduction import least_multipliers, solve_positive
from rtmbs.formulations.stabilisation import Stabilised

Array = NDArray[np.float64]
SETTLED = 1e-15  # of the largest correction: one that ends the iterations
ROUNDING = 1e-9  # likewise, of a correction that grows again


@dataclass(frozen=True)
class PenaltyOptions:
    """Options of penalty formulations: penalties as multiples of the row masses, and gains of the error equation."""

    penalty: float
    frequency: float = 20.0  # [1/s], of Phi
    damping: float = 1.0  # [1], 1 is critical
    redundant = True

    def __post_init__(self) -> None:
        for name, unit in (("penalty", ""), ("frequency", "1/s"), ("damping", "")):
            Positive(f"{name} of {type(self).__name__}", unit).check(getattr(self, name))

    @property
    def gains(self) -> tuple[float, float]:
        """Alpha and beta of the error equation [1/s]."""
        return self.damping * self.frequency, self.frequency

    def memory(self) -> None:
        """Nothing is kept."""

    def stabilised(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, sparse: bool = False
    ) -> tuple[Terms, Array]:
        """Return the terms with gamma* for gamma, ``sparse`` or dense, and the penalties (m,).

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
        sparse : bool, default False
            True for SciPy sparse matrices.

        Returns
        -------
        tuple[Terms, ndarray]
            Terms with gamma* for gamma, ``sparse`` or dense, and the penalties (m,).
        """
        q, v, t = checked_vector("q", q, system.n), checked_vector("v", v, system.n), checked_time(t)
        terms = terms_at(Stabilised(with_rate_rows(system), *self.gains), q, v, t, sparse)
        return terms, self.penalty * row_masses(terms)


LIGHTEST, HEAVIEST = 0.1, 1e6  # of the mean: a row that feels less or more is taken to feel this


def row_masses(terms: Terms) -> Array:
    """Return the effective mass of each row (m,): 1 / (Phi_q D^-1 Phi_q^T)_ii with D the diagonal of M."""
    inertia, positive = inertias(terms)
    if not terms.system.m or not positive.any():
        return np.ones(terms.system.m)
    mobility = terms.Phi_q[:, positive] ** 2 @ (1.0 / inertia[positive])
    if not (mobility > 0.0).any():
        return np.ones(terms.system.m)
    middle = np.exp(np.mean(np.log(mobility[mobility > 0.0])))
    return 1.0 / np.clip(mobility, middle / HEAVIEST, middle / LIGHTEST)


@dataclass(frozen=True)
class Penalty(PenaltyOptions):
    """Accelerations by the penalty method.

    (M + Phi_q^T alpha Phi_q) a = F + Phi_q^T alpha gamma*, alpha = ``penalty`` times the masses of the rows.

    gamma* = gamma - 2 damping frequency Phid - frequency^2 Phi, and lam = alpha (Phi_q a - gamma*). The error of a is
    about 1 / ``penalty``. The sum is not formed: [[M, Phi_q^T], [Phi_q, -1/alpha]] has the same solution, and keeps its
    digits at any penalty. ``solver`` is a class of ``rtmbs.numerics.linear``, as in Direct. Dependent rows share their
    force.

    Parameters
    ----------
    penalty : float, default 100000000000000.0
        Penalty as a multiple of the masses of the rows.
    frequency : float, default 20.0
        [1/s], of Phi.
    damping : float, default 1.0
        [1], 1 is critical.
    solver : Solver, optional
        Class of the linear solver, as in ``Direct``.

    Examples
    --------
    >>> a, lam = Penalty(penalty=1e9).accelerations(system, q, v, t)  # doctest: +SKIP
    """

    penalty: float = 1e14
    solver: Solver | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solver("solver of Penalty", self.solver)
        if takes_parts(self.solver):
            raise InputError(
                "solver of Penalty is KKTSolver, which has no use beside penalties; take DenseSolver or SuperLUSolver"
            )

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return a (n,) and lam (m,) at a state, which need not satisfy Phi = 0."""
        solver = solver_for(system, self.solver)
        terms, alpha = self.stabilised(system, q, v, t, is_sparse(solver))
        return solve_saddle(terms, 1.0 / alpha, solver, "Penalty")


@dataclass(frozen=True)
class AugmentedLagrangian(PenaltyOptions):
    """Accelerations by the augmented Lagrangian iteration.

    (M + Phi_q^T alpha Phi_q) da = F - M a - Phi_q^T (lam + alpha r), r = Phi_q a - gamma*, lam += alpha r.

    alpha is ``penalty`` times the masses of the rows; gamma* feeds Phi and Phid back as in Penalty. Each iteration
    takes a factor of about 1 / ``penalty`` off the error. Rounding of lam is corrected by least squares at the end.
    Dependent rows share their force.

    Parameters
    ----------
    penalty : float, default 1000000.0
        Penalty as a multiple of the masses of the rows.
    frequency : float, default 20.0
        [1/s], of Phi.
    damping : float, default 1.0
        [1], 1 is critical.
    iterations : int, default 30
        Largest number of iterations.

    Examples
    --------
    >>> a, lam = AugmentedLagrangian().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    penalty: float = 1e6
    iterations: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.iterations, int) or isinstance(self.iterations, bool) or self.iterations < 1:
            raise InputError(f"iterations of AugmentedLagrangian is {shown(self.iterations)}; 1 or more is wanted")

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return a (n,) and lam (m,) at a state, which need not satisfy Phi = 0."""
        terms, alpha = self.stabilised(system, q, v, t)
        P, system = terms.Phi_q, terms.system
        A, whole = terms.M + P.T @ (alpha[:, None] * P), np.eye(system.n)
        a, lam, previous, largest = np.zeros(system.n), np.zeros(system.m), np.inf, 0.0
        for _ in range(self.iterations):
            violation = P @ a - terms.gamma
            change = solve_positive(terms, whole, A, terms.F - terms.M @ a - P.T @ (lam + alpha * violation))
            a = a + change
            lam = lam + alpha * (P @ a - terms.gamma)
            size = float(np.abs(change).max(initial=0.0))
            largest = max(largest, size)
            if size <= SETTLED * largest or (size >= previous and size <= ROUNDING * largest):
                left = terms._replace(F=terms.F - P.T @ lam)
                return a, lam + least_multipliers(left, a)
            previous = size
        worst = np.array([int(np.argmax(np.abs(P @ a - terms.gamma)))]) if system.m else np.zeros(0, np.int64)
        raise FormulationError(
            f"no multipliers after {self.iterations} iterations; {row_names(system, worst)} of Phi_q a = gamma is left "
            "with the largest error; take a larger penalty, or rows that agree with each other"
        )
