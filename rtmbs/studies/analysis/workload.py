"""Power of the elements of a mechanism, and its workload along a run.

Workload of a run: power of all elements, reactions of joints in any axes, and statistics with rainflow cycles.

Cycles are counted by the rainflow method (ASTM E 1049). METHODS 1.38 has the power balance.

Power of forces, joints, gravity and drivers in a mechanism, sample by sample (METHODS 1.38).
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name, with_count
from rtmbs.numerics.linear.solver import refuses_unfactorised
from rtmbs.results.catalogue import joint_force, run_result
from rtmbs.results.channel import WRENCH
from rtmbs.results.motion_channels import body_motion, cross, dot
from rtmbs.results.reactions import (
    closure_point,
    held,
    reaction_values,
    shared_coordinate_forces,
    shared_multiplier,
    shared_reactions,
)
from rtmbs.results.result import Result
from rtmbs.results.samples import Evaluation, Samples
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.simulation.observers.observer import Schedule
from rtmbs.simulation.observers.recorder import Recorder
from rtmbs.simulation.simulation import Simulation
from rtmbs.studies.analysis.neighbourhood import PLACES, STEP, WEIGHTS
from rtmbs.studies.analysis.prescribed_motion import rotation_dofs
from rtmbs.studies.analysis.report import NamedValues, Report, simulation_of
from rtmbs.system.system import ForceInfo, System

Array = NDArray[np.float64]
GRAVITY = "gravity"


class Power(NamedTuple):
    """Power over S samples [W]: positive gives energy to the mechanism."""

    elements: dict[str, Array]  # (S,) of gravity, and of every force, driver, constraint and coupler by name
    loops: Array  # (S,) of all other loop equations: what projections leave of the rates of loops
    kinetic: Array  # (S,) rate of the kinetic energy
    potential: Array  # (S,) rate of weight and elastic energy
    size: Array  # (S,) sum of the sizes of all power and of the terms of ``kinetic``


def power_of(system: System, resampled: Evaluation) -> Power:
    """Return the power of all elements. Accelerations and multipliers of the samples should balance the forces."""
    elements = {GRAVITY: gravity_power(resampled)} | force_powers(system, resampled)
    loops = np.zeros(len(resampled.samples.t))
    named = driving(system)
    for closure, name in enumerate(system.closure_names):
        found = closure_power(resampled, closure)
        if name in named:
            elements[name] = found
        else:
            loops = loops + found
    samples, drivers = resampled.samples, resampled.tables.drivers
    first = len(resampled.tables.closures.kind)
    for k, dof in enumerate(drivers.dof):
        elements[system.row_names[first + k]] = -shared_multiplier(resampled, first + k) * samples.zd[:, dof]
    kinetic, moved = kinetic_rate(resampled)
    size = moved + np.sum([np.abs(one) for one in elements.values()], axis=0)
    return Power(elements, loops, kinetic, elastic_rate(resampled) - elements[GRAVITY], size)


def driving(system: System) -> set[str]:
    """Return the names of closures that may do work: driven distances, constraints of the user, couplers, rods."""
    held = {joint.closure for joint in system.joints.values() if joint.closure >= 0}
    return {name for closure, name in enumerate(system.closure_names) if closure not in held}


def kinetic_rate(resampled: Evaluation) -> tuple[Array, Array]:
    """Return m v . a + w . J w' (S,), summed over the bodies, and the sum of the sizes of its terms."""
    dofs, total = resampled.tables.dofs, np.zeros(len(resampled.samples.t))
    size = total.copy()
    for i in np.flatnonzero((dofs.mass > 0.0) | np.any(dofs.inertia != 0.0, axis=(1, 2))):
        motion = resampled.motion(int(i))
        x = motion.r + motion.A @ dofs.mass_center[i]
        w, alpha = motion.V[:, 3:], motion.acc[:, 3:]
        v = motion.V[:, :3] + cross(w, x)
        a = motion.acc[:, :3] + motion.g + cross(alpha, x) + cross(w, v)
        own = (np.einsum("sji,sj->si", motion.A, one) for one in (w, alpha))
        w_own, alpha_own = own
        slide, turn = dofs.mass[i] * dot(v, a), dot(w_own, alpha_own @ dofs.inertia[i])
        total, size = total + slide + turn, size + np.abs(slide) + np.abs(turn)
    return total, size


