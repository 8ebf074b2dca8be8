"""Paths, branches, and the places of their entries in the sparse matrix.

The pattern holds every pair (step, ancestor), for every link every pair of its two branches, and every pair of joints
that a force law couples.
"""

from typing import Any

import numpy as np

from rtmbs.linear.symbolic import analyse, positions
from rtmbs.system.closures import pointer
from rtmbs.system.system import Integers
from rtmbs.system.tables import Links, Paths, Tables

Pairs = list[tuple[int, int]]


def paths_to_ground(parent: Integers) -> list[Integers]:
    """Return for every step the steps from ground to itself, itself last."""
    paths: list[Integers] = []
    for i, p in enumerate(parent):
        above = paths[p] if p >= 0 else np.zeros(0, np.int64)
        paths.append(np.append(above, np.int64(i)))
    return paths


def branches(paths: list[Integers], a: int, b: int) -> tuple[Integers, Integers]:
    """Return the steps below the last common ancestor of ``a`` and ``b``: down to a, and down to b."""
    none = np.zeros(0, np.int64)
    way_a, way_b = paths[a] if a >= 0 else none, paths[b] if b >= 0 else none
    short = min(len(way_a), len(way_b))
    apart = np.flatnonzero(way_a[:short] != way_b[:short])
    common = int(apart[0]) if len(apart) else short
    return way_a[common:], way_b[common:]


def build_paths(paths: list[Integers]) -> Paths:
    """Return the paths as arrays, their places still open."""
    ways = pointer(np.array([len(path) for path in paths], np.int64))
    steps = join(paths)
    return Paths(ways, steps, np.zeros(len(steps), np.int64), np.zeros(len(steps), np.int64))


def build_links(paths: list[Integers], pairs: Pairs) -> Links:
    """Return the links between pairs of steps, their places still open."""
    found = [branches(paths, a, b) for a, b in pairs]
    sizes = np.array([len(to_a) + len(to_b) for to_a, to_b in found], np.int64)
    blocks = pointer(sizes * sizes)
    return Links(
        a=np.array([a for a, _ in pairs], np.int64),
        b=np.array([b for _, b in pairs], np.int64),
        pointer=pointer(sizes),
        step=join([branch for both in found for branch in both]),
        sign=np.concatenate(
            [np.zeros(0), *(np.full(len(s), sign) for both in found for s, sign in zip(both, (-1.0, 1.0), strict=True))]
        ),
        block_pointer=blocks,
        position=np.zeros(int(blocks[-1]), np.int64),
    )


def lay_out(parent: Integers, pairs: Pairs) -> tuple[Paths, Links]:
    """Return paths to ground and links between ``pairs`` of steps, their places still open."""
    paths = paths_to_ground(parent)
    return build_paths(paths), build_links(paths, pairs)


def give_places(tables: Tables) -> tuple[Any, Tables]:
    """Return the static factorisation of the tangent, and the tables with the places of all entries in its values.

    Places in the flat Phi_z, ``Closures.entry_pointer``, are given with them.
    """
    paths, links, laws, n = tables.paths, tables.links, tables.laws, len(tables.steps.kind)
    row = np.repeat(np.arange(n, dtype=np.int64), np.diff(paths.pointer))
    block_rows, block_cols = block_pairs(links)
    coupled = laws.row[laws.force_entry[:, 0]], laws.input[laws.force_entry[:, 1], 0]
    rows, cols = np.concatenate([row, block_rows, coupled[0]]), np.concatenate([paths.step, block_cols, coupled[1]])
    lu = analyse(n, rows, cols)
    diagonal = places(lu, np.arange(n), np.arange(n))
    rows_of, branches_of = np.diff(tables.closures.row_pointer), np.diff(links.pointer)
    entry = np.column_stack((laws.force_entry[:, :3], places(lu, *coupled)))
    return lu, tables._replace(
        paths=paths._replace(position=places(lu, row, paths.step), position_transposed=places(lu, paths.step, row)),
        links=links._replace(position=places(lu, block_rows, block_cols)),
        closures=tables.closures._replace(entry_pointer=pointer(rows_of * branches_of[: len(rows_of)])),
        drivers=tables.drivers._replace(position=diagonal[tables.drivers.step]),
        joint_forces=tables.joint_forces._replace(position=diagonal[tables.joint_forces.step]),
        laws=laws._replace(force_entry=entry),
    )


def block_pairs(links: Links) -> tuple[Integers, Integers]:
    """Return rows and columns of every link's (branch, branch) block, row by row."""
    found_rows, found_cols = [], []
    for l in range(len(links.a)):
        branch = links.step[links.pointer[l] : links.pointer[l + 1]]
        found_rows.append(np.repeat(branch, len(branch)))
        found_cols.append(np.tile(branch, len(branch)))
    return join(found_rows), join(found_cols)


def places(lu: Any, rows: Integers, cols: Integers) -> Integers:
    return np.ascontiguousarray(positions(lu, rows, cols), np.int64)


def join(parts: list[Integers]) -> Integers:
    return np.concatenate([np.zeros(0, np.int64), *parts])
