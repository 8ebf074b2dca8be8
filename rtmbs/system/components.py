"""Independent components of a mechanism: search, distribution over threads, energy balances, tables of a part, origins.

Two coordinates belong to one component when a chain of entries of the tangent's pattern joins them, or a force law that
depends on one and acts on the other: a law may depend on a coordinate without having a derivative by it. Components
share nothing but ground. A component with loops keeps a balance of energy where its equations do not depend on time
explicitly (METHODS 1.7). Tables of some components alone hold the same numbers under new indices, with a matrix of
their own. Input slots stay: all parts share one array of inputs.

Motion vectors, wrenches and inertias hold moments about one point of the world. Far from it, at a distance of d times
the size of a mechanism, moments of inertia cancel to d^2 of their rounding (METHODS 1.28). Nothing but that point would
change if it were another one, so every part that hangs together has its own, near its base, and *sees* ground from
there: a row of ground in the workspace, with r = -o. Near the world's origin o is exactly zero.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.interpret import flows
from rtmbs.ad.interpret import restricted as restricted_program
from rtmbs.core.bounds import BEYOND
from rtmbs.core.remembered import by_content
from rtmbs.forces.register import KINDS, select_connected
from rtmbs.numerics.linear.symbolic import FIRST, REST, WIDTH, SparseLU
from rtmbs.system.closure_tables import pointer
from rtmbs.system.contact_tables import no_contact_sets
from rtmbs.system.law_tables import kept_states, no_lane_program, no_seat_program, state_dofs
from rtmbs.system.pattern import give_places, lay_out
from rtmbs.system.system import Array, Integers, Mask, Signal, System, once_per_system
from rtmbs.system.tables import (
    DISTANCE,
    FRAME_INPUTS,
    GRAVITY_SLOT,
    POSE_INPUTS,
    PRISMATIC,
    Balance,
    Closures,
    Conditions,
    Connectors,
    Contacts,
    Couplers,
    Dofs,
    Laws,
    Origins,
    Tables,
    branch_dofs,
)

CELL = 16.0  # sizes of a part: o lies on a grid of about this width, and stays while the base moves in a cell
WORLD = -1  # row of ground as seen from the world's origin


def with_origins(tables: Tables) -> Tables:
    """Return the tables with an origin for every part far from the world's, or sliding away from it.

    Parents and ends of connectors on ground become the row of ground that their part sees.
    """
    dofs, connectors = tables.dofs, tables.connectors
    part = joined_members(parts(dofs, connectors), tables.sets.dof)
    row, rows, fixed, moving, grid = np.full(len(part), WORLD, np.int64), 0, [], [], []
    for number in np.unique(part):
        mine = np.flatnonzero(part == number)
        place, slides = base_of(dofs, mine)
        width = grid_width(dofs, mine)
        if not slides and np.all(np.abs(place) < 0.5 * width):
            continue
        rows += 1
        row[mine] = WORLD - rows
        fixed.append(place)
        moving.append(slides)
        grid.append(width)
    counts = np.array([len(slides) for slides in moving], np.int64)
    chains = [slide for slides in moving for slide in slides]
    origins = Origins(
        row=row,
        fixed=np.reshape(fixed, (rows, 3)),
        grid=np.array(grid, np.float64),
        pointer=np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
        dof=np.array([dof for dof, _ in chains], np.int64),
        direction=np.reshape([direction for _, direction in chains], (len(chains), 3)),
    )
    seen = {name: np.where(getattr(dofs, name) < 0, row, getattr(dofs, name)) for name in ("parent", "base")}
    members, ground = tables.sets.dof, row[tables.sets.dof[tables.sets.dof >= 0][:1]]
    sets = tables.sets._replace(dof=np.where(members < 0, ground[0], members) if len(ground) else members)
    return tables._replace(dofs=dofs._replace(**seen), connectors=on_rows(connectors, row), origins=origins, sets=sets)


def no_origins(n: int) -> Origins:
    """Return the origins of ``n`` dofs that all use the world's."""
    none = np.zeros(0, np.int64)
    return Origins(
        np.full(n, WORLD, np.int64),
        np.zeros((0, 3)),
        np.zeros(0),
        np.zeros(1, np.int64),
        none,
        none[:, None] + np.zeros(3),
    )


