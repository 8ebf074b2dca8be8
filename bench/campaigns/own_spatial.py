"""Own equations of one body in space, on a ball joint or free, with gravity and a spring: Euler's, DOP853."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]


@dataclass
class OneBody:
    """A body whose axes are principal at the reference pose; the mass centre is its origin."""

    mass: float
    inertia: Array  # (3,) about the mass centre
    pivot: Array | None  # of a ball joint, in body axes; None: free
    spring: tuple[Array, Array, float, float] | None = None  # point in body axes, on ground, stiffness, length
    gravity: float = 9.81  # against z

    def rate(self, t: float, y: Array) -> Array:
        """Return y' of y = (quaternion, body rates, place and velocity of the mass centre)."""
        q, w, r, v = y[:4] / np.linalg.norm(y[:4]), y[4:7], y[7:10], y[10:13]
        R = matrix(q)
        down = np.array([0.0, 0.0, -self.mass * self.gravity])
        force, torque = down.copy(), np.zeros(3)
        J = np.diag(self.inertia)
        if self.pivot is not None:
            r = -R @ self.pivot  # the pivot stands at the origin
        if self.spring is not None:
            local, ground, k, length = self.spring
            d = r + R @ local - ground
            pull = -k * (np.linalg.norm(d) - length) * d / np.linalg.norm(d)
            force += pull
            torque += np.cross(local, R.T @ pull)
        if self.pivot is None:
            rates = np.concatenate((v, force / self.mass))
        else:
            arm = -self.pivot
            torque = torque + np.cross(arm, R.T @ force)
            J = J + self.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
            rates = np.zeros(6)
        wd = np.linalg.solve(J, torque - np.cross(w, J @ w))
        qd = 0.5 * np.concatenate(([-q[1:] @ w], q[0] * w + np.cross(q[1:], w)))
        return np.concatenate((qd, wd, rates))

    def motion(self, q: Array, w: Array, r: Array, v: Array, times: Array, rtol: float) -> tuple[Array, Array]:
        """Return places of the mass centre (k, 3) and rotations (k, 3, 3); ``w`` are body rates at time zero."""
        y = np.concatenate((q, w, r, v))
        fast = max(1.0, float(np.abs(w).max()), float(np.abs(v).max()))
        size = np.concatenate((np.ones(4), np.full(3, fast), np.ones(3), np.full(3, fast)))
        found = solve_ivp(
            self.rate, (0.0, float(times[-1])), y, method="DOP853", rtol=rtol, atol=rtol * size, t_eval=times
        )
        R = np.array([matrix(one / np.linalg.norm(one)) for one in found.y[:4].T])
        return (found.y[7:10].T if self.pivot is None else -R @ self.pivot), R


def matrix(q: Array) -> Array:
    """Return the rotation of a unit quaternion, scalar first."""
    w, x, y, z = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
