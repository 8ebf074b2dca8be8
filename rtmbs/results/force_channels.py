"""Channels of forces: reactions, violations of the loop equations, drivers, couplers, force elements, energies."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from rtmbs.forces.kind import ForceKind, Measure
from rtmbs.forces.register import BY_WORD
from rtmbs.results.channel import WORLD, WRENCH, XYZ, Array, Source
from rtmbs.results.contact_channels import touch_sources
from rtmbs.results.evaluation import Evaluation
from rtmbs.results.reactions import closure_point, held, moved, reaction_values, rods
from rtmbs.results.shared_reactions import shared_coordinate_forces, shared_multiplier, shared_reactions
from rtmbs.system.system import System
from rtmbs.system.tables import REVOLUTE
from rtmbs.system.topology import DRIVEN_DISTANCE

REACTION_UNIT = ", ".join(["N"] * 3 + ["N m"] * 3)
VIOLATIONS = (  # with the units of translation and of rotation rows
    ("violation", "m", "1"),
    ("violation_rate", "m/s", "1/s"),
    ("violation_acceleration", "m/s^2", "1/s^2"),
)
ENERGIES = ("kinetic", "weight", "elastic")  # weight is zero at the world's origin


def reaction_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield the reaction of every joint and rod, and the tension of every rod (it pulls its ends together).

    Beside a reaction stand its doubtful components: 1 for one that balance leaves free, 2 at samples whose step did not
    converge in all that it did, 3 for both.
    """
    for name in [*system.joints, *held(system)]:
        yield (
            f"{name}.reaction",
            Source(WRENCH, REACTION_UNIT, partial(reaction_values, resampled, system, name), WORLD),
        )
        if system.m:
            yield f"{name}.reaction_doubtful", Source(WRENCH, "1", partial(doubtful, resampled, name), WORLD)
    for name in rods(system):
        yield f"{name}.tension", Source((), "N", partial(pull, resampled, system.closure_names.index(name)))


def doubtful(resampled: Evaluation, name: str) -> Array:
    """Return 1 for components (S, 6) that balance leaves free, and 2 where a step did not converge."""
    found = np.zeros((len(resampled.samples.t), len(WRENCH)))
    found += shared_reactions(resampled, marked=True).free.get(name, 0.0)
    if len(resampled.samples.doubtful):
        found += 2.0 * resampled.samples.doubtful[:, None]
    return found


def driver_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield the force of every driver along its coordinate or distance; a positive one increases it."""
    for row in range(len(resampled.tables.closures.kind), system.m):
        unit = "N m" if system.row_is_rotation[row] else "N"
        yield f"{system.row_names[row]}.force", Source((), unit, partial(push, resampled, row))
    for name in driven_distances(system):
        yield f"{name}.force", Source((), "N", partial(pull, resampled, system.closure_names.index(name), -1.0))


def driven_distances(system: System) -> list[str]:
    """Return the names of drivers that prescribe distances."""
    return [connector.name for connector in system.topology.connectors if connector.type == DRIVEN_DISTANCE]


def coupler_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield the forces with which every coupler, or constraint on coordinates, acts on them, labelled by coordinate."""
    tables = resampled.tables
    for relation in system.topology.relations:
        closure = system.closure_names.index(relation.name)
        dofs = tables.connectors.dof[tables.connectors.pointer[closure] : tables.connectors.pointer[closure + 1]]
        units = ["N m" if tables.dofs.kind[dof] == REVOLUTE else "N" for dof in dofs]
        yield (
            f"{relation.name}.force",
            Source(relation.coordinates, ", ".join(units), partial(coupling, resampled, closure)),
        )


def coupling(resampled: Evaluation, closure: int) -> Array:
    """Return the generalised forces -Phi_z^T lam (S, k) of a closure on the coordinates that it joins [N m, N]."""
    return shared_coordinate_forces(resampled, closure)


def pull(resampled: Evaluation, closure: int, sign: float = 1.0) -> Array:
    """Return the force (S,) with which a distance equation pulls its points together: lam |d| / length [N]."""
    d = closure_point(resampled, closure, "b") - closure_point(resampled, closure, "a")
    row = int(resampled.tables.closures.row_pointer[closure])
    return sign * shared_multiplier(resampled, row) * np.linalg.norm(d, axis=1) / resampled.tables.closures.length[row]


def push(resampled: Evaluation, row: int) -> Array:
    """Return the force (S,) of a driven coordinate, -lam [N m, N]."""
    return -shared_multiplier(resampled, row)