def transport_slides(tables: Tables) -> Mask:
    """Return which dofs (n,) only carry a part through the world: slides of its base that no closure feels."""
    found = np.zeros(len(tables.dofs.kind), np.bool_)
    found[tables.origins.dof] = True
    found[branch_dofs(tables.connectors, tables.closures.connector)] = False
    found[tables.drivers.dof] = False
    return found


def on_rows(connectors: Connectors, row: Integers) -> Connectors:
    """Return the connectors with ground ends at the other end's origin; ``row`` is that of every dof."""
    seen = np.append(row, WORLD)  # of ground at both ends
    other_a, other_b = seen[np.maximum(connectors.b, WORLD)], seen[np.maximum(connectors.a, WORLD)]
    return connectors._replace(
        a=np.where(connectors.a < 0, other_a, connectors.a), b=np.where(connectors.b < 0, other_b, connectors.b)
    )


def parts(dofs: Dofs, connectors: Connectors) -> Integers:
    """Return for every dof the number of its part: dofs that joints and connectors join, other than through ground."""
    part = np.arange(len(dofs.parent))
    for i, p in enumerate(dofs.parent):
        part[i] = part[p] if p >= 0 else i
    for a, b in zip(connectors.a, connectors.b, strict=True):
        if a >= 0 and b >= 0 and part[a] != part[b]:
            part[part == part[b]] = part[a]
    return part


def joined_members(part: Integers, members: Integers) -> Integers:
    """Return the parts with those of all members of contact sets as one: any two may touch."""
    own = np.unique(part[members[members >= 0]])
    return np.where(np.isin(part, own), own[0], part) if len(own) else part


def base_of(dofs: Dofs, mine: Integers) -> tuple[Array, list[tuple[int, Array]]]:
    """Return the position of a part's base on ground [m], and the slides (dof, direction) that carry it away.

    A base that does not slide comes first: what is hinged to ground stays.
    """
    bases = mine[dofs.parent[mine] < 0]
    chains = [slides_of(dofs, int(base)) for base in bases]
    return min(chains, key=lambda chain: len(chain[1]) > 0)


def slides_of(dofs: Dofs, base: int) -> tuple[Array, list[tuple[int, Array]]]:
    """Return the position behind the first slides of ``base`` at zero, and their directions."""
    A, place, slides, dof = np.eye(3), np.zeros(3), [], base
    for _ in range(len(dofs.parent)):
        place = place + A @ dofs.offset[dof]
        A = A @ dofs.offset_rotation[dof]
        children = np.flatnonzero(dofs.parent == dof)
        if dofs.kind[dof] != PRISMATIC:
            break
        slides.append((dof, A @ dofs.axis[dof]))
        if len(children) != 1:
            break
        dof = int(children[0])
    return place, slides


def grid_width(dofs: Dofs, mine: Integers) -> float:
    """Return the width of the grid of a part's origin [m], a power of two."""
    inner = mine[dofs.parent[mine] >= 0]
    arms = np.linalg.norm(np.concatenate([dofs.offset[inner], dofs.mass_center[mine]]), axis=1)
    heavy = mine[dofs.mass[mine] > 0.0]
    with np.errstate(over="ignore"):  # of a mass that is nearly none
        turning = np.trace(dofs.inertia[heavy], axis1=1, axis2=2) / dofs.mass[heavy]
    size = max(float(np.max(arms, initial=0.0)), float(np.sqrt(np.max(turning, initial=0.0)))) or 1.0
    return float(2.0 ** np.ceil(np.log2(CELL * min(size, BEYOND))))


PER_COORDINATE = 3000.0  # flops of residual, tangent and projections a step, `python -m bench.phases`
AS_EVEN = 1.02  # contiguous groups are kept when the heaviest is at most so much heavier than that of others


