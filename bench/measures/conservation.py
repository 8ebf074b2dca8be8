"""What physics keeps: free fall, energy over a long run, momentum of a floating mechanism."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs import EnergyMeter, Model, Result, Simulation, library
from rtmbs.simulation.running import steps_to
from rtmbs.system import System

from .orders import matrices, rotated

Array = NDArray[np.float64]


class Drift(NamedTuple):
    """Energies of a run [J]."""

    largest: float  # |E - E0|
    last: float  # E - E0 at the end
    exchanged: float  # range of the kinetic energy


def energy_drift(h: float = 1e-3, t_end: float = 30.0) -> Drift:
    """Run stacked 1 x 1 for a long time."""
    sim = Simulation(library.build("fourbar", ny=1, nz=1).compile(), h)
    meter = EnergyMeter()
    meter.begin(sim, None)
    for _ in range(steps_to(sim, t_end)):
        report = sim.step()
        assert report.outcome.accepted, report
        meter.observe(sim, report)
    return Drift(meter.error, meter.latest - meter.initial, meter.exchanged)


class Momentum(NamedTuple):
    """Sums over all bodies (samples, 3): linear [kg m/s], angular about the common mass centre [kg m^2/s]."""

    linear: Array
    angular: Array


def momentum(model: Model, result: Result) -> Momentum:
    """Return the momentum of every sample of a run of ``model``."""
    bodies = [body for name, body in model.bodies.items() if name != model.ground.name]
    mass = np.array([body.mass for body in bodies])
    center, velocity, spin = [], [], []
    for body in bodies:
        R = matrices(result[f"{body.name}.orientation"])
        omega = result[f"{body.name}.angular_velocity"]
        arm = rotated(R, np.tile(body.center_of_mass, (len(R), 1)))
        center.append(result[f"{body.name}.position"] + arm)
        velocity.append(result[f"{body.name}.velocity"] + np.cross(omega, arm))
        spin.append(np.einsum("kij,jl,kml,km->ki", R, body.inertia, R, omega))
    r, v = np.array(center), np.array(velocity)
    common = np.einsum("b,bki->ki", mass, r) / mass.sum()
    drift = np.einsum("b,bki->ki", mass, v) / mass.sum()
    angular = np.sum(mass[:, None, None] * np.cross(r - common, v - drift), axis=0) + np.sum(spin, axis=0)
    return Momentum(mass.sum() * drift, angular)


def drop(system: System, joint: str, h: float = 5e-3) -> float:
    """Return how far a body on a floating joint falls in 1 s from rest [m]."""
    result = Simulation(system, h).run(1.0)
    body = system.joints[joint].b
    place = result[f"{body}.mass_center"]
    return float(place[0, 2] - place[-1, 2])
