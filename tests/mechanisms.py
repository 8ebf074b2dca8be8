"""Random mechanisms for tests: the same seed gives the same mechanism, and its states leave the loops open on purpose.

``random_tables`` writes the flat tables directly, without model and compile: odd things (massless frames, points far
from their bodies, connectors between any two branches) come up more often than any user would draw them.
"""

from typing import NamedTuple

import numpy as np

from rtmbs.forces.register import KINDS, Forces
from rtmbs.forces.springs import Springs
from rtmbs.forces.wrenches import Wrenches
from rtmbs.system.components import no_balance, no_origins, with_origins
from rtmbs.system.condition_tables import no_conditions
from rtmbs.system.contact_tables import no_contact_sets, no_contacts
from rtmbs.system.dof_layout import elements_of
from rtmbs.system.law_tables import WIDTH, no_lane_program, no_program, no_seat_program
from rtmbs.system.pattern import no_condensed, no_interfaces
from rtmbs.system.tables import (
    DISTANCE,
    DOT,
    PRISMATIC,
    RELATION,
    REVOLUTE,
    ROTATION,
    TRANSLATION,
    Array,
    Closures,
    Connectors,
    Couplers,
    Dofs,
    Drivers,
    JointForces,
    Laws,
    Paths,
    Tables,
)

# Rows of each closure type: translations, dot products, distances (METHODS 1.25).
CLOSURE_ROWS = {
    "point": (3, 0, 0),
    "line": (2, 0, 0),
    "revolute": (3, 2, 0),
    "universal": (3, 1, 0),
    "cylindrical": (2, 2, 0),
    "prismatic": (2, 3, 0),
    "planar": (1, 2, 0),
    "fixed": (3, 3, 0),
    "rod": (0, 0, 1),
    "driven rod": (0, 0, 1),
}
COUPLERS = ("coupler", "driven coupler")  # one row each  # fmt: skip


class Mechanism(NamedTuple):
    """What a page function or a kernel needs besides the state."""

    tables: Tables
    u: Array  # (nu,)
    R0: Array  # (nr, 3, 3)


class Motion(NamedTuple):
    """A random state: loops are open and rates do not fit them."""

    z: Array  # (n,)
    zd: Array  # (n,)
    zdd: Array  # (n,)
    alpha: Array  # (m,) positive
    lam: Array  # (m,)


def no_forces():
    """Return the tables of a model without forces."""
    return Forces(*(kind.build((), None) for kind in KINDS))


def no_laws():
    """Return the tables of a model without force laws."""
    frames, integers = np.zeros((0, 3, 4)), np.zeros(0, np.int64)
    wrench_entry, inputs, force_entry = (np.zeros((0, width), np.int64) for width in (3, 2, 4))
    counts, block = np.zeros(4, np.int64), np.zeros((0, WIDTH), np.int64)
    return Laws(
        no_program(), no_lane_program(), no_lane_program(), no_seat_program(), integers, integers, frames, frames,
        wrench_entry, integers, inputs,
        force_entry, counts, block, integers,
    )  # fmt: skip


def size(tables: Tables) -> tuple[int, int]:
    """Return n and m."""
    return len(tables.dofs.kind), len(tables.closures.kind) + len(tables.drivers.dof)


def random_motion(seed: int, tables: Tables) -> Motion:
    """Return a random state of ``tables``."""
    rng = np.random.default_rng((seed, 1))
    n, m = size(tables)
    reach = np.choose(tables.dofs.kind, (np.pi, 1.0, 1.5))
    z = rng.uniform(-reach, reach)
    return Motion(z, rng.normal(size=n), 3 * rng.normal(size=n), rng.uniform(0.5, 2, m) * 100, 10 * rng.normal(size=m))


def exponential(d: Array) -> Array:
    """Return exp(d~) (3, 3), also of complex d."""
    halvings = max(0, int(np.ceil(np.log2(np.abs(d).max() + 1e-300))) + 1)
    D = np.array([[0, -d[2], d[1]], [d[2], 0, -d[0]], [-d[1], d[0], 0]]) / 2.0**halvings
    total = power = np.eye(3) + 0 * D
    for k in range(1, 20):
        power = power @ D / k
        total = total + power
    for _ in range(halvings):
        total = total @ total
    return total


