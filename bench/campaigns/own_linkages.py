"""Own equations of bodies in space with hinges and balls: Newton and Euler for every body, multipliers, SciPy's Radau.

Nothing is taken from rtmbs. Every body has a place, a velocity, a quaternion and a world angular velocity. A pair holds
accelerations of a point, and a hinge those of its axis as well. Angles of hinges are integrated beside the bodies.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from bench.campaigns.own_spatial import matrix

GROUND = -1
SIZE = 13  # numbers of a body: place, velocity, quaternion, angular velocity
SLOPE = 1e-7  # steps of differences, of the size of a number

Array = NDArray[np.float64]
Torque = Callable[[float, float], float]  # of the angle and rate of a hinge, on its second body


@dataclass
class Part:
    """A body; its axes are those of the world at the reference pose."""

    mass: float
    inertia: Array  # (3, 3) about the mass centre
    place: Array  # (3,) of the mass centre at the reference pose


@dataclass
class Pair:
    """A ball between two bodies, or a hinge where there is an axis; all in the world at the reference pose."""

    a: int
    b: int
    point: Array
    axis: Array | None = None


class TooMany(ArithmeticError):
    """The reference took more evaluations than a case is worth."""


@dataclass
class Linkage:
    """Bodies, pairs, and torques about hinges."""

    gravity: Array
    parts: list[Part] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    torques: list[tuple[int, Torque]] = field(default_factory=list)  # number of a pair, and its law

    def arm(self, body: int, R: Array, point: Array) -> Array:
        """Return the way from a mass centre to a point of a body."""
        return R @ (point - self.parts[body].place)

    def rates(self, y: Array) -> Array:
        """Return y' of y = (bodies, angles of pairs)."""
        n, bodies = len(self.parts), y[: SIZE * len(self.parts)].reshape(-1, SIZE)
        R = [matrix(one[6:10] / np.linalg.norm(one[6:10])) for one in bodies]
        w = [one[10:13] for one in bodies]
        M, f = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
        for k, part in enumerate(self.parts):
            J = R[k] @ part.inertia @ R[k].T
            M[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = part.mass * np.eye(3)
            M[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = J
            f[6 * k : 6 * k + 3], f[6 * k + 3 : 6 * k + 6] = part.mass * self.gravity, -np.cross(w[k], J @ w[k])
        turning = np.array([self.turning(pair, R, w) for pair in self.pairs])
        for number, law in self.torques:
            pair = self.pairs[number]
            pull = law(float(y[SIZE * n + number]), float(turning[number])) * self.along(pair, R)
            for body, sign in ((pair.a, -1.0), (pair.b, 1.0)):
                if body != GROUND:
                    f[6 * body + 3 : 6 * body + 6] += sign * pull
        rows, right = self.constraints(R, w)
        A = np.block([[M, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        a = np.linalg.solve(A, np.concatenate((f, right)))[: 6 * n].reshape(-1, 6)
        out = np.zeros((n, SIZE))
        for k, one in enumerate(bodies):
            q, spin = one[6:10], w[k]
            out[k, :3], out[k, 3:6], out[k, 10:] = one[3:6], a[k, :3], a[k, 3:]
            out[k, 6:10] = 0.5 * np.concatenate(([-spin @ q[1:]], q[0] * spin + np.cross(spin, q[1:])))
        return np.concatenate((out.ravel(), turning))

    def along(self, pair: Pair, R: list[Array]) -> Array:
        """Return the axis of a hinge in the world; zero for a ball."""
        if pair.axis is None:
            return np.zeros(3)
        return pair.axis if pair.a == GROUND else R[pair.a] @ pair.axis

    def turning(self, pair: Pair, R: list[Array], w: list[Array]) -> float:
        """Return the rate of a hinge."""
        before = np.zeros(3) if pair.a == GROUND else w[pair.a]
        return float(self.along(pair, R) @ (w[pair.b] - before))

    def constraints(self, R: list[Array], w: list[Array]) -> tuple[Array, Array]:
        """Return the rows (m, 6 n) of all pairs for accelerations, and their right side (m,)."""
        rows, right = [], []
        for pair in self.pairs:
            count = 3 if pair.axis is None else 5
            own, needed = np.zeros((count, 6 * len(self.parts))), np.zeros(count)
            across = np.linalg.svd(self.along(pair, R)[None])[2][1:] if pair.axis is not None else np.zeros((0, 3))
            relative = w[pair.b] - (np.zeros(3) if pair.a == GROUND else w[pair.a])
            for body, sign in ((pair.a, -1.0), (pair.b, 1.0)):
                if body == GROUND:
                    continue
                r, place = self.arm(body, R[body], pair.point), slice(6 * body, 6 * body + 3)
                own[:3, place], own[:3, 6 * body + 3 : 6 * body + 6] = sign * np.eye(3), -sign * tilde(r)
                own[3:, 6 * body + 3 : 6 * body + 6] = sign * across
                needed[:3] -= sign * np.cross(w[body], np.cross(w[body], r))
            if pair.a != GROUND:
                needed[3:] -= np.cross(w[pair.a], across) @ relative
            rows.append(own)
            right.append(needed)
        return np.vstack(rows), np.concatenate(right)

    def motion(self, bodies: Array, times: Array, tolerance: float, most: int, longest: float) -> Array:
        """Return bodies (k, n, 13) at ``times`` from (n, 13) at zero; raises TooMany beyond ``most`` evaluations."""
        spent = 0

        def rate(t: float, y: Array) -> Array:
            nonlocal spent
            spent += 1
            if spent > most:
                raise TooMany
            return self.rates(y)

        def slopes(t: float, y: Array) -> Array:
            steps = SLOPE * np.maximum(np.abs(y), 1e-3)
            unit = np.eye(len(y))
            return np.column_stack(
                [(rate(t, y + d * e) - rate(t, y - d * e)) / (2.0 * d) for d, e in zip(steps, unit, strict=True)]
            )

        start = np.concatenate((bodies.ravel(), np.zeros(len(self.pairs))))
        found = solve_ivp(
            rate, (0.0, float(times[-1])), start, method="Radau", rtol=tolerance, atol=tolerance, t_eval=times,
            max_step=longest, jac=slopes,
        )  # fmt: skip
        if not found.success:
            raise TooMany
        return found.y[: bodies.size].T.reshape(len(times), *bodies.shape)


def tilde(x: Array) -> Array:
    """Return the matrix of x cross."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
