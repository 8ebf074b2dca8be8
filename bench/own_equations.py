"""Equations of motion of single mechanisms, compiled, written without rtmbs: references, and what peers integrate.

A planar linkage is arms at angles, with its loop equations eliminated by multipliers. Bricard's mechanism is a chain of
five rods, open at its last joint. Its five closing rows have rank four: the accelerations are the least ones that keep
them closed, and a multiple of the direction in which the loop moves.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from bench.methods.problems import ANDREWS_START, PlanarLinkage, andrews_system
from rtmbs.library.benchmarks import AXES, AXIAL, CORNERS, TRANSVERSE

Array = NDArray[np.float64]
G = 9.81
FINE = 1e-13  # tolerance of references


@numba.njit
def linkage_rates(y, angles, lengths, phases, sums, masses, rotation, torques, loops, spring):
    """Return dy/dt of angles and rates (2 n,); ``spring`` is stiffness, free length, and x and y of its far end.

    ``sums`` (k, arms) has mass centres first, then both ends of each of ``loops`` loops, then both ends of the spring,
    whose far end has no arm and whose near end begins at the last two numbers of ``spring``.
    """
    n, bodies = angles.shape[1], len(masses)
    q, w = y[:n], y[n:]
    turned = angles @ q + phases
    x, z, square = lengths * np.cos(turned), lengths * np.sin(turned), (angles @ w) ** 2
    X, Z = np.empty((len(sums), n)), np.empty((len(sums), n))
    ax, az = -(sums @ (x * square)), -(sums @ (z * square))
    for j in range(n):
        X[:, j], Z[:, j] = -(sums @ (z * angles[:, j])), sums @ (x * angles[:, j])
    A, b = np.zeros((n + 2 * loops, n + 2 * loops)), np.zeros(n + 2 * loops)
    A[:n, :n], b[:n] = rotation, torques
    for k in range(bodies):
        for i in range(n):
            b[i] -= masses[k] * (X[k, i] * ax[k] + Z[k, i] * az[k])
            for j in range(n):
                A[i, j] += masses[k] * (X[k, i] * X[k, j] + Z[k, i] * Z[k, j])
    for k in range(loops):
        one, other, row = bodies + 2 * k, bodies + 2 * k + 1, n + 2 * k
        for i in range(n):
            A[row, i] = A[i, row] = X[one, i] - X[other, i]
            A[row + 1, i] = A[i, row + 1] = Z[one, i] - Z[other, i]
        b[row], b[row + 1] = ax[other] - ax[one], az[other] - az[one]
    near = bodies + 2 * loops
    over, up = spring[2] - spring[4] - sums[near] @ x, spring[3] - spring[5] - sums[near] @ z
    length = np.sqrt(over * over + up * up)
    pull = spring[0] * (length - spring[1]) / length
    b[:n] += pull * (over * X[near] + up * Z[near])
    return np.concatenate((w, np.linalg.solve(A, b)[:n]))


@numba.njit
def cross(a, b):
    """Return a x b of vectors (3,)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@numba.njit
def turn(axis, angle):
    """Return the rotation (3, 3) about a unit axis."""
    c, s = np.cos(angle), np.sin(angle)
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.eye(3) + s * K + (1.0 - c) * (K @ K)


