"""Channels of what acts: reactions, violations of the loop equations, drivers, couplers, force elements, energies."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from rtmbs.forces.kind import Kind, Measure
from rtmbs.forces.register import BY_WORD
from rtmbs.results.channel import WORLD, WRENCH, XYZ, Array, Source
from rtmbs.results.reactions import closure_point, held, moved, reaction_values, rods
from rtmbs.results.swept import Replay
from rtmbs.system.system import System
from rtmbs.system.tables import REVOLUTE
from rtmbs.topology import DRIVEN_DISTANCE

REACTION_UNIT = ", ".join(["N"] * 3 + ["N m"] * 3)
VIOLATIONS = (  # with the units of translation and of rotation rows
    ("violation", "m", "1"),
    ("violation_rate", "m/s", "1/s"),
    ("violation_acceleration", "m/s^2", "1/s^2"),
)
ENERGIES = ("kinetic", "weight", "elastic")  # weight is zero at the world's origin


def reaction_sources(system: System, replay: Replay) -> Iterator[tuple[str, Source]]:
    """Yield the reaction of every joint and rod, and the tension of every rod (it pulls its ends together).

    Beside a reaction stands whether it is doubtful: 1 at samples whose step did not converge in all that it did.
    """
    for name in [*system.joints, *held(system)]:
        yield f"{name}.reaction", Source(WRENCH, REACTION_UNIT, partial(reaction_values, replay, system, name), WORLD)
        if len(replay.samples.doubtful) == len(replay.samples.t) and system.m:
            yield f"{name}.reaction_doubtful", Source((), "1", lambda: replay.samples.doubtful)
    for name in rods(system):
        yield f"{name}.tension", Source((), "N", partial(pull, replay, system.closure_names.index(name)))


def driver_sources(system: System, replay: Replay) -> Iterator[tuple[str, Source]]:
    """Yield the force of every driver along what it drives: positive pushes the coordinate or the distance up."""
    for row in range(len(replay.tables.closures.kind), system.m):
        unit = "N m" if system.row_is_rotation[row] else "N"
        yield f"{system.row_names[row]}.force", Source((), unit, partial(push, replay, row))
    for link in system.topology.links:
        if link.type == DRIVEN_DISTANCE:
            values = partial(pull, replay, system.closure_names.index(link.name), -1.0)
            yield f"{link.name}.force", Source((), "N", values)


def coupler_sources(system: System, replay: Replay) -> Iterator[tuple[str, Source]]:
    """Yield the forces with which every coupler, or constraint on coordinates, acts on them, labelled by coordinate."""
    tables = replay.tables
    for relation in system.topology.relations:
        closure = system.closure_names.index(relation.name)
        steps = tables.links.step[tables.links.pointer[closure] : tables.links.pointer[closure + 1]]
        units = ["N m" if tables.steps.kind[step] == REVOLUTE else "N" for step in steps]
        yield (
            f"{relation.name}.force",
            Source(relation.coordinates, ", ".join(units), partial(coupling, replay, closure)),
        )


def coupling(replay: Replay, closure: int) -> Array:
    """Return the generalised forces -Phi_z^T lam (S, k) of a closure on the coordinates that it joins [N m, N]."""
    return replay.coordinate_forces(closure)


def pull(replay: Replay, closure: int, sign: float = 1.0) -> Array:
    """Return the force (S,) with which a distance equation pulls its points together: lam |d| / length [N]."""
    d = closure_point(replay, closure, "b") - closure_point(replay, closure, "a")
    row = int(replay.tables.closures.row_pointer[closure])
    return sign * replay.samples.lam[:, row] * np.linalg.norm(d, axis=1) / replay.tables.closures.length[row]


def push(replay: Replay, row: int) -> Array:
    """Return the force (S,) of a driven coordinate, -lam [N m, N]."""
    return -replay.samples.lam[:, row]


def violation_sources(system: System, replay: Replay) -> Iterator[tuple[str, Source]]:
    """Yield what the equations of every cut joint, ghost, rod, coupler and driver miss, with rate and acceleration."""
    rows: dict[str, list[int]] = {}
    for row, closure in enumerate(system.closure_of_row):
        owner = system.closure_names[closure] if closure >= 0 else system.row_names[row]
        rows.setdefault(owner, []).append(row)
    for name, own in rows.items():
        labels = tuple(system.row_names[row].removeprefix(f"{name}.") for row in own) if len(own) > 1 else ()
        for order, (what, metres, turns) in enumerate(VIOLATIONS):
            units = [turns if system.row_is_rotation[row] else metres for row in own]
            yield f"{name}.{what}", Source(labels, ", ".join(units), partial(missed, replay, order, own))


def missed(replay: Replay, order: int, rows: list[int]) -> Array:
    """Return Phi, Phid or Phidd by ``order`` of some rows (S, rows); (S,) of a single one."""
    values: Array = replay.closures[order][:, rows]
    return values if len(rows) > 1 else values[:, 0]


def force_sources(system: System, replay: Replay) -> Iterator[tuple[str, Source]]:
    """Yield what the register says of each kind, torque or force on a coordinate, and what a law of the user does: to
    body b at b's marker, or along its coordinates.
    """
    tables = replay.tables
    for name, kind, row, *_ in system.forces.values():
        if kind in BY_WORD:
            yield from measured_sources(replay, name, BY_WORD[kind], row)
        elif kind == "joint":
            turns = tables.steps.kind[tables.joint_forces.step[row]] == REVOLUTE
            what, unit = ("torque", "N m") if turns else ("force", "N")
            yield f"{name}.{what}", Source((), unit, partial(joint_force, replay, row))
        elif kind == "law":
            for part, what, unit in ((0, "force", "N"), (3, "torque", "N m")):
                yield f"{name}.{what}", Source(XYZ, unit, partial(of_law, replay, row, part), WORLD)
        else:
            yield f"{name}.force", law_source(system, replay, name)


def state_sources(system: System, replay: Replay) -> Iterator[tuple[str, Source]]:
    """Yield the states of force laws, ``FORCE.STATE`` in the units that the user gave."""
    for k, (force, name, _, unit) in enumerate(system.states):
        yield f"{force}.{name}", Source((), unit, partial(state_values, replay, k))


def state_values(replay: Replay, k: int) -> Array:
    """Return one state (S,)."""
    return np.asarray(replay.samples.s[:, k])


def measured_sources(replay: Replay, name: str, kind: Kind, row: int) -> Iterator[tuple[str, Source]]:
    """Yield the channels of one element of a kind in the register."""
    for one in kind.channels(getattr(replay.tables.forces, kind.name), row):
        yield f"{name}.{one.name}", Source(one.axes, one.unit, partial(measured, replay, kind, row, one), one.frame)


def measured(replay: Replay, kind: Kind, row: int, one: Measure) -> Array:
    """Return the numbers of one channel (S,) or (S, components)."""
    values = replay.measured(kind)[:, row]
    return values[:, one.first : one.first + len(one.axes)] if one.axes else values[:, one.first]


def law_source(system: System, replay: Replay, name: str) -> Source:
    """Return the source of the generalised forces of a law on joints, labelled by coordinate when there are several."""
    record = system.forces[name]
    units = ["N m" if replay.tables.steps.kind[step] == REVOLUTE else "N" for step in record.steps]
    labels = tuple(system.coordinate_names[step] for step in record.steps)
    if len(labels) == 1:
        return Source((), units[0], lambda: replay.law_forces[:, record.row])
    rows = slice(record.row, record.row + len(labels))
    return Source(labels, ", ".join(units), lambda: replay.law_forces[:, rows])


def of_law(replay: Replay, row: int, part: int) -> Array:
    """Return force (part 0) or torque (part 3) of a force law on body b at b's marker, world axes (S, 3)."""
    link = int(replay.tables.laws.connector[row])
    motion = replay.motion(int(replay.tables.links.b[link]))
    point = motion.r + motion.A @ replay.tables.laws.frame_b[row, :, 3]
    return np.asarray(moved(replay.link_wrench(link), point)[:, part : part + 3])


def inputs(replay: Replay, slot: int, size: int) -> Array:
    """Return some of the inputs (S, size)."""
    return replay.samples.u[:, slot : slot + size]


def joint_force(replay: Replay, row: int) -> Array:
    """Return -stiffness (z - rest) - damping zd + load (S,) of a torsional spring or motor [N m, N]."""
    forces, samples = replay.tables.joint_forces, replay.samples
    step = forces.step[row]
    stiffness, damping, rest, load = inputs(replay, int(forces.slot[row]), 4).T
    return load - stiffness * (samples.z[:, step] - rest) - damping * samples.zd[:, step]


def energy_sources(system: System, replay: Replay) -> Iterator[tuple[str, Source]]:
    """Yield kinetic energy, energy of weight, elastic energy, and their sum."""
    for k, name in enumerate(ENERGIES):
        yield f"energy.{name}", Source((), "J", partial(energy, replay, [k]))
    yield "energy.total", Source((), "J", partial(energy, replay, [0, 1, 2]))


def energy(replay: Replay, parts: list[int]) -> Array:
    """Return a sum of energies (S,) [J]."""
    return replay.energies[parts].sum(axis=0)
