"""Linear variations about a state: coordinates, rates, accelerations and multipliers over independent variations.

With q the independent ones among the coordinates z, at a state of any motion (METHODS 1.35):

    dz = N dq,    dzd = N dv + G dq,    dzdd = N dv' + H_v dv + H_q dq,    dq' = dv - (W N dq)_q

N, G and H keep Phi, Phid and Phidd at zero. W is omega~ of rotation dofs, whose variations are small turns in body
axes, and zero elsewhere. The equations of motion, projected, are N^T (M dzdd + C dzd + K dz) = N^T (Q_u du + Q_s ds).
``driver_motion`` is the variation by inputs that drivers take their motion from, the independent coordinates held.

Directional derivatives by central differences of order four, for functions without a closed form.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.joints import refuse_bearings
from rtmbs.contact.switched import refuse_rigid
from rtmbs.errors import InputError
from rtmbs.integrators.settings import LAGGED, StateArrays
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.start.rank import independent_rows
from rtmbs.simulation.inputs import driver_slots
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.contact_tables import refuse_contacts, refuse_sets
from rtmbs.system.pattern import uncondensed
from rtmbs.system.recorded_laws import check_captured
from rtmbs.system.system import System

Array = NDArray[np.float64]
STEP = 1e-3  # of the size of what changes: the error of the formula, STEP^4 / 30, is that of rounding, 1e-16 / STEP
PLACES = np.array([-2.0, -1.0, 1.0, 2.0])
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0


def directional(function: Callable[[float], Array], step: float = STEP) -> Array:
    """Return d function / d epsilon at 0, from its values at four places within 2 ``step``."""
    return np.asarray(sum(w * function(step * p) for w, p in zip(WEIGHTS, PLACES, strict=True)) / step)


Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

RANK = 1e-9  # pivots of the scaled Phi_z below this part of the largest count as zero


@dataclass(frozen=True)
class Neighbourhood:
    """Equations of a state, and the maps from independent variations."""

    equations: SemiRecursiveEquations
    arrays: StateArrays
    basis: "LoopNullSpace"
    independent: Indices  # (f,) coordinates that q is made of
    N: Array  # (n, f)
    G: Array  # (n, f) [1/s]
    H_v: Array  # (n, f) [1/s]
    H_q: Array  # (n, f) [1/s^2]
    W: Array  # (n, n) [1/s]
    M: Array  # (n, n)
    C: Array  # (n, n)
    K: Array  # (n, n)

    @property
    def f(self) -> int:
        """Degrees of freedom."""
        return len(self.independent)

    def residual(
        self, dz: Array | float = 0.0, dzd: Array | float = 0.0, du: Array | float = 0.0, ds: Array | float = 0.0
    ) -> tuple[Array, Array]:
        """Return M zdd + Phi_z^T lam - Q (n,) at a state next to this one, and the rates (ns,) of force states."""
        equations, old = self.equations, self.arrays
        hold_states(old.s + ds, equations.ws)
        u = equations.u
        equations.u = u + du
        try:
            r = equations.residual(old.z + dz, old.zd + dzd, old.zdd, old.R0) + equations.pull_back(old.lam)
        finally:
            equations.u = u
        return r, equations.ws.state_rate.copy()


def refuse_unlinear(system: System) -> None:
    """Refuse what has no linear variations here: InputError."""
    refuse_contacts(system, "a linearisation")
    refuse_bearings(system.bearings, "a linearisation")
    refuse_rigid(system.rigid, "a linearisation")
    refuse_convex(system.forces, "a linearisation")
    refuse_sets(system, "a linearisation")


def neighbourhood(sim: Simulation, independent: Indices | None = None) -> Neighbourhood:
    """Return the linear variations about the present state of a Simulation, which is not changed.

    independent : coordinates (f,) that q is made of, chosen here unless given
    Raises InputError where the state is singular, so that degrees of freedom appear or vanish with it.
    """
    refuse_unlinear(sim.system)
    equations, arrays = of_state(sim)
    basis = loop_null_space(sim, equations, independent)
    N, sizes = basis.N, equations.system.typical[basis.independent]
    G, H_v, H_q = higher_orders(equations, arrays, N, basis.follow, sizes)
    M, C, K = matrices(equations, arrays)
    W = spins(equations, arrays.zd)
    return Neighbourhood(equations, arrays, basis, basis.independent, N, G, H_v, H_q, W, M, C, K)


@dataclass(frozen=True)
class LoopNullSpace:
    """Null space of the loop equations at a pose: dz = N dq, ``dependent`` coordinates follow ``independent`` ones."""

    independent: Indices
    dependent: Indices
    N: Array  # (n, f)
    rows: Mask  # (m,) rows of Phi_z that are independent
    block: Array  # (m, n - f) columns of Phi_z, times the typical sizes
    typical: Array  # (n - f,)

    def follow(self, left: Array) -> Array:
        """Return changes (n, k) of the dependent coordinates that cancel the residuals ``left`` (m, k)."""
        found = np.zeros((len(self.N), left.shape[1]))
        if len(self.dependent) and left.shape[1]:
            own = scipy.linalg.lstsq(self.block[self.rows], left[self.rows], cond=RANK)[0]
            found[self.dependent] = -self.typical[:, None] * own
        return found

    def multipliers(self, forces: Array) -> Array:
        """Return lam (m,) that balance the ``forces`` (n,) on the dependent coordinates."""
        if not len(self.dependent):
            return np.zeros(len(self.block))
        return np.asarray(-scipy.linalg.lstsq(self.block.T, self.typical * forces[self.dependent], cond=RANK)[0])


def loop_null_space(
    sim: Simulation, equations: SemiRecursiveEquations, independent: Indices | None = None
) -> LoopNullSpace:
    """Return the null space at the pose that ``equations`` closed last. Raises InputError where it is singular."""
    Phi_z, typical, rows = equations.closure_jacobian(), equations.system.typical, independent_rows(equations)
    freedom = sim.start_report.degrees_of_freedom_nearby
    if independent is None:
        independent, dependent = split(Phi_z[rows], typical, freedom, sim.state.t)
    else:
        dependent = np.setdiff1d(np.arange(equations.n), independent)
    N, own = np.zeros((equations.n, len(independent))), typical[dependent]
    basis = LoopNullSpace(independent, dependent, N, rows, Phi_z[:, dependent] * own, own)
    N += basis.follow(Phi_z[:, independent])
    N[independent, np.arange(len(independent))] = 1.0
    return basis


def of_state(sim: Simulation) -> tuple[SemiRecursiveEquations, StateArrays]:
    """Return equations without penalties at the state of a Simulation, with accelerations solved for, Phi_z closed."""
    equations, arrays = closed(sim)
    zdd, lam, sd = equations.accelerations(arrays.z, arrays.zd, arrays.R0, arrays.s)
    equations.alpha = np.zeros(equations.m)
    equations.close(arrays.z, arrays.R0)
    return equations, arrays._replace(zdd=zdd, lam=lam, sd=sd)


def closed(sim: Simulation) -> tuple[SemiRecursiveEquations, StateArrays]:
    """Return private equations at the state of a Simulation, and Phi_z of the closed pose."""
    check_captured(sim.system)
    state = sim.state.copy()
    equations = SemiRecursiveEquations(uncondensed(sim.system))
    equations.assembly_offset[:], equations.masses = sim.equations.assembly_offset, sim.equations.masses.copy()
    equations.take_balance(sim.equations.balance)
    equations.u, equations.alpha = state.u, sim.equations.alpha.copy()
    equations.close(state.z, state.R0)
    energy = np.zeros((equations.n, 2))
    return equations, StateArrays(state.z, state.zd, state.zdd, state.lam, state.R0, energy, state.s, state.sd)


def split(Phi_z: Array, typical: Array, freedom: int, t: float) -> tuple[Indices, Indices]:
    """Return independent and dependent coordinates: columns that pivoting takes last, and first.

    ``Phi_z`` has the independent rows only. A row that others hold may be all rounding, and scaling would make it one
    that counts.
    """
    m, n = Phi_z.shape
    if not m:
        return np.arange(n), np.zeros(0, np.int64)
    size = np.abs(Phi_z * typical).max(axis=1, initial=0.0)
    scaled = Phi_z * typical / np.where(size > 0.0, size, 1.0)[:, None]
    _, R, order = scipy.linalg.qr(scaled, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(R))
    rank = int(np.count_nonzero(pivots > RANK * pivots.max(initial=0.0)))
    if n - rank != freedom:
        raise InputError(
            f"the pose at t = {t:g} s is singular: {n - rank} degrees of freedom here, {freedom} nearby; take a state "
            "beside the dead centre"
        )
    return np.sort(order[rank:]).astype(np.int64), np.sort(order[:rank]).astype(np.int64)


def higher_orders(
    equations: SemiRecursiveEquations, arrays: StateArrays, N: Array, follow: Callable[[Array], Array], sizes: Array
) -> tuple[Array, Array, Array]:
    """Return G, H_v and H_q (n, f), which keep Phid and Phidd at zero. ``sizes`` (f,) are typical ones of q."""
    z, zd, zdd, R0 = arrays.z, arrays.zd, arrays.zdd, arrays.R0
    m = equations.m
    if not m:
        return np.zeros_like(N), np.zeros_like(N), np.zeros_like(N)
    pace = max(float(np.abs(zd).max(initial=0.0)), 1.0)

    def rates(dz: Array, share: float) -> Array:
        equations.close(z + share * dz, R0)
        return np.asarray(equations.closure_velocities(zd))

    def accelerations(dz: Array, dzd: Array, share: float) -> Array:
        equations.close(z + share * dz, R0)
        return np.asarray(equations.closure_accelerations(zd + share * dzd, zdd))

    ways, still, none = (N * sizes).T, np.zeros(equations.n), np.zeros((0, m))
    moved = [directional(partial(rates, way)) / size for way, size in zip(ways, sizes, strict=True)]
    G = follow(np.vstack((none, *moved)).T)
    by_v = [directional(partial(accelerations, still, pace * way)) / pace for way in N.T]
    along = zip(ways, (G * sizes).T, sizes, strict=True)
    by_q = [directional(partial(accelerations, way, turned)) / size for way, turned, size in along]
    equations.close(z, R0)
    return G, follow(np.vstack((none, *by_v)).T), follow(np.vstack((none, *by_q)).T)


def matrices(equations: SemiRecursiveEquations, arrays: StateArrays) -> tuple[Array, Array, Array]:
    """Return M, C and K (n, n) in closed form; K holds the accelerations and the multipliers of the state."""
    hold_states(arrays.s, equations.ws)
    equations.residual(arrays.z, arrays.zd, arrays.zdd, arrays.R0)
    parts = [equations.assemble(*which, LAGGED, arrays).copy() for which in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return parts[0], parts[1], parts[2]


def spins(equations: SemiRecursiveEquations, zd: Array) -> Array:
    """Return W (n, n): omega~ of rotation dofs [1/s]."""
    W = np.zeros((equations.n, equations.n))
    for i in np.flatnonzero(equations.tables.dofs.reference >= 0):
        own = slice(i, i + 3)
        W[own, own] = np.cross(zd[own], np.eye(3)).T
    return W


OF_A_DRIVER = 3  # numbers: value, rate, acceleration


@dataclass(frozen=True)
class DriverMotion:
    """Variations by driver inputs: dz = Z du, dzd = V du, dzdd = A du, at dq = dv = dv' = 0; zero for other inputs."""

    Z: Array  # (n, k)
    V: Array  # (n, k)
    A: Array  # (n, k)

    def forces(self, near: Neighbourhood) -> Array:
        """Return the contribution (n, k) of driver motions to the generalised forces of inputs."""
        return -(near.M @ self.A + near.C @ self.V + near.K @ self.Z)

    def drift(self, near: Neighbourhood) -> Array:
        """Return the rates (f, k) of dq by turns of rotation dofs: - (W Z)_q."""
        return -(near.W @ self.Z)[near.independent]