def gravity_power(resampled: Evaluation) -> Array:
    """Return m g . v (S,) of all mass centres."""
    dofs, total = resampled.tables.dofs, np.zeros(len(resampled.samples.t))
    for i in np.flatnonzero(dofs.mass > 0.0):
        motion = resampled.motion(int(i))
        x = motion.r + motion.A @ dofs.mass_center[i]
        total = total + dofs.mass[i] * dot(motion.g, motion.V[:, :3] + cross(motion.V[:, 3:], x))
    return total


def force_powers(system: System, resampled: Evaluation) -> dict[str, Array]:
    """Return the power (S,) of every force by name."""
    return {name: force_power(resampled, info) for name, info in system.forces.items()}


def force_power(resampled: Evaluation, info: ForceInfo) -> Array:
    """Return the power (S,) of one force [W]."""
    zd = resampled.samples.zd
    if info.kind == "joint":
        return joint_force(resampled, info.row) * zd[:, resampled.tables.joint_forces.dof[info.row]]
    if info.kind == "joint law":
        own = slice(info.row, info.row + len(info.dofs))
        return np.asarray(np.sum(resampled.law_forces[:, own] * zd[:, list(info.dofs)], axis=1))
    return connector_power(resampled, info.connector)


def connector_power(resampled: Evaluation, connector: int) -> Array:
    """Return the wrench of a connector times the relative velocity of its ends (S,)."""
    connectors = resampled.tables.connectors
    a, b = (resampled.motion(int(ends[connector])).V for ends in (connectors.a, connectors.b))
    return np.asarray(np.sum(resampled.connector_wrench(connector) * (b - a), axis=1))


def closure_power(resampled: Evaluation, closure: int) -> Array:
    """Return the power (S,) of the forces of a closure, -lam . Phi_z zd."""
    tables = resampled.tables
    connector = int(tables.closures.connector[closure])
    if closure < tables.conditions.first[1]:
        return connector_power(resampled, connector) + shared_power(resampled, closure, connector)
    dofs = tables.connectors.dof[tables.connectors.pointer[connector] : tables.connectors.pointer[connector + 1]]
    return np.asarray(np.sum(shared_coordinate_forces(resampled, closure) * resampled.samples.zd[:, dofs], axis=1))


def shared_power(resampled: Evaluation, closure: int, connector: int) -> Array:
    """Return the power (S,) of the shared part of the reactions of a closure between two frames."""
    name, connectors = resampled.system.closure_names[closure], resampled.tables.connectors
    added = shared_reactions(resampled).wrench.get(name)
    if added is None:
        return np.zeros(len(resampled.samples.t))
    a, b = (resampled.motion(int(ends[connector])).V for ends in (connectors.a, connectors.b))
    motion, x = b - a, closure_point(resampled, closure, "b")
    return dot(added[:, :3], motion[:, :3] + cross(motion[:, 3:], x)) + dot(added[:, 3:], motion[:, 3:])


def elastic_rate(resampled: Evaluation) -> Array:
    """Return the rate (S,) of the elastic energy along the rates, by central differences of order four."""
    samples, system = resampled.samples, resampled.system
    equations = SemiRecursiveEquations(system)
    rates = np.array([equations.coordinate_rates(z, zd) for z, zd in zip(samples.z, samples.zd, strict=True)])
    pace = np.maximum(np.max(np.abs(rates) / system.typical, axis=1, initial=0.0), 1.0)
    found = []
    for place in PLACES:
        moved = samples._replace(z=samples.z + (STEP * place / pace)[:, None] * rates)
        found.append(Evaluation(system, resampled.tables, moved).energies[2])
    return np.asarray(np.tensordot(WEIGHTS, np.array(found), 1) * pace / STEP)