def find_groups(tables: Tables, lu: SparseLU, threads: int) -> list[Integers]:
    """Return the coordinates of at most ``threads`` groups of components, ascending, about equal in work.

    One group where a force law between ground and ground has states: no component would carry them.
    """
    if np.any(state_dofs(tables.laws, law_dofs(tables)) < 0) or len(tables.sets.dof):
        return [np.arange(lu.n)]
    component = find_components(tables, lu)
    group = assign_groups(predicted_work(component, lu), threads)[component[: lu.n]]
    return [found for g in range(threads) if len(found := np.flatnonzero(group == g))]


def find_components(tables: Tables, lu: SparseLU) -> Integers:
    """Return the component of every unknown of the tangent (lu.total,), numbered by first coordinate."""
    return joined_parts(lu.pattern, lu.total, law_pairs(tables))


@by_content
def joined_parts(pattern: Integers, total: int, more: Integers) -> Integers:
    """Return the part of each of ``total`` unknowns that entries of a pattern, and ``more`` pairs (k, 2), join."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = np.concatenate([np.column_stack(np.divmod(pattern, total)), more])
    graph = coo_array((np.ones(len(pairs), np.bool_), (pairs[:, 0], pairs[:, 1])), shape=(total, total))
    _, label = connected_components(graph, directed=False)
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    rank = np.zeros(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def law_pairs(tables: Tables) -> Integers:
    """Return pairs of coordinates (k, 2) that recorded force laws join."""
    laws = tables.laws
    home = law_dofs(tables)
    states = state_dofs(laws, home)
    home = np.concatenate([home, states])
    pairs, source = flows(laws.program)
    first, forces = 6 * laws.counts[0], laws.counts[1]
    rates = first + forces + len(laws.wrench_entry) + laws.counts[3]
    acts = np.concatenate([laws.row[:forces], states])
    of = np.concatenate([source[first : first + forces], source[rates : rates + len(states)]])
    looked = np.column_stack((acts[of >= 0], home[of[of >= 0]]))
    both = np.concatenate([home[pairs], looked, set_pairs(tables)])
    return both[np.all(both >= 0, axis=1)]


def set_pairs(tables: Tables) -> Integers:
    """Return pairs of coordinates (k, 2) that contact sets may join: each member's with the first one's."""
    dof = np.unique(tables.sets.dof[tables.sets.dof >= 0])
    return np.column_stack((np.repeat(dof[:1], len(dof)), dof))


def law_dofs(tables: Tables) -> Integers:
    """Return the dof that every kinematic input of the recorded force laws belongs to."""
    laws, connectors = tables.laws, tables.connectors
    ends = np.maximum(connectors.a, connectors.b)[laws.connector[: laws.counts[0]]]  # any dof of the component will do
    return np.concatenate([np.repeat(ends, FRAME_INPUTS), laws.input[: laws.counts[2], 0]])


def predicted_work(component: Integers, lu: SparseLU) -> Array:
    """Return the flops of a step of every component (components,): of its passes, and of its share of the factor."""
    work = np.asarray(PER_COORDINATE * np.bincount(component[: lu.n]), np.float64)
    owner = component[lu.order[lu.fronts[:, FIRST]]]
    for k, width, rest in zip(owner, lu.fronts[:, WIDTH], lu.fronts[:, REST], strict=True):
        below = np.arange(rest, rest + width)
        work[k] += float(np.sum(below + 2 * below * below))
    return work


def assign_groups(work: Array, threads: int) -> Integers:
    """Return the group of every component: neighbours together when that is about as even as any other way."""
    neighbours = np.minimum((np.cumsum(work) - 0.5 * work) * threads / work.sum(), threads - 1).astype(np.int64)
    packed, load = np.zeros(len(work), np.int64), np.zeros(threads)
    for k in np.argsort(-work, kind="stable"):  # the largest first, each to whoever has least
        packed[k] = np.argmin(load)
        load[packed[k]] += work[k]
    heaviest = np.bincount(neighbours, work, threads).max()
    return neighbours if heaviest <= AS_EVEN * load.max() else packed


def no_balance(n: int) -> Balance:
    """Return the table of a mechanism of ``n`` dofs that keeps no balance."""
    return balance_of(np.full(n, -1, np.int64), 1.0)


def balance_of(component: Integers, length: float) -> Balance:
    """Return the table of components by their first dofs, -1 where no balance is kept; ``length`` in m."""
    return Balance(component, np.unique(component[component >= 0]), np.array([length]))


def drop_redundant(tables: Tables, redundant: Mask) -> Balance:
    """Return the table without components in which every loop equation is ``redundant`` (m,): those move as trees.

    So a door on two hinges steps like one on one hinge, to rounding.
    """
    component = tables.balance.component
    ends = np.maximum(tables.connectors.a, tables.connectors.b)[tables.closures.connector]
    row_ends = np.repeat(ends, np.diff(tables.closures.row_pointer))
    held = np.zeros(len(component) + 1, np.bool_)  # by number of the component; the last is none
    held[component[row_ends[~redundant[: len(row_ends)] & (row_ends >= 0)]]] = True
    return balance_of(np.where(held[component], component, -1), float(tables.balance.length[0]))


def find_balance(
    tables: Tables, lu: SparseLU, floating: Integers, signals: tuple[Signal, ...], length: float
) -> Balance:
    """Return the components that have loops, and neither a floating base, nor a driver, nor a function of time.

    A floating base has a momentum that scaling its rates would change; what a driver or a function of time does is
    work that the balance does not count. ``floating`` lists dofs of floating joints to ground.
    """
    n = len(tables.dofs.kind)
    label = find_components(tables, lu)[:n]
    connectors = tables.connectors
    ends = np.maximum(connectors.a, connectors.b)  # the lower end of a connector is never ground
    closed = ends[tables.closures.connector]
    looped = np.zeros(n, np.bool_)  # by label
    looped[label[closed[closed >= 0]]] = True
    timed = time_driven_dofs(tables, ends, signals)
    looped[label[np.concatenate([floating, tables.drivers.dof, timed])]] = False
    _, first = np.unique(label, return_index=True)
    return balance_of(np.where(looped[label], first[label], -1).astype(np.int64), length)


def time_driven_dofs(tables: Tables, ends: Integers, signals: tuple[Signal, ...]) -> Integers:
    """Return the dofs that a function of time acts on: all of them when gravity is one."""
    written: Mask = np.zeros(1 + max((signal.slot + signal.size for signal in signals), default=0), np.bool_)
    for signal in signals:
        written[signal.slot : signal.slot + signal.size] = True

    def acts(slots: Integers, size: int) -> Mask:
        places = np.minimum(slots[:, None] + np.arange(size), len(written) - 1)
        return np.any(written[places] & (slots[:, None] >= 0), axis=1)

    if np.any(acts(np.array([GRAVITY_SLOT]), 3)):
        return np.arange(len(tables.dofs.kind))
    closures = np.repeat(tables.closures.connector, np.diff(tables.closures.row_pointer))
    forces = zip(KINDS, tables.forces, strict=True)
    found = [
        ends[closures[acts(tables.closures.slot, 3)]],
        ends[closures[(tables.closures.kind == DISTANCE) & (tables.closures.slot >= 0)]],  # driven, by an input as well
        ends[closures[time_driven_rows(tables)]],
        *(ends[table.connector[acts(table.slot, kind.size)]] for kind, table in forces),
        tables.joint_forces.dof[acts(tables.joint_forces.slot, 4)],
    ]
    dofs = np.concatenate(found)
    return dofs[dofs >= 0]


def time_driven_rows(tables: Tables) -> Integers:
    """Return the rows of the user's constraints that depend on time."""
    conditions = tables.conditions
    between = conditions.input < POSE_INPUTS * len(conditions.frame_a)
    clock = np.where(between, POSE_INPUTS - 1, np.diff(conditions.place) - 1)  # input of each condition that is t
    row, by = conditions.slope.T
    return tables.closures.row_pointer[conditions.first[0]] + np.unique(row[by == clock[row]])


