"""What a run leaves behind: samples, violations, counts and wall time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Counts, Point
from rtmbs.formulations.contract import ConstrainedSystem, states_of

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Trajectory:
    """A motion at k + 1 times. ``violations`` (k + 1, 3) are the largest |Phi|, |Phid| and |Phidd| of each point."""

    t: Array  # (k + 1,) [s]
    q: Array  # (k + 1, n)
    v: Array  # (k + 1, n)
    a: Array  # (k + 1, n)
    lam: Array  # (k + 1, m)
    s: Array  # (k + 1, ns), states of forces
    violations: Array  # (k + 1, 3)
    counts: Counts
    wall: float  # [s] of the run, violations left out

    def __repr__(self) -> str:
        sizes = {"coordinates": self.q.shape[1], "multipliers": self.lam.shape[1], "force states": self.s.shape[1]}
        parts = ", ".join(f"{size} {what}" for what, size in sizes.items() if size)
        span = f"{len(self.t)} points, t = {self.t[0]:g} s to {self.t[-1]:g} s" if len(self.t) else "no points"
        largest = ", ".join(f"{value:.1e}" for value in self.violations.max(axis=0, initial=0.0))
        return f"Trajectory({span}; {parts}; largest |Phi|, |Phid|, |Phidd| {largest}; {self.wall:.3g} s)"


def trajectory_of(system: ConstrainedSystem, points: Sequence[Point], counts: Counts, wall: float) -> Trajectory:
    """Return the trajectory of these points, with their violations."""
    n, m, size = system.n, system.m, len(points)
    return Trajectory(
        np.array([point.t for point in points]),
        np.array([point.q for point in points]).reshape(size, n),
        np.array([point.v for point in points]).reshape(size, n),
        np.array([point.a for point in points]).reshape(size, n),
        np.array([point.lam for point in points]).reshape(size, m),
        np.array([point.s for point in points]).reshape(size, len(states_of(system))),
        np.array([violations_at(system, point) for point in points]).reshape(size, 3),
        counts,
        wall,
    )


def violations_at(system: ConstrainedSystem, point: Point) -> tuple[float, float, float]:
    """Return the largest |Phi|, |Phid| and |Phidd| of a point."""
    Phi_q = system.constraint_jacobian(point.q, point.t)
    Phi_t, gamma = system.constraint_rate_terms(point.q, point.v, point.t)
    parts = system.constraints(point.q, point.t), Phi_q @ point.v + Phi_t, Phi_q @ point.a - gamma
    first, second, third = (float(np.abs(part).max(initial=0.0)) for part in parts)
    return first, second, third