def joint_powers(system: System, resampled: Evaluation) -> dict[str, Array]:
    """Return the power (S,) that passes through every joint: its reaction times the relative motion of its bodies.

    Motors, springs, drivers, friction and laws of the joint are its reaction's, so this is their power; an ideal
    joint has none.
    """
    found = {}
    for name in system.joints:
        wrench, motion = joint_wrench(resampled, system, name)
        found[name] = np.sum(wrench * motion, axis=1)
    return found


def balanced(equations: SemiRecursiveEquations, samples: Samples) -> Samples:
    """Return samples with accelerations and multipliers that balance the forces at their positions and rates."""
    zdd, lam = samples.zdd.copy(), samples.lam.copy()
    for k in range(len(samples.t)):
        equations.u = samples.u[k]
        zdd[k], lam[k], _ = equations.accelerations(samples.z[k], samples.zd[k], samples.R0[k], samples.s[k])
    return samples._replace(zdd=zdd, lam=lam)


def joint_wrench(resampled: Evaluation, system: System, name: str) -> tuple[Array, Array]:
    """Return the reaction of a joint and the relative motion of its bodies, each (S, 6), world axes.

    The motion is that of the second body relative to the first at the joint point of the second: [v, omega].
    """
    info = system.joints[name]
    bodies = system.bodies[info.a], system.bodies[info.b]
    ground = min(resampled.row(one.dof) for one in bodies)
    a, b = (body_motion(resampled, one, ground) for one in bodies)
    x = b.point(info.point_b)
    slide, turn = b.velocity(x) - a.velocity(x), b.omega - a.omega
    return reaction_values(resampled, system, name), np.hstack((slide, turn))


def free_parts(resampled: Evaluation, system: System, name: str, dofs: Sequence[int]) -> dict[str, tuple[Array, Array]]:
    """Return force and rate (S,) of the wrench components of drives of these dofs, by JOINT.fx to JOINT.nz.

    A ball carries no moment but that of its drives, and a floating joint nothing but the wrench of its drives.
    """
    wrench, motion = joint_wrench(resampled, system, name)
    info = system.joints[name]
    turns = rotation_dofs(system, info)
    slides = [dof for dof in info.dofs if dof not in turns] if info.kind.free else []
    wanted = [k for k, dof in enumerate((*slides, *turns), 3 - len(slides)) if dof in dofs]
    return {f"{name}.{WRENCH[k]}": (wrench[:, k], motion[:, k]) for k in wanted}


class Cycle(NamedTuple):
    """Load cycles of one range."""

    range: float
    mean: float
    number: float  # 1, or 0.5 for a half cycle


@dataclass(frozen=True)
class LoadStatistics:
    """Statistics of one load over time.

    Attributes
    ----------
    values : (S,) the load
    t : (S,) [s]
    """

    values: Array
    t: Array

    @property
    def least(self) -> float:
        """Smallest value."""
        return float(self.values.min())

    @property
    def most(self) -> float:
        """Largest value."""
        return float(self.values.max())

    @property
    def largest(self) -> float:
        """Largest size."""
        return float(np.abs(self.values).max())

    @property
    def mean(self) -> float:
        """Mean over time."""
        return self.over_time(self.values)

    @property
    def rms(self) -> float:
        """Root of the mean square over time."""
        return float(np.sqrt(self.over_time(self.values**2)))

    def over_time(self, values: Array) -> float:
        """Return the mean of values over time by the trapezoidal rule."""
        if len(values) < 2:
            return float(values[0])
        return float(np.trapezoid(values, self.t) / (self.t[-1] - self.t[0]))

    @property
    def cycles(self) -> list[Cycle]:
        """Cycles by the rainflow count, half cycles among them. Needs the extra ``workload``; InputError without."""
        counter = needed()
        return [
            Cycle(float(span), float(mean), float(count))
            for span, mean, count, _, _ in counter.extract_cycles(self.values)
        ]

    def damage(self, exponent: float) -> float:
        """Return the sum of number times (range / 2) ^ exponent: Miner's damage but for a factor of the material.

        ``exponent`` is that of the fatigue curve, 3 for welds, 5 to 10 for bars. Raises InputError.
        """
        if not exponent > 0.0:
            raise InputError(f"exponent is {exponent:g}; that of a fatigue curve is above zero, such as 5")
        return float(sum(cycle.number * (0.5 * cycle.range) ** exponent for cycle in self.cycles))

    def __str__(self) -> str:
        return f"{self.least:.6g} to {self.most:.6g}, mean {self.mean:.6g}, rms {self.rms:.6g}"


