"""Workload: who gives and takes power over a run, and what the joints carry (METHODS 1.38)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.analysis.joint_loads import JointLoads
from rtmbs.analysis.named import Named
from rtmbs.analysis.power import Power, balanced, joint_powers, power_of
from rtmbs.analysis.standing import simulation_of
from rtmbs.analysis.told import Told, counted
from rtmbs.errors import InputError
from rtmbs.linear.solver import refuses_unfactorised
from rtmbs.observers.recorder import Recorder
from rtmbs.observers.schedule import Schedule
from rtmbs.results.catalogue import run_result
from rtmbs.results.reactions import held
from rtmbs.results.resampled import Resampled
from rtmbs.results.result import Result
from rtmbs.results.samples import Samples
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.system import System

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Workload(Told, JointLoads):
    """Power of everything in a mechanism, and loads of its joints, over S samples.

    Attributes
    ----------
    result : channels of the samples; accelerations and reactions balance the forces at their positions and rates
    power : (S,) by name, of gravity, every force, driver, constraint and coupler [W]; positive gives energy
    joints : (S,) by name, what passes through a joint: its motors, springs, drivers and friction [W]
    kinetic, potential : (S,) rates of the kinetic energy, and of weight and elastic energy [W]
    balance : (S,) what all power misses of the rate of the kinetic energy [W]
    size : (S,) sum of the sizes of all power and of the terms of the kinetic energy's rate [W]
    """

    result: Result
    power: dict[str, Array]
    joints: dict[str, Array]
    kinetic: Array
    potential: Array
    balance: Array
    size: Array
    system: System
    resampled: Resampled

    @property
    def missed(self) -> float:
        """Largest ``balance`` over the largest ``size``."""
        return float(np.abs(self.balance).max() / max(float(self.size.max()), 1e-300))

    def energy(self, name: str) -> Array:
        """Return the energy (S,) [J] that an element gave since the begin, by the trapezoidal rule; of order two.

        Raises UnknownNameError.
        """
        power = self.power[name]
        steps = 0.5 * (power[1:] + power[:-1]) * np.diff(self.t)
        return np.concatenate(([0.0], np.cumsum(steps)))

    @property
    def energy_missed(self) -> float:
        """What the energies of all elements miss of the change of the kinetic energy, of what they exchanged.

        Energies are integrals over the samples, so this is the error of the run: it falls with the square of the step.
        """
        given = sum(float(self.energy(name)[-1]) for name in self.power)
        exchanged = sum(float(np.trapezoid(np.abs(power), self.t)) for power in self.power.values())
        kinetic = self.result["energy.kinetic"]
        return abs(given - float(kinetic[-1] - kinetic[0])) / max(exchanged, 1e-300)

    def line(self) -> str:
        """Return the mechanism, the time and what the energies of all elements miss."""
        span = f"t = {self.t[0]:g} s to {self.t[-1]:g} s, {counted(len(self.t), 'sample')}"
        parts = f"{counted(len(self.power), 'element')} with power, {counted(len(self.joints), 'joint')}"
        return f"{self.result.name!r}: {span}; {parts}; energy missed {self.energy_missed:.1g}"

    def table(self) -> str:
        """Return the energy and the largest power of each element, and the largest reaction of each joint."""
        lines = [f"workload over {self.t[-1] - self.t[0]:g} s, {len(self.t)} samples"]
        for name, power in self.power.items():
            lines.append(f"  {name}: {self.energy(name)[-1]:.6g} J, peak {np.abs(power).max():.6g} W")
        for name in (*self.system.joints, *held(self.system)):
            largest = np.linalg.norm(self.reaction(name)[:, :3], axis=1).max()
            lines.append(f"  {name}: reaction up to {largest:.6g} N")
        return "\n".join(lines)


@refuses_unfactorised(InputError, "workload")
def workload(sim: Simulation, t_end: float, *, record: Schedule | None = None) -> Workload:
    """Run a Simulation to ``t_end`` [s] and return the power of everything and the loads of all joints.

    ``sim`` stays as it is. ``record`` says which samples are kept, every step unless given. Accelerations and
    reactions are solved for at the recorded positions and rates, so the power balances to rounding at every sample.
    Raises InputError for t_end, StepError when a step fails.

        load = rtmbs.workload(sim, 2.0)
        load.power["motor"], load.energy("spring")[-1], load.statistics("hinge", frame="arm")["f"].rms
    """
    sim = simulation_of("workload", sim)
    own, recorder = sim.independent(), Recorder(record)
    own.run(t_end, observers=[recorder], record=record)
    return workload_of(own, balanced(own.equations, recorder.samples))


def workload_of(sim: Simulation, samples: Samples) -> Workload:
    """Return the workload of samples whose accelerations and multipliers balance the forces."""
    system, tables = sim.system, sim.equations.tables
    resampled = Resampled(system, tables, samples)
    power: Power = power_of(system, resampled)
    balance = power.kinetic - sum(power.elements.values()) - power.loops
    return Workload(
        run_result(system, tables, samples, {}), Named("element with power", power.elements),
        Named("joint", joint_powers(system, resampled)), power.kinetic,
        power.potential, balance, power.size, system, resampled,
    )  # fmt: skip