# ---- sums over independent components -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComponentSums:
    """The component of every loop equation and of every coordinate."""

    count: int
    rows: NDArray[np.int64]  # (m,)
    columns: NDArray[np.int64]  # (n,)

    @staticmethod
    @once_per_system
    def of(system: System) -> "ComponentSums":
        """Return the components of a System; a loop equation belongs to that of the bodies that it joins."""
        tables, n = system.tables, len(system.tables.dofs.kind)
        columns = find_components(tables, system.lu)[:n]
        connectors = tables.connectors
        ends = np.maximum(connectors.a, connectors.b)[tables.closures.connector]  # the lower end of a connector is
        # never ground
        rows = np.concatenate([np.repeat(ends, np.diff(tables.closures.row_pointer)), tables.drivers.dof])
        return ComponentSums(int(columns.max(initial=-1)) + 1, columns[rows], columns)

    def product(self, a: Array, b: Array) -> Array:
        """Return the inner product of rows a, b (m,) for each component."""
        return np.asarray(np.bincount(self.rows, a * b, self.count), np.float64)

    def largest(self, values: Array) -> Array:
        """Return the largest |value| of coordinates (n,) for each component."""
        return largest_in(self.columns, values, self.count)

    def largest_of_rows(self, values: Array) -> Array:
        """Return the largest |value| of loop equations (m,) for each component."""
        return largest_in(self.rows, values, self.count)

    def any(self, rows: Mask) -> Mask:
        """Return which components have a row that is set."""
        return np.bincount(self.rows, rows, self.count) > 0.0