def moves_drivers(system: System, slots: list[int]) -> list[int]:
    """Return the positions in ``slots`` of driver inputs."""
    first = driver_slots(system)
    return [k for k, slot in enumerate(slots) if any(slot - j in first for j in range(OF_A_DRIVER))]


def driver_motion(near: Neighbourhood, slots: list[int]) -> DriverMotion:
    """Return the variation of the motion by unit inputs ``slots`` (k,) of drivers."""
    equations, old = near.equations, near.arrays
    none = np.zeros((equations.n, len(slots)))
    found = DriverMotion(none, none.copy(), none.copy())
    for k in moves_drivers(equations.system, slots):
        size = max(abs(float(equations.u[slots[k]])), float(equations.system.length))
        du = np.zeros(len(equations.u))
        du[slots[k]] = size
        for order, column in enumerate((found.Z, found.V, found.A)):
            way = (size * found.Z[:, k], size * found.V[:, k], du)
            left = directional(partial(violation, near, order, way)) / size
            column[:, k] = near.basis.follow(left[:, None])[:, 0]
    equations.close(old.z, old.R0)
    return found


def violation(near: Neighbourhood, order: int, way: tuple[Array, Array, Array], share: float) -> Array:
    """Return Phi, Phid or Phidd (m,) a share of the way along dz, dzd and du."""
    (dz, dzd, du), equations, old = way, near.equations, near.arrays
    u, zd = equations.u, old.zd + share * dzd
    equations.u = u + share * du
    try:
        Phi = equations.close(old.z + share * dz, old.R0)
        if order == 0:
            return Phi
        return equations.closure_velocities(zd) if order == 1 else equations.closure_accelerations(zd, old.zdd)
    finally:
        equations.u = u
