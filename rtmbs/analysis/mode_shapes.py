"""Mode shapes: motions of bodies, energies by body and by element, and one period of a mode as a Result.

The power of an element at rates d, a little way along d, gives d^T K_e d; at rest it gives d^T C_e d (METHODS 1.35).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.analysis.power import GRAVITY, closure_power, force_powers, gravity_power
from rtmbs.errors import InputError, StartError
from rtmbs.integrators.checks import positive, whole
from rtmbs.results.body_motion import body_motion
from rtmbs.results.catalogue import run_result
from rtmbs.results.evaluation import Evaluation
from rtmbs.results.result import Result
from rtmbs.results.samples import Samples
from rtmbs.simulation.simulation import Simulation
from rtmbs.start.assembly import Assembly
from rtmbs.start.nearest import REFUSED, worst_of

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

PART = 0.2  # of its typical size: what the coordinate that moves most moves by in a picture
WHOLE_PERIOD = 1.0  # [s] of a mode that takes no time of its own
STILL = 1e-12  # of its real part: an imaginary part of s that counts as none


def body_motions(sim: Simulation, shapes: Complex) -> dict[str, Complex]:
    """Return by body the motions (k, 6) of shapes (n, k): shift of the mass centre and turn, world axes [m, rad].

    Twists are linear in rates, Z = T R_d zd, so a shape is asked for as rates.
    """
    k = shapes.shape[1]
    resampled = Evaluation(sim.system, sim.equations.tables, with_rates(sim, np.hstack((shapes.real, shapes.imag)).T))
    found = {}
    for name, info in sim.system.bodies.items():
        if name == sim.system.topology.bodies[0]:
            continue
        body = body_motion(resampled, info)
        twist = np.hstack((body.velocity(body.point(info.center_of_mass)), body.omega))
        found[name] = twist[:k] + 1j * twist[k:]
    return found


def kinetic_energies(sim: Simulation, motions: dict[str, Complex]) -> dict[str, Array]:
    """Return by body m |v|^2 + w . J w (k,) of motions (k, 6) per unit of rate [J s^2]."""
    resampled = Evaluation(sim.system, sim.equations.tables, with_rates(sim, np.zeros((1, sim.system.n))))
    energies = {}
    for name, motion in motions.items():
        info = sim.system.bodies[name]
        turn = motion[:, 3:] @ body_motion(resampled, info).orientation[0]
        shift = info.mass * np.sum(np.abs(motion[:, :3]) ** 2, axis=1)
        energies[name] = shift + np.einsum("ki,ij,kj->k", turn.conj(), info.inertia, turn).real
    return energies


def with_rates(sim: Simulation, rates: Array) -> Samples:
    """Return the state of a Simulation as samples with these rates (S, n)."""
    return like(sim, np.repeat(sim.state.z[None], len(rates), axis=0), rates, np.full(len(rates), sim.t))


def like(sim: Simulation, z: Array, zd: Array, t: Array) -> Samples:
    """Return samples with positions and rates (S, n) at times (S,), all else as in the state of a Simulation."""
    state, count = sim.state, len(t)
    zdd, lam, R0, u, s = (
        np.repeat(values[None], count, axis=0) for values in (state.zdd, state.lam, state.R0, state.u, state.s)
    )
    return Samples(t=t, z=z, zd=zd, zdd=zdd, lam=lam, R0=R0, u=u, s=s)


def mode_motion(sim: Simulation, shape: Complex, value: complex, amplitude: float | None, pictures: int) -> Result:
    """Return one period of a mode as a Result, loops closed; see ``Modes.motion``."""
    whole("pictures", pictures, 2, 100_000)
    typical, largest = sim.system.typical, int(np.abs(shape).argmax())
    if amplitude is None:
        amplitude = PART * float(np.min(typical[np.abs(shape) > 0.0] / np.abs(shape)[np.abs(shape) > 0.0]))
    positive(amplitude=amplitude)
    pace = abs(value.imag) if abs(value.imag) > STILL * abs(value.real) else 0.0
    period = 2.0 * np.pi / pace if pace > 0.0 else WHOLE_PERIOD
    phase = np.linspace(0.0, 2.0 * np.pi, pictures + 1)
    turning = amplitude * np.exp(1j * phase)[:, None] * shape
    z = closed_poses(sim, turning.real, sim.system.coordinate_names[largest])
    rates = (2j * np.pi / period * turning).real
    samples = like(sim, z, rates, sim.t + phase / (2.0 * np.pi) * period)
    return run_result(sim.system, sim.equations.tables, samples, {})


def closed_poses(sim: Simulation, changes: Array, name: str) -> Array:
    """Return the poses (S, n) with closed loops nearest to the present one plus ``changes`` (S, n)."""
    system, state = sim.system, sim.state
    own = sim.independent().equations
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    assembly = Assembly(own, state.R0, scale, system.typical)
    found = np.empty_like(changes)
    free, even = np.zeros(system.n, np.bool_), np.ones(system.n)
    for row, change in zip(found, changes, strict=True):
        try:
            row[:] = assembly.solve(state.z + change, free, even)
        except StartError:
            row[:] = np.nan
        if not worst_of(assembly.gap(row)) <= REFUSED:
            raise InputError(f"the loops do not close when {name} moves so far; take a smaller amplitude")
    return found


LOOPS = "loops"  # reactions of all loop equations: their directions turn with the pose
STEP = 1e-4  # typical sizes: half a way of a central difference


class ElementEnergies(NamedTuple):
    """Stiffness (k,) and damping (k,) of every mode by force, gravity and loop reactions."""

    stiffness: dict[str, Array]  # d^T K_e d, summed over the real and the imaginary part of a shape [J]
    damping: dict[str, Array]  # d^T C_e d likewise [W s]


def element_energies(sim: Simulation, shapes: Complex) -> ElementEnergies:
    """Return stiffness and damping of ``shapes`` (n, k) by element, for the state taken at rest."""
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
    resampled = Evaluation(sim.system, sim.equations.tables, samples)
    loops = np.zeros(len(samples.t))
    for closure in range(len(sim.system.closure_names)):
        loops = loops + closure_power(resampled, closure)
    return force_powers(sim.system, resampled) | {GRAVITY: gravity_power(resampled), LOOPS: loops}
