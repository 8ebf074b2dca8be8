"""Rolling bodies and blades in space by Newton and Euler, with equations of their own: no joint coordinates.

A body rolls on a plane that turns at a constant rate about an axis fixed in space. Its state is the centre C of the
wheel, the rotation R as a quaternion, and the angular velocity w. With r from C to the contact point c, v_C = W x (c -
O) - w x r, W the angular velocity of the plane about O. Its derivative and the balance of moments give w'. Another body
slides on a blade: v_P . d = 0, d fixed in it. Vectors are in world axes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]

RTOL = 1e-12


@dataclass(frozen=True)
class RollingBody:
    """A body with a wheel, and the plane that it rolls on."""

    mass: float
    inertia: Array  # (3, 3) about the mass centre, body axes
    center: Array  # (3,) mass centre from the centre of the wheel, body axes
    axle: Array  # (3,) axis of the wheel, body axes
    radius: float  # of the wheel
    crown: float
    normal: Array  # (3,) of the plane at t = 0
    origin: Array  # (3,) point of the plane on the axis that it turns about
    spin: Array  # (3,) angular velocity of the plane
    gravity: Array  # (3,)

    def contact(self, t: float, R: Array, w: Array) -> tuple[Array, Array, Array]:
        """Return the way r from the centre of the wheel to the contact point, its rate, and the normal."""
        k = Rotation.from_rotvec(self.spin * t).apply(self.normal)
        kd = np.cross(self.spin, k)
        r, rd = -self.crown * k, -self.crown * kd
        if self.crown < self.radius:
            n = R @ self.axle
            nd = np.cross(w, n)
            across, acrossd = k - (k @ n) * n, kd - (kd @ n + k @ nd) * n - (k @ n) * nd
            size = np.linalg.norm(across)
            u = across / size
            r = r - (self.radius - self.crown) * u
            rd = rd - (self.radius - self.crown) * (acrossd - (u @ acrossd) * u) / size
        return r, rd, k

    def velocity(self, t: float, C: Array, R: Array, w: Array) -> Array:
        """Return the velocity (3,) of the centre of the wheel."""
        r, _, _ = self.contact(t, R, w)
        return np.asarray(np.cross(self.spin, C + r - self.origin) - np.cross(w, r))

    def accelerations(self, t: float, C: Array, R: Array, w: Array) -> tuple[Array, Array, Array]:
        """Return w', the acceleration of the centre of the wheel, and the force at the contact point."""
        r, rd, _ = self.contact(t, R, w)
        s, J = R @ self.center, R @ self.inertia @ R.T
        still = np.cross(self.spin, self.velocity(t, C, R, w) + rd) - np.cross(w, rd)  # of the centre at w' = 0
        swept = np.cross(w, np.cross(w, s))
        arm = r - s

        def balance(turn: Array) -> Array:
            """Return what is left of the balance of moments at w' = ``turn``."""
            a = still - np.cross(turn, r) + np.cross(turn, s) + swept
            return J @ turn + np.cross(w, J @ w) - np.cross(arm, self.mass * (a - self.gravity))

        zero = balance(np.zeros(3))
        matrix = np.column_stack([balance(axis) - zero for axis in np.eye(3)])
        turn = np.linalg.solve(matrix, -zero)
        acceleration = still - np.cross(turn, r)
        force = self.mass * (acceleration + np.cross(turn, s) + swept - self.gravity)
        return turn, acceleration, force

    def motion(self, C: Array, w: Array, times: Array) -> tuple[Array, Array, Array]:
        """Return centres, rotations and angular velocities at ``times``, from the identity at t = 0."""

        def rates(t: float, y: Array) -> Array:
            R, spin = Rotation.from_quat(y[3:7]).as_matrix(), y[7:]
            turned = 0.5 * np.append(y[6] * spin + np.cross(spin, y[3:6]), -spin @ y[3:6])
            return np.concatenate((self.velocity(t, y[:3], R, spin), turned, self.accelerations(t, y[:3], R, spin)[0]))

        return placed(solved(rates, np.concatenate((C, [0.0, 0.0, 0.0, 1.0], w)), times))


@dataclass(frozen=True)
class SlidingBody:
    """A body in space on a blade: the velocity of its point P has no component along d."""

    mass: float
    inertia: Array  # (3, 3) about the mass centre, body axes
    point: Array  # (3,) P from the mass centre, body axes
    direction: Array  # (3,) d, body axes
    gravity: Array  # (3,)

    def accelerations(self, R: Array, v: Array, w: Array) -> tuple[Array, Array, float]:
        """Return the acceleration of the mass centre, w', and the force along d."""
        p, d, J = R @ self.point, R @ self.direction, R @ self.inertia @ R.T
        free = -np.linalg.solve(J, np.cross(w, J @ w))
        by_force = d / self.mass, np.linalg.solve(J, np.cross(p, d))
        swept = np.cross(w, d) @ (v + np.cross(w, p)) + d @ np.cross(w, np.cross(w, p))
        left = d @ (self.gravity + np.cross(free, p)) + swept
        force = -left / (d @ (by_force[0] + np.cross(by_force[1], p)))
        return self.gravity + force * by_force[0], free + force * by_force[1], float(force)

    def motion(self, G: Array, v: Array, w: Array, times: Array) -> tuple[Array, Array, Array, Array]:
        """Return mass centres, rotations, angular velocities and velocities at ``times``; the identity at t = 0."""

        def rates(t: float, y: Array) -> Array:
            R, spin, speed = Rotation.from_quat(y[3:7]).as_matrix(), y[7:10], y[10:]
            turned = 0.5 * np.append(y[6] * spin + np.cross(spin, y[3:6]), -spin @ y[3:6])
            a, turn, _ = self.accelerations(R, speed, spin)
            return np.concatenate((speed, turned, turn, a))

        y = solved(rates, np.concatenate((G, [0.0, 0.0, 0.0, 1.0], w, v)), times)
        return *placed(y), y[:, 10:]


def solved(rates: Callable[[float, Array], Array], start: Array, times: Array) -> Array:
    """Return the states (k, ...) at ``times``."""
    size = np.maximum(np.abs(start), 1e-3 * np.abs(start).max())
    found = solve_ivp(rates, (0.0, float(times[-1])), start, "DOP853", times, rtol=RTOL, atol=RTOL * size)
    if not found.success:
        raise ValueError(found.message)
    return np.asarray(found.y.T)


def placed(y: Array) -> tuple[Array, Array, Array]:
    """Return places, rotations (k, 3, 3) and angular velocities of states."""
    return y[:, :3], Rotation.from_quat(y[:, 3:7]).as_matrix(), y[:, 7:10]
