"""What stores and what takes the energy of a mode: stiffness and damping by element (METHODS 1.35).

The power of an element at rates d, a little way along d, tells d^T K_e d; at rest it tells d^T C_e d.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.analysis.mode_shapes import like
from rtmbs.analysis.power import GRAVITY, closure_power, force_powers, gravity_power
from rtmbs.results.resampled import Resampled
from rtmbs.results.samples import Samples
from rtmbs.simulation.simulation import Simulation

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

LOOPS = "loops"  # reactions of all loop equations: their directions turn with the pose
STEP = 1e-4  # typical sizes: half a way of a central difference


class ElementEnergies(NamedTuple):
    """By force, of gravity and of the loops' reactions: stiffness (k,) and damping (k,) of every mode."""

    stiffness: dict[str, Array]  # d^T K_e d, summed over the real and the imaginary part of a shape [J]
    damping: dict[str, Array]  # d^T C_e d likewise [W s]


def element_energies(sim: Simulation, shapes: Complex) -> ElementEnergies:
    """Return stiffness and damping of ``shapes`` (n, k) by element, at the state of a Simulation taken at rest."""
    k, typical = shapes.shape[1], sim.system.typical
    ways = np.hstack((shapes.real, shapes.imag)).T
    size = STEP / np.maximum(np.abs(ways / typical).max(axis=1, initial=0.0), 1e-300)
    place, rates = np.repeat(sim.state.z[None], 2 * k, axis=0), ways

    def powers(way: Array, rate: Array) -> dict[str, Array]:
        return powers_of(sim, like(sim, place + way, rate, np.full(2 * k, sim.t)))

    def both(found: Callable[[str], Array]) -> dict[str, Array]:
        return {name: found(name)[:k] + found(name)[k:] for name in at}

    step = size[:, None] * ways
    ahead, behind, at, back = (
        powers(step, rates),
        powers(-step, rates),
        powers(0.0 * step, rates),
        powers(0.0 * step, -rates),
    )
    stiffness = both(lambda name: -(ahead[name] - behind[name]) / (2.0 * size))
    return ElementEnergies(stiffness, both(lambda name: -0.5 * (at[name] + back[name])))


def powers_of(sim: Simulation, samples: Samples) -> dict[str, Array]:
    """Return the power (S,) of every force, of gravity and of the loops' reactions."""
    resampled = Resampled(sim.system, sim.equations.tables, samples)
    loops = np.zeros(len(samples.t))
    for closure in range(len(sim.system.closure_names)):
        loops = loops + closure_power(resampled, closure)
    return force_powers(sim.system, resampled) | {GRAVITY: gravity_power(resampled), LOOPS: loops}
