"""Index-3 augmented Lagrangian on the trapezoidal rule, with projections of rates and accelerations (METHODS 1.17)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, MotionError, Orders, Point
from rtmbs.dae.dynamics import Steps, constraint_rate, doubled, imbalance, linearised, linearised_states
from rtmbs.dae.method import DAEMethod
from rtmbs.formulations.contract import ConstrainedSystem, Positive, Terms, holonomic_rows, terms_at
from rtmbs.formulations.penalty import AugmentedLagrangian, row_masses
from rtmbs.formulations.reduction import least_multipliers, solve_positive
from rtmbs.numerics.linear.least_change import converged

Array = NDArray[np.float64]

SETTLED = 1e-13  # of a correction, in terms of the largest coordinate, rate or acceleration, or 1
ROUNDING = 1e-9  # likewise, of a correction that no longer shrinks
CONTRACTION = 0.1  # of corrections: a matrix that does less is made anew
ITERATIONS = 40


@dataclass(frozen=True)
class Index3Lagrangian(DAEMethod):
    """Index-3 augmented Lagrangian method on the trapezoidal rule (METHODS 1.17).

    M a + Phi_q^T (lam + alpha Phi) = F by Newton in q, with lam += alpha Phi after each correction. v and a follow from
    q by the trapezoidal rule. Then the least changes of v and a in the metric of M put them on Phid = 0 and Phidd = 0,
    by the same iteration. Dependent rows share their force.

    Parameters
    ----------
    penalty : float, default 100000.0
        Penalty as a multiple of the masses of the rows over (h / 2)^2.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s. The method then chooses its steps, by halved steps
        (Richardson). Fixed steps unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = Index3Lagrangian()
    """

    penalty: float = 1e5
    rtol: float | None = None
    atol: float | None = None
    redundant = True
    fixed_orders = Orders(2, 2, 2, 2)

    def __post_init__(self) -> None:
        Positive("penalty of Index3Lagrangian").check(self.penalty)
        self.check_tolerances()

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return Index3Steps(motion, self.penalty)


class Index3Steps(Steps):
    """The steps of one motion; force states follow by the trapezoidal rule."""

    estimate_order = 3

    def __init__(self, motion: Motion, penalty: float) -> None:
        super().__init__(motion, AugmentedLagrangian())
        self.penalty = penalty

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        return self.projected(*self.trapezoidal(past[0], t, h), past[0], t, h)

    def trial(self, past: Sequence[Point], t: float, h: float) -> tuple[Point, Array]:
        return doubled(self, past, t, h, 2, better=True)

    def trapezoidal(self, old: Point, t: float, h: float) -> tuple[Array, Array, Array]:
        """Return q, v and a at ``t`` before the projections. Raises MotionError.

        The loop stands alone, for the multipliers change by alpha Phi after each correction.
        """
        motion = self.motion
        system, q, lam, before = motion.system, old.q + h * old.v + 0.5 * h * h * old.a, old.lam, np.inf
        terms = terms_at(system, q, old.v, t)
        alpha = self.penalty * row_masses(terms)  # over (h / 2)^2
        quarter, whole = 0.25 * h * h, np.eye(system.n)
        size = max(1.0, float(np.abs(q).max(initial=0.0)))
        lhs, slow = np.zeros((0, 0)), True  # the matrix is made anew wherever corrections shrink slowly
        for _ in range(ITERATIONS):
            v = 2.0 / h * (q - old.q) - old.v
            a = 2.0 / h * (v - old.v) - old.a
            s = self.states(old, q, v, t, h)
            P, Phi = system.constraint_jacobian(q, t), left_of(system, q, v, t, h)
            motion.counts.iterations += 1
            if slow:
                at = linearised(system, q, v, a, lam, t)
                K = at.K - self.state_stiffness(q, v, t, s, h) if len(s) else at.K
                lhs = at.M + 0.5 * h * at.C + quarter * K + P.T @ (alpha[:, None] * P)
                motion.counts.factorisations += 1
            right = quarter * imbalance(system, q, v, a, lam, t) + P.T @ (alpha * Phi)
            step = solve_positive(terms, whole, lhs, right)
            q, length = q - step, float(np.abs(step).max(initial=0.0))
            lam = lam + alpha * left_of(system, q, 2.0 / h * (q - old.q) - old.v, t, h) / quarter
            if converged(length, before, SETTLED * size, ROUNDING * size):
                v = 2.0 / h * (q - old.q) - old.v
                return q, v, 2.0 / h * (v - old.v) - old.a
            if not np.isfinite(length):
                break
            slow, before = length >= CONTRACTION * before, length
        raise MotionError(f"Newton of Index3Lagrangian does not converge at t = {t:g}; take a shorter step")

    def states(self, old: Point, q: Array, v: Array, t: float, h: float) -> Array:
        """Return s (ns,) with s = s_old + h/2 (sd_old + sd(q, v, s)), and let the system hold it.

        Raises MotionError.
        """
        s, before = old.s + h * old.sd, np.inf
        for _ in range(ITERATIONS if len(s) else 0):
            left = s - old.s - 0.5 * h * (old.sd + self.dynamics.state_rates(q, v, t, s))
            G_s = linearised_states(self.motion.system, q, v, t, s).G_s
            step = np.linalg.solve(np.eye(len(s)) - 0.5 * h * G_s, left)
            s, length, size = s - step, float(np.abs(step).max()), max(1.0, float(np.abs(s).max()))
            if converged(length, before, SETTLED * size, ROUNDING * size):
                break
            if not np.isfinite(length):
                raise MotionError(f"force states of Index3Lagrangian are not finite at t = {t:g}; take a shorter step")
            before = length
        self.dynamics.hold(s)
        return s

    def state_stiffness(self, q: Array, v: Array, t: float, s: Array, h: float) -> Array:
        """Return dF/ds ds/dq (n, n) of the force states that follow q and v = 2/h q."""
        at = linearised_states(self.motion.system, q, v, t, s)
        by_q = np.linalg.solve(np.eye(len(s)) - 0.5 * h * at.G_s, 0.5 * h * at.G_q + at.G_v)
        return np.asarray(at.F_s @ by_q)

    def projected(self, q: Array, v: Array, a: Array, old: Point, t: float, h: float) -> Point:
        """Return the point with rates and accelerations on their constraints."""
        system = self.motion.system
        terms = terms_at(system, q, v, t)
        alpha = self.penalty * row_masses(terms)
        lhs = terms.M + terms.Phi_q.T @ (alpha[:, None] * terms.Phi_q)
        self.motion.counts.factorisations += 1
        v = nearest(terms, lhs, alpha, v, -terms.Phi_t)
        s = self.states(old, q, v, t, h)
        there = terms_at(system, q, v, t)
        a = nearest(there, lhs, alpha, a, there.gamma)
        lam = least_multipliers(there, a)  # lam of Newton has the rounding of alpha Phi
        return Point(t, q, v, a, lam, s, self.dynamics.state_rates(q, v, t, s))


def left_of(system: ConstrainedSystem, q: Array, v: Array, t: float, h: float) -> Array:
    """Return Phi, and h/2 Psi of rate constraints, which has the derivative A by q with v = 2/h q."""
    held, Phi = holonomic_rows(system), system.constraints(q, t)
    if held < len(Phi):
        Phi[held:] = 0.5 * h * constraint_rate(system, q, v, t)[held:]
    return Phi


def nearest(terms: Terms, lhs: Array, alpha: Array, x: Array, right: Array) -> Array:
    """Return y (n,) with Phi_q y = right, nearest to x in the metric of M.

    The iteration of ``numerics/linear/least_change.py`` in the metric of M, which is no diagonal; its factor is given.
    """
    P, y, sigma, before = terms.Phi_q, x, np.zeros(terms.system.m), np.inf
    size, whole = max(1.0, float(np.abs(x).max(initial=0.0))), np.eye(len(x))
    for _ in range(ITERATIONS):
        left = P @ y - right
        step = solve_positive(terms, whole, lhs, terms.M @ (y - x) + P.T @ (sigma + alpha * left))
        y = y - step
        sigma = sigma + alpha * (P @ y - right)
        length = float(np.abs(step).max(initial=0.0))
        if converged(length, before, SETTLED * size, ROUNDING * size):
            return y
        before = length
    raise MotionError("the projections of Index3Lagrangian do not converge; take a larger penalty, or rows that agree")
