"""One step of the generalised-alpha family at index 3 (METHODS 1.18), for Chung and Hulbert's and for HHT."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.dae.linearisation import imbalance, linearised
from rtmbs.dae.newton import Newton, scale_of
from rtmbs.formulations.direct import Direct
from rtmbs.formulations.solvers import Solver

Array = NDArray[np.float64]

JERK_STEP = 1e-2  # of h: the difference that starts the auxiliary acceleration


@dataclass(frozen=True)
class Family:
    """alpha_m and alpha_f; gamma and beta follow: order two, and least dissipation at low frequencies."""

    alpha_m: float
    alpha_f: float
    beta: float

    @property
    def gamma(self) -> float:
        return 0.5 + self.alpha_f - self.alpha_m

    def points(self, motion: Motion, times: Array, who: str, solver: Solver) -> Iterator[Point]:
        """Yield the start and the end of each step.

        Unknown are a and lam at the end, where M a + Phi_q^T lam = F and Phi = 0. The auxiliary acceleration A obeys
        (1 - alpha_m) A' + alpha_m A = (1 - alpha_f) a' + alpha_f a, and q, v follow by Newmark's formulas with A. At
        the start A is a(t0 + (alpha_m - alpha_f) h), so that no error of order one is left in it.
        """
        point = Dynamics(motion, Direct()).point(motion.q, motion.v, float(times[0]))
        h = float(times[1] - times[0])
        A = point.a + (self.alpha_m - self.alpha_f) * h * jerk_at(motion, point, JERK_STEP * h)
        newton = Newton(motion.counts, who, solver)
        yield point
        for t, following in pairwise(times):
            point, A = self.step(motion, newton, point, A, float(following), float(following - t))
            motion.counts.steps += 1
            yield point

    def step(self, motion: Motion, newton: Newton, old: Point, A: Array, t: float, h: float) -> tuple[Point, Array]:
        """Return the point a step later, and its auxiliary acceleration."""
        system, n = motion.system, motion.system.n
        share = (1.0 - self.alpha_f) / (1.0 - self.alpha_m)
        kept = (self.alpha_f * old.a - self.alpha_m * A) / (1.0 - self.alpha_m)
        c_q, c_v = h * h * self.beta * share, h * self.gamma * share

        def state(a: Array) -> tuple[Array, Array, Array]:
            new = share * a + kept
            q = old.q + h * old.v + h * h * ((0.5 - self.beta) * A + self.beta * new)
            return q, old.v + h * ((1.0 - self.gamma) * A + self.gamma * new), new

        def residual(x: Array) -> Array:
            q, v, _ = state(x[:n])
            return np.concatenate((imbalance(system, q, v, x[:n], x[n:], t), system.constraints(q, t) / c_q))

        def matrix(x: Array) -> Array:
            q, v, _ = state(x[:n])
            at = linearised(system, q, v, x[:n], x[n:], t)
            zero = np.zeros((system.m, system.m))
            return np.block([[at.M + c_v * at.C + c_q * at.K, at.Phi_q.T], [at.Phi_q, zero]])

        x = newton.solve(residual, matrix, np.concatenate((old.a, old.lam)), self.scale(old, h), t)
        q, v, new = state(x[:n])
        return Point(t, q, v, x[:n], x[n:]), new

    def scale(self, old: Point, h: float) -> Array:
        """Return scales of a (n,) and lam (m,): corrections of positions below rounding mean nothing."""
        floor = max(1.0, float(np.abs(old.q).max(initial=0.0))) * 1e-3 / (h * h)
        a, lam = np.abs(old.a).max(initial=0.0), np.abs(old.lam).max(initial=0.0)
        return np.concatenate((np.maximum(scale_of(old.a), min(floor, 1e3 * max(1.0, a))), scale_of(old.lam) + lam))


def jerk_at(motion: Motion, point: Point, step: float) -> Array:
    """Return da/dt (n,) along the motion, by a difference."""
    q = point.q + step * point.v + 0.5 * step**2 * point.a
    later = Dynamics(motion, Direct()).accelerations(q, point.v + step * point.a, point.t + step)
    return np.asarray((later - point.a) / step)
