"""Warnings of recorded runs: ringing accelerations, lost momenta and lost energy.

Warnings of recorded runs: accelerations that ring, and momenta that a symmetry conserves but the run lost.

The trapezoidal rule answers a mode of |w h| or damping c h / m far above one with (-1)^k: nothing of it is physical.
Steps that were taken in an even number of parts hide the sign: the rate then stays while the coordinate stands.

A component is a set of bodies that loops or forces connect. A rigid motion of a component is a symmetry when the joints
on ground allow it at every position, and when neither ground nor gravity acts along it. A translation conserves the
momentum along it, a rotation the angular momentum about its axis (Noether).

Warnings of runs that lost or gained energy though nothing in the System takes or gives any.

A System of gravity, ideal joints, springs and constant loads conserves its energy. A symplectic step swings about it. A
step that does not resolve a fast passage, such as the dead centre of a loop, changes it for good, and the motion behind
it is another one. Many small changes of that kind add up to a mean that wanders, which no single sample tells.

Steps of the variational midpoint rule keep a modified energy to h^4 (METHODS 6.12). It differs from the energy by h^2
times a function of the state, which is known in closed form. What is left tells a drift from a swing, however slow the
swing is.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.catalogue import swept_contacts, touch_motion
from rtmbs.results.motion_channels import body_motion, cross
from rtmbs.results.sample_kernels import resample_loads
from rtmbs.results.samples import Evaluation, Samples, select_samples
from rtmbs.semirecursive.page_elements import columns, frames
from rtmbs.system.components import balance_of
from rtmbs.system.system import BodyInfo, System
from rtmbs.system.tables import GRAVITY_SLOT, ROTATION, Tables

Array = NDArray[np.float64]
ALIKE = 0.25  # relative change of size from step to step that still is the same size
MATTERS = 1e-3  # h/2 |zdd| relative to the largest rate of the record: below it ringing is left alone
STILL = 1e-8  # h^2/4 |zdd| in typical sizes: below it there is only rounding
ONE_STEP = 1.001  # of h: an interval between samples that is one step
BLOCK = 4096  # samples looked at together
SHORT, FEWER = 35, 14  # steps of a bounce that may change its energy by 1e-3: of a linear spring, of Hertz's law
HERTZ = 1.5
NAMED = 3  # coordinates


def step_warnings(system: System, samples: Samples, h: float, method: Any = None) -> dict[str, int]:
    """Return what steps of ``h`` [s] do not resolve, with counts: what rings, bounces, and wheels that fall flat.

    A ``method`` that chooses its own steps leaves no sample a step from the one before, so none tells of ringing.
    """
    own = getattr(method, "adaptive", False)
    rings = {} if own else {**ringing(system, samples, h), **short_bounces(system, samples, h)}
    return {**rings, **swept_contacts(system, samples, h)}


def short_bounces(system: System, samples: Samples, h: float) -> dict[str, int]:
    """Return a sentence with a count of bounces for contacts without dissipation that bounce within few steps.

    A bounce of n steps of ``h`` [s] gains or loses up to 1.2 / n^2 of its energy with TR-BDF2, for its ends lie within
    steps (METHODS 8.1). Samples tell where each is one step behind the one before.
    """
    found: dict[str, int] = {}
    laws = {name: getattr(info.contact, "normal", None) for name, info in system.forces.items()}
    elastic = {name: normal for name, normal in laws.items() if normal is not None and normal.dissipation == 0.0}
    steps = np.diff(samples.t) <= ONE_STEP * h
    if not elastic or not steps.any():
        return found
    resampled = Evaluation(system, system.tables, samples)
    for name, normal in elastic.items():
        most = SHORT if normal.exponent < HERTZ else FEWER
        closed = touch_motion(resampled, system.forces[name]).gap < 0.0
        changes = np.flatnonzero(closed[1:] != closed[:-1])[int(closed[0]) :]
        bounces = changes[: len(changes) // 2 * 2].reshape(-1, 2)  # the samples before the first and the last change
        count = sum(bool(last - first < most and steps[first : last + 1].all()) for first, last in bounces)
        if count:
            text = f"{name} bounces within {most} steps without dissipation, and may gain 0.1 % of its energy or more"
            found[f"{text}: shorten h, or give dissipation="] = count
    return found


def ringing(system: System, samples: Samples, h: float) -> dict[str, int]:
    """Return "rings: COORDINATE" and how many samples ring, for the coordinates that ring most, at steps ``h`` [s]."""
    if len(samples.t) < 3 or system.n == 0:
        return {}
    fastest = max(float(np.max(np.abs(rates) / system.typical, initial=0.0)) for rates in blocks(samples.zd))
    counts, continuous = np.zeros(system.n, np.int64), system.tables.dofs.kind != ROTATION
    for t, zdd in zip(blocks(samples.t), blocks(samples.zdd), strict=True):
        counts += alternating(t, zdd / system.typical, fastest, h)
    sizes = zip(*(blocks(values) for values in (samples.t, samples.z, samples.zd)), strict=True)
    for t, z, zd in sizes:
        counts += np.where(continuous, inconsistent_rates(t, z / system.typical, zd / system.typical, fastest, h), 0)
    most = np.argsort(-counts, kind="stable")[:NAMED]
    return {f"rings: {system.coordinate_names[i]}": int(counts[i]) for i in most if counts[i]}


def blocks(values: Any) -> list[Array]:
    """Return ``values`` in blocks of samples; each begins with the last two of the one before."""
    return [values[first : first + BLOCK + 2] for first in range(0, max(len(values) - 2, 1), BLOCK)]


def alternating(t: Array, zdd: Array, fastest: float, h: float) -> Any:
    """Return how many samples (n,) have the opposite sign and about the size of the one before, and that of its own.

    Intervals of two steps and more tell nothing: a motion that swings in between may alternate from sample to sample.
    """
    size = np.abs(zdd)
    flips = (zdd[1:] * zdd[:-1] < 0.0) & (np.abs(size[1:] - size[:-1]) <= ALIKE * size[:-1])
    dt = np.diff(t)[:, None]
    flips &= (0.5 * dt * size[1:] >= MATTERS * fastest) & (0.25 * dt * dt * size[1:] >= STILL) & (dt <= ONE_STEP * h)
    return np.count_nonzero(flips[1:] & flips[:-1], axis=0)


def inconsistent_rates(t: Array, z: Array, zd: Array, fastest: float, h: float) -> Any:
    """Return how many samples (n,) have a steady rate beside a coordinate that does not go half of its way.

    Intervals of two steps and more tell nothing: the coordinate may swing in between.
    """
    dt, mean, change = np.diff(t)[:, None], 0.5 * (zd[1:] + zd[:-1]), np.diff(zd, axis=0)
    steady = (np.abs(change) <= ALIKE * np.abs(mean)) & (np.abs(mean) >= MATTERS * fastest)
    stands = np.abs(np.diff(z, axis=0) - dt * mean) > 0.5 * np.abs(dt * mean)
    stands &= steady & (dt <= ONE_STEP * h) & (dt * np.abs(mean) >= STILL)
    return np.count_nonzero(stands[1:] & stands[:-1], axis=0)


# ---- momenta that a symmetry of the mechanism conserves, and warnings of runs that lost them ------------------------


LOOKED_AT = 17  # samples of a record
LOST = 1e-3  # of a momentum, or of the sum of the sizes of its parts
SMALL = 0.1  # of that sum: a smaller momentum is compared with the sum
POSITIONS = 5  # of the joints on ground, at which a symmetry must be allowed
ZERO = 1e-9  # of directions of unit length
DRIFTS = (
    "{what} drifts by {share:.1%} of {size}, though neither ground nor gravity acts {where} "
    "({x:.3g}, {y:.3g}, {z:.3g}); method=rtmbs.VariationalMidpoint() conserves it"
)


class Component(NamedTuple):
    """Bodies that loops and forces connect, and the rigid motions that nothing outside acts against."""

    bodies: list[BodyInfo]
    translations: Array  # (k, 6) orthonormal rows [direction, 0]
    rotations: Array  # (k, 6) rows [velocity at the origin, angular velocity]


def momentum_drift(system: System, tables: Tables, samples: Samples) -> dict[str, int]:
    """Return a sentence, with count 1, for every conserved momentum that the samples lose more than LOST of."""
    if len(samples.t) < 2 or system.n == 0:
        return {}
    looked = np.unique(np.linspace(0, len(samples.t) - 1, LOOKED_AT).astype(np.int64))
    few = select_samples(samples, looked)
    found = {}
    for component in components(system, tables, few.u[:, GRAVITY_SLOT : GRAVITY_SLOT + 3]):
        momenta, whole = body_momenta(Evaluation(system, tables, few), component.bodies)
        for motions, what, where in (
            (component.translations, "the momentum", "along"),
            (component.rotations, "the angular momentum", "about"),
        ):
            share, axis, size = lost(momenta, whole, motions)
            if share > LOST:
                x, y, z = np.round(axis, 6) + 0.0
                found[DRIFTS.format(what=what, where=where, share=share, size=size, x=x, y=y, z=z)] = 1
    return found


def lost(momenta: Array, whole: Array, motions: Array) -> tuple[float, Array, str]:
    """Return the largest change of what ``motions`` (k, 6) conserve, its axis (3,), and the size it is a share of.

    The size is that of the momentum itself. A momentum that is small beside its parts has been added up from large
    ones, and is compared with the sum of their sizes. Arguments as ``body_momenta`` returns them.
    """
    turns = bool(np.any(motions[:, 3:]))
    own = slice(3, 6) if turns else slice(3)
    parts = np.einsum("sbi,ki->sbk", momenta[:, :, own], motions[:, own])
    if turns:
        parts = np.concatenate((parts, (whole @ motions.T)[:, None]), axis=1)
    total = parts.sum(axis=1)
    first, sizes = float(np.linalg.norm(total[:1])), np.linalg.norm(parts, axis=2).sum(axis=1)
    size, name = float(sizes.max(initial=0.0)), "the sum of its parts"
    if first >= SMALL * size:
        size, name = first, "its size"
    change = total - total[:1]
    if size == 0.0 or not np.all(np.isfinite(change)):
        return 0.0, np.zeros(3), name
    drifts = np.linalg.norm(change, axis=1)
    along = change[np.argmax(drifts)] @ motions
    axis = along[3:] if turns else along[:3]
    return float(drifts.max()) / size, axis / max(float(np.linalg.norm(axis)), 1e-300), name


def body_momenta(resampled: Evaluation, bodies: list[BodyInfo]) -> tuple[Array, Array]:
    """Return the momenta of bodies (S, bodies, 6), and that of their mass centre (S, 6), in world axes.

    Angular momenta of bodies are those about the mass centre of all, of their motion beside it: they do not grow with
    the way that the whole travels. That of the mass centre is about the world's origin.
    """
    mass, places, momenta, spins = sum(info.mass for info in bodies), [], [], []
    for info in bodies:
        body = body_motion(resampled, info)
        point = body.point(info.center_of_mass)
        in_body = np.einsum("sji,sj->si", body.orientation, body.omega)
        places.append(body.in_world(point))
        momenta.append(info.mass * body.velocity(point))
        spins.append(np.einsum("sij,sj->si", body.orientation, in_body @ info.inertia))
    masses = np.array([info.mass for info in bodies])
    x, p = np.stack(places, axis=1), np.stack(momenta, axis=1)
    center, total = np.tensordot(x, masses, (1, 0)) / mass, p.sum(axis=1)
    beside = p - masses[:, None] * (total / mass)[:, None]
    arms = (x - center[:, None]).reshape(-1, 3)
    about_center = np.stack(spins, axis=1) + cross(arms, beside.reshape(-1, 3)).reshape(x.shape)
    return np.concatenate((p, about_center), axis=2), np.concatenate((total, cross(center, total)), axis=1)


def components(system: System, tables: Tables, gravity: Array) -> list[Component]:
    """Return the components with a symmetry under all of ``gravity`` (S, 3)."""
    parent = tables.dofs.parent
    root = np.arange(len(parent))
    for i in np.flatnonzero(parent >= 0):  # parents come first
        root[i] = root[parent[i]]
    whole, grounded = connected(tables, root)
    found, labels = [], sorted(set(whole.tolist()) - grounded)
    if not labels:
        return []
    bases = [joint.dofs for joint in system.joints.values() if ground_joint(joint.dofs, joint.in_tree, parent)]
    scaled = base_columns(system, tables)
    for label in labels:
        mine = [np.array(dofs) for dofs in bases if whole[dofs[0]] == label]
        bodies = [
            info for info in system.bodies.values() if info.dof >= 0 and info.mass > 0.0 and whole[info.dof] == label
        ]
        if not bodies or not mine or acted_upon(tables, np.concatenate(mine)):
            continue
        translations, rotations = symmetries(system, scaled, mine, gravity)
        if len(translations) or len(rotations):
            found.append(Component(bodies, translations, rotations))
    return found


def ground_joint(dofs: tuple[int, ...], in_tree: bool, parent: Any) -> bool:
    """Return True for a joint of the tree between ground and a body."""
    return in_tree and len(dofs) > 0 and min(dofs) >= 0 and parent[min(dofs)] < 0


def connected(tables: Tables, root: Any) -> tuple[Any, set[int]]:
    """Return the component (n,) of every dof, by the smallest root dof in it, and those that ground is connected to."""
    connectors, label = tables.connectors, root.copy()
    relations = set(tables.closures.connector[min(int(tables.conditions.first[1]), int(tables.couplers.first[0])) :])
    grounded = []
    for c, (a, b) in enumerate(zip(connectors.a, connectors.b, strict=True)):
        own = connectors.dof[connectors.pointer[c] : connectors.pointer[c + 1]]
        joined = np.unique(label[own])
        label[np.isin(label, joined)] = joined.min(initial=len(root))
        if c not in relations and min(a, b) < 0 and len(own):
            grounded.append(own[0])
    return label, {int(label[i]) for i in grounded}


def acted_upon(tables: Tables, base: Any) -> bool:
    """Return True when a driver, a force or a relation of coordinates holds one of the dofs of a joint on ground."""
    laws, connectors, closures = tables.laws, tables.connectors, tables.closures
    held = [tables.drivers.dof, tables.joint_forces.dof, laws.row, laws.input[:, 0] if len(laws.input) else laws.row]
    for c in closures.connector[min(int(tables.conditions.first[1]), int(tables.couplers.first[0])) :]:
        held.append(connectors.dof[connectors.pointer[c] : connectors.pointer[c + 1]])
    return bool(np.isin(np.concatenate(held), base).any())


def base_columns(system: System, tables: Tables) -> Array:
    """Return the columns S (positions, n, 6) at random positions; turns times a length compare with displacements."""
    z = np.random.default_rng(0).normal(size=(POSITIONS, system.n)) * system.typical
    S = columns(np, tables, *frames(np, tables, system.R0, z))  # type: ignore[no-untyped-call]
    return np.asarray(S * np.repeat((1.0, system.length), 3))


def symmetries(system: System, scaled: Array, bases: list[Any], gravity: Array) -> tuple[Array, Array]:
    """Return translations and rotations (k, 6) that all joints on ground allow, at the positions of ``scaled``."""
    scale = np.repeat((1.0, system.length), 3)
    against = np.zeros((6, 6))
    for dofs in bases:
        q, r = np.linalg.qr(scaled[:, dofs].transpose(0, 2, 1))
        q = q * (np.abs(np.diagonal(r, axis1=1, axis2=2)) > ZERO * system.length)[:, None]
        against += len(q) * np.eye(6) - np.einsum("pik,pjk->ij", q, q)
    for g in np.unique(gravity[np.any(gravity != 0.0, axis=1)], axis=0):
        g = g / np.linalg.norm(g)
        work = np.zeros((4, 6))
        work[0, :3], work[1:, 3:] = g, np.cross(g, np.eye(3))
        against += work.T @ work
    values, vectors = np.linalg.eigh(against)
    free = vectors[:, values < ZERO].T  # rows
    if len(free) == 0:
        return free, free
    mix, turning, _ = np.linalg.svd(free[:, 3:])
    mixed = mix.T @ free  # rotations first, then translations
    count = int(np.count_nonzero(turning > np.sqrt(ZERO)))
    return mixed[count:] / scale, mixed[:count] / scale


def energy_correction(system: System, tables: Tables, samples: Samples, h: float) -> Array:
    """Return what the modified energy of steps of ``h`` [s] has beside the energy at each sample (S,) [J].

    It is ``h^2/24 (D2 - 2 D1)``. D2 is the second derivative of the Lagrangian L along (zd, zdd), D1 the first along
    (zdd, w x wd), where rotations have body rates w. Differences over one step give h^2 times both, exact to h^4.
    """
    z, zd, zdd = samples.z, samples.zd, samples.zdd
    turned = np.zeros_like(zd)
    for i in np.flatnonzero(tables.dofs.reference >= 0):
        turned[:, i : i + 3] = np.cross(zd[:, i : i + 3], zdd[:, i : i + 3])

    def lagrangian(dz: Array, dzd: Array) -> Array:
        kinetic, potential = energies_of(system, tables, samples._replace(z=z + dz, zd=zd + dzd))
        return kinetic - potential

    still, half = np.zeros_like(z), 0.5 * h * h
    second = lagrangian(h * zd, h * zdd) + lagrangian(-h * zd, -h * zdd) - 2.0 * lagrangian(still, still)
    first = lagrangian(half * zdd, half * turned) - lagrangian(-half * zdd, -half * turned)
    return (second - 2.0 * first) / 24.0


def energies_of(system: System, tables: Tables, samples: Samples) -> tuple[Array, Array]:
    """Return kinetic energies (S,) of samples, and potentials of weight, springs and constant loads (S,) [J]."""
    kinetic, gravity, elastic = Evaluation(system, tables, samples).energies
    return kinetic, gravity + elastic + loads_of(system, tables, samples)[0]


def loads_of(system: System, tables: Tables, samples: Samples) -> Array:
    """Return potentials of constant loads [J], and what is not 0 where no potential tells the work (2, S)."""
    out = np.zeros((2, len(samples.t)))
    if acting(tables):
        one = tables._replace(balance=balance_of(np.zeros(system.n, np.int64), system.length))
        resample_loads(one, samples, Evaluation(system, one, samples).ws, out)
    return out


CHANGED = 0.01  # of the largest kinetic energy, or of the largest change of it
REST = 1e-9  # of the weights times the characteristic length: below it nothing moves
CHANGES = (
    "the energy changes by {share:.1%} of the kinetic energy beyond the work of all forces: steps of h = {h:g} s "
    "do not resolve the motion, and what follows may be wrong; compare with a run of h / 5"
)
WANDERS = (
    "the mean energy moves by {share:.2g} of the kinetic energy beyond the work of all forces: steps of "
    "h = {h:g} s do not resolve the fastest passages; compare with a run of h / 5"
)
PARTS, SWINGS = 16, 1  # of a record, whose means are compared, and the fewest swings in each of them
MANY, MOST = 128, 1024  # samples of a record: the fewest that tell of its mean, and the most that are looked at
SCATTER = 5.0  # standard deviations of a mean by chance: the means of parts scatter by less where the energy swings
NUMERIC = 3e-5  # of the kinetic energy: below it the mean is as good as at rest, and slow swings may look like it
MODIFIED = 1e-6  # the same for the modified energy, whose swings are of order h^4
JUMP, SPANS = 1e-3, 8  # of the kinetic energy: medians of that many spans of a record lie apart by less
FEW = 64  # samples of a record by a method that is not symmetric, whose medians are looked at
ABRUPT, CALM = 0.5, 0.1  # of the change of these: what two spans in a row make of it, and the swings beside it
NEXT = 10.0  # of the square of the first term of the modified energy: below it a mean may swing by the next term


def drifts(
    system: System, tables: Tables, samples: Samples, h: float, method: Any = None, acted: bool = False
) -> dict[str, int]:
    """Return a sentence, with count 1, for everything that the System conserves and steps of ``h`` [s] do not.

    ``method``: that of the run. ``acted``: events happened, whose actions may have changed the energy.
    """
    symmetric = bool(getattr(method, "symmetric", False))
    energy = {} if acted else energy_drift(system, tables, samples, h, symmetric)
    return {**momentum_drift(system, tables, samples), **energy}


def energy_drift(system: System, tables: Tables, samples: Samples, h: float, symmetric: bool = False) -> dict[str, int]:
    """Return CHANGES or WANDERS, with count 1, when steps change the energy of a conservative System.

    CHANGES: by more than CHANGED at LOOKED_AT samples; the first one tells what it should be. Or a single passage
    changes it for good. WANDERS: the steps are those of a ``symmetric`` method, whose energy swings, and its mean moves
    all the same.
    """
    if len(samples.t) < 2 or system.n == 0 or system.locks or system.rigid or not conservative(tables):
        return {}
    looked = LOOKED_AT if len(samples.t) < MANY else min(MOST, len(samples.t)) if symmetric else FEW
    few = select_samples(samples, np.unique(np.linspace(0, len(samples.t) - 1, looked).astype(np.int64)))
    if np.any(few.u != few.u[:1]) or loads_of(system, tables, select_samples(few, np.zeros(1, np.int64)))[1].any():
        return {}
    kinetic, potential = energies_of(system, tables, few)
    total = kinetic + potential
    if not np.all(np.isfinite(total)):
        return {}
    size = max(float(kinetic.max()), float(np.ptp(potential)), REST * float(np.abs(potential).max()), 1e-300)
    at = np.linspace(0, len(total) - 1, min(LOOKED_AT, len(total))).astype(np.int64)
    share = float(np.abs(total[at] - total[0]).max()) / size
    if share <= CHANGED and not symmetric:
        share = abrupt_change(total) / size
    if share > CHANGED or (share > JUMP and not symmetric):
        return {CHANGES.format(share=share, h=h): 1}
    wander = mean_wander(system, tables, few, h, total, size) if symmetric else 0.0
    return {WANDERS.format(share=wander, h=h): 1} if wander else {}


def mean_wander(system: System, tables: Tables, samples: Samples, h: float, energy: Array, size: float) -> float:
    """Return by what share of ``size`` [J] the mean of an energy (S,) wanders, and 0 where swings explain it.

    Steps of the midpoint rule keep their modified energy (METHODS 6.12), in which even slow swings are gone. It is
    judged where it swings less than the energy does within the parts of the record. Steps of another rule, or of
    another size, leave the energy itself to be judged.
    """
    raw = spread_of_means(energy)
    if jump := jump_of_medians(system, tables, samples, h, energy, size):
        return jump
    if not raw.moved:
        return 0.0
    correction = energy_correction(system, tables, samples, h)
    kept, found, least = spread_of_means(energy + correction), raw, NUMERIC
    if 0.0 < kept.by_chance < raw.by_chance:
        found, least = kept, max(MODIFIED, NEXT * (float(np.ptp(correction)) / size) ** 2)
    wanders = found.moved > least * size and found.deviation > SCATTER * found.by_chance
    return found.moved / size if wanders else 0.0


def jump_of_medians(system: System, tables: Tables, samples: Samples, h: float, energy: Array, size: float) -> float:
    """Return by what share of ``size`` [J] single passages change an energy (S,) for good; 0 below JUMP.

    Swings at passages are short, so medians of spans do not see them. What they see has to be in the modified energy
    too, and to be more than its first term in any span: then no swing explains it.
    """
    if len(energy) < MANY or apart(energy) <= JUMP * size:
        return 0.0
    correction = energy_correction(system, tables, samples, h)
    explained = max(float(np.median(np.abs(span))) for span in np.array_split(correction, SPANS))
    moved = min(apart(energy), apart(energy + correction))
    return moved / size if moved > max(JUMP * size, explained) else 0.0


def abrupt_change(energy: Array) -> float:
    """Return how far the median of the last span of an energy (S,) is from the first [J], where one passage makes most.

    Otherwise 0. Steps that lose a little everywhere change it evenly, and swings are larger than what they hide.
    """
    if len(energy) < FEW:
        return 0.0
    spans = np.array_split(energy, SPANS)
    medians = np.array([np.median(span) for span in spans])
    moved, swings = abs(float(medians[-1] - medians[0])), float(np.median([np.ptp(span) for span in spans]))
    return moved if np.abs(np.diff(medians)).max() > ABRUPT * moved and swings < CALM * moved else 0.0


def apart(energy: Array) -> float:
    """Return how far the medians of SPANS of an energy (S,) lie apart [J]."""
    return float(np.ptp([np.median(span) for span in np.array_split(energy, SPANS)]))


class Spread(NamedTuple):
    """Spread of the means of PARTS of an energy [J]."""

    moved: float = 0.0  # how far they lie apart
    deviation: float = 0.0  # their standard deviation
    by_chance: float = 0.0  # the same of means of as many samples that scatter as those within the parts do


def spread_of_means(energy: Array) -> Spread:
    """Return how far the means of PARTS of an energy (S,) lie apart, and how far they would by chance [J].

    The swings within the parts tell of chance, as in an analysis of variance. All is zero where the record is too
    short, or where the energy swings less than SWINGS times in a part of it.
    """
    if len(energy) < MANY:
        return Spread()
    parts = np.array_split(energy, PARTS)
    means = np.array([part.mean() for part in parts])
    passed = [np.count_nonzero(np.diff(part > mean)) for part, mean in zip(parts, means, strict=True)]
    if np.mean(passed) < 2 * SWINGS:
        return Spread()
    by_chance = np.sqrt(np.mean([part.var() / len(part) for part in parts]))
    return Spread(float(np.ptp(means)), float(means.std()), max(float(by_chance), 1e-300))


def conservative(tables: Tables) -> bool:
    """Return True for a System without drivers, without laws, and without rows that depend on time."""
    kinds = sum(len(one.connector) for one in tables.forces)
    others = len(tables.connectors.a) > len(tables.closures.connector) + kinds
    return not (others or len(tables.laws.row) or len(tables.drivers.dof))


def acting(tables: Tables) -> bool:
    """Return True for a System with springs, bushings, wrenches or forces of joints."""
    return bool(len(tables.joint_forces.dof)) or any(len(one.connector) for one in tables.forces)
