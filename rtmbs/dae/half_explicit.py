"""Half-explicit Runge-Kutta of order four at index 2: HEM4 of Brasey and Hairer (1993)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import Dynamics, Steps, demand_small_correction, doubled
from rtmbs.dae.method import DAEMethod
from rtmbs.formulations.contract import FormulationError
from rtmbs.formulations.correction import closed_state, least_solution
from rtmbs.formulations.direct import Direct

Array = NDArray[np.float64]

R6 = sqrt(6.0)
A = (  # row i makes stage i from the stages before it; the last row is b
    (),
    (3 / 10,),
    ((1 + R6) / 30, (11 - 4 * R6) / 30),
    ((-79 - 31 * R6) / 150, (-1 - 4 * R6) / 30, (24 + 11 * R6) / 25),
    ((14 + 5 * R6) / 6, (-8 + 7 * R6) / 6, (-9 - 7 * R6) / 4, (9 - R6) / 4),
    (0.0, 0.0, (16 - R6) / 36, (16 + R6) / 36, 1 / 9),
)


@dataclass(frozen=True)
class HalfExplicit(DAEMethod):
    """Half-explicit Runge-Kutta method of order four at index 2: HEM4 of Brasey and Hairer (1993).

    Stage i has explicit Q_i, V_i. Its a_i solves M a_i + Phi_q^T lam_i = F at stage i, with lam_i such that Phi_q V +
    Phi_t = 0 at stage i + 1, whose place is known already. Five linear systems a step. Dependent rows are left out.

    Parameters
    ----------
    project : bool, default True
        True puts positions back on Phi = 0 after each step.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s. The method then chooses its steps, by halved steps
        (Richardson), whose difference it takes off where it projects. Fixed steps unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = HalfExplicit()
    """

    project: bool = True
    rtol: float | None = None
    atol: float | None = None
    redundant = False
    leaves_out = True
    fixed_orders = Orders(4, 4, 4, 4)

    def __post_init__(self) -> None:
        self.check_tolerances()

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return HalfExplicitSteps(motion, self.project)


class HalfExplicitSteps(Steps):
    """The steps of one motion; ``project`` as in HalfExplicit."""

    estimate_order = 5
    steady = False

    def __init__(self, motion: Motion, project: bool) -> None:
        super().__init__(motion, Direct())
        self.project = project

    def trial(self, past: Sequence[Point], t: float, h: float) -> tuple[Point, Array]:
        return doubled(self, past, t, h, 4, self.project)

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        q, v, s = stages(self.motion, self.dynamics, past[0], h)
        if self.project:
            found = closed_state(self.motion.system, q, v, t, least_solution)
            q, v = demand_small_correction(past[0], (q, v), found, t)
        return self.dynamics.point(q, v, t, s)


def stages(motion: Motion, dynamics: Dynamics, old: Point, h: float) -> tuple[Array, Array, Array]:
    """Return q, v and s a step of ``h`` [s] later, with Phid = 0 there."""
    system, n = motion.system, motion.system.n
    q, v, t, s = old.q, old.v, old.t, old.s
    rates: list[Array] = []
    accelerations: list[Array] = []
    state_rates: list[Array] = []
    here = system.constraint_jacobian(q, t)
    for row in A[1:]:
        rates.append(v)
        state_rates.append(dynamics.state_rates(q, v, t, s))
        weights = h * np.array(row)
        t_next = old.t + float(weights.sum())
        q_next = old.q + weights @ np.array(rates)
        known = old.v + (weights[:-1] @ np.array(accelerations) if accelerations else 0.0)
        there = system.constraint_jacobian(q_next, t_next)
        right = -(system.constraint_rate_terms(q_next, known, t_next)[0] + there @ known) / weights[-1]
        matrix = np.block([[system.mass(q, t), here.T], [there, np.zeros((system.m, system.m))]])
        motion.counts.factorisations += 1
        try:
            x = np.linalg.solve(matrix, np.concatenate((system.force(q, v, t), right)))
        except np.linalg.LinAlgError:
            raise FormulationError(
                f"HalfExplicit met a singular matrix at t = {t:g}; Phi_q lost rank, or a coordinate has no inertia"
            ) from None
        accelerations.append(x[:n])
        here = there
        q, v, t, s = q_next, known + weights[-1] * x[:n], t_next, old.s + weights @ np.array(state_rates)
    return q, v, s