@numba.njit
def bricard_rates(y, axes, rods, moments, gravity):
    """Return dy/dt of the angles of joints 1 to 5 and their rates (10,); rods of 1 kg, ``moments`` (5, 3, 3)."""
    n = len(rods)
    q, v = y[:n], y[n:]
    R, p, w, wd, a = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    e, at = np.zeros((n, 3)), np.zeros((n, 3))
    M, f = np.zeros((n, n)), np.zeros(n)
    for k in range(n):
        e[k], at[k] = R @ axes[k], p
        R = R @ turn(axes[k], q[k])
        wd = wd + cross(w, e[k] * v[k])
        w = w + e[k] * v[k]
        rod = R @ rods[k]
        centre = p + 0.5 * rod
        pull = gravity - a - cross(wd, 0.5 * rod) - cross(w, cross(w, 0.5 * rod))
        inertia = R @ moments[k] @ R.T
        moment = -(inertia @ wd) - cross(w, inertia @ w)
        for i in range(k + 1):
            ci = cross(e[i], centre - at[i])
            f[i] += ci @ pull + e[i] @ moment
            for j in range(k + 1):
                M[i, j] += ci @ cross(e[j], centre - at[j]) + e[i] @ (inertia @ e[j])
        a = a + cross(wd, rod) + cross(w, cross(w, rod))
        p = p + rod
    J, bias, last = np.zeros((5, n)), np.zeros(5), R @ axes[n]
    for i in range(n):
        J[:3, i], J[3:, i] = cross(e[i], p - at[i]), cross(e[i], last)[1:]
    bias[:3], bias[3:] = a, (cross(wd, last) + cross(w, cross(w, last)))[1:]
    U, S, Vt = np.linalg.svd(J)
    least, free = np.zeros(n), Vt[4].copy()
    for i in range(4):
        least -= Vt[i] * np.sum(U[:, i] * bias) / S[i]
    return np.concatenate((v, least + free * (free @ (f - M @ least)) / (free @ (M @ free))))


class OwnEquations:
    """Rates of a mechanism, its start, and the joints whose coordinates the first unknowns are."""

    joints: tuple[str, ...]  # names in the model of the library
    rows: tuple[int, ...]  # of the unknowns, one for each joint
    t_end: float  # [s]

    def rates(self, t: float, y: Array) -> Array:
        """Return dy/dt."""
        raise NotImplementedError

    def start(self) -> Array:
        """Return y at the start."""
        raise NotImplementedError

    def angles(self, y: Array) -> Array:
        """Return the angles of the joints from the start [rad]."""
        return np.asarray((y - self.start())[list(self.rows)])

    def reference(self) -> Array:
        """Return the angles at the end."""
        found = solve_ivp(self.rates, (0.0, self.t_end), self.start(), "DOP853", rtol=FINE, atol=FINE)
        return self.angles(found.y[:, -1])


@dataclass
class Andrews(OwnEquations):
    """Andrews' squeezer in the seven angles of the test set for initial value problems."""

    t_end: float = 0.03
    joints: tuple[str, ...] = ("O", "F", "B", "G", "A5", "H", "A7")
    rows: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)

    def __post_init__(self) -> None:
        self.linkage: PlanarLinkage = andrews_system()
        at, spring = self.linkage, self.linkage.springs[0]
        far = [spring.stiffness, spring.length, *spring.b.origin, *spring.a.origin]
        tables = (at.angles, at.lengths, at.phases, at.sums, at.masses, at.rotation, np.array(at.torques))
        self.tables = (*(np.ascontiguousarray(one) for one in tables), at.m // 2, np.array(far))

    def rates(self, t: float, y: Array) -> Array:
        return np.asarray(linkage_rates(y, *self.tables))

    def start(self) -> Array:
        return np.concatenate((ANDREWS_START, np.zeros(7)))


@dataclass
class Bricard(OwnEquations):
    """Bricard's mechanism of the library. Its period is 4.99 s: at its end all errors would hide."""

    t_end: float = 4.0
    joints: tuple[str, ...] = ("joint_1", "joint_2", "joint_3", "joint_5")
    rows: tuple[int, ...] = (0, 1, 2, 4)

    def __post_init__(self) -> None:
        self.axes, self.rods = np.array(AXES), np.diff(np.array(CORNERS), axis=0)
        across = np.eye(3) - self.rods[:, :, None] * self.rods[:, None, :]
        self.moments = TRANSVERSE * across + AXIAL * (np.eye(3) - across)

    def rates(self, t: float, y: Array) -> Array:
        return np.asarray(bricard_rates(y, self.axes, self.rods, self.moments, np.array([0.0, -G, 0.0])))

    def start(self) -> Array:
        return np.zeros(10)