def needed() -> Any:
    """Return the package that counts; InputError when it is not installed."""
    if find_spec("rainflow") is None:
        raise InputError("rainflow counts need the package rainflow; install it with pip install 'rtmbs[workload]'")
    import rainflow

    return rainflow


WORLD = "world"


class JointLoads:
    """Mixin for joint loads of results with samples: Workload and InverseDynamics."""

    resampled: Evaluation

    @property
    def t(self) -> Array:
        """Times of the samples (S,) [s]."""
        return self.resampled.samples.t

    def reaction(self, joint: str, frame: str = WORLD) -> Array:
        """Return the wrench of the first body of a joint on the second, at the joint point, over all samples.

        Parameters
        ----------
        joint : str
            Name of a joint, a rod, or a constraint between two frames.
        frame : str, default "world"
            Frame of the components: "world", or the name of a body.

        Returns
        -------
        ndarray
            Force and moment [fx, fy, fz, nx, ny, nz] (S, 6) [N, N m].

        Raises
        ------
        UnknownNameError
            For a joint or a frame that does not exist.
        """
        system = self.resampled.system
        wrench = reaction_values(self.resampled, system, joint)
        if frame == WORLD:
            return wrench
        if not (isinstance(frame, str) and frame in system.bodies):
            raise unknown_name("frame", frame, [WORLD, *system.bodies])
        R = body_motion(self.resampled, system.bodies[frame]).orientation
        return np.hstack([np.einsum("sji,sj->si", R, part) for part in (wrench[:, :3], wrench[:, 3:])])

    def statistics(self, joint: str, frame: str = WORLD) -> dict[str, LoadStatistics]:
        """Return statistics of the reaction of a joint over time.

        Parameters
        ----------
        joint : str
            Name of a joint, a rod, or a constraint between two frames.
        frame : str, default "world"
            Frame of the components: "world", or the name of a body.

        Returns
        -------
        dict[str, LoadStatistics]
            Statistics of fx, fy, fz, nx, ny and nz in axes of ``frame``, and of the sizes f and n [N, N m].

        Raises
        ------
        UnknownNameError
            For a joint or a frame that does not exist.

        Examples
        --------
        >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
        >>> load = rtmbs.workload(sim, 1.0)
        >>> list(load.statistics("pivot", frame="bob"))
        ['fx', 'fy', 'fz', 'nx', 'ny', 'nz', 'f', 'n']
        """
        wrench = self.reaction(joint, frame)
        columns = dict(zip(WRENCH, wrench.T, strict=True))
        columns |= {"f": np.linalg.norm(wrench[:, :3], axis=1), "n": np.linalg.norm(wrench[:, 3:], axis=1)}
        return NamedValues(
            "part of a wrench", {name: LoadStatistics(values, self.t) for name, values in columns.items()}
        )


