"""Accelerations and multipliers of a state in extended precision: the judge of what a step or a start gives.

M, Q, Phi_z and Phidd come from ``page.py``, evaluated with numbers of 64 binary places where the machine has them. The
equations M zdd + Phi_z^T lam = Q, Phidd = 0 are solved with Cholesky and an orthogonal basis in pivoted order.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs import Simulation
from rtmbs.semirecursive import page

Array = Any  # of ``WIDE`` numbers
WIDE = np.longdouble
INDEPENDENT = 1e-9  # of the largest: a row with less outside the rows before it depends on them


@dataclass(frozen=True)
class Exact:
    """The equations of motion at one state, loop equations without those that the start found redundant."""

    M: Array  # (n, n)
    Q: Array  # (n,)
    Phi_z: Array  # (m, n)
    rest: Array  # (m,) Phidd at zdd = 0
    masses: Array  # (m,) effective masses

    def solve(self) -> tuple[Array, Array]:
        """Return zdd (n,) and lam (m,); of equations that depend here the least lam in the norm of 1 / masses."""
        root, weight = self.scaling()
        zdd_free = forward(root, (self.Q - self.Phi_z.T @ (self.masses * self.rest)) / weight)
        basis, order, R = self.rows(root, weight)
        wanted = np.sqrt(self.masses) * self.rest
        reached = basis.T @ zdd_free - forward(np.tril(R[:, order].T), -wanted[order])
        lam = np.sqrt(self.masses) * least(R, reached)
        return backward(root, zdd_free - basis @ reached) / weight, lam

    def multipliers(self, force: Array) -> Array:
        """Return the least multipliers (m,) in the norm of 1 / masses that pull like ``force`` (n,)."""
        root, weight = self.scaling()
        basis, _, R = self.rows(root, weight)
        return np.sqrt(self.masses) * least(R, basis.T @ forward(root, force / weight))

    def scaling(self) -> tuple[Array, Array]:
        """Return the Cholesky factor of M + Phi_z^T masses Phi_z, rows and columns of size one, and their sizes.

        Massless frames have no M; what is added changes no solution.
        """
        M = self.M + (self.Phi_z.T * self.masses) @ self.Phi_z
        weight = np.sqrt(np.diag(M))
        return cholesky(M / np.outer(weight, weight)), weight

    def rows(self, root: Array, weight: Array) -> tuple[Array, list[int], Array]:
        """Return an orthogonal basis (n, rank) of the loop equations, the rows it follows, their parts (rank, m)."""
        left = forward(root, (self.Phi_z * np.sqrt(self.masses)[:, None] / weight).T)
        whole, basis, order = left.copy(), [], []
        largest = np.sqrt(np.max(np.sum(left * left, axis=0), initial=WIDE(0.0)))
        for _ in range(min(left.shape)):
            sizes = np.sum(left * left, axis=0)
            sizes[order] = -1.0
            row = int(np.argmax(sizes))
            if np.sqrt(max(sizes[row], 0.0)) <= INDEPENDENT * largest:
                break
            way = left[:, row]
            for _ in range(2):  # again: the first time leaves rounding of the larger ones
                for one in basis:
                    way = way - one * (one @ way)
                way = way / np.sqrt(way @ way)
            basis.append(way)
            order.append(row)
            left = left - np.outer(way, way @ left)
        axes = np.array(basis, WIDE).reshape(len(basis), len(whole)).T
        return axes, order, axes.T @ whole


def exact(sim: Simulation, kept: Array) -> Exact:
    """Return the equations of motion at the state of a Simulation, with the loop equations ``kept`` (m,) bool."""
    state, tables = sim.state, sim.system.tables
    z, zd, R0, u = (WIDE(values) for values in (state.z[None], state.zd[None], state.R0, state.u))
    return Exact(
        WIDE(page.mass_matrix(np, tables, u, R0, z)[0]),
        WIDE(page.force(np, tables, u, R0, z, zd)[0]),
        WIDE(page.closure_jacobian(np, tables, u, R0, z)[0])[kept],
        WIDE(page.closure_accelerations(np, tables, u, R0, z, zd, 0.0 * zd)[0])[kept],
        WIDE(sim.equations.masses)[kept],
    )


def pull(sim: Simulation, lam: Array) -> Array:
    """Return Phi_z^T lam (n,) at the state of a Simulation."""
    state = sim.state
    Phi_z = page.closure_jacobian(np, sim.system.tables, state.u, state.R0, state.z[None])[0]
    return np.asarray(Phi_z.T @ lam)


def least(R: Array, b: Array) -> Array:
    """Return the least x with R x = b for a R of full row rank."""
    if len(b) == 0:
        return np.zeros(R.shape[1], WIDE)
    root = cholesky(R @ R.T)
    return R.T @ backward(root, forward(root, b))


def cholesky(A: Array) -> Array:
    """Return lower L with L L^T = A."""
    L = np.zeros_like(A)
    for j in range(len(A)):
        L[j, j] = np.sqrt(A[j, j] - L[j, :j] @ L[j, :j])
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return L


def forward(L: Array, b: Array) -> Array:
    """Return x with L x = b for lower L; b (n,) or (n, k)."""
    x = b.copy()
    for i in range(len(L)):
        x[i] = (x[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def backward(L: Array, b: Array) -> Array:
    """Return x with L^T x = b for lower L."""
    x = b.copy()
    for i in reversed(range(len(L))):
        x[i] = (x[i] - L[i + 1 :, i] @ x[i + 1 :]) / L[i, i]
    return x
