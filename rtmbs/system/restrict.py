"""Tables of some components of a mechanism alone: the same numbers under new indices, a matrix of their own.

Slots stay: all parts share one array of inputs.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.restrict import restricted as restricted_program
from rtmbs.forces.register import some
from rtmbs.system.balance_table import balance_of
from rtmbs.system.closure_tables import pointer
from rtmbs.system.components import law_homes
from rtmbs.system.law_state_tables import home_of_states, kept_states
from rtmbs.system.origins import no_origins, with_origins
from rtmbs.system.pattern import give_places, lay_out
from rtmbs.system.system import Integers, Mask
from rtmbs.system.tables import FRAME_INPUTS, POSE_INPUTS, Closures, Conditions, Couplers, Dofs, Laws, Tables

Table = TypeVar("Table", bound=NamedTuple)


class Part(NamedTuple):
    """Some components: what belongs to them, ascending, and their tables."""

    coordinates: Integers
    rows: Integers  # loop equations
    references: Integers  # reference rotations
    tables: Tables
    lu: Any  # SparseLU of their tangent
    states: Integers  # of force laws


def restricted(tables: Tables, coordinates: Integers) -> Part:
    """Return the part of the mechanism with these coordinates: whole components, ascending.

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
    paths, interfaces, connectors = lay_out(dofs.parent, pairs, restricted_branches(tables, closed, number, new))
    kept = Tables(
        dofs=dofs,
        origins=no_origins(len(coordinates)),
        paths=paths,
        interfaces=interfaces,
        connectors=connectors,
        closures=restricted_closures(closures, linked, number),
        conditions=restricted_conditions(tables, closed, new),
        couplers=restricted_couplers(tables, closed),
        drivers=renumbered(chosen(tables.drivers, driven), new),
        joint_forces=renumbered(chosen(tables.joint_forces, forced), new),
        forces=type(tables.forces)(*(some(table, linked, number) for table in tables.forces)),
        laws=restricted_laws(tables.laws, linked, number, new),
        balance=balance_of(new[tables.balance.component[coordinates]], float(tables.balance.length[0])),
    )
    lu, kept = give_places(kept, condensed=len(tables.interfaces.dof) > 0)
    rows = np.flatnonzero(np.concatenate([rows_of(closures, linked[closures.connector]), driven]))
    states = np.flatnonzero(new[home_of_states(tables.laws, law_homes(tables))] >= 0)
    return Part(coordinates, rows, references, with_origins(kept), lu, states)


def chosen(table: Table, which: Mask | Integers) -> Table:
    """Return some rows of a table."""
    return type(table)(*(column[which] for column in table))


def renumbered(table: Any, new: Integers) -> Any:
    """Return a table with its dofs under their new numbers."""
    return table._replace(dof=new[table.dof])


def restricted_dofs(dofs: Dofs, coordinates: Integers, new: Integers) -> tuple[Dofs, Integers]:
    """Return some dofs, and the old numbers of their reference rotations."""
    kept = chosen(dofs, coordinates)
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


def restricted_couplers(tables: Tables, closed: Mask) -> Couplers:
    """Return some couplers; ``closed`` says which closures are kept."""
    first = int(tables.couplers.first[0])
    sizes = np.diff(tables.connectors.pointer)[tables.closures.connector[first:]]
    kept = np.repeat(closed[first:], sizes)
    return Couplers(np.array([np.count_nonzero(closed[:first])], np.int64), tables.couplers.ratio[kept])


def restricted_branches(tables: Tables, closed: Mask, number: Integers, new: Integers) -> dict[int, Integers]:
    """Return the dofs of connectors that join coordinates and are kept, by the new number of the connector."""
    connectors, first = tables.connectors, int(tables.conditions.first[1])
    kept = tables.closures.connector[first:][closed[first:]]
    return {int(number[c]): new[connectors.dof[connectors.pointer[c] : connectors.pointer[c + 1]]] for c in kept}


def restricted_conditions(tables: Tables, closed: Mask, new: Integers) -> Conditions:
    """Return the constraints of the user that are kept, and their part of the program."""
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
