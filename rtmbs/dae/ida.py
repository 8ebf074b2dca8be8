"""IDA of SUNDIALS on the stabilised index-2 form of Gear, Gupta and Leimkuhler: BDF of variable order and step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.checks import demand_tolerances
from rtmbs.dae.contract import Motion, Point
from rtmbs.dae.dynamics import Steps
from rtmbs.dae.linearisation import imbalance, rate_of
from rtmbs.dae.method import ByTolerance, DAEMethod
from rtmbs.dae.sundials import MOST_STEPS, reached, solver_class
from rtmbs.formulations.direct import Direct

Array = NDArray[np.float64]

UNTESTED = 1e12  # absolute tolerance of lam and mu: their errors are larger by 1/h, and must not choose the step


@dataclass(frozen=True)
class IDA(ByTolerance, DAEMethod):
    """q' = v - Phi_q^T mu, M v' + Phi_q^T lam = F, s' = g, Phi = 0, Phid = 0 for y = (q, v, s, lam, mu).

    Needs the extra ``sundials``. Tolerances bound q, v and s only. Accelerations and multipliers are worked out from
    them. Dependent rows are refused.

    >>> method = IDA(rtol=1e-8)
    """

    rtol: float = 1e-8
    atol: float = 1e-10
    redundant = False

    def __post_init__(self) -> None:
        demand_tolerances(self.rtol, self.atol)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the samples, of one solver from the first time to the last."""
        steps = IDASteps(motion, self)
        start = steps.first()
        solver = steps.solver_from(start)
        yield start
        for t in times[1:]:
            yield steps.point(float(t), reached(solver, float(t), "IDA"))

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return IDASteps(motion, self)


class IDASteps(Steps):
    """The equations of one motion. In a Simulation a solver takes each step, and never looks beyond its end."""

    def __init__(self, motion: Motion, method: IDA) -> None:
        super().__init__(motion, Direct())
        self.method = method

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        return self.point(t, reached(self.solver_from(past[0]), t, "IDA", last=t))

    def point(self, t: float, y: Array) -> Point:
        """Return the point of y = (q, v, s, lam, mu)."""
        n = self.motion.system.n
        q, v, s, _ = np.split(y.copy(), (n, 2 * n, 2 * n + len(self.motion.s)))
        return self.dynamics.point(q, v, t, s)

    def solver_from(self, start: Point) -> Any:
        """Return a solver that begins at a point."""
        dynamics, system, n, m = self.dynamics, self.motion.system, self.motion.system.n, self.motion.system.m
        k = 2 * n + len(start.s)  # differential unknowns

        def residual(t: float, y: Array, yp: Array, out: Array) -> None:
            q, v, s, lam, mu = np.split(y.copy(), (n, 2 * n, k, k + m))
            out[2 * n : k] = yp[2 * n : k] - dynamics.state_rates(q, v, t, s)
            out[:n] = yp[:n] - v + system.constraint_jacobian(q, t).T @ mu
            out[n : 2 * n] = imbalance(system, q, v, yp[n : 2 * n].copy(), lam, t)
            out[k : k + m], out[k + m :] = system.constraints(q, t), rate_of(system, q, v, t)

        zero = np.zeros(m)
        y0 = np.concatenate((start.q, start.v, start.s, start.lam, zero))
        yp0 = np.concatenate((start.v, start.a, start.sd, zero, zero))
        atol = np.concatenate((np.full(k, self.method.atol), np.full(2 * m, UNTESTED)))
        algebraic = list(range(k, k + 2 * m))
        solver = solver_class("IDA")(
            residual, rtol=self.method.rtol, atol=atol, algebraic_idx=algebraic or None, max_num_steps=MOST_STEPS
        )
        solver.init_step(start.t, y0, yp0)
        return solver