def largest_in(parts: NDArray[np.int64], values: Array, count: int) -> Array:
    """Return the largest |value| of each of ``count`` parts; NaN where a value is none."""
    found = np.zeros(count)
    with np.errstate(invalid="ignore"):  # the step says it
        np.maximum.at(found, parts, np.abs(values))
    return found


# ---- tables of a part ------------------------------------------------------------------------------------------------


Table = TypeVar("Table", bound=NamedTuple)


class SubsystemTables(NamedTuple):
    """Tables of some components, with the numbers of their coordinates, rows and states, ascending."""

    coordinates: Integers
    rows: Integers  # loop equations
    references: Integers  # reference rotations
    tables: Tables
    lu: Any  # SparseLU of their tangent
    states: Integers  # of force laws


def restricted(tables: Tables, coordinates: Integers) -> SubsystemTables:
    """Return the tables of the components with these coordinates, ascending.

    Force laws must be recorded ones. Elements between ground and ground are in no part, for they do nothing.
    """
    new = np.full(len(tables.dofs.kind) + 1, -1, np.int64)  # by old dof; the last is ground, which stays -1
    new[coordinates] = np.arange(len(coordinates))
    a, b, closures = np.maximum(tables.connectors.a, -1), np.maximum(tables.connectors.b, -1), tables.closures
    linked = new[np.maximum(a, b)] >= 0
    number = np.cumsum(linked) - 1  # new numbers of the connectors that stay
    closed = linked[closures.connector]
    driven, forced = new[tables.drivers.dof] >= 0, new[tables.joint_forces.dof] >= 0
    dofs, references = restricted_dofs(tables.dofs, coordinates, new)
    pairs = list(zip(new[a[linked]].tolist(), new[b[linked]].tolist(), strict=True))
    paths, interfaces, condensed, connectors = lay_out(
        dofs.parent, pairs, restricted_branches(tables, closed, number, new)
    )
    kept = Tables(
        dofs=dofs,
        origins=no_origins(len(coordinates)),
        paths=paths,
        interfaces=interfaces,
        condensed=condensed,
        connectors=connectors,
        closures=restricted_closures(closures, linked, number),
        contacts=restricted_contacts(tables, closed),
        conditions=restricted_conditions(tables, closed, new),
        couplers=restricted_couplers(tables, closed),
        drivers=renumbered(select_rows(tables.drivers, driven), new),
        joint_forces=renumbered(select_rows(tables.joint_forces, forced), new),
        forces=type(tables.forces)(*(select_connected(table, linked, number) for table in tables.forces)),
        laws=restricted_laws(tables.laws, linked, number, new),
        balance=balance_of(new[tables.balance.component[coordinates]], float(tables.balance.length[0])),
        sets=no_contact_sets(),
    )
    dense_loops = len(tables.condensed.closure) == 0
    lu, kept = give_places(kept, condensed=len(tables.interfaces.dof) > 0, closures=not dense_loops)
    rows = np.flatnonzero(np.concatenate([rows_of(closures, linked[closures.connector]), driven]))
    states = np.flatnonzero(new[state_dofs(tables.laws, law_dofs(tables))] >= 0)
    return SubsystemTables(coordinates, rows, references, with_origins(kept), lu, states)


