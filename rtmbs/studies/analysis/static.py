"""Static balance: forces and stiffness of a mechanism at rest, projected on the independent coordinates.

A force state whose rate does not depend on itself, as of an integrating controller, has no resting value of its own.
Its rate asks something of the pose, and the balance of forces asks for its value: Newton on both (METHODS 1.36).
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.errors import RtmbsError, StartError
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.start.assembly import REFUSED, Assembly, worst_of
from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.state import State
from rtmbs.studies.analysis.linearisation import force_state_derivatives
from rtmbs.studies.analysis.neighbourhood import LoopNullSpace, closed, loop_null_space, matrices, neighbourhood
from rtmbs.system.system import System
from rtmbs.system.tables import PRISMATIC, ROTATION

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

RELATIVE = 1e-11  # of the sizes of forces: what of them is rounding
CANCELLED = 1e-13  # of the largest force: what of it may be left where N takes it away, as in a rod's own turn
ULPS = 1e-2  # of the forces that a typical move makes, likewise
STATES = 20  # Newton iterations of force states
SETTLED = 1e-9  # of the sizes of force states: what may be left of their rates


class NoEquilibrium(RtmbsError):
    """Error of a search without an equilibrium; the message names the coordinate that keeps moving."""


class Integrates(NoEquilibrium):
    """Error of a force state that changes at any value of its own: it rests in an unknown pose only."""


@dataclass(frozen=True)
class StaticBalance:
    """Balance of a pose at rest: missing generalised forces g (f,) and stiffness K (f, f)."""

    N: Array  # (n, f)
    independent: NDArray[np.int64]  # (f,)
    typical: Array  # (n,)
    g: Array
    K: Array
    values: Array  # (f,) eigenvalues of the symmetric K over M, the least first [1/s^2]
    vectors: Array  # (f, f)
    noise: Array  # (f,) of the forces along the vectors
    left: float  # largest acceleration over its typical size [1/s^2]
    scale: float  # the same of the forces' parts
    stiff: float  # the same of what moves of one typical size make
    moving_coordinate: str  # the coordinate with the largest acceleration, in words
    largest_acceleration: str  # with its unit
    turning: bool  # rotation dofs are among the independent ones: off balance, K of small turns is not symmetric
    g_along: float = 0.0  # forces here times the step that led here


@dataclass(frozen=True)
class StaticPose:
    """Forces and matrices of a pose at zero rates and accelerations, with the reactions of the dependent rows."""

    equations: SemiRecursiveEquations
    basis: LoopNullSpace
    r: Array  # (n,) forces that are missing
    M: Array  # (n, n)
    K: Array  # (n, n)
    state_rate: Array  # (ns,) rates of force states


def pose_at_rest(sim: Simulation) -> StaticPose:
    """Return the pose of a Simulation at rest. Raises InputError where it is singular."""
    equations, arrays = closed(sim)
    equations.alpha = np.zeros(equations.m)
    basis, rest = loop_null_space(sim, equations), np.zeros(equations.n)
    hold_states(arrays.s, equations.ws)
    r = equations.residual(arrays.z, rest, rest, arrays.R0)
    state_rate = equations.ws.state_rate.copy()
    lam = basis.multipliers(r)
    M, _, K = matrices(equations, arrays._replace(zd=rest, zdd=rest, lam=lam))
    return StaticPose(equations, basis, r, M, K, state_rate)


def static(sim: Simulation) -> StaticBalance:
    """Return forces and stiffness at the pose of a Simulation at rest; its force states are brought to rest."""
    settle_states(sim)
    pose = pose_at_rest(sim)
    equations, r, N, independent = pose.equations, pose.r, pose.basis.N, pose.basis.independent
    T = N.T
    M, K, g = T @ pose.M @ N, T @ pose.K @ N, T @ r
    if len(pose.state_rate):
        Q_s, rates = force_state_derivatives(neighbourhood(sim))
        f = len(independent)
        K = K + T @ Q_s @ scipy.linalg.lstsq(rates[:, 2 * f :], rates[:, :f], cond=1e-12)[0]
    typical = equations.system.typical
    sizes = np.abs(T) @ (np.abs(r) + RELATIVE * np.abs(pose.K) @ typical)
    if not len(independent):
        empty = np.zeros(0)
        return StaticBalance(
            N, independent, typical, g, K, empty, np.zeros((0, 0)), empty, 0.0, 1.0, 0.0, "", "", False
        )
    values, vectors = scipy.linalg.eigh(0.5 * (K + K.T), 0.5 * (M + M.T))
    own = typical[independent]
    inverse = scipy.linalg.inv(M) / own[:, None]
    a, parts, made = np.abs(inverse @ g), np.abs(inverse @ sizes), np.abs(inverse @ K) @ own
    work = CANCELLED * float(np.max((np.abs(r) + ULPS * np.abs(pose.K) @ typical) * typical))
    noise = np.abs(vectors.T) @ (RELATIVE * sizes + work / own)
    most = int(independent[int(np.argmax(a))])
    most_moving, unit = coordinate_text(equations.system, most)
    pace = f"{float(a.max()) * typical[most]:.3g} {unit}"
    left, scale, stiff = float(a.max()), float(parts.max()), float(made.max())
    turning = bool(np.any(equations.tables.dofs.kind[independent] == ROTATION))
    return StaticBalance(
        N, independent, typical, g, K, values, vectors, noise, left, scale, stiff, most_moving, pace, turning
    )


def coordinate_text(system: System, dof: int) -> tuple[str, str]:
    """Return the channel name of a coordinate, and the unit of its acceleration."""
    unit = "m/s^2" if system.tables.dofs.kind[dof] == PRISMATIC else "rad/s^2"
    for info in system.joints.values():
        if dof in info.dofs and not info.coordinates and not info.auxiliary:
            k = info.dofs.index(dof)
            if system.tables.dofs.kind[dof] == ROTATION:
                return f"{info.name}.orientation (a turn about {'xyz'[k % 3]} of body {info.b!r})", unit
            return f"{info.name}.position ({'xyz'[k % 3]})", unit
    return system.coordinate_names[dof], unit


def pose_after(sim: Simulation, N: Array, independent: Indices, change: Array) -> State | None:
    """Return the state at rest after a change (f,) of the independent coordinates; None where loops stay open."""
    equations, state = sim.equations, sim.state.copy()
    scale = np.where(equations.system.row_is_rotation, 1.0, equations.system.length)
    assembly = Assembly(equations, state.R0, scale, equations.system.typical)
    kept = np.zeros(equations.n, np.bool_)
    kept[independent] = True
    equations.u = state.u
    state.z[:] = assembly.solve(state.z + N @ change, kept, np.ones(equations.n))
    if worst_of(assembly.gap(state.z)) > REFUSED:
        return None
    state.zd[:] = 0.0
    return state


def step_to(sim: Simulation, here: StaticBalance, change: Array) -> StaticBalance | None:
    """Move a Simulation by a step of the independent coordinates; None, with nothing moved, where loops stay open."""
    state = pose_after(sim, here.N, here.independent, change)
    if state is None:
        return None
    before = sim.state.copy()
    try:
        store_of(sim).go_on_from(state, sim.t)
        there = static(sim)
    except (StartError, ValueError):
        store_of(sim).go_on_from(before, sim.t)
        return None
    along = float((here.N.T @ projected_force(sim)) @ change)
    return StaticBalance(**{**vars(there), "g_along": along})


def projected_force(sim: Simulation) -> Array:
    """Return the missing forces (n,) at rest, without reactions."""
    state, rest = sim.state, np.zeros(sim.equations.n)
    return -sim.equations.force(state.z, rest, state.R0)


def settle_states(sim: Simulation) -> None:
    """Set force states to the values at which their rates vanish. Raises Integrates, nothing moved."""
    if not len(sim.state.s):
        return
    before = sim.state.copy()
    for _ in range(STATES):
        near = neighbourhood(sim)
        _, rates = force_state_derivatives(near)
        sd, slopes = near.residual()[1], rates[:, 2 * near.f :].copy()
        size = np.maximum(np.abs(sim.state.s), 1.0)
        slopes[np.abs(slopes) * size < SETTLED * np.abs(sd)[:, None]] = 0.0  # differences leave rounding there
        change = -scipy.linalg.lstsq(slopes, sd, cond=1e-12)[0]
        state = sim.state.copy()
        state.s += change
        store_of(sim).go_on_from(state, sim.t)
        size = np.maximum(np.abs(state.s), 1.0)
        if np.abs(change).max() <= 1e-13 * size.max():
            break
    left = np.abs(sim.state.sd) - SETTLED * np.abs(slopes) @ size
    if left[worst := int(np.argmax(left))] > 0.0:
        info, rate = sim.system.states[worst], sim.state.sd[worst]
        store_of(sim).go_on_from(before, sim.t)
        raise Integrates(
            f"state {info.name!r} of force {info.force!r} keeps changing by {rate:.3g} per second whatever its value, "
            "as an integrator does"
        )


ITERATIONS, HALVINGS = 100, 20
STILL = 1e-10  # of typical sizes: a step that ends the search
BALANCED = 1e-9  # of the sizes of what is added up: forces and rates that are zero


@dataclass(frozen=True)
class AugmentedBalance:
    """Missing forces and rates of states at a pose at rest, with their derivatives by pose and states."""

    basis: LoopNullSpace
    matrix: Array  # (f + ns, f + ns)
    values: Array  # (f + ns,)
    parts: Array  # (f + ns,) sizes of what the values are sums of
    sizes: Array  # (f + ns,) typical sizes of the unknowns
    stiffness: Array  # (f,) eigenvalues of stiffness over mass, states held [1/s^2]
    acceleration: Array  # (f,) that is left, over typical sizes [1/s^2]

    @property
    def left(self) -> float:
        """Largest value, relative to its terms."""
        return float(np.max(np.abs(self.values) / self.parts, initial=0.0))

    def beside(self, other: "AugmentedBalance") -> float:
        """Return the norm of the values over the terms of another pose: one scale for a line search."""
        return float(np.linalg.norm(self.values / other.parts))


def augmented_balance(sim: Simulation) -> AugmentedBalance:
    """Return forces, rates of states and their derivatives at the pose of a Simulation at rest."""
    pose, state = pose_at_rest(sim), sim.state
    N, T, independent = pose.basis.N, pose.basis.N.T, pose.basis.independent
    Q_s, rates = force_state_derivatives(neighbourhood(sim))
    f = len(independent)
    M, K, g = T @ pose.M @ N, T @ pose.K @ N, T @ pose.r
    matrix = np.block([[K, -T @ Q_s], [rates[:, :f], rates[:, 2 * f :]]])
    typical = pose.equations.system.typical[independent]
    sizes = np.concatenate((typical, np.maximum(np.abs(state.s), 1.0)))
    parts = np.abs(matrix) @ sizes + np.concatenate((np.abs(T) @ np.abs(pose.r), np.zeros(len(state.s))))
    stiffness = scipy.linalg.eigvalsh(0.5 * (K + K.T), 0.5 * (M + M.T)) if f else np.zeros(0)
    left = np.abs(scipy.linalg.solve(M, g)) / typical if f else np.zeros(0)
    values = np.concatenate((g, pose.state_rate))
    return AugmentedBalance(pose.basis, matrix, values, np.maximum(parts, np.finfo(float).tiny), sizes, stiffness, left)


def balance_with_states(sim: Simulation) -> tuple[int, AugmentedBalance]:
    """Move a Simulation at rest to the balance of forces and force states; return the iterations.

    The loop stands alone: there is no energy to go down, and every share of a step closes the loops anew.

    Raises NoEquilibrium naming what is left.
    """
    here = augmented_balance(sim)
    for iteration in range(1, ITERATIONS + 1):
        scaled = here.matrix * here.sizes / here.parts[:, None]
        change = -here.sizes * scipy.linalg.lstsq(scaled, here.values / here.parts, cond=1e-12)[0]
        size = float(np.max(np.abs(change) / here.sizes, initial=0.0))
        if size <= STILL and here.left <= BALANCED:
            return iteration, here
        moved = shortened(sim, here, change)
        if moved is None:
            if here.left <= BALANCED:
                return iteration, here
            break
        here = moved
    raise NoEquilibrium(f"no equilibrium near this pose: {largest_residual(sim, here)}")


def shortened(sim: Simulation, here: AugmentedBalance, change: Array) -> AugmentedBalance | None:
    """Take the longest part of a step that reduces the residual; None, with nothing moved, where none does."""
    f, before = len(here.basis.independent), sim.state.copy()
    share = min(1.0, 1.0 / max(float(np.max(np.abs(change[:f]) / here.sizes[:f], initial=0.0)), 1e-300))
    for _ in range(HALVINGS):
        state = pose_after(sim, here.basis.N, here.basis.independent, share * change[:f])
        if state is not None:
            state.s += share * change[f:]
            try:
                store_of(sim).go_on_from(state, sim.t)
                there = augmented_balance(sim)
            except (StartError, ValueError):
                there = None
            if there is not None and there.beside(here) < here.beside(here):
                return there
        store_of(sim).go_on_from(before.copy(), sim.t)
        share *= 0.5
    return None


def largest_residual(sim: Simulation, here: AugmentedBalance) -> str:
    """Return a description of the largest residual."""
    worst = int(np.argmax(np.abs(here.values) / here.parts))
    f = len(here.basis.independent)
    if worst < f:
        name = sim.system.coordinate_names[here.basis.independent[worst]]
        return (
            f"{name} keeps moving while the states of its controllers integrate; start from another pose, or let the "
            "mechanism settle before, by relaxation=2.0 [s]"
        )
    info = sim.system.states[worst - f]
    return (
        f"state {info.name!r} of force {info.force!r} keeps changing by {here.values[worst]:.3g} per second whatever "
        "the pose; check what its law integrates"
    )