def committed(mechanism: Mechanism, motion: Motion) -> tuple[Mechanism, Motion]:
    """Return the same state at a step boundary: turns of rotation dofs in R0, their coordinates zero."""
    z, R0, reference = motion.z.copy(), mechanism.R0.copy(), mechanism.tables.dofs.reference
    for i in np.flatnonzero(reference >= 0):
        R0[reference[i]] = R0[reference[i]] @ exponential(z[i : i + 3] @ mechanism.tables.dofs.axis[i : i + 3])
        z[i : i + 3] = 0.0
    return mechanism._replace(R0=R0), motion._replace(z=z)


def turns(tables: Tables, z: Array) -> Array:
    """Return T (n, n): R0 exp(delta~) of rotation dofs turns by T d(delta) in body axes; else the identity."""
    T = np.eye(len(z))
    for i in np.flatnonzero(tables.dofs.reference >= 0):
        d = z[i : i + 3]
        for k, e in enumerate(np.eye(3)):
            W = exponential(d).T @ exponential(d + 1e-40j * e).imag / 1e-40
            T[i : i + 3, i + k] = W[2, 1], W[0, 2], W[1, 0]
    return T


def random_tables(
    seed: int,
    n: int = 12,
    closures: tuple[str, ...] = tuple(CLOSURE_ROWS),
    drivers: int = 2,
    joint_forces: int = 4,
    springs: int = 4,
    wrenches: int = 4,
    couplers: int = 3,
) -> Mechanism:
    """Return a tree of ``n`` random dofs with closures by type and that many other elements.

    Sparse positions are those of a full row-major matrix: entry (i, j) lies at i n + j of ``values`` (n n,).
    """
    rng = np.random.default_rng((seed, 0))
    dofs, R0 = random_dofs(rng, n)
    u = [rng.normal(size=3) - np.array([0.0, 0.0, 9.81])]
    plain = np.flatnonzero(dofs.kind != ROTATION)  # what has a coordinate to drive, to couple or to push
    joined = random_branches(np.random.default_rng((seed, 5)), plain, couplers)
    types = closures + COUPLERS * len(joined)
    closure_tables = random_closures(rng, types[: len(closures) + len(joined)], u)
    coupler_tables = Couplers(np.array([len(closures)]), rng.normal(size=sum(map(len, joined))))
    driver_dof = rng.choice(plain, min(drivers, len(plain)), replace=False)
    driver_tables = Drivers(driver_dof, slots(rng, u, len(driver_dof), 3), driver_dof * n + driver_dof)
    force_dof = rng.choice(plain, size=joint_forces if len(plain) else 0)
    force_tables = JointForces(force_dof, slots(rng, u, len(force_dof), 4), force_dof * n + force_dof)
    first = len(closures) + len(joined) + np.arange(springs + wrenches)  # their connectors
    spring_tables = Springs(
        first[:springs], rng.normal(size=(springs, 3)), rng.normal(size=(springs, 3)), slots(rng, u, springs, 4)
    )
    axes = np.array([random_rotation(rng) for _ in range(wrenches)]).reshape(-1, 3, 3)
    follows, place = np.arange(wrenches) % 2, rng.normal(size=(wrenches, 3))
    wrench_tables = Wrenches(first[springs:], place, axes, follows, slots(rng, u, wrenches, 6))

    ends = [random_ends(rng, dofs, k) for k in range(len(closures) + springs)]
    ends += [(-1, int(dofs.tip[rng.integers(n)])) for _ in range(wrenches)]
    ends[len(closures) : len(closures)] = [(int(branch[0]),) * 2 for branch in joined]
    connectors = make_connectors(dofs.parent, ends, dict(enumerate(joined, len(closures))))
    width = np.diff(connectors.pointer)[: len(closures) + len(joined)]
    entries = np.concatenate(([0], np.cumsum(width * np.diff(closure_tables.row_pointer))))
    closure_tables = closure_tables._replace(entry_pointer=entries)
    tables = Tables(
        dofs,
        no_origins(n),
        make_paths(dofs.parent),
        no_interfaces(n),
        no_condensed(),
        connectors,
        closure_tables,
        no_contacts(len(closures)),
        no_conditions(len(closures)),
        coupler_tables,
        driver_tables,
        force_tables,
        no_forces()._replace(springs=spring_tables, wrenches=wrench_tables),
        no_laws(),
        no_balance(n),
        no_contact_sets(),
    )
    return Mechanism(with_origins(tables), np.concatenate(u), R0)


