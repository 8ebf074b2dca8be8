"""Equilibrium with force states that integrate, as of a controller: pose and states are one system of equations.

A state whose rate does not depend on itself has no value at which it rests by itself. Its rate asks something of the
pose, and the balance of forces asks for its value: Newton on both (METHODS 1.36).
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.analysis.linearisation import by_states
from rtmbs.analysis.neighbourhood import NullBasis, neighbourhood
from rtmbs.analysis.static import NoEquilibrium, pose_after, pose_at_rest
from rtmbs.errors import StartError
from rtmbs.simulation.simulation import Simulation, store_of

Array = NDArray[np.float64]

ITERATIONS, HALVINGS = 100, 20
STILL = 1e-10  # of typical sizes: a step that ends the search
BALANCED = 1e-9  # of the sizes of what is added up: forces and rates that are zero


@dataclass(frozen=True)
class Joined:
    """Missing forces and rates of states at a pose at rest, with their derivatives by pose and states."""

    basis: NullBasis
    matrix: Array  # (f + ns, f + ns)
    values: Array  # (f + ns,)
    parts: Array  # (f + ns,) sizes of what the values are sums of
    sizes: Array  # (f + ns,) typical sizes of the unknowns
    stiffness: Array  # (f,) eigenvalues of stiffness over mass, states held [1/s^2]
    acceleration: Array  # (f,) that is left, over typical sizes [1/s^2]

    @property
    def left(self) -> float:
        """The largest value, of its parts."""
        return float(np.max(np.abs(self.values) / self.parts, initial=0.0))

    def beside(self, other: "Joined") -> float:
        """Return the norm of the values over the parts of another pose: Newton's step goes down in one scale only."""
        return float(np.linalg.norm(self.values / other.parts))


def joined(sim: Simulation) -> Joined:
    """Return forces, rates of states and their derivatives at the pose of a Simulation at rest."""
    pose, state = pose_at_rest(sim), sim.state
    N, T, independent = pose.basis.N, pose.basis.N.T, pose.basis.independent
    Q_s, rates = by_states(neighbourhood(sim))
    f = len(independent)
    M, K, g = T @ pose.M @ N, T @ pose.K @ N, T @ pose.r
    matrix = np.block([[K, -T @ Q_s], [rates[:, :f], rates[:, 2 * f :]]])
    typical = pose.equations.system.typical[independent]
    sizes = np.concatenate((typical, np.maximum(np.abs(state.s), 1.0)))
    parts = np.abs(matrix) @ sizes + np.concatenate((np.abs(T) @ np.abs(pose.r), np.zeros(len(state.s))))
    stiffness = scipy.linalg.eigvalsh(0.5 * (K + K.T), 0.5 * (M + M.T)) if f else np.zeros(0)
    left = np.abs(scipy.linalg.solve(M, g)) / typical if f else np.zeros(0)
    values = np.concatenate((g, pose.state_rate))
    return Joined(pose.basis, matrix, values, np.maximum(parts, np.finfo(float).tiny), sizes, stiffness, left)


def balance_with_states(sim: Simulation) -> tuple[int, Joined]:
    """Move a Simulation at rest to where forces balance and states of force laws rest; returns the iterations.

    The loop stands alone: there is no energy to go down, and every share of a step closes the loops anew.

    Raises NoEquilibrium naming what is left.
    """
    here = joined(sim)
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
    raise NoEquilibrium(f"no equilibrium near this pose: {loudest(sim, here)}")


def shortened(sim: Simulation, here: Joined, change: Array) -> Joined | None:
    """Take the longest part of a step that leaves less; None where none does, with nothing moved."""
    f, before = len(here.basis.independent), sim.state.copy()
    share = min(1.0, 1.0 / max(float(np.max(np.abs(change[:f]) / here.sizes[:f], initial=0.0)), 1e-300))
    for _ in range(HALVINGS):
        state = pose_after(sim, here.basis.N, here.basis.independent, share * change[:f])
        if state is not None:
            state.s += share * change[f:]
            try:
                store_of(sim).go_on_from(state, sim.t)
                there = joined(sim)
            except (StartError, ValueError):
                there = None
            if there is not None and there.beside(here) < here.beside(here):
                return there
        store_of(sim).go_on_from(before.copy(), sim.t)
        share *= 0.5
    return None


def loudest(sim: Simulation, here: Joined) -> str:
    """Return in words what keeps the balance off."""
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
