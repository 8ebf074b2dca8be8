"""Bodies of one rank: tables of its branches and the trunk, and the arguments of its kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.jit.compiled import entry_for
from rtmbs.recursive.border import lay_border, massless, scratch_of
from rtmbs.recursive.frame_kernels import POST, FrameLayout, place_frames, tell_posts
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
from rtmbs.recursive.segments import FRAME, Expanded, Posts, expanded, posts_of
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

    ``coordinates`` are those of the trunk, which all ranks move alike, and of the rank's branches and segments. They
    stand at ``places`` of the rank's arrays, among frames. Raises InputError naming a coordinate that has no inertia of
    its own.
    """

    def __init__(self, system: System, split: Split, rank: int, alpha: float = 0.0, beta: float = 0.0) -> None:
        self.system, self.rank, self.trunk = system, rank, len(split.trunk)
        tables = uncondensed(system).tables
        posts = posts_of(tables, split)
        with_frames = expanded(tables, split, posts, rank)
        piece, n = restricted(with_frames.tables, with_frames.order), len(tables.dofs.kind)
        self.places = np.flatnonzero(with_frames.order < n)
        self.end = len(with_frames.order) - FRAME * len(with_frames.seen)  # of the dofs that have dynamics
        self.coordinates = with_frames.order[self.places]
        self.references = piece.references[piece.references < len(system.R0)]
        self.tables = without_trunk_mass(piece.tables, self.trunk if rank else 0)
        self.demand_inertia()
        count = int(tables.conditions.first[1])
        joined = [self.place_of(one.attach, tables) for one in split.segments]
        self.lay_out_frames(with_frames, posts, n)
        self.cuts = cut_joints(tables, len(split.segments))
        self.lay_out(tables, count, joined, alpha, beta)
        self.ws = workspace(self.tables)._replace(G=np.tile(np.eye(TWIST), (count + len(joined), 1)))
        self.cut_ws, self.none = workspace(self.cuts), np.zeros(0)
        turns = np.tile(np.eye(3), (len(piece.references), 1, 1))
        turns[: len(self.references)] = system.R0[self.references]
        local = len(with_frames.order)
        self.R0, self.sums, self.z, self.zd = turns, np.zeros((3, local)), np.zeros(local), np.zeros(local)
        self.take(system.z0, np.zeros(n))

    def place_of(self, dof: int, tables: Tables) -> int:
        """Return the place of a dof on this rank, or -2; the first rank tells of the trunk."""
        found = np.flatnonzero(self.coordinates == dof)
        return int(self.places[found[0]]) if len(found) and not (self.rank and found[0] < self.trunk) else -2

    def demand_inertia(self) -> None:
        """Raise InputError naming a coordinate of this rank whose subtree has no mass."""
        weightless = [i for i in massless(self.tables).tolist() if self.trunk <= i < self.end]
        if weightless:
            name = self.name(weightless[0])
            raise InputError(f"{name} has no inertia of its own; ranks need one, formulations.Recursive does not")

    def name(self, i: int) -> str:
        """Return the name of the coordinate at a place."""
        found = np.flatnonzero(self.places == i)
        return self.system.coordinate_names[self.coordinates[found[0]]] if len(found) else "a body that ranks share"

    def take(self, z: Array, zd: Array) -> None:
        """Take the coordinates and rates (n,) of the whole mechanism."""
        self.z[self.places], self.zd[self.places] = z[self.coordinates], zd[self.coordinates]

    def lay_out_frames(self, own: Expanded, posts: Posts, n: int) -> None:
        """Find the places of posts and frames."""
        p, local = len(posts.body), {int(dof): k for k, dof in enumerate(own.order)}
        frame, reference = np.full(p, -1, np.int64), np.zeros(p, np.int64)
        for k, post in enumerate([*own.segments.tolist(), *own.seen.tolist()]):
            frame[post], reference[post] = local[n + FRAME * k], len(self.references) + k
        mine = [local.get(int(body), -1) if rank == self.rank else -1 for body, rank in zip(posts.body, posts.owner)]  # noqa: B905
        self.frames = FrameLayout(posts.owner, posts.above, np.array(mine, np.int64), frame, reference)
        self.posts, self.roots = np.zeros((p, POST)), frame + FRAME - 1  # last dofs, of frames that are here

    def lay_out(self, tables: Tables, count: int, joined: list[int], alpha: float, beta: float) -> None:
        """Find the places of ``count`` cut joints, shared bodies and drivers, in the border and in the messages."""
        new = np.full(len(tables.dofs.kind) + 1, -2, np.int64)
        new[self.coordinates] = self.places
        if self.rank:
            new[self.coordinates[: self.trunk]] = -2  # the first rank tells of the trunk, and of ground
        else:
            new[-1] = -1
        connector, pairs = tables.closures.connector[:count], len(joined)
        ends = [new[np.maximum(side[connector], -1)] for side in (tables.connectors.a, tables.connectors.b)]
        roots = [int(root) if first >= 0 else -2 for root, first in zip(self.roots[:pairs], self.frames.frame[:pairs])]  # noqa: B905
        ends = [np.concatenate([side, np.array(more, np.int64)]) for side, more in zip(ends, (joined, roots))]  # noqa: B905
        driven = np.maximum(new[tables.drivers.dof], -1)
        twists = TWIST * (count + pairs)
        rows = twists + len(driven)
        sides = [[max(int(i), -1) for i in np.repeat(side, TWIST)] for side in ends]
        on_joints = [(int(i), twists + k, -1) for k, i in enumerate(driven) if i >= 0]
        parent, kept = np.maximum(self.tables.dofs.parent, -1), np.zeros(0, np.int64)
        self.border = lay_border(parent, rows, (sides[0], sides[1]), on_joints, kept, self.trunk)
        self.scratch = scratch_of(self.border, rows)
        self.scratch.d[:] = 1.0  # of frames, which nothing else writes
        numbers = np.array([DEPENDENT, alpha, beta])
        end = np.column_stack(ends).ravel()
        self.layout = PartLayout(np.array([self.trunk, self.end], np.int64), end, driven, tables.drivers.slot, numbers)
        trunk_rows = int(self.border.pointer[self.trunk])
        self.length = (
            1 + rows * rows + 2 * rows + TRUNK * self.trunk + 7 * trunk_rows + END * len(end) + DRIVEN * len(driven)
        )
        self.lay_out_rows(tables, count, pairs, len(driven))

    def lay_out_rows(self, tables: Tables, count: int, pairs: int, driven: int) -> None:
        """Find the rows of the reduced system: of cut joints, six of every shared body, one of every driver."""
        framed, twists = int(tables.closures.row_pointer[count]), TWIST * (count + pairs)
        closure = np.repeat(np.arange(count), np.diff(tables.closures.row_pointer[: count + 1]))
        first = np.concatenate((TWIST * closure, np.arange(TWIST * count, twists + driven))).astype(np.int64)
        width = np.concatenate((np.full(framed, TWIST), np.ones(TWIST * pairs + driven))).astype(np.int64)
        m = len(first)
        row = np.zeros((m, TWIST))
        row[framed:, 0] = 1.0
        self.reduced = Reduced(np.zeros(self.length), np.zeros(m), row, first, width, np.zeros((count + pairs, 3)))
        none: tuple[list[int], list[int]] = [-1] * m, [-1] * m
        self.rows = lay_border(np.zeros(0, np.int64), m, none, [], np.zeros(0, np.int64), 0)
        self.row_scratch = scratch_of(self.rows, m)

    def prepare(self, ranks: int, u: Array) -> None:
        """Compile or load the kernels for messages of ``ranks`` ranks and the inputs ``u``, and take the state."""
        self.u, self.message, self.messages = u, np.zeros(self.length), np.zeros((ranks, self.length))
        self.told, self.all_told = np.zeros(self.posts.size), np.zeros((ranks, self.posts.size))
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
        if len(self.posts):
            self.tell_arguments = self.tables, self.frames, self.R0, self.ws, self.told
            self.place_arguments = self.frames, self.all_told, self.posts, self.R0, self.ws
            self.tell: Any = entry_for(tell_posts, self.tell_arguments)
            self.set_frames: Any = entry_for(place_frames, self.place_arguments)

    def tell_poses(self) -> None:
        """Write the poses that other ranks need."""
        self.tell(*self.tell_arguments)

    def place_frames(self) -> None:
        """Place the frames by the poses that all ranks told."""
        self.set_frames(*self.place_arguments)

    def backward(self) -> None:
        """Evaluate own bodies and write the message."""
        self.back(*self.back_arguments)

    def forward(self) -> int:
        """Go on with the messages of all ranks; returns 0 or the mark of a coordinate without inertia."""
        return int(self.forth(*self.forth_arguments))

    def state(self) -> Array:
        """Return z, zd and reference rotations of this rank, in one row."""
        turns = self.R0[: len(self.references)]
        return np.concatenate((self.z[self.places], self.zd[self.places], turns.ravel()))

    def weightless(self) -> str:
        """Return the name of the coordinate without inertia, after such a mark; empty where another rank has it."""
        i = int(self.message[0]) - 1
        return self.name(i) if i >= 0 else ""


