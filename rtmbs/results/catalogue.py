"""Catalogue of the channels of a run by name, each evaluated at its first use, and channels of forces and contacts.

Channels of forces are reactions, violations of the loop equations, drivers, couplers, force elements and energies.
Channels of contacts are those of rolling contacts and blades (METHODS 1.41), and of shapes that touch (METHODS 8).
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from rtmbs.contact.switched import PointGap
from rtmbs.errors import warn, with_count
from rtmbs.forces.kind import ForceKind, Measure
from rtmbs.forces.register import BY_WORD
from rtmbs.model.forces import Kinematics
from rtmbs.results.channel import TIME, WORLD, WRENCH, XYZ, Array, Entry, Source, resolve_names
from rtmbs.results.motion_channels import (
    body_sources,
    cross,
    dot,
    joint_sources,
    marker_sources,
    momentum_sources,
    turned,
)
from rtmbs.results.reactions import (
    closure_point,
    held,
    moved,
    reaction_values,
    rods,
    shared_coordinate_forces,
    shared_multiplier,
    shared_reactions,
)
from rtmbs.results.result import Result
from rtmbs.results.samples import Evaluation, Samples
from rtmbs.system.system import ForceInfo, System
from rtmbs.system.tables import EDGE, REVOLUTE, Tables
from rtmbs.system.topology import DRIVEN_DISTANCE


def contact_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield the force on the wheel or blade; of a rolling contact its normal part and the contact point as well."""
    tables = resampled.tables
    first = int(tables.contacts.first[0])
    for closure in range(first, first + len(tables.contacts.normal)):
        name, row = system.closure_names[closure], int(tables.closures.row_pointer[closure])
        force = partial(contact_force, resampled, system, name)
        if tables.closures.kind[row] == EDGE:
            yield f"{name}.force", Source((), "N", partial(sideways_force, resampled, closure, force))
            continue
        yield f"{name}.force", Source(XYZ, "N", force, WORLD)
        yield f"{name}.normal_force", Source((), "N", partial(normal_force, resampled, closure, force))
        yield f"{name}.point", Source(XYZ, "m", partial(contact_points, resampled, closure), WORLD)


def contact_force(resampled: Evaluation, system: System, name: str) -> Array:
    """Return the force (S, 3) that the plane exerts on the wheel, world axes [N]."""
    return reaction_values(resampled, system, name)[:, :3]


def normal_force(resampled: Evaluation, closure: int, force: partial[Array]) -> Array:
    """Return the part (S,) of a contact force along the normal; above zero while the wheel presses [N]."""
    return np.asarray(np.sum(force() * frame_of_wheel(resampled, closure)[0], axis=1))


def sideways_force(resampled: Evaluation, closure: int, force: partial[Array]) -> Array:
    """Return the force (S,) on a blade along its sideways direction [N]."""
    closures, connector = resampled.tables.closures, int(resampled.tables.closures.connector[closure])
    motion = resampled.motion(int(resampled.tables.connectors.b[connector]))
    direction = motion.A @ closures.axis_b[closures.row_pointer[closure]]
    return np.asarray(np.sum(force() * direction, axis=1))


def frame_of_wheel(resampled: Evaluation, closure: int) -> tuple[Array, Array]:
    """Return the normal of the plane and the axis of the wheel (S, 3), world axes."""
    tables = resampled.tables
    connector, q = int(tables.closures.connector[closure]), closure - int(tables.contacts.first[0])
    a, b = (resampled.motion(int(ends[connector])) for ends in (tables.connectors.a, tables.connectors.b))
    axis = tables.closures.axis_b[tables.closures.row_pointer[closure]]
    return np.asarray(a.A @ tables.contacts.normal[q]), np.asarray(b.A @ axis)


def contact_points(resampled: Evaluation, closure: int) -> Array:
    """Return the points (S, 3) at which a wheel touches its plane, world axes [m]."""
    contacts = resampled.tables.contacts
    q = closure - int(contacts.first[0])
    k, n = frame_of_wheel(resampled, closure)
    place = world_place(resampled, closure) - contacts.crown[q] * k
    if contacts.radius[q] > 0.0:
        w = k - np.sum(k * n, axis=1)[:, None] * n
        place = place - contacts.radius[q] * w / np.linalg.norm(w, axis=1)[:, None]
    return np.asarray(place)


def world_place(resampled: Evaluation, closure: int) -> Array:
    """Return the centres (S, 3) of a wheel from the origin of the world [m]."""
    tables = resampled.tables
    dof = int(tables.connectors.b[tables.closures.connector[closure]])
    return closure_point(resampled, closure, "b") + resampled.motion(dof).o


SWEPT = 0.5  # [rad] that a contact point may move around its wheel in a step