def select_rows(table: Table, which: Mask | Integers) -> Table:
    """Return some rows of a table."""
    return type(table)(*(column[which] for column in table))


def renumbered(table: Any, new: Integers) -> Any:
    """Return a table with its dofs under their new numbers."""
    return table._replace(dof=new[table.dof])


def restricted_dofs(dofs: Dofs, coordinates: Integers, new: Integers) -> tuple[Dofs, Integers]:
    """Return some dofs, and the old numbers of their reference rotations."""
    kept = select_rows(dofs, coordinates)
    turned = kept.reference >= 0
    references, number = np.unique(kept.reference[turned], return_inverse=True)
    reference = np.full(len(coordinates), -1, np.int64)
    reference[turned] = number
    moved = {name: new[np.maximum(getattr(kept, name), -1)] for name in ("parent", "base", "tip")}
    return kept._replace(**moved, reference=reference), references


def rows_of(closures: Closures, which: Mask) -> Mask:
    """Return which rows belong to some closures."""
    return np.repeat(which, np.diff(closures.row_pointer))


def restricted_closures(closures: Closures, linked: Mask, number: Integers) -> Closures:
    """Return the closures of some connectors, their places in the flat Phi_z still open."""
    which = linked[closures.connector]
    rows = rows_of(closures, which)
    by_row = ("kind", "axis_a", "axis_b", "length", "slot", "assembly_offset")
    counts = np.diff(closures.row_pointer)[which]
    return Closures(
        connector=number[closures.connector[which]],
        row_pointer=pointer(counts),
        point_a=closures.point_a[which],
        point_b=closures.point_b[which],
        entry_pointer=np.zeros(len(counts) + 1, np.int64),
        **{name: getattr(closures, name)[rows] for name in by_row},
    )


def restricted_contacts(tables: Tables, closed: Mask) -> Contacts:
    """Return the kept contacts; ``closed`` marks the closures that stay."""
    old, first, end = tables.contacts, int(tables.contacts.first[0]), int(tables.conditions.first[0])
    kept, rows = closed[first:end], rows_of(tables.closures, closed)
    rate = np.zeros(len(rows), np.bool_)
    rate[old.rate_row] = True
    return Contacts(
        first=np.array([np.count_nonzero(closed[:first])], np.int64),
        normal=old.normal[kept],
        radius=old.radius[kept],
        crown=old.crown[kept],
        rate_row=np.flatnonzero(rate[rows]),
    )


def restricted_couplers(tables: Tables, closed: Mask) -> Couplers:
    """Return some couplers; ``closed`` marks the closures that stay."""
    first = int(tables.couplers.first[0])
    sizes = np.diff(tables.connectors.pointer)[tables.closures.connector[first:]]
    kept = np.repeat(closed[first:], sizes)
    return Couplers(np.array([np.count_nonzero(closed[:first])], np.int64), tables.couplers.ratio[kept])


def restricted_branches(tables: Tables, closed: Mask, number: Integers, new: Integers) -> dict[int, Integers]:
    """Return the dofs of kept connectors between coordinates, by the new number of the connector."""
    connectors, first = tables.connectors, int(tables.conditions.first[1])
    kept = tables.closures.connector[first:][closed[first:]]
    return {int(number[c]): new[connectors.dof[connectors.pointer[c] : connectors.pointer[c + 1]]] for c in kept}


