"""Implicit formulas on the independent coordinates of a partition (Haug and Yen; METHODS 2.23)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion
from rtmbs.dae.dynamics import Steps
from rtmbs.dae.tangent_space import Charts, TangentSpace, TangentSteps
from rtmbs.formulations.elimination import pivoted
from rtmbs.formulations.rate_constraints import holonomic_rows
from rtmbs.formulations.reduction import RANK_TOLERANCE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HaugYen(TangentSpace):
    """Coordinate partitioning with implicit formulas: BDF or Adams on the independent coordinates and rates.

    q_I = sum a_i q_I,n-i + h sum b_i v_I,n-i + h b v_I, likewise for v_I, and Phi = 0, Phid = 0 for the others.

    Newton's iteration solves for all coordinates and rates at once; accelerations are those of the augmented system.
    Columns without a pivot of Phi_q are independent. They are chosen anew with Newton's matrix. Runge-Kutta steps of
    order five make the first points. Dependent rows are left out. Source: J. Mech. Design 114 (1992) 296.

    Parameters
    ----------
    formula : str, default 'bdf'
        "bdf" for stiff forces, "adams" for free motion.
    order : int, default 3
        Order of the formula, 1 to 5.
    solver : Solver, default DenseSolver
        Class of ``rtmbs.numerics.linear`` that factors Newton's matrix.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s; the method then chooses its steps. Fixed unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

    Raises
    ------
    InputError
        For an option out of range.
    UnknownNameError
        For an unknown formula.

    Examples
    --------
    >>> method = HaugYen("bdf", order=3)
    """

    formula: str = "bdf"
    order: int = 3  # type: ignore[misc]

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return TangentSteps(motion, self, PartitionCharts)


class PartitionCharts(Charts):
    """One run: Newton's matrix and the choice of independent coordinates, which are made anew together."""

    who: ClassVar[str] = "HaugYen"

    def basis_of(self, DT: Array) -> Array:
        """Return the columns of the identity (2n + ns, 2n + ns - 2m) that choose independent q and v, and all s."""
        n, held = self.motion.system.n, holonomic_rows(self.motion.system)
        for_q, for_v = (pivoted(rows, RANK_TOLERANCE)[0] for rows in (DT[:held, :n], DT[held:, n : 2 * n]))
        free = np.setdiff1d(np.arange(DT.shape[1]), np.concatenate((for_q, n + for_v)))
        return np.eye(DT.shape[1])[:, free]
