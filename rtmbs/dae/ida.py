"""IDA of SUNDIALS on the stabilised index-2 form of Gear, Gupta and Leimkuhler: BDF of variable order and step."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.checks import demand_tolerances
from rtmbs.dae.contract import Motion, Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.dae.linearisation import imbalance, rate_of
from rtmbs.dae.sundials import MOST_STEPS, reached, solver_class
from rtmbs.formulations.direct import Direct

Array = NDArray[np.float64]

UNTESTED = 1e12  # absolute tolerance of lam and mu: their errors are larger by 1/h, and must not choose the step


@dataclass(frozen=True)
class IDA:
    """q' = v - Phi_q^T mu, M v' + Phi_q^T lam = F, s' = g, Phi = 0, Phid = 0 for y = (q, v, s, lam, mu).

    Needs the extra ``sundials``. Tolerances bound q, v and s only. Accelerations and multipliers are worked out from
    them. Dependent rows are refused.

    >>> method = IDA(rtol=1e-8)
    """

    rtol: float = 1e-8
    atol: float = 1e-10
    redundant = False
    orders = None
    integrates_states = True

    def __post_init__(self) -> None:
        demand_tolerances(self.rtol, self.atol)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the samples."""
        dynamics, system, n, m = Dynamics(motion, Direct()), motion.system, motion.system.n, motion.system.m
        k = 2 * n + len(motion.s)  # differential unknowns

        def residual(t: float, y: Array, yp: Array, out: Array) -> None:
            q, v, s, lam, mu = np.split(y.copy(), (n, 2 * n, k, k + m))
            out[2 * n : k] = yp[2 * n : k] - dynamics.state_rates(q, v, t, s)
            out[:n] = yp[:n] - v + system.constraint_jacobian(q, t).T @ mu
            out[n : 2 * n] = imbalance(system, q, v, yp[n : 2 * n].copy(), lam, t)
            out[k : k + m], out[k + m :] = system.constraints(q, t), rate_of(system, q, v, t)

        start, zero = dynamics.point(motion.q, motion.v, float(times[0]), motion.s), np.zeros(m)
        y0 = np.concatenate((start.q, start.v, start.s, start.lam, zero))
        yp0 = np.concatenate((start.v, start.a, start.sd, zero, zero))
        atol = np.concatenate((np.full(k, self.atol), np.full(2 * m, UNTESTED)))
        algebraic = list(range(k, k + 2 * m))
        solver = solver_class("IDA")(
            residual, rtol=self.rtol, atol=atol, algebraic_idx=algebraic or None, max_num_steps=MOST_STEPS
        )
        solver.init_step(start.t, y0, yp0)
        yield start
        for t in times[1:]:
            y = reached(solver, float(t), "IDA")
            q, v, s, _ = np.split(y.copy(), (n, 2 * n, k))
            yield dynamics.point(q, v, float(t), s)
