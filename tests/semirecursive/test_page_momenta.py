"""Momenta and the variational step in plain arrays, against M zd, derivatives of energies and of discrete Lagrangians.

The references know kinetic energy and frames only: dT/dz and the ends of the discrete Lagrangian come from differences.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from rtmbs.semirecursive import page
from rtmbs.semirecursive import page as pages
from tests.mechanisms import committed, exponential, random_motion, random_tables

TINY = 1e-40
H = 0.05
CASES = ((1, 3), (2, 7), (3, 12), (4, 20))


@pytest.fixture(params=CASES, ids=[f"{n} dofs, seed {seed}" for seed, n in CASES])
def case(request):
    """A random mechanism and state at a step boundary."""
    seed, n = request.param
    mechanism = random_tables(seed, n=n)
    return committed(mechanism, random_motion(seed, mechanism.tables))


def energy(mechanism, R0, z, zd):
    """Return the kinetic energy by the mass matrix of the page."""
    M = page.mass_matrix(np, mechanism.tables, mechanism.u, R0, z[None])[0]
    return 0.5 * zd @ M @ zd


def rotations(tables):
    """Return the first dof of every element of rotations."""
    return np.flatnonzero(tables.dofs.reference >= 0)


def error(found, expected):
    """Return the largest difference relative to the largest entry."""
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300)


def test_momenta_are_the_mass_matrix_times_the_rates(case):
    mechanism, motion = case
    M = page.mass_matrix(np, mechanism.tables, mechanism.u, mechanism.R0, motion.z[None])[0]
    p = pages.momenta(np, mechanism.tables, mechanism.R0, motion.z[None], motion.zd[None])[0]
    assert error(p, M @ motion.zd) < 1e-12


def test_forces_and_rates_of_momenta_are_the_equations_of_motion(case):
    """M zdd - Q = dp/dt - f, with w x p of rotations in body axes; dp/dt by a complex step along the motion."""
    mechanism, motion = case
    tables, u, R0 = mechanism.tables, mechanism.u, mechanism.R0
    z, zd, zdd = motion.z[None], motion.zd[None], motion.zdd[None]
    after = pages.momenta(np, tables, R0, z + 1j * TINY * zd, zd + 1j * TINY * zdd)
    change = after.imag[0] / TINY
    for i in rotations(tables):
        change[i : i + 3] += np.cross(motion.zd[i : i + 3], after.real[0, i : i + 3])
    f = pages.lagrange_force(np, tables, u, R0, z, zd)[0]
    assert error(change - f, page.inverse_dynamics(np, tables, u, R0, z, zd, zdd)[0]) < 1e-11


def test_force_of_the_lagrangian_without_loads_is_the_derivative_of_the_energy(case):
    """f less Q at rest of the same forces, where no law looks at rates, is dT/dz: by complex steps of the energy."""
    mechanism, motion = case
    tables, R0 = mechanism.tables, mechanism.R0
    T, A, r, S, V = page.motion(np, tables, R0, motion.z[None], motion.zd[None])
    P = page.subtree_sum(np, T, page.turn(np, page.body_inertia(np, tables, A, r), V))
    rest = page.acceleration_rest(np, tables, V, S, np.ones(len(motion.z)))
    found = page.dot(np, rest, P)[0]
    steps = motion.z + 1j * TINY * np.eye(len(motion.z))
    wanted = [energy(mechanism, R0, row, motion.zd).imag / TINY for row in steps]
    assert error(found, np.array(wanted)) < 1e-12


@dataclass
class Discrete:
    """The discrete Lagrangian h T(z_m, v) of a mechanism between two poses, given by turns from a first one."""

    mechanism: object
    z0: np.ndarray

    def between(self, d, eta0, eta1):
        """Return L_d where the ends of the increment d are moved by eta0 and eta1, turns in body axes."""
        tables, R0 = self.mechanism.tables, self.mechanism.R0.copy()
        z0, moved = self.z0 + eta0, d + eta1 - eta0
        for i in rotations(tables):
            own, q = slice(i, i + 3), tables.dofs.reference[i]
            axes = tables.dofs.axis[own]
            start, there = exponential(eta0[own] @ axes), exponential(d[own] @ axes) @ exponential(eta1[own] @ axes)
            R0[q] = R0[q] @ start
            z0[own] = 0.0
            moved[own] = axes @ logarithm(start.T @ there)
        return H * energy(self.mechanism, R0, z0 + 0.5 * moved, moved / H)


def logarithm(R):
    """Return delta (3,) with exp(delta~) = R, below half a turn."""
    angle = np.arccos(0.5 * (np.trace(R) - 1.0))
    return angle / (2.0 * np.sin(angle)) * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])


def test_ends_of_a_step_are_the_derivatives_of_the_discrete_lagrangian(case):
    """Both equations of the step, without loads, against central differences of h T(z_m, v) by its two ends."""
    mechanism, motion = case
    tables, R0, n, e = mechanism.tables, mechanism.R0, len(motion.z), 1e-5
    lagrangian, d = Discrete(mechanism, motion.z), H * 4.0 * motion.zd  # turns of 0.2 rad and more
    y, still = 0.5 * d, np.zeros(n)
    unit = e * np.eye(n)
    first = [-(lagrangian.between(d, x, still) - lagrangian.between(d, -x, still)) / (2 * e) for x in unit]
    last = [(lagrangian.between(d, still, x) - lagrangian.between(d, still, -x)) / (2 * e) for x in unit]
    p0, p1 = np.array(first), np.array(last)
    middle, R_m = committed_at(mechanism, motion, y)
    steps = middle + 1j * TINY * np.eye(n)
    f = np.array([energy(mechanism, R_m, row, d / H).imag / TINY for row in steps])
    p = pages.momenta(np, tables, R0, (motion.z + y)[None], d[None] / H)
    half = pages.half_turned(np, tables, y[None], p0[None])[0]
    assert error(pages.undone(np, tables, y[None], p)[0] - 0.5 * H * f, half) < 1e-8
    turned = pages.turned_back(np, tables, d[None], p0[None])[0]
    assert error(turned + H * pages.turned_back(np, tables, y[None], f[None])[0], p1) < 1e-8


def committed_at(mechanism, motion, y):
    """Return coordinates and reference rotations at the middle of the step."""
    there, moved = committed(mechanism, motion._replace(z=motion.z + y))
    return moved.z, there.R0
