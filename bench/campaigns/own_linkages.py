"""Own equations of bodies in space with hinges and balls: Newton and Euler for every body, multipliers, SciPy's Radau.

Nothing is taken from rtmbs. Every body has a place, a velocity, a quaternion and a world angular velocity. A pair holds
accelerations of a point, and a hinge those of its axis as well. Angles of hinges are integrated beside the bodies.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

GROUND = -1
SIZE = 13  # numbers of a body: place, velocity, quaternion, angular velocity
SLOPE = 1e-7  # steps of differences, of the size of a number

Array = NDArray[np.float64]
Torque = Callable[[Array, Array], Array]  # of angles and rates (k,) of a hinge, on its second body


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
        """Return the way (k, 3) from a mass centre to a point of a body that R (k, 3, 3) turns."""
        return R @ (point - self.parts[body].place)

    def rates(self, y: Array) -> Array:
        """Return y' (k, N) of k states y = (bodies, angles of pairs)."""
        k, n = len(y), len(self.parts)
        bodies = y[:, : SIZE * n].reshape(k, n, SIZE)
        R = [rotations(bodies[:, i, 6:10]) for i in range(n)]
        w = [bodies[:, i, 10:13] for i in range(n)]
        M, f = np.zeros((k, 6 * n, 6 * n)), np.zeros((k, 6 * n))
        for i, part in enumerate(self.parts):
            J = R[i] @ part.inertia @ R[i].transpose(0, 2, 1)
            M[:, 6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = part.mass * np.eye(3)
            M[:, 6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = J
            f[:, 6 * i : 6 * i + 3] = part.mass * self.gravity
            f[:, 6 * i + 3 : 6 * i + 6] = -np.cross(w[i], np.einsum("kij,kj->ki", J, w[i]))
        turning = np.column_stack([self.turning(pair, R, w) for pair in self.pairs])
        for number, law in self.torques:
            pair = self.pairs[number]
            pull = law(y[:, SIZE * n + number], turning[:, number])[:, None] * self.along(pair, R)
            for body, sign in ((pair.a, -1.0), (pair.b, 1.0)):
                if body != GROUND:
                    f[:, 6 * body + 3 : 6 * body + 6] += sign * pull
        rows, right = self.constraints(R, w)
        m = rows.shape[1]
        A = np.zeros((k, 6 * n + m, 6 * n + m))
        A[:, : 6 * n, : 6 * n], A[:, 6 * n :, : 6 * n], A[:, : 6 * n, 6 * n :] = M, rows, rows.transpose(0, 2, 1)
        a = np.linalg.solve(A, np.concatenate((f, right), axis=1)[:, :, None])[:, : 6 * n, 0].reshape(k, n, 6)
        q, spin, out = bodies[:, :, 6:10], bodies[:, :, 10:13], np.zeros((k, n, SIZE))
        out[:, :, :3], out[:, :, 3:6], out[:, :, 10:] = bodies[:, :, 3:6], a[:, :, :3], a[:, :, 3:]
        out[:, :, 6] = -0.5 * np.sum(spin * q[:, :, 1:], axis=2)
        out[:, :, 7:10] = 0.5 * (q[:, :, :1] * spin + np.cross(spin, q[:, :, 1:]))
        return np.concatenate((out.reshape(k, -1), turning), axis=1)

    def along(self, pair: Pair, R: list[Array]) -> Array:
        """Return the axis (k, 3) of a hinge in the world; zero for a ball."""
        axis = np.zeros(3) if pair.axis is None else pair.axis
        return np.broadcast_to(axis, (len(R[0]), 3)) if pair.a == GROUND else R[pair.a] @ axis

    def turning(self, pair: Pair, R: list[Array], w: list[Array]) -> Array:
        """Return the rate (k,) of a hinge."""
        return np.asarray(np.sum(self.along(pair, R) * self.relative(pair, w), axis=1))

    def relative(self, pair: Pair, w: list[Array]) -> Array:
        """Return the angular velocity (k, 3) of the second body of a pair relative to the first."""
        return w[pair.b] if pair.a == GROUND else w[pair.b] - w[pair.a]

    def constraints(self, R: list[Array], w: list[Array]) -> tuple[Array, Array]:
        """Return the rows (k, m, 6 n) of all pairs for accelerations, and their right side (k, m)."""
        k, rows, right = len(R[0]), [], []
        for pair in self.pairs:
            count = 3 if pair.axis is None else 5
            own, needed = np.zeros((k, count, 6 * len(self.parts))), np.zeros((k, count))
            fixed = np.zeros((0, 3)) if pair.axis is None else np.linalg.svd(pair.axis[None])[2][1:]
            moving = pair.a != GROUND
            across = fixed @ R[pair.a].transpose(0, 2, 1) if moving else np.broadcast_to(fixed, (k, *fixed.shape))
            for body, sign in ((pair.a, -1.0), (pair.b, 1.0)):
                if body == GROUND:
                    continue
                r, spin = self.arm(body, R[body], pair.point), slice(6 * body + 3, 6 * body + 6)
                own[:, :3, 6 * body : 6 * body + 3], own[:, :3, spin] = sign * np.eye(3), -sign * tilde(r)
                own[:, 3:, spin] = sign * across
                needed[:, :3] -= sign * np.cross(w[body], np.cross(w[body], r))
            if moving:
                turned = np.cross(w[pair.a][:, None], across)
                needed[:, 3:] -= np.einsum("kij,kj->ki", turned, self.relative(pair, w))
            rows.append(own)
            right.append(needed)
        return np.concatenate(rows, axis=1), np.concatenate(right, axis=1)

    def motion(self, bodies: Array, times: Array, tolerance: float, most: int, longest: float) -> Array:
        """Return bodies (k, n, 13) at ``times`` from (n, 13) at zero; raises TooMany beyond ``most`` single rates."""
        spent = 0

        def rate(t: float, y: Array) -> Array:
            nonlocal spent
            spent += 1
            if spent > most:
                raise TooMany
            return self.rates(y[None])[0]

        def slopes(t: float, y: Array) -> Array:
            """Return all differences at once, which costs a tenth of one after the other."""
            d = SLOPE * np.maximum(np.abs(y), 1.0)
            found = self.rates(np.concatenate((y + np.diag(d), y - np.diag(d))))
            return np.asarray(((found[: len(y)] - found[len(y) :]) / (2.0 * d[:, None])).T)

        start = np.concatenate((bodies.ravel(), np.zeros(len(self.pairs))))
        found = solve_ivp(
            rate, (0.0, float(times[-1])), start, method="Radau", rtol=tolerance, atol=tolerance, t_eval=times,
            max_step=longest, jac=slopes,
        )  # fmt: skip
        if not found.success:
            raise TooMany
        return found.y[: bodies.size].T.reshape(len(times), *bodies.shape)


def rotations(q: Array) -> Array:
    """Return the matrices (k, 3, 3) of quaternions (k, 4) of any length."""
    q = q / np.linalg.norm(q, axis=1)[:, None]
    x = tilde(q[:, 1:])
    return np.eye(3) + 2.0 * (q[:, :1, None] * x + x @ x)


def tilde(x: Array) -> Array:
    """Return the matrices (k, 3, 3) of x cross, for x (k, 3)."""
    out = np.zeros((len(x), 3, 3))
    out[:, 2, 1], out[:, 0, 2], out[:, 1, 0] = x.T
    return out - out.transpose(0, 2, 1)
