"""Bodies of one rank: tables of its branches and the trunk, segments, and moving frames.

Bodies of one rank: tables of its branches and the trunk, and the arguments of its kernels.

Tables of a rank with moving frames: roots of its segments, and bodies of other ranks that its forces look at.

A frame is six dofs on ground, three slides and a rotation, and has the pose and velocity that another rank tells. The
root of a segment is the second half of the body that the segment hangs on. A frame that a force looks at has no mass.

Kernels of moving frames: poses relative to the root of a segment, told to all ranks, and the frames placed by them.

A post has 18 numbers: its rotation (9), its origin (3), the velocity of its origin (3) and its angular velocity (3).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.jit.compiled import entry_for, inlined_kernel, kernel
from rtmbs.jit.struct import struct
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
from rtmbs.recursive.reduced_system import lay_border, massless, scratch_of
from rtmbs.semirecursive.passes import forward_positions, forward_velocities
from rtmbs.semirecursive.workspace import workspace
from rtmbs.system.components import no_origins, restricted, select_rows
from rtmbs.system.pattern import uncondensed
from rtmbs.system.system import System
from rtmbs.system.tables import PRISMATIC, ROTATION, Connectors, Dofs, Tables

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

FRAME = 6  # dofs of a frame
HALF = 0.5  # of the mass of a shared body, on each of its two sides


class Posts(NamedTuple):
    """The bodies whose poses ranks tell each other, in an order that all ranks share: roots of segments first."""

    body: Integers  # (p,) dof
    owner: Integers  # (p,) rank that has it
    above: Integers  # (p,) number of the segment that it is in, -1 on branches


class Expanded(NamedTuple):
    """Tables with frames, and the order of the dofs that a rank takes of them."""

    tables: Tables
    order: Integers  # trunk, roots of segments, own dofs, frames that forces look at
    segments: Integers  # numbers of the rank's segments
    seen: Integers  # numbers of the posts that forces look at


def owners(split: Split, n: int) -> Integers:
    """Return the rank of every dof (n,); -1 for the trunk."""
    owner = np.full(n, -1, np.int64)
    for rank, share in enumerate(split.shares):
        owner[share] = rank
    return owner


def posts_of(tables: Tables, split: Split) -> Posts:
    """Return the posts of a mechanism."""
    n = len(tables.dofs.kind)
    owner, number = owners(split, n), np.full(n, -1, np.int64)
    for k, segment in enumerate(split.segments):
        number[segment.dofs] = k
    a, b = parted(tables, owner)
    looked_at = np.unique(np.concatenate([a, b]))
    body = np.concatenate([np.array([one.attach for one in split.segments], np.int64), looked_at])
    return Posts(body, owner[body], number[body])


def parted(tables: Tables, owner: Integers) -> tuple[Integers, Integers]:
    """Return dofs a and b of the forces between bodies of two ranks."""
    a, b = (np.maximum(side, -1) for side in (tables.connectors.a, tables.connectors.b))
    rank_a, rank_b = (np.where(side >= 0, owner[side], -1) for side in (a, b))
    which = (rank_a != rank_b) & (rank_a >= 0) & (rank_b >= 0)
    which[tables.closures.connector] = False
    return a[which], b[which]


def expanded(tables: Tables, split: Split, posts: Posts, rank: int) -> Expanded:
    """Return the tables of a mechanism with the frames of a rank, without cut joints and drivers."""
    n, count = len(tables.dofs.kind), len(split.segments)
    owner = owners(split, n)
    mine = [k for k in range(count) if owner[split.segments[k].dofs[0]] == rank]
    connectors, seen = own_connectors(tables, split, posts, owner, rank, n + FRAME * len(mine))
    dofs = with_frames(tables.dofs, len(mine) + len(seen), int(tables.dofs.reference.max(initial=-1)) + 1)
    for place, k in enumerate(mine):
        hang(dofs, split.segments[k].attach, split.segments[k].dofs, n + FRAME * place + FRAME - 1)
    for segment in split.segments:
        for name in ("mass", "inertia"):
            getattr(dofs, name)[segment.attach] *= HALF
    trunk = np.zeros(n + 1, np.bool_)
    trunk[split.trunk] = trunk[-1] = rank > 0
    forces = select_rows(tables.joint_forces, ~trunk[tables.joint_forces.dof])
    drivers = select_rows(tables.drivers, np.zeros(len(tables.drivers.dof), np.bool_))
    none = np.full(len(dofs.kind) - n, -1, np.int64)
    balance = tables.balance._replace(component=np.concatenate([tables.balance.component, none]))
    roots, frames = np.arange(n, n + FRAME * len(mine)), np.arange(n + FRAME * len(mine), len(dofs.kind))
    order = np.concatenate([split.trunk, roots, split.shares[rank], frames])
    new = tables._replace(dofs=dofs, connectors=connectors, joint_forces=forces, drivers=drivers, balance=balance)
    return Expanded(new, order, np.array(mine, np.int64), seen)


def own_connectors(
    tables: Tables, split: Split, posts: Posts, owner: Integers, rank: int, first: int
) -> tuple[Connectors, Integers]:
    """Return the connectors of the forces of a rank, and the posts of other ranks that these look at.

    Forces on the trunk alone belong to rank 0. The frames of posts begin at dof ``first``.
    """
    connectors, count = tables.connectors, len(split.segments)
    ends = [np.maximum(side, -1) for side in (connectors.a, connectors.b)]
    common = np.zeros(len(owner) + 1, np.bool_)
    common[split.trunk] = common[-1] = True
    place = {int(body): count + k for k, body in enumerate(posts.body[count:])}
    is_mine = [~common[side] & (owner[side] == rank) for side in ends]
    is_others = [~common[side] & (owner[side] != rank) for side in ends]
    keep = is_mine[0] | is_mine[1] | ((rank == 0) & common[ends[0]] & common[ends[1]])
    keep[tables.closures.connector] = False
    foreign = [keep & far for far in is_others]
    seen = np.unique([place[int(i)] for side, far in zip(ends, foreign, strict=True) for i in side[far]]).astype(
        np.int64
    )
    frame = {int(posts.body[p]): first + FRAME * k + FRAME - 1 for k, p in enumerate(seen)}
    for side, far in zip(ends, foreign, strict=True):
        side[far] = [frame[int(i)] for i in side[far]]
        side[~keep] = -1
    return connectors._replace(a=ends[0], b=ends[1]), seen


def with_frames(dofs: Dofs, count: int, references: int) -> Dofs:
    """Return the dofs with ``count`` massless frames behind them; new reference rotations follow ``references``."""
    n, size = len(dofs.kind), FRAME * count
    first = np.repeat(n + FRAME * np.arange(count), FRAME)  # dof of each frame
    k = np.tile(np.arange(FRAME), count)
    here = n + np.arange(size)
    more = {
        "kind": np.where(k < 3, PRISMATIC, ROTATION),
        "parent": np.where(k > 0, here - 1, -1),
        "base": np.where(k > 3, first + 2, np.where(k > 0, here - 1, -1)),
        "tip": np.where(k < 3, here, first + FRAME - 1),
        "offset_rotation": np.tile(np.eye(3), (size, 1, 1)),
        "axis": np.eye(3)[k % 3],
        "reference": np.where(k == 3, references + np.repeat(np.arange(count), FRAME), -1),
    }
    columns = {}
    for name in dofs._fields:
        old = getattr(dofs, name)
        new = more[name] if name in more else np.zeros((size, *old.shape[1:]))
        columns[name] = np.concatenate([old, np.asarray(new, old.dtype).reshape(size, *old.shape[1:])])
    return Dofs(**columns)


def hang(dofs: Dofs, body: int, below: Integers, root: int) -> None:
    """Let the dofs ``below`` a body hang on the frame that ends in dof ``root``, which takes a half of the body."""
    for name in ("parent", "base"):
        column = getattr(dofs, name)
        column[below] = np.where(column[below] == body, root, column[below])
    for name, share in (("mass", HALF), ("mass_center", 1.0), ("inertia", HALF)):
        getattr(dofs, name)[root] = share * getattr(dofs, name)[body]


POST = 18  # numbers of a post


@struct
class FrameLayout(NamedTuple):
    """Places of posts and frames on a rank, in the order of the posts."""

    owner: Integers  # (p,) int64: rank that tells it
    above: Integers  # (p,) int64: post of the root of the segment that it is in, or -1
    own: Integers  # (p,) int64: own dof, or -1
    frame: Integers  # (p,) int64: first dof of the frame that is placed there, or -1
    reference: Integers  # (p,) int64: its reference rotation


@kernel
def tell_posts(tables, frames, R0, ws, message):
    """Write the own posts relative to the roots of their segments, which stand still at the global origin."""
    mine = 0
    for p in range(len(frames.own)):
        mine += 1 if frames.own[p] >= 0 else 0
        i = frames.frame[p]
        if i >= 0:
            for k in range(6):
                ws.z[i + k] = ws.zd[i + k] = 0.0
            for k in range(3):
                for l in range(3):
                    R0[frames.reference[p], k, l] = 1.0 if k == l else 0.0
    if mine == 0:
        return
    forward_positions(tables, R0, ws.z, ws)
    forward_velocities(tables.dofs, ws.zd, ws)
    for p in range(len(frames.own)):
        i, k = frames.own[p], POST * p
        if i >= 0:
            r, v, w = ws.r[i], ws.V[i, :3], ws.V[i, 3:]
            for c in range(3):
                for l in range(3):
                    message[k + 3 * c + l] = ws.A[i, c, l]
                message[k + 9 + c], message[k + 15 + c] = r[c], w[c]
            message[k + 12] = v[0] + w[1] * r[2] - w[2] * r[1]
            message[k + 13] = v[1] + w[2] * r[0] - w[0] * r[2]
            message[k + 14] = v[2] + w[0] * r[1] - w[1] * r[0]


@kernel
def place_frames(frames, messages, posts, R0, ws):
    """Compose the posts of all ranks, root by root, and give the rank's frames their poses and velocities."""
    for p in range(len(frames.own)):
        if frames.above[p] >= 0:
            carry(posts, p, frames.above[p], messages, frames.owner[p])
        else:
            for c in range(POST):
                posts[p, c] = messages[frames.owner[p], POST * p + c]
        i = frames.frame[p]
        if i >= 0:
            for c in range(3):
                ws.z[i + c], ws.zd[i + c], ws.z[i + 3 + c] = posts[p, 9 + c], posts[p, 12 + c], 0.0
                turn = 0.0
                for l in range(3):
                    R0[frames.reference[p], c, l] = posts[p, 3 * c + l]
                    turn += posts[p, 3 * l + c] * posts[p, 15 + l]
                ws.zd[i + 3 + c] = turn