def swept_contacts(system: System, samples: Samples, h: float) -> dict[str, int]:
    """Return a sentence with a count of samples for every wheel whose contact point goes round too far in a step.

    A wheel that falls flat has a contact point that runs around its rim, ever faster: a step of ``h`` [s] loses it.
    """
    tables, found = system.tables, {}
    resampled = Evaluation(system, tables, samples) if len(tables.contacts.normal) else None
    for q in np.flatnonzero(tables.contacts.radius > 0.0):
        assert resampled is not None
        closure = int(tables.contacts.first[0]) + int(q)
        connector = int(tables.closures.connector[closure])
        k, n = frame_of_wheel(resampled, closure)
        a, b = (resampled.motion(int(ends[connector])) for ends in (tables.connectors.a, tables.connectors.b))
        nd = np.cross(b.V[:, 3:] - a.V[:, 3:], n)
        k_n, k_nd = np.sum(k * n, axis=1)[:, None], np.sum(k * nd, axis=1)[:, None]
        w, wd = k - k_n * n, -k_nd * n - k_n * nd
        size = np.linalg.norm(w, axis=1)[:, None]
        u = w / size
        pace = np.linalg.norm(wd - np.sum(u * wd, axis=1)[:, None] * u, axis=1) / size[:, 0]
        if count := int(np.count_nonzero(~(pace * h <= SWEPT))):
            name = system.closure_names[closure]
            text = f"the contact point of {name} goes round its wheel by more than {SWEPT} rad in a step: shorten h"
            found[text] = count
    return found


def touch_sources(resampled: Evaluation, info: ForceInfo, force: partial[Array]) -> Iterator[tuple[str, Source]]:
    """Yield penetration, normal force and its direction, slip and point of two shapes; ``force`` acts on the second."""
    motion = partial(touch_motion, resampled, info)
    yield f"{info.name}.penetration", Source((), "m", lambda: np.maximum(-motion().gap, 0.0))
    yield f"{info.name}.normal_force", Source((), "N", lambda: dot(force(), motion().normal))
    yield f"{info.name}.normal", Source(XYZ, "1", lambda: motion().normal, WORLD)
    yield f"{info.name}.slip", Source(XYZ, "m/s", lambda: motion().slip, WORLD)
    yield f"{info.name}.point", Source(XYZ, "m", lambda: motion().point, WORLD)


class TouchMotion(NamedTuple):
    """Nearest points of two shapes over the samples, world axes."""

    gap: Array  # (S,) [m]
    normal: Array  # (S, 3) towards the second shape
    slip: Array  # (S, 3) velocity of the second body on the first at the point, across the normal [m/s]
    point: Array  # (S, 3) where the force acts [m]


def touch_kinematics(resampled: Evaluation, info: ForceInfo) -> tuple[Kinematics, Array, Array, Array]:
    """Return what the law of two shapes sees, the samples last; marker b, axes of a and origin of the part of a.

    The marker (S, 3) stands from that origin, in world axes as it is [m]. The axes (S, 3, 3) are to world axes.
    """
    tables = resampled.tables
    a, b = (resampled.motion(int(ends[info.connector])) for ends in (tables.connectors.a, tables.connectors.b))
    frame_a, frame_b = tables.laws.frame_a[info.row], tables.laws.frame_b[info.row]
    xa, xb = a.r + a.A @ frame_a[:, 3], b.r + b.A @ frame_b[:, 3] + (b.o - a.o)  # from the origin of the part of a
    Ra = a.A @ frame_a[:, :3]
    back = np.swapaxes(Ra, 1, 2)
    of_b = b.V[:, :3] + cross(b.V[:, 3:], xb - (b.o - a.o))
    v = turned(back, of_b - a.V[:, :3] - cross(a.V[:, 3:], xb))
    w, R = turned(back, b.V[:, 3:] - a.V[:, 3:]), back @ b.A @ frame_b[:, :3]
    kinematics = Kinematics(turned(back, xb - xa).T, np.moveaxis(R, 0, 2), v.T, w.T)
    return kinematics, xb, Ra, a.o


def touch_motion(resampled: Evaluation, info: ForceInfo) -> TouchMotion:
    """Return the nearest points of two shapes from the law of their contact."""
    if info.name in resampled.touches:
        return cast(TouchMotion, resampled.touches[info.name])
    kinematics, xb, Ra, origin = touch_kinematics(resampled, info)
    touch = info.contact.touch_with(kinematics, law_inputs(resampled, info.name))
    normal, arm, rate = (np.stack(np.broadcast_arrays(*x), axis=1) for x in (*touch[::2], touch.rate(kinematics)))
    slip = rate - dot(rate, normal)[:, None] * normal
    point = xb + turned(Ra, arm) + origin
    resampled.touches[info.name] = found = TouchMotion(touch.gap, turned(Ra, normal), turned(Ra, slip), point)
    return found


def rigid_points(system: System) -> dict[str, float]:
    """Return the coefficients of friction of the rigid contacts of points, by name."""
    return {name: gap.impacts.friction for name, gap in system.rigid.items() if isinstance(gap, PointGap)}


