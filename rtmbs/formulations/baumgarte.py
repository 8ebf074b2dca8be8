"""Baumgarte's stabilisation: Phidd + 2 alpha Phid + beta^2 Phi = 0 in the place of Phidd = 0 (METHODS 1.22, 2.2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.augmented_system import (
    Solver,
    augmented_accelerations,
    check_solver,
    solver_for,
    takes_parts,
)
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    Formulation,
    Positive,
    checked_time,
    checked_vector,
    with_rate_rows,
)
from rtmbs.formulations.reduction import RANK_TOLERANCE
from rtmbs.formulations.stabilisation import Stabilised

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Baumgarte:
    """Accelerations with Baumgarte's feedback of the constraint violations.

    The augmented system with gamma* = gamma - 2 alpha Phid - beta^2 Phi, alpha and beta above 0 [1/s].

    ``within`` hands gamma* to another formulation instead, such as ``QR()`` where rows depend on each other; ``solver``
    solves the augmented system, as in Direct. ``gains_for_step`` and ``gains_for_method`` choose gains;
    ``error_response`` says what they do.

    Parameters
    ----------
    alpha : float, default 20.0
        Gain of the rate of the violation [1/s].
    beta : float, default 20.0
        Gain of the violation [1/s].
    within : Formulation, optional
        Formulation that takes the feedback in place of the augmented system.
    solver : Solver, optional
        Class of the linear solver, as in ``Direct``.

    Examples
    --------
    >>> a, lam = Baumgarte(20.0, 20.0).accelerations(system, q, v, t)  # doctest: +SKIP
    """

    alpha: float = 20.0
    beta: float = 20.0
    within: Formulation | None = None
    solver: Solver | None = None

    def __post_init__(self) -> None:
        Positive("alpha of Baumgarte", "1/s").check(self.alpha)
        Positive("beta of Baumgarte", "1/s").check(self.beta)
        check_solver("solver of Baumgarte", self.solver)

    @property
    def gains(self) -> tuple[float, float]:
        """Alpha and beta of the error equation [1/s]."""
        return self.alpha, self.beta

    @property
    def redundant(self) -> bool:
        """True when dependent rows are accepted: as ``within`` or the solver does."""
        return takes_parts(self.solver) if self.within is None else self.within.redundant

    def memory(self) -> Any:
        """Return the memory of ``within``."""
        return None if self.within is None else self.within.memory()

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array | None]:
        """Return a (n,) and lam (m,) at a state, which need not satisfy Phi = 0."""
        system = with_rate_rows(system)
        stabilised = Stabilised(system, self.alpha, self.beta)
        q, v, t = checked_vector("q", q, system.n), checked_vector("v", v, system.n), checked_time(t)
        if self.within is not None:
            return self.within.accelerations(stabilised, q, v, t, memory)
        solver = solver_for(system, self.solver)
        return augmented_accelerations(stabilised, q, v, t, solver, RANK_TOLERANCE, "Baumgarte")