@inlined_kernel
def carry(posts, p, root, messages, owner):
    """Turn a post that ``owner`` told relative to a root into one relative to ground; the root's post is already."""
    first = POST * p
    for c in range(3):
        for l in range(3):
            total = 0.0
            for k in range(3):
                total += posts[root, 3 * c + k] * messages[owner, first + 3 * k + l]
            posts[p, 3 * c + l] = total
    for c in range(3):
        arm, v, w = 0.0, 0.0, 0.0
        for k in range(3):
            share = posts[root, 3 * c + k]
            arm += share * messages[owner, first + 9 + k]
            v += share * messages[owner, first + 12 + k]
            w += share * messages[owner, first + 15 + k]
        posts[p, 9 + c], posts[p, 12 + c], posts[p, 15 + c] = arm, v, w + posts[root, 15 + c]
    x, y, z = posts[p, 9], posts[p, 10], posts[p, 11]
    a, b, c = posts[root, 15], posts[root, 16], posts[root, 17]
    posts[p, 12] += posts[root, 12] + b * z - c * y
    posts[p, 13] += posts[root, 13] + c * x - a * z
    posts[p, 14] += posts[root, 14] + a * y - b * x
    for k in range(3):
        posts[p, 9 + k] += posts[root, 9 + k]


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