def violation_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield what the equations of every cut joint, auxiliary body, rod, coupler and driver miss, with rate and
    acceleration.
    """
    rows: dict[str, list[int]] = {}
    for row, closure in enumerate(system.closure_of_row):
        owner = system.closure_names[closure] if closure >= 0 else system.row_names[row]
        rows.setdefault(owner, []).append(row)
    for name, own in rows.items():
        labels = tuple(system.row_names[row].removeprefix(f"{name}.") for row in own) if len(own) > 1 else ()
        for order, (what, metres, turns) in enumerate(VIOLATIONS):
            units = [turns if system.row_is_rotation[row] else metres for row in own]
            yield f"{name}.{what}", Source(labels, ", ".join(units), partial(violation, resampled, order, own))


def violation(resampled: Evaluation, order: int, rows: list[int]) -> Array:
    """Return Phi, Phid or Phidd by ``order`` of some rows (S, rows); (S,) of a single one."""
    values: Array = resampled.closures[order][:, rows]
    return values if len(rows) > 1 else values[:, 0]


def force_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield what the register says of each kind, torque or force on a coordinate, and what a law of the user does: to
    body b at b's marker, or along its coordinates.
    """
    tables = resampled.tables
    for info in system.forces.values():
        name, kind, row = info.name, info.kind, info.row
        if kind in BY_WORD:
            yield from measured_sources(resampled, name, BY_WORD[kind], row)
        elif kind == "joint":
            turns = tables.dofs.kind[tables.joint_forces.dof[row]] == REVOLUTE
            what, unit = ("torque", "N m") if turns else ("force", "N")
            yield f"{name}.{what}", Source((), unit, partial(joint_force, resampled, row))
        elif kind == "law":
            for part, what, unit in ((0, "force", "N"), (3, "torque", "N m")):
                yield f"{name}.{what}", Source(XYZ, unit, partial(of_law, resampled, row, part), WORLD)
            if info.contact is not None:
                yield from touch_sources(resampled, info, partial(of_law, resampled, row, 0))
        else:
            yield f"{name}.force", law_source(system, resampled, name)


def state_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield the states of force laws, ``FORCE.STATE`` in the units that the user gave."""
    for k, (force, name, _, unit, _) in enumerate(system.states):
        yield f"{force}.{name}", Source((), unit, partial(state_values, resampled, k))


def state_values(resampled: Evaluation, k: int) -> Array:
    """Return one state (S,)."""
    return np.asarray(resampled.samples.s[:, k])


def measured_sources(resampled: Evaluation, name: str, kind: ForceKind, row: int) -> Iterator[tuple[str, Source]]:
    """Yield the channels of one element of a kind in the register."""
    for one in kind.channels(getattr(resampled.tables.forces, kind.name), row):
        yield f"{name}.{one.name}", Source(one.axes, one.unit, partial(measured, resampled, kind, row, one), one.frame)


def measured(resampled: Evaluation, kind: ForceKind, row: int, one: Measure) -> Array:
    """Return the numbers of one channel (S,) or (S, components)."""
    values = resampled.measured(kind)[:, row]
    return values[:, one.first : one.first + len(one.axes)] if one.axes else values[:, one.first]


def law_source(system: System, resampled: Evaluation, name: str) -> Source:
    """Return the source of the generalised forces of a law on joints, labelled by coordinate when there are several."""
    info = system.forces[name]
    units = ["N m" if resampled.tables.dofs.kind[dof] == REVOLUTE else "N" for dof in info.dofs]
    labels = tuple(system.coordinate_names[dof] for dof in info.dofs)
    if len(labels) == 1:
        return Source((), units[0], lambda: resampled.law_forces[:, info.row])
    rows = slice(info.row, info.row + len(labels))
    return Source(labels, ", ".join(units), lambda: resampled.law_forces[:, rows])


def of_law(resampled: Evaluation, row: int, part: int) -> Array:
    """Return force (part 0) or torque (part 3) of a force law on body b at b's marker, world axes (S, 3)."""
    connector = int(resampled.tables.laws.connector[row])
    motion = resampled.motion(int(resampled.tables.connectors.b[connector]))
    A, (x, y, z) = motion.A, resampled.tables.laws.frame_b[row, :, 3]
    point = motion.r + (A[:, :, 0] * x + A[:, :, 1] * y + A[:, :, 2] * z)  # bytes of the kernels; BLAS has its own
    return np.asarray(moved(resampled.connector_wrench(connector), point)[:, part : part + 3])


def inputs(resampled: Evaluation, slot: int, size: int) -> Array:
    """Return some of the inputs (S, size)."""
    return resampled.samples.u[:, slot : slot + size]


def joint_force(resampled: Evaluation, row: int) -> Array:
    """Return -stiffness (z - rest) - damping zd + load (S,) of a torsional spring or motor [N m, N]."""
    forces, samples = resampled.tables.joint_forces, resampled.samples
    dof = forces.dof[row]
    stiffness, damping, rest, load = inputs(resampled, int(forces.slot[row]), 4).T
    return load - stiffness * (samples.z[:, dof] - rest) - damping * samples.zd[:, dof]


def energy_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield kinetic energy, gravity energy, elastic energy, and their sum."""
    for k, name in enumerate(ENERGIES):
        yield f"energy.{name}", Source((), "J", partial(energy, resampled, [k]))
    yield "energy.total", Source((), "J", partial(energy, resampled, [0, 1, 2]))


def energy(resampled: Evaluation, parts: list[int]) -> Array:
    """Return a sum of energies (S,) [J]."""
    return resampled.energies[parts].sum(axis=0)
