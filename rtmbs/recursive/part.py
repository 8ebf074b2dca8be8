"""Bodies of one rank: tables of its branches and the trunk, and the arguments of its kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.jit.compiled import entry_for
from rtmbs.recursive.border import lay_border, massless, scratch_of
from rtmbs.recursive.part_kernels import (
    DRIVEN,
    END,
    TRUNK,
    PartLayout,
    Reduced,
    backward_part,
    forward_part,
    take_stage,
)
from rtmbs.recursive.partition import Split
from rtmbs.recursive.recursion import DEPENDENT
from rtmbs.semirecursive.workspace import workspace
from rtmbs.system.components import restricted, select_rows
from rtmbs.system.origins import no_origins
from rtmbs.system.pattern import uncondensed
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

TWIST = 6  # border unknowns of a cut joint: its relative twist about the global origin


class RankPart:
    """The bodies of one rank. ``alpha`` and ``beta`` are Baumgarte's gains [1/s].

    ``coordinates`` are those of the trunk, which all ranks move alike, and of the rank's branches. Raises InputError
    naming a coordinate that has no inertia of its own.
    """

    def __init__(self, system: System, split: Split, rank: int, alpha: float = 0.0, beta: float = 0.0) -> None:
        self.system, self.rank, self.trunk = system, rank, len(split.trunk)
        tables = uncondensed(system).tables
        piece = restricted(own_elements(tables, split, rank), np.concatenate((split.trunk, split.shares[rank])))
        self.coordinates, self.references = piece.coordinates, piece.references
        self.tables = without_trunk_mass(piece.tables, self.trunk if rank else 0)
        self.demand_inertia()
        self.cuts, count = cut_joints(tables), int(tables.conditions.first[1])
        self.lay_out(tables, count, alpha, beta)
        self.ws = workspace(self.tables)._replace(G=np.tile(np.eye(TWIST), (count, 1)))
        self.cut_ws, self.none = workspace(self.cuts), np.zeros(0)
        self.R0, self.sums = system.R0[self.references].copy(), np.zeros((3, len(self.coordinates)))
        self.z, self.zd = system.z0[self.coordinates].copy(), np.zeros(len(self.coordinates))

    def demand_inertia(self) -> None:
        """Raise InputError naming a coordinate of this rank whose subtree has no mass."""
        weightless = [i for i in massless(self.tables) if i >= self.trunk]
        if weightless:
            name = self.system.coordinate_names[self.coordinates[weightless[0]]]
            raise InputError(f"{name} has no inertia of its own; ranks need one, formulations.Recursive does not")

    def lay_out(self, tables: Tables, count: int, alpha: float, beta: float) -> None:
        """Find the places of ``count`` cut joints and of the drivers, in the border and in the messages."""
        new = np.full(len(tables.dofs.kind) + 1, -2, np.int64)
        new[self.coordinates] = np.arange(len(self.coordinates))
        if self.rank:
            new[self.coordinates[: self.trunk]] = -2  # the first rank tells of the trunk, and of ground
        else:
            new[-1] = -1
        connector = tables.closures.connector[:count]
        ends = [new[np.maximum(side[connector], -1)] for side in (tables.connectors.a, tables.connectors.b)]
        driven = np.maximum(new[tables.drivers.dof], -1)
        rows = TWIST * count + len(driven)
        sides = [[max(int(i), -1) for i in np.repeat(side, TWIST)] for side in ends]
        on_joints = [(int(i), TWIST * count + k, -1) for k, i in enumerate(driven) if i >= 0]
        parent, kept = np.maximum(self.tables.dofs.parent, -1), np.zeros(0, np.int64)
        self.border = lay_border(parent, rows, (sides[0], sides[1]), on_joints, kept, self.trunk)
        self.scratch = scratch_of(self.border, rows)
        numbers = np.array([DEPENDENT, alpha, beta])
        end = np.column_stack(ends).ravel()
        self.layout = PartLayout(np.array([self.trunk], np.int64), end, driven, tables.drivers.slot, numbers)
        trunk_rows = int(self.border.pointer[self.trunk])
        self.length = (
            1 + rows * rows + 2 * rows + TRUNK * self.trunk + 7 * trunk_rows + END * len(end) + DRIVEN * len(driven)
        )
        framed = int(tables.closures.row_pointer[count])
        closure = np.repeat(np.arange(count), np.diff(tables.closures.row_pointer[: count + 1]))
        first = np.concatenate((TWIST * closure, TWIST * count + np.arange(len(driven)))).astype(np.int64)
        width = np.concatenate((np.full(framed, TWIST), np.ones(len(driven)))).astype(np.int64)
        m = framed + len(driven)
        row = np.zeros((m, TWIST))
        row[framed:, 0] = 1.0
        self.reduced = Reduced(np.zeros(self.length), np.zeros(m), row, first, width, np.zeros((count, 3)))
        none: tuple[list[int], list[int]] = [-1] * m, [-1] * m
        self.rows = lay_border(np.zeros(0, np.int64), m, none, [], kept, 0)
        self.row_scratch = scratch_of(self.rows, m)

    def prepare(self, ranks: int, u: Array) -> None:
        """Compile or load the kernels for messages of ``ranks`` ranks and the inputs ``u``, and take the state."""
        self.u, self.message, self.messages = u, np.zeros(self.length), np.zeros((ranks, self.length))
        self.ws.z[:], self.ws.zd[:] = self.z, self.zd
        self.back_arguments = (
            self.tables, self.border, self.layout, self.R0, u, self.none, self.reduced, self.ws, self.scratch,
            self.message,
        )  # fmt: skip
        self.forth_arguments = (
            self.tables, self.cuts, self.border, self.rows, self.layout, u, self.messages, self.reduced, self.ws,
            self.cut_ws, self.scratch, self.row_scratch,
        )  # fmt: skip
        self.stage_arguments = self.z, self.zd, self.R0, self.sums, self.ws, self.scratch
        self.back: Any = entry_for(backward_part, self.back_arguments)
        self.forth: Any = entry_for(forward_part, self.forth_arguments)
        self.stage: Any = entry_for(take_stage, (self.tables.dofs, 0.0, 0.0, 0.0, 0, *self.stage_arguments))

    def backward(self) -> None:
        """Evaluate own bodies and write the message."""
        self.back(*self.back_arguments)

    def forward(self) -> int:
        """Go on with the messages of all ranks; returns 0 or the mark of a coordinate without inertia."""
        return int(self.forth(*self.forth_arguments))

    def state(self) -> Array:
        """Return z, zd and reference rotations of this rank, in one row."""
        return np.concatenate((self.z, self.zd, self.R0.ravel()))

    def weightless(self) -> str:
        """Return the name of the coordinate without inertia, after such a mark; empty where another rank has it."""
        i = int(self.message[0]) - 1
        return self.system.coordinate_names[self.coordinates[i]] if i >= 0 else ""


def own_elements(tables: Tables, split: Split, rank: int) -> Tables:
    """Return the tables without cut joints and drivers; forces on the trunk alone belong to the first rank."""
    connectors = tables.connectors
    a, b = connectors.a.copy(), connectors.b.copy()
    a[tables.closures.connector] = b[tables.closures.connector] = -1
    trunk = np.zeros(len(tables.dofs.kind) + 1, np.bool_)
    trunk[split.trunk] = trunk[-1] = rank > 0
    within = trunk[np.maximum(a, -1)] & trunk[np.maximum(b, -1)]
    a[within] = b[within] = -1
    forces = select_rows(tables.joint_forces, ~trunk[tables.joint_forces.dof])
    drivers = select_rows(tables.drivers, np.zeros(len(tables.drivers.dof), np.bool_))
    return tables._replace(connectors=connectors._replace(a=a, b=b), joint_forces=forces, drivers=drivers)


def without_trunk_mass(tables: Tables, trunk: int) -> Tables:
    """Return the tables seen from the global origin, with the first ``trunk`` dofs massless."""
    mass, inertia = tables.dofs.mass.copy(), tables.dofs.inertia.copy()
    mass[:trunk], inertia[:trunk] = 0.0, 0.0
    parent, base = np.maximum(tables.dofs.parent, -1), np.maximum(tables.dofs.base, -1)
    dofs = tables.dofs._replace(mass=mass, inertia=inertia, parent=parent, base=base)
    ends = {name: np.maximum(getattr(tables.connectors, name), -1) for name in "ab"}
    connectors = tables.connectors._replace(**ends)
    return tables._replace(dofs=dofs, origins=no_origins(len(mass)), connectors=connectors)


def cut_joints(tables: Tables) -> Tables:
    """Return tables of the cut joints alone, over a dof for each of their ends; branches are empty."""
    count, closures = int(tables.conditions.first[1]), tables.closures
    none, ends = np.zeros(0, np.int64), np.arange(2 * count)
    pairs = tables.connectors._replace(
        a=ends[0::2].copy(), b=ends[1::2].copy(), pointer=np.zeros(count + 1, np.int64), dof=none, sign=np.zeros(0),
        block_pointer=np.zeros(count + 1, np.int64), entry=none,
    )  # fmt: skip
    rows = int(closures.row_pointer[count])
    by_row = {name: getattr(closures, name)[:rows] for name in ("kind", "axis_a", "axis_b", "length", "slot")}
    own = closures._replace(
        connector=np.arange(count), row_pointer=closures.row_pointer[: count + 1], point_a=closures.point_a[:count],
        point_b=closures.point_b[:count], assembly_offset=closures.assembly_offset[:rows],
        entry_pointer=np.zeros(count + 1, np.int64), **by_row,
    )  # fmt: skip
    couplers = tables.couplers._replace(first=np.array([count], np.int64), ratio=np.zeros(0))
    drivers = select_rows(tables.drivers, np.zeros(len(tables.drivers.dof), np.bool_))
    dofs = select_rows(tables.dofs, np.zeros(2 * count, np.int64))
    paths = tables.paths._replace(pointer=np.zeros(2 * count + 1, np.int64))
    return tables._replace(
        dofs=dofs, origins=no_origins(2 * count), paths=paths, connectors=pairs, closures=own, couplers=couplers,
        drivers=drivers,
    )  # fmt: skip
