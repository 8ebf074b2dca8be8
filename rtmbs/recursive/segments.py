"""Tables of a rank with moving frames: roots of its segments, and bodies of other ranks that its forces look at.

A frame is six dofs on ground, three slides and a rotation, and has the pose and velocity that another rank tells. The
root of a segment is the second half of the body that the segment hangs on. A frame that a force looks at has no mass.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.recursive.partition import Split
from rtmbs.system.components import select_rows
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
