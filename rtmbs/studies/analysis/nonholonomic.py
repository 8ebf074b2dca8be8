"""Linearised equations of wheels that roll and of knife edges: more positions than speeds (METHODS 1.35, 1.41).

Rows of Phi bind positions; all rows of Psi, those of Phi among them, bind rates. With q the independent positions and v
the independent speeds,

    dz = N dq,    dzd = S dv + G dq,    dzdd = S dv' + H_v dv + H_q dq,    dq' = (S dv + G dq - W N dq)_q

N is the null space of Phi_z and S that of Psi_zd; G and H keep Psi and its rate at zero. Reactions do no work along S:

    S^T (M dzdd + C dzd + K dz) = 0
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.gaps import refuse_rigid
from rtmbs.contact.joint_friction import refuse_bearings
from rtmbs.errors import InputError
from rtmbs.numerics.linear.solver import refuses_unfactorised
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.simulation.simulation import Simulation
from rtmbs.studies.analysis.differences import directional
from rtmbs.studies.analysis.neighbourhood import RANK, matrices, of_state, spins
from rtmbs.studies.analysis.resolve_simulation import simulation_of
from rtmbs.system.contact_tables import rate_mask, refuse_sets

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class RollingLinearisation:
    """x' = A x of variations about a state with nonholonomic constraints, x = (dq, dv).

    Parameters
    ----------
    positions : tuple[str, ...]
        Names of the independent coordinates q (f,).
    speeds : tuple[str, ...]
        Names of the coordinates whose rates are the independent speeds v (k,), k <= f.
    A : ndarray
        System matrix (f + k, f + k).
    """

    positions: tuple[str, ...]
    speeds: tuple[str, ...]
    A: Array

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues (f + k,) [1/s]. Positions that nothing depends on have zeros, often several in one block."""
        return np.asarray(np.linalg.eigvals(self.A), dtype=np.complex128)

    def moving(self, smallest: float = 1e-3) -> NDArray[np.complex128]:
        """Return the eigenvalues that are not zero, sorted by real and imaginary part.

        Parameters
        ----------
        smallest : float, default 1e-3
            Size up to which an eigenvalue counts as zero [1/s]. Rounding moves a zero of a block of k by about
            1e-16^(1/k).

        Returns
        -------
        ndarray
            Eigenvalues [1/s].
        """
        found = self.eigenvalues
        return np.asarray(np.sort_complex(found[np.abs(found) > smallest]))


@refuses_unfactorised(InputError, "linearise_rolling")
def linearise_rolling(sim: Simulation) -> RollingLinearisation:
    """Return the linearised equations about the present state of a Simulation with nonholonomic constraints.

    At steady motions, such as a bicycle that drives straight on, the eigenvalues tell stability. Force laws must have
    no states of their own.

    Parameters
    ----------
    sim : Simulation
        The state; it stays as it is.

    Returns
    -------
    RollingLinearisation
        System matrix, and names of positions and speeds.

    Raises
    ------
    InputError
        For a singular pose, and force laws with states.

    Examples
    --------
    >>> sim = rtmbs.Simulation(rtmbs.vehicle.bicycle(speed=5.0).compile(), h=1e-3)
    >>> rtmbs.linearise_rolling(sim).moving().round(3).tolist()
    [(-14.078+0j), (-0.775-4.465j), (-0.775+4.465j), (-0.323+0j)]
    """
    sim = simulation_of("linearise_rolling", sim)
    refuse_bearings(sim.system.bearings, "linearise_rolling")
    refuse_rigid(sim.system.rigid, "linearise_rolling")
    refuse_convex(sim.system.forces, "linearise_rolling")
    refuse_sets(sim.system, "linearise_rolling")
    if sim.system.states:
        raise InputError("linearise_rolling takes no force laws with states; it must be forces of the motion alone")
    equations, arrays = of_state(sim)
    Psi, typical = equations.closure_jacobian().copy(), equations.system.typical
    bound = ~rate_mask(equations.tables.contacts, equations.m)
    N, q, _ = null_space(Psi[bound], typical)
    S, v, follow = null_space(Psi, typical)
    G, H_v, H_q = orders(equations, (arrays.z, arrays.zd, arrays.zdd, arrays.R0), (N, S), follow)
    M, C, K = matrices(equations, arrays)
    W, T = spins(equations, arrays.zd), S.T
    mass = scipy.linalg.lu_factor(T @ M @ S)
    below = [scipy.linalg.lu_solve(mass, T @ part) for part in (K @ N + C @ G + M @ H_q, C @ S + M @ H_v)]
    A = np.block([[(G - W @ N)[q], S[q]], [-below[0], -below[1]]])
    names = equations.system.coordinate_names
    return RollingLinearisation(tuple(names[i] for i in q), tuple(names[i] for i in v), A)


def null_space(rows: Array, typical: Array) -> tuple[Array, Indices, Callable[[Array], Array]]:
    """Return a null space (n, f) over independent coordinates, these (f,), and changes that cancel residuals."""
    size = np.abs(rows * typical).max(axis=1, initial=0.0)
    kept = size > 0.0
    scaled = rows[kept] * typical / size[kept, None]
    n = rows.shape[1]
    _, R, order = scipy.linalg.qr(scaled, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(R))
    rank = int(np.count_nonzero(pivots > RANK * pivots.max(initial=0.0)))
    independent, dependent = np.sort(order[rank:]).astype(np.int64), np.sort(order[:rank]).astype(np.int64)

    def follow(left: Array) -> Array:
        """Return changes (n, k) of dependent coordinates that cancel residuals (m, k)."""
        found = np.zeros((n, left.shape[1]))
        own = scipy.linalg.lstsq(scaled[:, dependent], left[kept] / size[kept, None], cond=RANK)[0]
        found[dependent] = -typical[dependent, None] * own
        return found

    N = follow(rows[:, independent])
    N[independent, np.arange(len(independent))] = 1.0
    return N, independent, follow


def orders(
    equations: SemiRecursiveEquations,
    state: tuple[Array, Array, Array, Array],
    bases: tuple[Array, Array],
    follow: Callable[[Array], Array],
) -> tuple[Array, Array, Array]:
    """Return G (n, f), H_v (n, k) and H_q (n, f), which keep Psi and its rate at zero."""
    (z, zd, zdd, R0), (N, S) = state, bases
    pace = max(float(np.abs(zd).max(initial=0.0)), 1.0)

    def rates(dz: Array, share: float) -> Array:
        equations.close(z + share * dz, R0)
        return np.asarray(equations.closure_velocities(zd))

    def accelerations(dz: Array, dzd: Array, share: float) -> Array:
        equations.close(z + share * dz, R0)
        return np.asarray(equations.closure_accelerations(zd + share * dzd, zdd))

    G = follow(np.array([directional(partial(rates, way)) for way in N.T]).T)
    still = np.zeros(equations.n)
    by_v = [directional(partial(accelerations, still, pace * way)) / pace for way in S.T]
    by_q = [directional(partial(accelerations, way, turned)) for way, turned in zip(N.T, G.T, strict=True)]
    equations.close(z, R0)
    return G, follow(np.array(by_v).T), follow(np.array(by_q).T)