@dataclass(frozen=True, repr=False)
class Workload(Report, JointLoads):
    """Power of all elements of a mechanism, and loads of its joints, over S samples; ``workload`` returns it.

    Parameters
    ----------
    result : Result
        Channels of the samples; accelerations and reactions balance the forces at their positions and rates.
    power : dict[str, ndarray]
        Power (S,) by name, of gravity, every force, driver, constraint and coupler [W]; positive gives energy.
    joints : dict[str, ndarray]
        Power (S,) through each joint by name: that of its motors, springs, drivers and friction [W].
    kinetic : ndarray
        Rate (S,) of the kinetic energy [W].
    potential : ndarray
        Rate (S,) of weight and elastic energy [W].
    balance : ndarray
        Difference (S,) of all power and the rate of the kinetic energy [W].
    size : ndarray
        Sum (S,) of the sizes of all power and of the terms of the kinetic energy's rate [W].
    system : System
        Mechanism of the samples.
    resampled : Evaluation
        Samples that the channels are evaluated from.
    """

    result: Result
    power: dict[str, Array]
    joints: dict[str, Array]
    kinetic: Array
    potential: Array
    balance: Array
    size: Array
    system: System
    resampled: Evaluation

    @property
    def missed(self) -> float:
        """Largest ``balance`` over the largest ``size``."""
        return float(np.abs(self.balance).max() / max(float(self.size.max()), 1e-300))

    def energy(self, name: str) -> Array:
        """Return the energy that an element gave since the start, by the trapezoidal rule, which is of order two.

        Parameters
        ----------
        name : str
            Name of an element of ``power``.

        Returns
        -------
        ndarray
            Energy (S,) [J].

        Raises
        ------
        UnknownNameError
            For an element that does not exist.

        Examples
        --------
        >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
        >>> load = rtmbs.workload(sim, 1.0)
        >>> load.energy("gravity").shape
        (1001,)
        """
        power = self.power[name]
        steps = 0.5 * (power[1:] + power[:-1]) * np.diff(self.t)
        return np.concatenate(([0.0], np.cumsum(steps)))

    @property
    def energy_missed(self) -> float:
        """Energy balance error: change of kinetic energy less the energies of all elements, over the exchanged energy.

        Energies are integrals over the samples, so this is the error of the run: it falls with the square of the step.
        """
        given = sum(float(self.energy(name)[-1]) for name in self.power)
        exchanged = sum(float(np.trapezoid(np.abs(power), self.t)) for power in self.power.values())
        kinetic = self.result["energy.kinetic"]
        return abs(given - float(kinetic[-1] - kinetic[0])) / max(exchanged, 1e-300)

    def line(self) -> str:
        """Return the mechanism, the time and the energy balance error."""
        span = f"t = {self.t[0]:g} s to {self.t[-1]:g} s, {with_count(len(self.t), 'sample')}"
        parts = f"{with_count(len(self.power), 'element')} with power, {with_count(len(self.joints), 'joint')}"
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
    """Run a Simulation and return the power of all elements and the loads of all joints.

    Accelerations and reactions are solved for at the recorded positions and rates, so the power balances to rounding at
    every sample.

    Parameters
    ----------
    sim : Simulation
        The start of the run; it stays as it is.
    t_end : float
        End of the run [s].
    record : Schedule, optional
        Schedule of the samples; every step unless given.

    Returns
    -------
    Workload
        Power (S,) [W] and energy [J] by element, and reactions (S, 6) [N, N m] of joints with statistics.

    Raises
    ------
    InputError
        For ``t_end``.
    StepError
        When a step fails.

    Examples
    --------
    >>> load = rtmbs.workload(sim, 2.0)
    >>> load.power["motor"], load.energy("spring")[-1], load.statistics("hinge", frame="arm")["f"].rms
    """
    sim = simulation_of("workload", sim)
    own, recorder = copy(sim), Recorder(record)
    own.run(t_end, observers=[recorder], record=record)
    return workload_of(own, balanced(own.equations, recorder.samples))


def workload_of(sim: Simulation, samples: Samples) -> Workload:
    """Return the workload of samples whose accelerations and multipliers balance the forces."""
    system, tables = sim.system, sim.equations.tables
    resampled = Evaluation(system, tables, samples)
    power: Power = power_of(system, resampled)
    balance = power.kinetic - sum(power.elements.values()) - power.loops
    return Workload(
        run_result(system, tables, samples, {}), NamedValues("element with power", power.elements),
        NamedValues("joint", joint_powers(system, resampled)), power.kinetic,
        power.potential, balance, power.size, system, resampled,
    )  # fmt: skip
