"""States of self-stress of a mechanism: the joints on its loops and their equilibrium (METHODS 1.40).

A state of self-stress is a set of reactions in balance with each other, without any load. It is known from the wrenches
of cut joints, rods and constraints, and from the forces of couplers and drivers: reactions of tree joints follow from
the balance of the bodies beyond them. These unknowns are the *columns* here. They are in balance when no tree
coordinate feels a force. Elements are in one *group* when a column of one loads the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rtmbs.numerics.linear.rank import dependence, find_pivots, independent_square, solved, sparse_pivots
from rtmbs.results.samples import body_numbers, closure_ends
from rtmbs.system.components import WORLD
from rtmbs.system.system import JointInfo, System
from rtmbs.system.tables import PRISMATIC
from rtmbs.system.topology import CONSTRAINT, DRIVEN_DISTANCE, KNIFE_EDGE, ROLLING, UnionFind

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

AXES = np.eye(3)
SEEN = 1e-10  # a combination of columns with less of one does without it
LARGEST = 1_000_000  # entries of a dense matrix of loads


class Component(NamedTuple):
    """A direction in which an element holds its second body: a force along u of a, or a moment along v x u."""

    element: int
    turns: bool
    dof_a: int
    u: Array  # (3,) dof axes of a
    dof_b: int
    v: Array  # (3,) dof axes of b, zero of a force


class Element(NamedTuple):
    """An element that carries a wrench between two bodies: a joint of the tree, or a closure."""

    name: str
    a: int  # body of the graph, -1 ground
    b: int
    dof_b: int
    point: Array  # (3,) of b, dof axes [m]
    components: tuple[Component, ...]
    row: int  # among the wrenches of bodies and connectors
    sign: float  # of the reaction on b, from that wrench
    seeing: int  # a dof whose origin the wrench is taken about; -1: the origin of the world
    closure: int = -1  # that of a rod, a driven distance or a constraint
    dofs: tuple[int, ...] = ()  # of a tree joint or an auxiliary body
    tree: int = -1  # body of the graph that the tree enters here
    auxiliary: bool = False
    driver: bool = False  # a driven distance


class Scalar(NamedTuple):
    """A coupler, a condition on coordinates, or a driven coordinate: a force along coordinates."""

    name: str
    row: int  # of the multipliers
    closure: int  # -1: a driver
    dofs: tuple[int, ...]
    turns: bool  # its multiplier is a moment


@dataclass(eq=False)
class LoopGroup:
    """Elements and coordinates that columns of one group load, as index arrays.

    E elements, D components, K elements that close loops with up to 6 columns each, n coordinates, k scalars. Columns
    are numbered by 6 K slots and then the scalars; slots without a column are empty.
    """

    elements: tuple[Element, ...]
    scalars: tuple[Scalar, ...]
    dof_b: Indices  # (E,)
    point: Array  # (E, 3)
    row: Indices  # (E,)
    sign: Array  # (E,)
    seeing: Indices  # (E,)
    component_dof: Indices  # (D, 2) of a and of b
    component_axis: Array  # (D, 2, 3) u and v
    turns: Mask  # (D,) components: moments
    of: Indices  # (D,) element
    padded: Indices  # (E, 6) components of every element, D where there are fewer
    compliance: Array  # (D + k,) inverse stiffness over the default one, of moments by the square of the length
    dofs: Indices  # (n,) coordinates of the rows of equilibrium
    dof_turns: Mask  # (n,)
    dof_pitch: Array  # (n,) [m/rad]
    dof_tip: Indices  # (n,) dof that carries the axis
    dof_axis: Array  # (n, 3)
    cuts: Indices  # (K,) elements
    slots: Indices  # (K, 6) component of every column; -1 - i: axis i of an auxiliary body, or row i of a constraint
    filled: Mask  # (6 K + k,)
    drivers: Mask  # (6 K + k,) columns that are forces of drivers
    passes: csr_array | Array  # (K, E) sign with which the wrench of a cut passes through an element, to b of each
    carried: csr_array | Array  # (E, K) the same, transposed
    pairs: Indices  # (P, 2) cuts that share an element, the first not behind the second
    shared: csr_array | Array  # (P, E) product of their signs
    loads: Indices  # (L, 2) coordinate (of n) and cut whose wrench loads it
    load_sign: Array  # (L,)
    slopes: Indices  # (M, 2) coordinate (of n) and scalar, in the order of the scalars
    first: int  # a dof whose origin all places of the group are taken from; -1 the world's
    known: dict[bool, tuple["Basis", ...]] = field(
        default_factory=dict
    )  # bases of self-stress found so far, those with
    # forces of drivers under False


_groups: WeakKeyDictionary[System, tuple[LoopGroup, ...]] = WeakKeyDictionary()
FEW = 2000  # entries of a matrix that is dense
DEFAULT_STIFFNESS = 1e8  # [N/m] of a joint without one of its own; the square of the length makes it one of turns


def loop_groups(system: System) -> tuple[LoopGroup, ...]:
    """Return the groups of a System, found once."""
    if system not in _groups:
        _groups[system] = build_groups(system)
    return _groups[system]


def build_groups(system: System) -> tuple[LoopGroup, ...]:
    """Return the groups of a System; empty without loop equations."""
    if not system.m:
        return ()
    tree, cut = tree_elements(system), list(cut_elements(system))
    elements, scalars = [*tree, *cut], list(scalar_rows(system))
    parents = [body_numbers(system)[system.topology.bodies[branch.parent]] for branch in system.topology.tree]
    paths = [signs_on_path(parents, element) for element in cut]
    carrier = {dof: k for k, element in enumerate(elements) for dof in element.dofs}
    joined = UnionFind(len(elements) + len(scalars))
    for k, path in enumerate(paths):
        for body in path:
            joined.join(len(tree) + k, body)
    for k, scalar in enumerate(scalars):
        for dof in scalar.dofs:
            joined.join(len(elements) + k, carrier[dof])
    members: dict[int, list[int]] = {}
    for k in range(len(elements) + len(scalars)):
        members.setdefault(joined.find(k), []).append(k)
    found = []
    for mine in members.values():
        if mine[-1] >= len(tree):  # something closes a loop
            own = tuple(scalars[k - len(elements)] for k in mine if k >= len(elements))
            inside = [k for k in mine if k < len(elements)]
            signs = [paths[k - len(tree)] for k in inside if k >= len(tree)]
            found.append(make_group(system, [elements[k] for k in inside], own, signs))
    return tuple(found)


def adopt_bases(system: System, other: System) -> None:
    """Take the states of self-stress of ``system`` from ``other``, which has the same joints at other places."""
    for own, known in zip(loop_groups(system), loop_groups(other), strict=True):
        own.known = dict(known.known)


def make_group(
    system: System, elements: list[Element], scalars: tuple[Scalar, ...], paths: list[dict[int, float]]
) -> LoopGroup:
    """Return a group; ``paths`` has the signs of bodies of the graph on the loop of each element that closes one."""
    table = system.tables.dofs
    components = [one._replace(element=k) for k, element in enumerate(elements) for one in element.components]
    of = np.array([one.element for one in components], np.int64)
    padded = np.full((len(elements), 6), len(components), np.int64)
    for k in range(len(elements)):
        own = np.flatnonzero(of == k)
        padded[k, : len(own)] = own
    dofs = np.array([dof for element in elements for dof in element.dofs], np.int64)
    cuts = np.array([k for k, element in enumerate(elements) if element.tree < 0], np.int64)
    slots, filled = columns_of(system, elements, padded, cuts)
    passes = passing(elements, cuts, paths)
    pairs, shared = sharing(passes)
    loads, load_sign = loaded(elements, passes)
    slopes = [(int(np.flatnonzero(dofs == dof)[0]), k) for k, scalar in enumerate(scalars) for dof in scalar.dofs]
    moving = [dof for one in elements for dof in (*one.dofs, one.dof_b) if dof >= 0]
    return LoopGroup(
        elements=tuple(elements), scalars=scalars,
        dof_b=np.array([one.dof_b for one in elements], np.int64),
        point=np.reshape([one.point for one in elements], (-1, 3)),
        row=np.array([one.row for one in elements], np.int64),
        sign=np.array([one.sign for one in elements]),
        seeing=np.array([one.seeing for one in elements], np.int64),
        component_dof=np.reshape([(one.dof_a, one.dof_b) for one in components], (-1, 2)).astype(np.int64),
        component_axis=np.reshape([(one.u, one.v) for one in components], (-1, 2, 3)),
        turns=np.array([one.turns for one in components], np.bool_), of=of, padded=padded,
        compliance=1.0 / np.array([*stiffnesses(system, elements, components, scalars)], np.float64),
        dofs=dofs, dof_turns=table.kind[dofs] != PRISMATIC, dof_pitch=table.pitch[dofs], dof_tip=table.tip[dofs],
        dof_axis=table.axis[dofs].reshape(-1, 3),
        drivers=np.array([elements[cut].driver for cut in cuts for _ in range(6)] + [s.closure < 0 for s in scalars]),
        cuts=cuts, slots=slots, filled=np.concatenate((filled.ravel(), np.ones(len(scalars), np.bool_))),
        passes=light(passes), carried=light(csr_array(passes.T)), pairs=pairs, shared=light(shared),
        loads=loads, load_sign=load_sign,
        slopes=np.reshape(slopes, (-1, 2)).astype(np.int64), first=moving[0] if moving else WORLD,
    )  # fmt: skip


def light(signs: csr_array) -> csr_array | Array:
    """Return a matrix in the form whose products cost less."""
    return signs.toarray() if signs.shape[0] * signs.shape[1] <= FEW else signs


def passing(elements: list[Element], cuts: Indices, paths: list[dict[int, float]]) -> csr_array:
    """Return the signs (K, E) with which wrenches of cuts pass through elements, to b of each."""
    place = {one.tree: k for k, one in enumerate(elements) if one.tree >= 0}
    entries = [(k, int(cut), 1.0) for k, cut in enumerate(cuts)]
    for k, path in enumerate(paths):
        entries += [(k, place[body], sign * elements[place[body]].sign) for body, sign in path.items()]
    i, j, signs = np.reshape(entries, (-1, 3)).T
    return csr_array((signs, (i.astype(np.int64), j.astype(np.int64))), shape=(len(cuts), len(elements)))


def sharing(passes: csr_array) -> tuple[Indices, csr_array]:
    """Return the pairs of cuts (P, 2) that share elements, and the products of their signs (P, E)."""
    through, number = passes.tocsc(), dict[tuple[int, int], int]()
    entries: list[tuple[int, int, float]] = []
    for element in range(passes.shape[1]):
        at = slice(through.indptr[element], through.indptr[element + 1])
        own = sorted(zip(through.indices[at].tolist(), through.data[at].tolist(), strict=True))
        for p, (cut, sign) in enumerate(own):
            for other, other_sign in own[p:]:
                entries.append((number.setdefault((cut, other), len(number)), element, sign * other_sign))
    i, j, signs = np.reshape(entries, (-1, 3)).T
    shared = csr_array((signs, (i.astype(np.int64), j.astype(np.int64))), shape=(len(number), passes.shape[1]))
    return np.reshape(list(number), (-1, 2)).astype(np.int64), shared


def loaded(elements: list[Element], passes: csr_array) -> tuple[Indices, Array]:
    """Return coordinates and cuts (L, 2) whose wrenches load them, with signs (L,) towards what the tree enters."""
    through, found, signs, n = passes.tocsc(), [], [], 0
    for k, element in enumerate(elements):
        at = slice(through.indptr[k], through.indptr[k + 1])
        entered = element.sign if element.tree >= 0 else 1.0  # the wrench on an auxiliary body is that on b
        for _ in element.dofs:
            found += [(n, int(cut)) for cut in through.indices[at]]
            signs += [entered * float(sign) for sign in through.data[at]]
            n += 1
    return np.reshape(found, (-1, 2)).astype(np.int64), np.array(signs, np.float64)


def stiffnesses(
    system: System, elements: list[Element], components: list[Component], scalars: tuple[Scalar, ...]
) -> Iterator[float]:
    """Yield the stiffness of every component, then of every scalar, in the default; moments by the squared length."""
    square = system.length**2
    known = {name: (k, turn / square) for name, (k, turn) in system.reaction_stiffness.items()}
    default = (DEFAULT_STIFFNESS, DEFAULT_STIFFNESS)
    for one in components:
        yield known.get(elements[one.element].name, default)[one.turns] / DEFAULT_STIFFNESS
    for scalar in scalars:
        yield known.get(scalar.name, default)[scalar.turns] / DEFAULT_STIFFNESS


def columns_of(system: System, elements: list[Element], padded: Indices, cuts: Indices) -> tuple[Indices, Mask]:
    """Return the columns in the slots (K, 6) of cuts, and which slots are filled (K, 6)."""
    slots, filled = np.zeros((len(cuts), 6), np.int64), np.zeros((len(cuts), 6), np.bool_)
    pointer = system.tables.closures.row_pointer
    for k, cut in enumerate(cuts):
        element = elements[cut]
        count, own = len(element.components), padded[cut]
        if element.auxiliary:
            count, own = 6, -1 - np.arange(6)
        elif element.closure >= 0 and count > 1:
            count, own = int(pointer[element.closure + 1] - pointer[element.closure]), -1 - np.arange(6)
        slots[k, :count], filled[k, :count] = own[:count], True
    return slots, filled


# ---- elements --------------------------------------------------------------------------------------------------------


def tree_elements(system: System) -> list[Element]:
    """Return the joint that enters every body of the graph."""
    topology, number, found = system.topology, body_numbers(system), []
    for k, branch in enumerate(topology.tree):
        info = system.joints[topology.edges[branch.edge].name]
        dof = system.bodies[topology.bodies[branch.child]].dof
        sign = -1.0 if branch.reversed else 1.0
        dofs = tuple(one for one in info.dofs if one >= 0)
        made = joint_element(system, info, number, k, sign, origin_of(system, dof))
        found.append(made._replace(dofs=dofs, tree=k))
    return found


def joint_element(
    system: System, info: JointInfo, number: dict[str, int], row: int, sign: float, seeing: int
) -> Element:
    """Return a joint with the directions of its equations, which are all that it holds.

    The directions of a joint with coordinates that cannot be read off its bodies turn with these. Such a joint has all
    six: balance along its coordinates leaves nothing of the others.
    """
    a, b = system.bodies[info.a], system.bodies[info.b]
    turn_a, turn_b = a.rotation @ info.frame_a, b.rotation @ info.frame_b
    held = (Component(0, one.kind == "dot", a.dof, turn_a @ one.u, b.dof, turn_b @ one.v) for one in info.kind.held())
    components = in_world() if info.kind.obstacle() else tuple(held)
    point = b.position + b.rotation @ info.point_b
    return Element(info.name, number[info.a], number[info.b], b.dof, point, components, row, sign, seeing)


def cut_elements(system: System) -> Iterator[Element]:
    """Yield every cut joint, auxiliary body, rod, driven distance and constraint between two frames."""
    tables, number = system.tables, body_numbers(system)
    bodies = len(system.topology.tree)
    for closure, name in enumerate(system.closure_names[: tables.conditions.first[1]]):
        connector = int(tables.closures.connector[closure])
        ends = int(tables.connectors.a[connector]), int(tables.connectors.b[connector])
        seeing = max(origin_of(system, end) for end in ends)
        row = bodies + connector
        if name in system.joints:
            info = system.joints[name]
            made = joint_element(system, info, number, row, 1.0, seeing)
            yield made._replace(dofs=info.dofs if info.auxiliary else (), auxiliary=info.auxiliary)
            continue
        a, b = (number[body] for body in closure_ends(system, name))
        kind = next(one.type for one in system.topology.connectors if one.name == name)
        free = (Component(0, False, ends[0], AXES[0], ends[1], AXES[0]),)
        components = in_world() if kind in (CONSTRAINT, ROLLING, KNIFE_EDGE) else free
        point, driver = tables.closures.point_b[closure], kind == DRIVEN_DISTANCE
        yield Element(name, a, b, ends[1], point, components, row, 1.0, seeing, closure, driver=driver)


def in_world() -> tuple[Component, ...]:
    """Return three forces and three moments along the axes of the world."""
    forces = [Component(0, False, WORLD, AXES[k], WORLD, np.zeros(3)) for k in range(3)]
    moments = [Component(0, True, WORLD, AXES[(k + 2) % 3], WORLD, AXES[(k + 1) % 3]) for k in range(3)]
    return (*forces, *moments)


def origin_of(system: System, dof: int) -> int:
    """Return a dof that has the origin of ``dof``, which may be a row of ground; -1 for the origin of the world."""
    if dof >= 0:
        return dof
    return int(np.flatnonzero(system.tables.origins.row == dof)[0]) if dof < WORLD else WORLD


def scalar_rows(system: System) -> Iterator[Scalar]:
    """Yield couplers, conditions on coordinates and driven coordinates."""
    tables = system.tables
    connectors, closures = tables.connectors, tables.closures
    for closure in range(int(tables.conditions.first[1]), len(system.closure_names)):
        at = slice(*(int(connectors.pointer[closures.connector[closure] + end]) for end in (0, 1)))
        dofs = tuple(connectors.dof[at].tolist())
        for row in range(int(closures.row_pointer[closure]), int(closures.row_pointer[closure + 1])):
            yield Scalar(system.closure_names[closure], row, closure, dofs, bool(system.row_is_rotation[row]))
    for row in range(len(closures.kind), system.m):
        dof = int(tables.drivers.dof[row - len(closures.kind)])
        yield Scalar(system.row_names[row], row, -1, (dof,), bool(system.row_is_rotation[row]))


def signs_on_path(parents: list[int], element: Element) -> dict[int, float]:
    """Return the signs with which a wrench on b passes into the bodies of the graph on its loop, from their parents."""
    found: dict[int, float] = {}
    for end, sign in ((element.a, 1.0), (element.b, -1.0)):
        body = end
        for _ in parents:
            if body < 0:
                break
            found[body] = found.get(body, 0.0) + sign
            body = parents[body]
    return {body: sign for body, sign in found.items() if sign}


# ---- bases: which columns are free, and how others answer, at one pose and at many ----------------------------------


class Basis(NamedTuple):
    """States of self-stress of a group: one for each free column."""

    free: Indices  # (f,) columns
    tied: Indices  # (d,) of the free ones, those that load coordinates
    used: Indices  # (r,) columns that take these loads off
    rows: Indices  # (r,) rows of the small matrix whose block of used columns is not singular
    size: tuple[int, int]  # of the small matrix: coordinates that used and tied columns load, and these columns
    entry: Indices  # (e,) of the loads
    at: tuple[Indices, Indices]  # (e,) row and column of the small matrix
    none: Indices  # of the loads: those of free columns that are not tied, which vanish
    source: Indices  # (t,) of the energies (P, 6, 6) of pairs of cuts
    target: Indices  # (t,) their places in a matrix over free columns, then used ones, flat; the other half mirrored
    scalars: tuple[Indices, Indices]  # numbers of scalars, and their places on its diagonal
    determined: bool  # all columns are independent at a pose that is closed well: so they are at all others but
    # singular ones


def load_entries(group: LoopGroup) -> tuple[Indices, Indices]:
    """Return coordinate and column of every load (6 L + M,)."""
    at, cut = group.loads.T
    slot = 6 * cut[:, None] + np.arange(6)
    row = np.concatenate((np.repeat(at, 6), group.slopes[:, 0]))
    return row, np.concatenate((slot.ravel(), 6 * len(group.cuts) + group.slopes[:, 1]))


def find_basis(group: LoopGroup, filled: Mask, loads: Array, tolerance: float, closed: bool) -> Basis:
    """Return the states at a pose with these loads (6 L + M,); only ``filled`` columns take part."""
    row, column = load_entries(group)
    columns = np.flatnonzero(filled)
    A = csr_array((loads, (row, column)), shape=(len(group.dofs), len(filled)))[:, columns]
    if A.shape[0] * A.shape[1] <= LARGEST:
        dense = A.toarray()
        pivots = find_pivots(dense, tolerance)
        X = solved(dense[np.ix_(pivots.rows, pivots.basic)], dense[np.ix_(pivots.rows, pivots.free)])
        seen = csr_array(np.abs(X) > SEEN)
    else:
        size = max(1.0, float(np.max(np.abs(loads), initial=0.0)))
        pivots, combination = sparse_pivots(A, columns // 6, tolerance * size)
        seen = csr_array(abs(combination) > SEEN)
    tied = np.flatnonzero(np.diff(seen.tocsc().indptr))
    used = columns[pivots.basic[np.flatnonzero(np.diff(seen.indptr))]]
    free = columns[pivots.free]
    return small_matrix(group, loads, free, tied, used, closed and not len(free))


def small_matrix(
    group: LoopGroup, loads: Array, free: Indices, tied: Indices, used: Indices, determined: bool
) -> Basis:
    """Return a basis with the places of the loads that matter."""
    row, column = load_entries(group)
    place = np.full(len(group.filled), -1)
    place[used], place[free[tied]] = np.arange(len(used)), len(used) + np.arange(len(tied))
    entry = np.flatnonzero(place[column] >= 0)
    numbers, at = np.unique(row[entry], return_inverse=True)
    matrix = np.zeros((len(numbers), len(used) + len(tied)))
    matrix[at, place[column[entry]]] = loads[entry]
    alone = np.zeros(len(group.filled), np.bool_)
    alone[free], alone[free[tied]] = True, False
    rows = independent_square(matrix[:, : len(used)])
    where = np.asarray(at, np.int64), np.asarray(place[column[entry]], np.int64)
    none = np.flatnonzero(alone[column])
    places = energy_places(group, free, used)
    return Basis(free, tied, used, rows, matrix.shape, entry, where, none, *places, determined)


def energy_places(group: LoopGroup, free: Indices, used: Indices) -> tuple[Indices, Indices, tuple[Indices, Indices]]:
    """Return where the energies of pairs of columns go in a matrix over free columns, then used ones."""
    place, count = np.full(len(group.filled), -1), len(free) + len(used)
    place[np.concatenate((free, used))] = np.arange(count)
    i, j = (place[6 * one[:, None] + np.arange(6)] for one in group.pairs.T)
    inside = (i[:, :, None] >= 0) & (j[:, None, :] >= 0)
    target = (i[:, :, None] * count + j[:, None, :])[inside]
    own = place[6 * len(group.cuts) :]
    return np.flatnonzero(inside.ravel()), target, (np.flatnonzero(own >= 0), own[own >= 0])


def combinations(basis: Basis, loads: Array, tolerance: float) -> tuple[Array, Mask]:
    """Return the combinations X (S, r, d) of used columns that tied ones are at poses with loads (S, 6 L + M).

    Behind them: where no load is left (S,).
    """
    matrix = np.zeros((len(loads), *basis.size))
    matrix[:, basis.at[0], basis.at[1]] = loads[:, basis.entry]
    r = len(basis.used)
    X, good = dependence(matrix[:, :, :r], matrix[:, :, r:], basis.rows, tolerance)
    return X, good & (np.abs(loads[:, basis.none]).max(axis=1, initial=0.0) <= tolerance)
