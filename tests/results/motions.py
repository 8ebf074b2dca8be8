"""States of random mechanisms for channels and reactions: smooth motions, and states that solve the equations."""

import numpy as np
from scipy.linalg import null_space

from rtmbs.results.catalogue import run_result
from rtmbs.results.samples import Samples
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from tests.mechanisms import exponential


def smooth_motion(system, t, seed=0, growth=0.0):
    """Return samples along z_i = a sin(w t + p) + growth t, inputs following their functions of time; no dynamics."""
    rng = np.random.default_rng((seed, 7))
    n = system.n
    a, w, p = rng.uniform(0.2, 0.6, n), rng.uniform(1, 3, n), rng.uniform(-1, 1, n)
    phase = w * t[:, None] + p
    z, zd, zdd = a * np.sin(phase) + growth * t[:, None], a * w * np.cos(phase) + growth, -a * w * w * np.sin(phase)
    R0 = np.tile(system.R0, (len(t), 1, 1, 1))
    for i in np.flatnonzero(system.tables.dofs.reference >= 0):
        for s in range(len(t)):
            turn_three_times(system.tables.dofs, i, z[s], zd[s], zdd[s], R0[s])
    u = np.tile(system.u0, (len(t), 1))
    for signal in system.signals:
        for k, instant in enumerate(t):
            u[k, signal.slot : signal.slot + signal.size] = signal.function(instant)
    lam = rng.normal(size=(len(t), system.m))
    return Samples(t, z, zd, zdd, lam, R0, u)


def turn_three_times(dofs, i, z, zd, zdd, R0):
    """Let rotation dofs i, i + 1, i + 2 turn one after the other; z, zd, zdd hold the angles, and rates afterwards."""
    axes, mine = dofs.axis[i : i + 3], slice(i, i + 3)
    rate, acceleration = np.zeros(3), np.zeros(3)
    for axis, angle, speed, gain in zip(axes, z[mine], zd[mine], zdd[mine], strict=True):
        R = exponential(angle * axis)
        rate, acceleration = R.T @ rate, R.T @ acceleration
        acceleration = acceleration + gain * axis - speed * np.cross(axis, rate)
        rate = rate + speed * axis
        R0[dofs.reference[i]] = R0[dofs.reference[i]] @ R
    z[mine], zd[mine], zdd[mine] = 0.0, axes @ rate, axes @ acceleration


def solved(system, samples, seed=0, closed=False):
    """Return the samples with accelerations and multipliers that satisfy M zdd - Q + Phi_z^T lam = 0.

    ``closed``: those that keep the loops, Phidd = 0 as well; otherwise any, for states whose loops are open.
    """
    rng = np.random.default_rng((seed, 8))
    equations = SemiRecursiveEquations(system)
    n, m = system.n, system.m
    zdd, lam = np.zeros_like(samples.zdd), np.zeros_like(samples.lam)
    for s in range(len(samples.t)):
        z, zd, R0 = samples.z[s], samples.zd[s], samples.R0[s]
        equations.u[:], equations.alpha[:] = samples.u[s], 0.0
        Q = -equations.residual(z, zd, np.zeros(n), R0)
        matrix, right = equations.mass_matrix(), Q
        equations.close(z, R0)
        P = equations.closure_jacobian()
        matrix = np.concatenate((matrix, P.T), axis=1)
        if closed:
            matrix = np.concatenate((matrix, np.concatenate((P, np.zeros((m, m))), axis=1)))
            right = np.concatenate((Q, -equations.closure_accelerations(zd, np.zeros(n))))
        x = np.linalg.lstsq(matrix, right, rcond=1e-11)[0]
        x += np.linalg.lstsq(matrix, right - matrix @ x, rcond=1e-11)[0]
        if not closed:
            free = null_space(matrix)
            x += free @ rng.normal(size=free.shape[1])
        assert np.abs(matrix @ x - right).max() < 1e-9 * max(np.abs(right).max(), 1.0)
        zdd[s], lam[s] = x[:n], x[n:]
    return samples._replace(zdd=zdd, lam=lam)


def result_of(system, samples):
    """Return the Result of samples without a simulation."""
    return run_result(system, system.tables, samples, {})


def rotations(quaternions):
    """Return the rotations (S, 3, 3) of quaternions (S, 4)."""
    w, v = quaternions[:, 0], quaternions[:, 1:]
    cross = np.zeros((len(w), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    cross -= np.swapaxes(cross, 1, 2)
    return np.eye(3) + 2 * w[:, None, None] * cross + 2 * cross @ cross


def turn(quaternions, x):
    """Return the vectors R x for quaternions (S, 4), x (3,) or (S, 3)."""
    return np.einsum("skl,sl->sk", rotations(quaternions), np.broadcast_to(x, (len(quaternions), 3)))
