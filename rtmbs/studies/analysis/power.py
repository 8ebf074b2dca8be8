"""Power of forces, joints, gravity and drivers in a mechanism, sample by sample (METHODS 1.38)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.channel import WRENCH
from rtmbs.results.force_channels import joint_force
from rtmbs.results.motion_channels import body_motion, cross, dot
from rtmbs.results.reactions import (
    closure_point,
    reaction_values,
    shared_coordinate_forces,
    shared_multiplier,
    shared_reactions,
)
from rtmbs.results.samples import Evaluation, Samples
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.studies.analysis.differences import PLACES, STEP, WEIGHTS
from rtmbs.studies.analysis.prescribed_motion import rotation_dofs
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
