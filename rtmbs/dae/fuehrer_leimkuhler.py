"""BDF on Phi, Phid and Phidd, projected by the metric of M (Fuehrer and Leimkuhler; METHODS 2.23)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Point
from rtmbs.dae.dynamics import Steps
from rtmbs.dae.linearisation import constraint_rate, imbalance, linearised, linearised_states
from rtmbs.dae.newton import constraint_scales, scale_of
from rtmbs.dae.odae import ODAE, BDFStepEquations, ODAESteps
from rtmbs.formulations.rate_constraints import holonomic_rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FuehrerLeimkuhler(ODAE):
    """Overdetermined system of Phi, Phid and Phidd by BDF, solved by the projection that a state-space form has.

    N^T M (qd - v) = 0, N^T (M vd - F) = 0, Phi = 0, Phid = 0 and Phidd = 0, with N on the null space of Phi_q.

    BDF stands for qd and vd. The unknowns are q, v, lam and mu of M (qd - v) + Phi_q^T mu = 0 and M vd + Phi_q^T lam =
    F. Accelerations and multipliers of a point are those of its state, so that Phidd = 0. ODAE takes the Euclidean
    metric for qd, and has a third multiplier. Dependent rows are left out. Source: Numer. Math. 59 (1991) 55.

    Parameters
    ----------
    order : int, default 3
        Order of BDF, 1 to 5.
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

    Examples
    --------
    >>> method = FuehrerLeimkuhler(order=3)
    """

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return ODAESteps(motion, self, ProjectedStepEquations)


@dataclass(frozen=True)
class ProjectedStepEquations(BDFStepEquations):
    """The equations of one step. Unknown are q, v (n,), lam (m,), mu of the rows of Phi and s (ns,).

    qd = c (q - known), and vd and sd likewise.
    """

    def split(self, x: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return q, v, lam, mu, nothing for tau, and s."""
        n, m = self.motion.system.n, self.motion.system.m
        k = 2 * n + m + holonomic_rows(self.motion.system)
        q, v, lam, mu, s = np.split(x, (n, 2 * n, 2 * n + m, k))
        return q, v, lam, mu, np.zeros(0), s

    def acceleration(self, x: Array) -> Array:
        """Return c (v - known) (n,)."""
        v = self.split(x)[1]
        return self.c * (v - self.known[len(v) : 2 * len(v)])

    def point(self, x: Array) -> Point:
        """Return the point of a solution, with the accelerations and multipliers of its state."""
        q, v, *_, s = self.split(x)
        return self.dynamics.point(q, v, self.t, s)

    def guess(self) -> Array:
        """Return the motion with the accelerations of the last point."""
        old, h = self.old, self.h
        zero, s = np.zeros(holonomic_rows(self.motion.system)), old.s + h * old.sd
        return np.concatenate((old.q + h * old.v + 0.5 * h * h * old.a, old.v + h * old.a, old.lam, zero, s))

    def scale(self) -> Array:
        """Return scales of the unknowns; Phi_q^T mu is a momentum."""
        old, system = self.old, self.motion.system
        Phi_q = system.constraint_jacobian(old.q, old.t)
        own = scale_of(old.q, np.abs(old.v) + self.h * np.abs(old.a), old.lam)
        mu = constraint_scales(Phi_q, old.v, old.a, self.h)[0][: holonomic_rows(system)]
        return np.concatenate((own, mu * np.abs(system.mass(old.q, old.t)).max(), scale_of(old.s)))

    def residual(self, x: Array) -> Array:
        """Return the equations (2n + 2m + ns,)."""
        (q, v, lam, mu, _, s), t, system = self.split(x), self.t, self.motion.system
        self.dynamics.hold(s)
        Phi_q, held = system.constraint_jacobian(q, t), holonomic_rows(system)
        return np.concatenate(
            (
                system.mass(q, t) @ (self.c * (q - self.known[: len(q)]) - v) + Phi_q[:held].T @ mu,
                imbalance(system, q, v, self.acceleration(x), lam, t),
                constraint_rate(system, q, v, t),
                system.constraints(q, t)[:held],
                self.c * (s - self.known[2 * len(q) :]) - self.dynamics.state_rates(q, v, t, s),
            )
        )

    def matrix(self, x: Array) -> Array:
        """Return the derivatives, less those of M and Phi_q in M (qd - v) + Phi_q^T mu, which h makes small."""
        (q, v, lam, _, _, s), c, system = self.split(x), self.c, self.motion.system
        self.dynamics.hold(s)
        at = linearised(system, q, v, self.acceleration(x), lam, self.t)
        P, R, (m, n), ns = at.Phi_q, at.rate, at.Phi_q.shape, len(s)
        held, Z = holonomic_rows(system), np.zeros
        blocks = [
            [c * at.M, -at.M, Z((n, m)), P[:held].T],
            [at.K, c * at.M + at.C, P.T, Z((n, held))],
            [R, P, Z((m, m)), Z((m, held))],
            [P[:held], Z((held, n)), Z((held, m)), Z((held, held))],
        ]
        if not ns:
            return np.block(blocks)
        more = linearised_states(system, q, v, self.t, s)
        for row, column in zip(blocks, (Z((n, ns)), -more.F_s, Z((m, ns)), Z((held, ns))), strict=True):
            row.append(column)
        return np.block([*blocks, [-more.G_q, -more.G_v, Z((ns, m + held)), c * np.eye(ns) - more.G_s]])
