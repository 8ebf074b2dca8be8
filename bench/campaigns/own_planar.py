"""Own equations of random planar mechanisms: mass centres and angles, multipliers, DOP853. No formula of rtmbs.

M q'' = Q + J^T lam with J q'' = gamma, solved for lam at every evaluation; drift of index 1 is that of the tolerance.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]
GROUND = -1
Pull = Callable[[float, float], float]  # of the length of a line and its rate [N]


@dataclass
class Planar:
    """Bodies with pins, rails and forces; points are in body axes from the mass centre, on ground in the plane."""

    mass: list[float] = field(default_factory=list)
    inertia: list[float] = field(default_factory=list)
    gravity: float = 9.81  # against y [m/s^2]
    pins: list[tuple[int, Array, int, Array]] = field(default_factory=list)
    rails: list[int] = field(default_factory=list)  # bodies that slide along x without turning
    springs: list[tuple[int, Array, int, Array, float, float, float]] = field(default_factory=list)  # k, c, length
    lines: list[tuple[int, Array, int, Array, Pull]] = field(default_factory=list)
    torques: list[tuple[int, int, Callable[[float, float, float], float]]] = field(default_factory=list)  # f(t, z, zd)

    def point(self, q: Array, v: Array, body: int, local: Array) -> tuple[Array, Array, Array, Array]:
        """Return place, arm turned by a right angle, velocity and centripetal acceleration of a point."""
        if body == GROUND:
            return local, np.zeros(2), np.zeros(2), np.zeros(2)
        x, y, phi = q[3 * body : 3 * body + 3]
        c, s = np.cos(phi), np.sin(phi)
        arm = np.array([c * local[0] - s * local[1], s * local[0] + c * local[1]])
        across, w = np.array([-arm[1], arm[0]]), v[3 * body + 2]
        return np.array([x, y]) + arm, across, v[3 * body : 3 * body + 2] + w * across, -w * w * arm

    def force(self, t: float, q: Array, v: Array) -> Array:
        """Return Q (3 n,)."""
        Q = np.zeros(len(q))
        Q[1::3] = -np.array(self.mass) * self.gravity
        springs = [
            (a, la, b, lb, lambda r, rd, k=k, c=c, length=length: k * (r - length) + c * rd)
            for a, la, b, lb, k, c, length in self.springs
        ]
        for a, la, b, lb, law in (*springs, *self.lines):
            r, rd, d, na, nb = self.line(q, v, a, la, b, lb)
            pull = law(r, rd) / r * d
            for body, across, part in ((a, na, pull), (b, nb, -pull)):
                if body != GROUND:
                    Q[3 * body : 3 * body + 2] += part
                    Q[3 * body + 2] += across @ part
        for a, b, torque in self.torques:
            z, zd = ((one[3 * b + 2] - (0.0 if a == GROUND else one[3 * a + 2])) for one in (q, v))
            n = torque(t, z, zd)
            Q[3 * b + 2] += n
            if a != GROUND:
                Q[3 * a + 2] -= n
        return Q

    def line(
        self, q: Array, v: Array, a: int, la: Array, b: int, lb: Array
    ) -> tuple[float, float, Array, Array, Array]:
        """Return length and rate of a line, itself, and the arms of its ends turned by a right angle."""
        (pa, na, va, _), (pb, nb, vb, _) = self.point(q, v, a, la), self.point(q, v, b, lb)
        d = pb - pa
        r = float(np.hypot(*d))
        return r, float((vb - va) @ d) / r, d, na, nb

    def acceleration(self, t: float, q: Array, v: Array) -> Array:
        """Return q'' (3 n,)."""
        return self.solution(t, q, v)[0]

    def solution(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return q'' (3 n,), and the forces on bodies b of the pins and what the rails give (2 (pins + rails),)."""
        Q, rows = self.force(t, q, v), 2 * (len(self.pins) + len(self.rails))
        inverse = np.empty(len(q))
        inverse[0::3] = inverse[1::3] = 1.0 / np.array(self.mass)
        inverse[2::3] = 1.0 / np.array(self.inertia)
        if not rows:
            return inverse * Q, np.zeros(0)
        J, gamma = np.zeros((rows, len(q))), np.zeros(rows)
        for k, (a, la, b, lb) in enumerate(self.pins):
            for body, local, sign in ((a, la, -1.0), (b, lb, 1.0)):
                if body != GROUND:
                    _, across, _, bend = self.point(q, v, body, local)
                    J[2 * k, 3 * body] = J[2 * k + 1, 3 * body + 1] = sign
                    J[2 * k : 2 * k + 2, 3 * body + 2] = sign * across
                    gamma[2 * k : 2 * k + 2] -= sign * bend
        for k, body in enumerate(self.rails, len(self.pins)):
            J[2 * k, 3 * body + 1] = J[2 * k + 1, 3 * body + 2] = 1.0
        lam = np.linalg.solve((J * inverse) @ J.T, gamma - J @ (inverse * Q))
        return np.asarray(inverse * (Q + J.T @ lam)), np.asarray(lam)

    def motion(self, q: Array, v: Array, times: Array, rtol: float, longest: float = np.inf) -> Array:
        """Return (k, 2, 3 n) coordinates and rates at ``times``, from ``q`` and ``v`` at time zero."""
        n = len(q)

        def rate(t: float, y: Array) -> Array:
            return np.concatenate((y[n:], self.acceleration(t, y[:n], y[n:])))

        size = np.concatenate((np.ones(n), np.full(n, max(1.0, float(np.abs(v).max())))))
        found = solve_ivp(
            rate, (0.0, float(times[-1])), np.concatenate((q, v)), method="DOP853", rtol=rtol, atol=rtol * size,
            t_eval=times, max_step=longest,
        )  # fmt: skip
        return np.asarray(found.y.T.reshape(len(times), 2, n))