# ------------------------------------------------------------------------------------------------------------- pieces


def random_rotation(rng) -> Array:
    """Return a rotation (3, 3)."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


def random_units(rng, k: int) -> Array:
    """Return k unit vectors (k, 3)."""
    x = rng.normal(size=(k, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def random_dofs(rng, n: int) -> tuple[Dofs, Array]:
    """Return random dofs of every kind, some massless, some point masses, some without an offset rotation."""
    kind, reference, parent = random_elements(rng, n)
    base, tip = elements_of(parent, reference)
    within = tip != np.arange(n)  # the first two of three rotation dofs bear nothing
    behind = np.flatnonzero((kind == ROTATION) & (reference < 0))
    principal = rng.uniform(0.1, 1, (n, 3))
    moments = principal.sum(axis=1, keepdims=True) - principal  # any two exceed the third
    turn = np.array([random_rotation(rng) for _ in range(n)])
    mass, inertia = rng.uniform(0.5, 2, n), np.einsum("nij,nj,nkj->nik", turn, moments, turn)
    inner = np.isin(np.arange(n), parent)
    what = rng.choice(3, n, p=(0.6, 0.3, 0.1))  # body, massless frame, point mass; tips have mass
    mass[inner & (what == 1) | within] = 0.0
    inertia[inner & (what > 0) | within] = 0.0
    rotations = np.array([random_rotation(rng) for _ in range(n)])
    turned = rng.random(n) < 0.7
    turned[behind] = False
    rotations[~turned] = np.eye(3)
    offset, axis = 0.5 * rng.normal(size=(n, 3)), random_units(rng, n)
    offset[behind] = 0.0
    for first in np.flatnonzero(reference >= 0):
        axis[first : first + 3] = random_rotation(rng)
    own = rng.spawn(1)[0]  # apart: other numbers stay those of mechanisms without pitch
    pitch = np.where((kind == REVOLUTE) & (own.random(n) < 0.3), own.normal(size=n), 0.0)
    dofs = Dofs(
        kind=kind,
        parent=parent,
        base=base,
        tip=tip,
        offset_rotation=rotations,
        turned=turned.astype(np.int64),
        offset=offset,
        axis=axis,
        pitch=pitch,
        reference=reference,
        mass=mass,
        mass_center=0.3 * rng.normal(size=(n, 3)),
        inertia=inertia,
    )
    return dofs, np.array([random_rotation(rng) for _ in range(reference.max(initial=-1) + 1)]).reshape(-1, 3, 3)


def random_elements(rng, n: int) -> tuple[Array, Array, Array]:
    """Return kind, reference and parent (n,) of random elements: revolute, prismatic, three rotation dofs in a row."""
    kind, reference, parent, bearing = [], [], [], []
    count = 0
    while len(kind) < n:
        i = len(kind)
        above = int(rng.choice((-1, i - 1, rng.choice([-1, *bearing])), p=(0.1, 0.5, 0.4))) if i else -1
        if i + 3 <= n and rng.random() < 0.25:
            kind += [ROTATION] * 3
            reference += [count, -1, -1]
            parent += [above, i, i + 1]
            count += 1
        else:
            kind.append(REVOLUTE if rng.random() < 0.7 else PRISMATIC)
            reference.append(-1)
            parent.append(above)
        bearing.append(len(kind) - 1)
    return np.array(kind), np.array(reference), np.array(parent)


def slots(rng, u: list, count: int, width: int) -> Array:
    """Append ``count`` random groups of ``width`` inputs to ``u`` and return where they start (count,)."""
    first = sum(len(part) for part in u)
    u.append(rng.uniform(0.5, 3, count * width))
    return first + width * np.arange(count)


def random_closures(rng, types: tuple[str, ...], u: list) -> Closures:
    """Return closures by type, with axes and points at random and nonzero assembly offsets; entry_pointer is filled in
    later.
    """
    counts = dict.fromkeys(COUPLERS, (0, 0, 0, 1)) | {name: (*rows, 0) for name, rows in CLOSURE_ROWS.items()}
    kind = [np.repeat((TRANSLATION, DOT, DISTANCE, RELATION), counts[name]) for name in types]
    driven = [np.full(len(rows), name.startswith("driven")) for name, rows in zip(types, kind, strict=True)]
    row_pointer = np.cumsum([0] + [len(rows) for rows in kind])
    kind, driven = (np.concatenate([*rows, np.zeros(0, int)]).astype(int) for rows in (kind, driven))
    slot = np.full(len(kind), -1)
    slot[driven == 1] = slots(rng, u, driven.sum(), 3)
    nc, mc = len(types), len(kind)
    return Closures(
        connector=np.arange(nc),
        row_pointer=row_pointer,
        point_a=rng.normal(size=(nc, 3)),
        point_b=rng.normal(size=(nc, 3)),
        kind=kind,
        axis_a=random_units(rng, mc),
        axis_b=random_units(rng, mc),
        length=np.where(kind >= DISTANCE, rng.uniform(0.5, 2, mc), 0.0),
        slot=slot,
        assembly_offset=1e-2 * rng.normal(size=mc),
        entry_pointer=np.zeros(0, int),
    )


def random_branches(rng, plain: Array, count: int) -> list[Array]:
    """Return the dofs of couplers: two to four coordinates each, as far as there are any."""
    return [rng.choice(plain, min(2 + k % 3, len(plain)), replace=False) for k in range(count if len(plain) > 1 else 0)]


def path(parent: Array, i: int) -> list[int]:
    """Return the dofs from ground to ``i``, itself last."""
    dofs = []
    while i >= 0:
        dofs.append(int(i))
        i = parent[i]
    return dofs[::-1]


def random_ends(rng, dofs: Dofs, k: int) -> tuple[int, int]:
    """Return two different ends: in turn any two dofs, dof and ground, ground and dof, a dof and one above it.

    Of rotation dofs the last of three, which bodies sit on.
    """
    parent, bearing = dofs.parent, np.unique(dofs.tip)
    first, second = rng.choice(bearing, 2, replace=False) if len(bearing) > 1 else (bearing[0], -1)
    if k % 4 == 1:
        second = -1
    elif k % 4 == 2:
        first = -1
    elif k % 4 == 3:
        second = rng.choice([-1, *(i for i in path(parent, first)[:-1] if dofs.tip[i] == i)])
        first, second = rng.permutation((first, second))
    return int(first), int(second)


def make_connectors(parent: Array, ends: list, joined: dict) -> Connectors:
    """Return the connectors between these ends, with branches below the last common ancestor, or as joined."""
    n = len(parent)
    pointer, block_pointer, dof, sign, position = [0], [0], [], [], []
    for l, (a, b) in enumerate(ends):
        above_a, above_b = path(parent, a), path(parent, b)
        branch_a, branch_b = [i for i in above_a if i not in above_b], [i for i in above_b if i not in above_a]
        branch_b = list(joined.get(l, branch_b))
        branch = np.array(branch_a + branch_b, dtype=int)
        dof.extend(branch)
        sign.extend([-1.0] * len(branch_a) + [1.0] * len(branch_b))
        position.extend((branch[:, None] * n + branch[None, :]).ravel())
        pointer.append(len(dof))
        block_pointer.append(len(position))
    a, b = np.array(ends, dtype=int).reshape(-1, 2).T.copy()
    integers = (np.array(x, dtype=np.int64) for x in (pointer, dof, block_pointer, position))
    pointer, dof, block_pointer, position = integers
    return Connectors(a, b, pointer, dof, np.array(sign), block_pointer, position)


def make_paths(parent: Array) -> Paths:
    """Return the paths of every dof, with positions in a full row-major matrix."""
    n = len(parent)
    paths = [path(parent, i) for i in range(n)]
    pointer = np.cumsum([0] + [len(dofs) for dofs in paths])
    column, row = np.concatenate(paths), np.repeat(np.arange(n), np.diff(pointer))
    return Paths(pointer, column, row * n + column, column * n + row)


# ------------------------------------------------------------------------------------------------------- whole models

TREE_TYPES = ("Revolute", "Spherical", "Prismatic", "Universal", "Floating", "Cylindrical", "Planar", "Line", "Fixed")
CUT_TYPES = ("Revolute", "Universal", "Spherical", "Fixed", "Cylindrical", "Prismatic", "Planar", "Line")


def random_model(seed: int, n_bodies: int):
    """Return a ``Model`` with every joint type in the tree and cut, every force type and driver, at random places.

    Its loops do not close at the reference pose: it is for evaluating, not for simulating.
    """
    import rtmbs

    rng = np.random.default_rng((seed, 2))
    model = rtmbs.Model(f"random {seed}", gravity=rng.normal(size=3) - (0.0, 0.0, 9.81))

    def join(k: int, *ends: str) -> None:
        add_random_joint(rng, model, f"tree {k}", TREE_TYPES[k % len(TREE_TYPES)], *ends)

    names = grow_tree(rng, model, n_bodies, join)
    free = names[1:]
    movable = [joint.name for joint in model.joints.values() if joint.type.coordinates]
    for k, kind in enumerate(CUT_TYPES):
        closure = (None, "line", "point")[k % 3] if kind == "Revolute" else None
        add_random_joint(rng, model, f"cut {k}", kind, *two_bodies(rng, model, names), cut=True, closure=closure)
    add_random_joint(rng, model, "ghost", "Cylindrical", *two_bodies(rng, model, names), cut=True)
    model.add_rod("rod", between=two_markers(rng, model, names), length=float(rng.uniform(0.5, 2)))
    add_random_forces(rng, model, names, free, movable)
    add_random_couplings(np.random.default_rng((seed, 6)), model, names, movable)
    model.add_driver("driven distance", rtmbs.Sine(0.3, 4.0, offset=1.5), between=two_markers(rng, model, names))
    model.add_driver("driven joint", rtmbs.ConstantRate(2.0, start=0.3), joint=coordinate(rng, model, movable[0]))
    for joint in model.joints.values():
        if joint.name.startswith("tree") and joint.type.start in ("quaternion", "pose"):
            size = 4 if joint.type.start == "quaternion" else 7
            model.set_initial(joint, position=rng.normal(size=size), rate=rng.normal(size=size - 1))
    return model


def grow_tree(rng, model, n_bodies: int, join) -> list[str]:
    """Add bodies one after the other, each below the last one or any; return their names behind that of ground.

    join: adds the joint of body k, called with k and its two ends
    """
    names = ["ground"]
    for k in range(n_bodies):
        name = f"body {k}"
        add_random_body(rng, model, name)
        parent = names[-1] if rng.random() < 0.5 else str(rng.choice(names))
        ends = (parent, name) if rng.random() < 0.7 else (name, parent)
        join(k, *ends)
        names.append(name)
    return names


def mechanism_of(seed: int, system) -> Mechanism:
    """Return a compiled model with random inputs, for page functions and kernels."""
    rng = np.random.default_rng((seed, 3))
    return Mechanism(system.tables, system.u0 + 0.5 * rng.normal(size=len(system.u0)), system.R0)


def add_random_body(rng, model, name: str) -> None:
    principal = rng.uniform(0.1, 1, 3)
    turn = random_rotation(rng)
    model.add_body(
        name,
        mass=rng.uniform(0.5, 2),
        center_of_mass=0.3 * rng.normal(size=3),
        inertia=turn @ np.diag(principal.sum() - principal) @ turn.T,
        position=rng.normal(size=3),
        orientation=random_rotation(rng),
    )


def add_random_joint(rng, model, name: str, kind: str, a: str, b: str, cut=False, closure=None) -> None:
    from rtmbs.model import JOINT_TYPES

    joint = JOINT_TYPES[kind].example(random_rotation(rng))
    if rng.random() < 0.5:
        places = {"point": rng.normal(size=3), "frame": str(rng.choice(["world", a, b]))}
    else:
        places = {"point_a": rng.normal(size=3), "point_b": rng.normal(size=3)}
    model.add_joint(name, joint, a, b, cut=cut, closure=closure, **places)


def two_bodies(rng, model, names: list[str]) -> tuple[str, str]:
    """Return two bodies that no fixed joints of the tree hold together."""
    welded = {name: name for name in names}
    for joint in model.joints.values():
        if type(joint.type).__name__ == "Fixed" and not joint.cut:
            old, new = welded[joint.b.name], welded[joint.a.name]
            welded = {name: new if group == old else group for name, group in welded.items()}
    while True:
        a, b = (str(name) for name in rng.choice(names, 2, replace=False))
        if welded[a] != welded[b]:
            return a, b


def two_markers(rng, model, names: list[str]) -> tuple[str, str]:
    marks = []
    for body in two_bodies(rng, model, names):
        marks.append(f"marker {len(model.markers)}")
        model.add_marker(marks[-1], body, rng.normal(size=3), frame=body)
    return marks[0], marks[1]


def coordinate(rng, model, joint: str) -> tuple[str, str]:
    return joint, str(rng.choice(model.joints[joint].type.coordinates))


def add_random_forces(rng, model, names: list[str], free: list[str], movable: list[str]) -> None:
    """Add every force law, in every form of its values."""
    import rtmbs

    for k in range(4):
        stiffness, damping = rng.uniform(1, 5, 2)
        model.add_force(f"spring {k}", rtmbs.SpringDamper(stiffness, damping), between=two_markers(rng, model, names))
    for k, joint in enumerate([*movable[:4], "ghost"]):
        law = rtmbs.TorsionSpring(*rng.uniform(0.5, 3, 3))
        model.add_force(f"torsion {k}", law, joint=coordinate(rng, model, joint))
        value = (float(rng.normal()), rtmbs.Input(2.0), np.cos)[k % 3]
        model.add_force(f"motor {k}", rtmbs.Motor(value), joint=coordinate(rng, model, joint))
    for k, axes in enumerate(("world", "body", "world", "body")):
        force = (rng.normal(size=3), rtmbs.Input(rng.normal(size=3)))[k // 2]
        law = rtmbs.Wrench(force=force, torque=rng.normal(size=3), axes=axes)
        model.add_force(f"wrench {k}", law, body=str(rng.choice(free)), point=rng.normal(size=3))
    add_random_laws(rng, model, names, free, movable)
    add_random_bushings(np.random.default_rng((len(names), 4)), model, names)


def add_random_bushings(rng, model, names: list[str]) -> None:
    """Add bushings in skew axes: full and asymmetric matrices, a preload, curves."""
    import rtmbs

    for k in range(2):
        ends = [f"bushing marker {2 * k + side}" for side in (0, 1)]
        for mark, body in zip(ends, two_bodies(rng, model, names), strict=True):
            model.add_marker(mark, body, 0.5 * rng.normal(size=3), axes=random_rotation(rng))
        bent = {"curve_x": ((-1.0, -2.0), (0.0, 0.1), (0.7, 0.8), (2.0, 5.0)), "curve_rz": ((-1.0, -1.0), (0.5, 3.0))}
        curves = bent if k else {}
        law = rtmbs.Bushing(rng.normal(size=(6, 6)), rng.normal(size=(6, 6)), force=rng.normal(size=3), **curves)
        model.add_force(f"bushing {k}", law, between=ends)


def add_random_laws(rng, model, names: list[str], free: list[str], movable: list[str]) -> None:
    """Add force laws of the user, smooth in everything they may look at, of every attachment."""
    for k in range(3):
        ends = [f"marker {len(model.markers) + side}" for side in (0, 1)]
        for mark, body in zip(ends, two_bodies(rng, model, names), strict=True):
            model.add_marker(mark, body, rng.normal(size=3), axes=random_rotation(rng))
        mix, coupling = rng.normal(size=(6, 18)), rng.normal(size=6)
        model.add_force(f"law {k}", mixed, between=ends, parameters={"mix": mix, "coupling": coupling})
    model.add_force("line law", line, between=two_markers(rng, model, names), parameters={"stiffness": 3.0})
    drag = {"mix": rng.normal(size=(6, 18)), "coupling": rng.normal(size=6)}
    model.add_force("body law", mixed, body=str(rng.choice(free)), point=rng.normal(size=3), parameters=drag)
    model.add_force("joint law", hardening, joint=coordinate(rng, model, movable[0]), parameters={"stiffness": 2.0})
    several = list(dict.fromkeys(coordinate(rng, model, joint) for joint in movable[:3]))
    model.add_force("joints law", coupled, joints=several, parameters={"stiffness": 2.0})


def add_random_couplings(rng, model, names: list[str], movable: list[str]) -> None:
    """Add couplers, and constraints of the user between frames and on coordinates, that look at everything."""
    from rtmbs import Sine

    for k in range(2):
        ends = [f"marker {len(model.markers) + side}" for side in (0, 1)]
        for mark, body in zip(ends, two_bodies(rng, model, names), strict=True):
            model.add_marker(mark, body, rng.normal(size=3), axes=random_rotation(rng))
        table = {"mix": 0.15 * rng.normal(size=(2, 13))}  # slow enough for differences
        model.add_constraint(f"constraint {k}", surface, between=ends, parameters=table)
    several = list(dict.fromkeys(coordinate(rng, model, joint) for joint in movable[:3]))
    model.add_constraint("joint constraint", curve, joints=several, parameters={"size": 0.7})
    model.add_coupler("coupler", {one: float(rng.normal()) for one in several}, 0.3)
    if len(several) > 1:
        model.add_gear("gear", several[0], several[1], -2.5, offset=Sine(0.3, 4.0))


def surface(t, pose, parameters):
    """Return two equations that look at r, R and t."""
    x = np.concatenate((pose.r, pose.R.ravel(), np.reshape(t, (1,))))
    values = np.sin(parameters["mix"] @ x)
    return values[0] + np.dot(pose.r, pose.r) * t, values[1] * np.cos(0.2 * pose.r[0] * pose.R[1, 2])


def curve(t, pose, parameters):
    """Return an equation that couples coordinates and the time."""
    return np.sum(np.sin(pose.z * (1.0 + t)) * np.cos(np.roll(pose.z, 1))) + parameters["size"] * pose.z[0] ** 2


def mixed(t, kinematics, parameters):
    """Return a wrench that looks at everything: r, R, v, w, t."""
    r, R, v, w = kinematics
    x = np.concatenate((r, R.ravel(), v, w))
    return parameters["mix"] @ np.sin(x) + parameters["coupling"] * np.tanh(np.dot(r, v) + np.dot(w, w) * np.cos(t))


def line(t, kinematics, parameters):
    """Return a pull along the line."""
    return parameters["stiffness"] * np.dot(kinematics.r, kinematics.r) + np.dot(kinematics.r, kinematics.v)


def hardening(t, kinematics, parameters):
    """Return a torque on one coordinate."""
    return -parameters["stiffness"] * kinematics.z**3 - np.tanh(kinematics.zd)


def coupled(t, kinematics, parameters):
    """Return forces on coordinates that see each other."""
    z, zd = kinematics.z, kinematics.zd
    return -parameters["stiffness"] * (z - np.roll(z, 1)) * np.cos(z) - zd * np.dot(zd, zd)
