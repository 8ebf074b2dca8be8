"""Derivatives of the equations of motion at a state, exact or by differences, for Newton matrices and solvers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem, states_of
from rtmbs.formulations.terms import jacobian_rate

Array = NDArray[np.float64]

STEP = 1e-7  # of a difference, in terms of the coordinate or rate, or 1


class Linearisation(NamedTuple):
    """Derivatives at a state. A Newton matrix needs no more digits than differences have."""

    M: Array  # (n, n)
    K: Array  # (n, n): of M a + Phi_q^T lam - F by q
    C: Array  # (n, n): of -F by v
    Phi_q: Array  # (m, n)
    rate: Array  # (m, n): of Phid by q, which is d(Phi_q)/dt


def linearised(system: ConstrainedSystem, q: Array, v: Array, a: Array, lam: Array, t: float) -> Linearisation:
    """Return the derivatives at a state: those of the system where it has ``linearisation``, or else by differences.

    Differences take 2 n + 1 evaluations of the forces, exact ones none.
    """
    n = system.n
    exact = getattr(system, "linearisation", None)
    found = exact(q, v, a, lam, t) if exact is not None else None
    if found is not None:
        Phi_q = system.constraint_jacobian(q, t)
        K, C = found
        return Linearisation(system.mass(q, t), K, C, Phi_q, jacobian_rate(system, q, v, t))

    def imbalance(x: Array) -> Array:
        return system.mass(x, t) @ a + system.constraint_jacobian(x, t).T @ lam - system.force(x, v, t)

    middle, force = imbalance(q), system.force(q, v, t)
    K, C = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for x, matrix in ((q, K), (v, C)):
            moved = x.copy()
            moved[i] += STEP * max(1.0, abs(x[i]))
            step = moved[i] - x[i]
            change = imbalance(moved) - middle if matrix is K else force - system.force(q, moved, t)
            matrix[:, i] = change / step
    Phi_q = system.constraint_jacobian(q, t)
    return Linearisation(system.mass(q, t), K, C, Phi_q, jacobian_rate(system, q, v, t))


def acceleration_derivatives(
    system: ConstrainedSystem, q: Array, v: Array, a: Array, lam: Array, t: float
) -> tuple[Array, Array, Linearisation]:
    """Return da/dq and da/dv (n, n) on the constraints, and the derivatives that they are made of.

    M da + Phi_q^T dlam = -K dq - C dv and Phi_q da = -(Phidd)_q dq - 2 d(Phi_q)/dt dv. (Phidd)_q comes by differences
    of the constraints, without forces.
    """
    at, n, m = linearised(system, q, v, a, lam, t), system.n, system.m
    by_q = derivative(lambda x: system.constraint_jacobian(x, t) @ a - system.constraint_rate_terms(x, v, t)[1], q)
    left = np.block([[at.M, at.Phi_q.T], [at.Phi_q, np.zeros((m, m))]])
    right = -np.block([[at.K, at.C], [by_q, 2.0 * at.rate]])
    size = np.sqrt(np.maximum(np.abs(np.diag(at.M)), 1e-300))
    scale = 1.0 / np.concatenate((size, np.maximum(np.linalg.norm(at.Phi_q / size, axis=1), 1e-300)))
    found = scale[:n, None] * np.linalg.lstsq(scale[:, None] * left * scale, scale[:, None] * right, rcond=1e-12)[0][:n]
    return found[:, :n], found[:, n:], at


class StateLinearisation(NamedTuple):
    """Derivatives of forces and of the rates of force states at a state, by differences."""

    F_s: Array  # (n, ns): of F by s
    G_q: Array  # (ns, n): of sd by q
    G_v: Array  # (ns, n)
    G_s: Array  # (ns, ns)


def linearised_states(system: Any, q: Array, v: Array, t: float, s: Array) -> StateLinearisation:
    """Return the derivatives at a state with force states ``s`` (ns,), which the system holds in the end."""
    n, held = len(q), states_of(system)

    def values(x: Array) -> Array:
        held[:] = x[2 * n :]
        return np.concatenate((system.force(x[:n], x[n : 2 * n], t), system.state_rates(x[:n], x[n : 2 * n], t)))

    found = derivative(values, np.concatenate((q, v, s)))
    held[:] = s
    return StateLinearisation(found[:n, 2 * n :], found[n:, :n], found[n:, n : 2 * n], found[n:, 2 * n :])


def imbalance(system: ConstrainedSystem, q: Array, v: Array, a: Array, lam: Array, t: float) -> Array:
    """Return M a + Phi_q^T lam - F (n,)."""
    F = system.force(q, v, t)
    return np.asarray(system.mass(q, t) @ a + system.constraint_jacobian(q, t).T @ lam - F)


def constraint_rate(system: ConstrainedSystem, q: Array, v: Array, t: float) -> Array:
    """Return Phid = Phi_q v + Phi_t (m,)."""
    return np.asarray(system.constraint_jacobian(q, t) @ v + system.constraint_rate_terms(q, v, t)[0])


def derivative(function: Callable[[Array], Array], x: Array) -> Array:
    """Return d function / dx (k, len(x)) by differences."""
    middle = function(x)
    found = np.zeros((len(middle), len(x)))
    for i in range(len(x)):
        moved = x.copy()
        moved[i] += STEP * max(1.0, abs(x[i]))
        found[:, i] = (function(moved) - middle) / (moved[i] - x[i])
    return found