def without_trunk_mass(tables: Tables, trunk: int) -> Tables:
    """Return the tables seen from the global origin, with the first ``trunk`` dofs massless."""
    mass, inertia = tables.dofs.mass.copy(), tables.dofs.inertia.copy()
    mass[:trunk], inertia[:trunk] = 0.0, 0.0
    parent, base = np.maximum(tables.dofs.parent, -1), np.maximum(tables.dofs.base, -1)
    dofs = tables.dofs._replace(mass=mass, inertia=inertia, parent=parent, base=base)
    ends = {name: np.maximum(getattr(tables.connectors, name), -1) for name in "ab"}
    connectors = tables.connectors._replace(**ends)
    return tables._replace(dofs=dofs, origins=no_origins(len(mass)), connectors=connectors)


def cut_joints(tables: Tables, shared: int) -> Tables:
    """Return tables of the cut joints alone, over a dof for each of their ends; branches are empty.

    Behind them are dofs for the two ends of ``shared`` bodies.
    """
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
    places = 2 * (count + shared)
    dofs = select_rows(tables.dofs, np.zeros(places, np.int64))
    paths = tables.paths._replace(pointer=np.zeros(places + 1, np.int64))
    return tables._replace(
        dofs=dofs, origins=no_origins(places), paths=paths, connectors=pairs, closures=own, couplers=couplers,
        drivers=drivers,
    )  # fmt: skip