def restricted_conditions(tables: Tables, closed: Mask, new: Integers) -> Conditions:
    """Return the kept constraints of the user, and their part of the program."""
    old, closures = tables.conditions, tables.closures
    (first, joints), end = old.first.tolist(), int(tables.couplers.first[0])
    kept = closed[first:end]
    of = np.repeat(np.arange(end - first), np.diff(closures.row_pointer)[first:end])  # closure of each condition
    rows = kept[of]
    slopes, bends = rows[old.slope[:, 0]], rows[old.bend[:, 0]]
    widths = np.diff(tables.connectors.pointer)[closures.connector[joints:end]] + 1
    sizes = np.concatenate([np.full(joints - first, POSE_INPUTS), widths])
    inputs = np.repeat(kept, sizes)
    outputs = np.concatenate([rows, slopes, bends])
    program, parameters = restricted_program(old.program, np.flatnonzero(inputs), np.flatnonzero(outputs))
    number, begin = np.cumsum(rows) - 1, pointer(np.where(kept, sizes, 0))
    dof = old.dof[inputs[POSE_INPUTS * (joints - first) :]]
    slope, bend = old.slope[slopes], old.bend[bends]
    return Conditions(
        first=np.count_nonzero(closed[:first]) + np.array([0, np.count_nonzero(closed[first:joints])]),
        program=program,
        slot=old.slot[parameters],
        clock=old.clock,
        frame_a=old.frame_a[closed[first:joints]],
        frame_b=old.frame_b[closed[first:joints]],
        dof=np.where(dof < 0, -1, new[dof]),
        scale=old.scale[rows],
        input=begin[of[rows]],
        place=pointer(np.diff(old.place)[rows]),
        square=pointer(np.diff(old.square)[rows]),
        slope=np.column_stack((number[slope[:, 0]], slope[:, 1])),
        bend=np.column_stack((number[bend[:, 0]], bend[:, 1:])),
    )


def restricted_laws(laws: Laws, linked: Mask, number: Integers, new: Integers) -> Laws:
    """Return the laws of some connectors and dofs, their places still open, and their part of the program."""
    between = linked[laws.connector]
    acting, looked_at = new[laws.row] >= 0, new[laws.input[:, 0]] >= 0
    wrench_entry, force_entry = between[laws.wrench_entry[:, 0]], acting[laws.force_entry[:, 0]]
    values, seen = (
        np.concatenate([np.repeat(between, 6), acting]),
        np.concatenate([np.repeat(between, FRAME_INPUTS), looked_at]),
    )
    states = kept_states(laws, values, seen)
    recorded = force_entry[: laws.counts[3]]
    outputs: NDArray[np.bool_] = np.concatenate([values, wrench_entry, recorded, states.states, states.entries])
    inputs = np.concatenate([seen, states.states])
    program, parameters = restricted_program(laws.program, np.flatnonzero(inputs), np.flatnonzero(outputs))
    law, force, place = (np.cumsum(kept) - 1 for kept in (between, acting, looked_at))  # new numbers
    wrenches, forces = laws.wrench_entry[wrench_entry], laws.force_entry[force_entry]
    return Laws(
        program=program,
        lanes=no_lane_program(),
        rates=no_lane_program(),
        begins=no_seat_program(),
        slot=laws.slot[parameters],
        connector=number[laws.connector[between]],
        frame_a=laws.frame_a[between],
        frame_b=laws.frame_b[between],
        wrench_entry=np.column_stack((law[wrenches[:, 0]], wrenches[:, 1:])),
        row=new[laws.row[acting]],
        input=np.column_stack((new[laws.input[looked_at, 0]], laws.input[looked_at, 1])),
        force_entry=np.column_stack((force[forces[:, 0]], place[forces[:, 1]], forces[:, 2:])),
        counts=np.array([between.sum(), acting.sum(), looked_at.sum(), recorded.sum()], np.int64),
        state_block=states.block,
        state_place=states.place,
    )
