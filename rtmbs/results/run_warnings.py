"""Warnings of recorded runs: accelerations that ring, and momenta that a symmetry conserves but the run lost.

The trapezoidal rule answers a mode of |w h| or damping c h / m far above one with (-1)^k: nothing of it is physical.
Steps that were taken in an even number of parts hide the sign: the rate then stays while the coordinate stands.

A component is a set of bodies that loops or forces connect. A rigid motion of a component is a symmetry when the joints
on ground allow it at every position, and when neither ground nor gravity acts along it. A translation conserves the
momentum along it, a rotation the angular momentum about its axis (Noether).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.body_motion import body_motion, cross
from rtmbs.results.contact_channels import swept_contacts
from rtmbs.results.evaluation import Evaluation
from rtmbs.results.samples import Samples, select_samples
from rtmbs.semirecursive.page_kinematics import columns, frames
from rtmbs.system.system import BodyInfo, System
from rtmbs.system.tables import GRAVITY_SLOT, ROTATION, Tables

Array = NDArray[np.float64]

ALIKE = 0.25  # relative change of size from step to step that still is the same size
MATTERS = 1e-3  # h/2 |zdd| relative to the largest rate of the record: below it ringing is left alone
STILL = 1e-8  # h^2/4 |zdd| in typical sizes: below it there is only rounding
ONE_STEP = 1.001  # of h: an interval between samples that is one step
BLOCK = 4096  # samples looked at together
NAMED = 3  # coordinates


def step_warnings(system: System, samples: Samples, h: float, method: Any = None) -> dict[str, int]:
    """Return what steps of ``h`` [s] do not resolve, with counts of samples: what rings, and wheels that fall flat.

    A ``method`` that chooses its own steps leaves no sample a step from the one before, so none tells of ringing.
    """
    rings = {} if getattr(method, "adaptive", False) else ringing(system, samples, h)
    return {**rings, **swept_contacts(system, samples, h)}


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