def rigid_sources(system: System, resampled: Evaluation) -> Iterator[tuple[str, Source]]:
    """Yield point and normal of the rigid contacts of points, the force on the second body and its normal part."""
    for name in rigid_points(system):
        yield f"{name}.force", Source(XYZ, "N", partial(rigid_force, resampled, name), WORLD)
        yield f"{name}.normal_force", Source((), "N", partial(rigid_normal_force, resampled, name))
        yield f"{name}.normal", Source(XYZ, "1", partial(rigid_normal, resampled, name), WORLD)
        yield f"{name}.point", Source(XYZ, "m", partial(rigid_point, resampled, name), WORLD)


def rigid_normal_force(resampled: Evaluation, name: str) -> Array:
    """Return the part (S,) of the force of a rigid contact along its normal [N]."""
    return dot(rigid_force(resampled, name), rigid_normal(resampled, name))


def rigid_force(resampled: Evaluation, name: str) -> Array:
    """Return the force (S, 3) of a rigid contact on its second body, friction too, world axes [N]."""
    found = reaction_values(resampled, resampled.system, name)[:, :3]
    friction = resampled.system.forces.get(f"{name} friction")
    return found if friction is None else found + resampled.connector_wrench(friction.connector)[:, :3]


def rigid_frame(resampled: Evaluation, name: str, side: str) -> tuple[Array, Array]:
    """Return the point (S, 3) of an end of a rigid contact, from the origin of the world [m], and its z axis (S, 3)."""
    tables, closure = resampled.tables, resampled.system.closure_names.index(name)
    connector, q = int(tables.closures.connector[closure]), closure - int(tables.conditions.first[0])
    dof, frames = (
        (tables.connectors.a, tables.conditions.frame_a)
        if side == "a"
        else (tables.connectors.b, tables.conditions.frame_b)
    )
    motion, frame = resampled.motion(int(dof[connector])), frames[q]
    return np.asarray(motion.o + motion.r + motion.A @ frame[:, 3]), np.asarray(motion.A @ frame[:, 2])


def rigid_normal(resampled: Evaluation, name: str) -> Array:
    """Return the normal (S, 3) of the plane of a rigid contact, world axes."""
    return rigid_frame(resampled, name, "a")[1]


def rigid_point(resampled: Evaluation, name: str) -> Array:
    """Return the point (S, 3) of the second body that is nearest to the plane, world axes [m]."""
    gap = cast(PointGap, resampled.system.rigid[name])
    return rigid_frame(resampled, name, "b")[0] - gap.radius * rigid_normal(resampled, name)


def law_inputs(resampled: Evaluation, force: str) -> dict[str, Array]:
    """Return the inputs of a force law over the samples by name: numbers (S,), or vectors (k, S)."""
    system, u, found = resampled.system, resampled.samples.u, {}
    for name, place in system.inputs.items():
        owner, _, word = name.rpartition(".")
        if owner == force:
            found[word] = u[:, place.start] if place.stop == place.start + 1 else u[:, place].T
    return found


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


PARTS = (  # kind of element that asks for the names, and what it offers
    ("body", body_sources),
    ("marker", marker_sources),
    ("joint", joint_sources),
    ("joint", reaction_sources),
    ("joint", violation_sources),
    ("joint", contact_sources),
    ("joint", rigid_sources),
    ("driver", driver_sources),
    ("coupler", coupler_sources),
    ("force", force_sources),
    ("force", state_sources),
    ("energy", energy_sources),
    ("momentum", momentum_sources),
)


def run_result(
    system: System,
    tables: Tables,
    samples: Samples,
    outcomes: Mapping[str, int],
    warnings: Callable[[], Mapping[str, int]] | None = None,
    drivers_given: bool = False,
) -> Result:
    """Return the Result of recorded samples; ``tables`` are those of the simulation, which may have measured assembly
    offsets. ``drivers_given``: joints do not share with drivers.
    """
    resampled = Evaluation(system, tables, samples)
    resampled.drivers_given = drivers_given

    def warned() -> Mapping[str, int]:
        """Return the warnings, each a Python warning too."""
        found = {} if warnings is None else warnings()
        for text, count in found.items():
            warn(f"{text} ({with_count(count, 'time')})")
        return found

    return Result(lambda: sources(system, resampled), system.name, system.fingerprint, outcomes, warned, system)


def sources(system: System, resampled: Evaluation) -> dict[str, Source]:
    """Return all channels by name. A name that two kinds of element ask for goes to neither: ``kind:name`` for each."""
    return {name: entry.source for name, entry in resolve_names(offered(system, resampled)).items()}


def offered(system: System, resampled: Evaluation) -> Iterator[Entry]:
    """Yield every channel of a System."""
    yield Entry("time", TIME, Source((), "s", lambda: resampled.samples.t))
    for kind, part in PARTS:
        for name, source in part(system, resampled):
            yield Entry(kind, name, source)
