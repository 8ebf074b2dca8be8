"""Flat arrays for the compiled path: the metric of changes, the rows that are solved, and the pattern of A W^-1 A^T.

The metric W = (L L^T)^-1 has one block a body. "size": a metre over the size of the mechanism and a radian count alike.
"mass": W is the mass matrix, so that the least change is the one of least kinetic energy. A change across |e| = 1 is
fixed by its own equation and counts as a turn by one radian in either.

A row of the Jacobian that is solved, scaled to have no unit, is stored in blocks of seven columns, one a body (a group;
an unknown that belongs to no body is a group of one column). Groups that ground holds have no blocks.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.program import Program, memory_of
from rtmbs.errors import InputError, shown
from rtmbs.jit.struct import struct
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.equations import KINDS, KinematicEquations, Programs
from rtmbs.numerics.linear.sparse_lu import LUWorkspace, workspace
from rtmbs.numerics.linear.symbolic import SparseLU, analyse, entries

Array = Any
WEIGHTS = ("size", "mass")


@struct
class Metric(NamedTuple):
    """Numbers that the roots L are made of."""

    masses: int  # 1: of masses, 0: of sizes
    size: Array  # (n,) diagonal of L in the metric of sizes
    heavy: Array  # (groups,) 1 / sqrt(mass)
    center: Array  # (groups, 3) mass centre, body axes [m]
    turning: Array  # (groups, 3, 3) inertia^-1/2, body axes
    across: Array  # (groups,) of a change across |e| = 1


def build_metric(equations: KinematicEquations, name: str) -> Metric:
    """Return the metric of this name; InputError for an unknown one, or for masses that are not there."""
    if name not in WEIGHTS:
        raise InputError(f"weights is {shown(name)}; it must be {' or '.join(map(repr, WEIGHTS))}")
    groups = len(equations.bodies) + len(equations.extra)
    heavy, across = np.ones(groups), np.ones(groups)
    center, turning = np.zeros((groups, 3)), np.zeros((groups, 3, 3))
    if name == "mass":
        if equations.extra:
            name = equations.extra[0][0]
            raise InputError(
                f"weights='mass' does not know what {name} weighs, an unknown beside the bodies; take 'size'"
            )
        for k, body in enumerate(list(equations.model.bodies.values())[1:], 1):
            principal, axes = np.linalg.eigh(body.inertia)
            if body.mass <= 0.0 or principal[0] <= 0.0:
                raise InputError(
                    f"weights='mass': body {body.name!r} has no mass or no inertia about an axis; take 'size'"
                )
            heavy[k] = 1.0 / np.sqrt(body.mass)
            center[k] = body.center_of_mass
            turning[k] = (axes / np.sqrt(principal)) @ axes.T
            across[k] = 1.0 / np.sqrt(principal.mean())
    return Metric(int(name == "mass"), equations.sizes(), heavy, center, turning, across)


N, M, NF, DRIVERS, FREE, TURNS, REDUNDANT = 0, 1, 2, 3, 4, 5, 6  # places of sizes


@struct
class PathTables(NamedTuple):
    """Constant inputs of the path kernel."""

    values: Program  # Phi, then the entries of Phi_q
    by_driver: Program  # entries of Phi_f
    second: Program  # (Phi_x v)_x v
    bend: Program  # (lam . Phi)_xx v; without an operation where nothing is free
    turned: Program  # counted turns
    lu: SparseLU  # of A W^-1 A^T
    row: Array  # (mk,) row of Phi
    scale: Array  # (mk,) factor that takes its unit off
    entry: Array  # (entries,) int64: place in the flat blocks, -1 not solved
    driver_row: Array  # (driver entries,) int64: row among those solved, -1 not solved
    driver_column: Array  # (driver entries,) int64
    block_row: Array  # (blocks,) int64
    block_group: Array  # (blocks,) int64
    first: Array  # (groups,) int64: column in q
    width: Array  # (groups,) int64
    pair: Array  # (pairs, 4) int64: two blocks of one group, their places above and below the diagonal
    metric: Metric
    sizes: Array  # (7,) int64: n, m, nf, drivers, free directions, turns, redundant rows


@struct
class PathScratch(NamedTuple):
    """Scratch of the path kernel; allocated once."""

    values: Array  # memory of the programs
    by_driver: Array
    second: Array
    bend: Array
    turned: Array
    phi: Array  # (m + entries,)
    driver_entries: Array
    curved: Array  # (m,)
    bent: Array  # (n + nf,)
    turns: Array  # (turns,)
    blocks: Array  # (blocks, 7) rows of A
    rooted: Array  # (blocks, 7) rows of A L
    before: Array  # (blocks, 7) rows of A L at the time before
    root: Array  # (groups, 7, 7) L
    bending: Array  # (groups, 7, 7) dL/dt
    original: Array  # (lu.size,)
    factored: Array  # (lu.size,)
    work: LUWorkspace
    x: Array  # (n + nf,) q and f
    v: Array  # (2 (n + nf),) qd and fd, twice
    lam_v: Array  # (m + n + nf,)
    b: Array  # (mk,)
    rest: Array  # (mk,)
    lam: Array  # (mk,)
    last: Array  # (mk,) multipliers of the rates
    y: Array  # (groups, 7)
    z: Array  # (groups, 7)
    dq: Array  # (n,)
    weak: Array  # (mk,) direction of the smallest singular value
    probe: Array  # (mk,) a constant direction, from which others are found
    bent_rows: Array  # (mk,) direction in which A L changed most
    seen: Array  # (2,) what the last look at the change of A L found of its bound, and the farthest change since
    counts: Array  # (6,) int64: see COUNTS


COUNTS = (*KINDS, "factorisations", "solutions")


def build_tables(programs: Programs, keep: NDArray[np.bool_], metric: Metric) -> PathTables:
    """Return the tables for the rows ``keep`` (m,), none of which may belong to ground."""
    equations, values = programs.equations, programs.values
    rows = np.flatnonzero(keep)
    solved = np.full(programs.m, -1)
    solved[rows] = np.arange(len(rows))
    group, place, first, width = groups_of(len(equations.bodies), programs.n)
    lively = (solved[values.row] >= 0) & (group[values.column] > 0)
    keys = solved[values.row] * len(first) + group[values.column]
    blocks, number = np.unique(keys[lively], return_inverse=True)
    entry = np.full(len(keys), -1)
    entry[lively] = SIZE * number + place[values.column[lively]]
    block_row, block_group = blocks // len(first), blocks % len(first)
    i, j = pairs_of(block_group)
    lu = analyse(len(rows), block_row[i], block_row[j])
    upper = entries(lu, block_row[i], block_row[j])
    lower = entries(lu, block_row[j], block_row[i])
    by = programs.by_drivers
    of_driver = by.column < programs.drivers
    free, redundant = programs.n - SIZE - len(rows), programs.m - SIZE - len(rows)
    return PathTables(
        values=values.run.program,
        by_driver=by.run.program,
        second=programs.second.program,
        bend=programs.bend.program if free else programs.second.program,
        turned=programs.turned.program if equations.turns else programs.second.program,
        lu=lu,
        row=rows,
        scale=np.where(equations.is_length[rows], 1.0 / equations.length, 1.0),
        entry=entry,
        driver_row=np.where(of_driver, solved[by.row], -1),
        driver_column=by.column,
        block_row=block_row,
        block_group=block_group,
        first=first,
        width=width,
        pair=np.stack((i, j, upper, lower), axis=1).reshape(-1, 4),
        metric=metric,
        sizes=np.array(
            [programs.n, programs.m, programs.nf, programs.drivers, free, len(equations.turns), redundant], np.int64
        ),
    )


def groups_of(bodies: int, n: int) -> tuple[Array, Array, Array, Array]:
    """Return group and place of every column (n,), and first column and width of every group."""
    extra = n - SIZE * bodies
    group = np.concatenate((np.repeat(np.arange(bodies), SIZE), bodies + np.arange(extra)))
    place = np.concatenate((np.tile(np.arange(SIZE), bodies), np.zeros(extra, np.int64)))
    first = np.concatenate((SIZE * np.arange(bodies), SIZE * bodies + np.arange(extra)))
    width = np.concatenate((np.full(bodies, SIZE), np.ones(extra, np.int64)))
    return group, place, first, width


def pairs_of(block_group: Array) -> tuple[Array, Array]:
    """Return all pairs i <= j of blocks of one group."""
    order = np.argsort(block_group, kind="stable")
    counts = np.bincount(block_group[order], minlength=1)
    found_i, found_j, start = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for count in counts[counts > 0]:
        i, j = np.triu_indices(count)
        members = np.sort(order[start : start + count])
        found_i.append(members[i])
        found_j.append(members[j])
        start += count
    return np.concatenate(found_i), np.concatenate(found_j)


def build_scratch(T: PathTables, counts: Array) -> PathScratch:
    """Allocate the arrays that the march writes; ``counts`` go on."""
    n, m, nf, _, _, turns, _ = T.sizes.tolist()
    mk, blocks, groups, entries = len(T.row), len(T.block_row), len(T.first), len(T.entry)
    zeros = np.zeros
    return PathScratch(
        values=memory_of(T.values),
        by_driver=memory_of(T.by_driver),
        second=memory_of(T.second),
        bend=memory_of(T.bend),
        turned=memory_of(T.turned),
        phi=zeros(m + entries),
        driver_entries=zeros(len(T.driver_row)),
        curved=zeros(m),
        bent=zeros(n + nf),
        turns=zeros(turns),
        blocks=zeros((blocks, SIZE)),
        rooted=zeros((blocks, SIZE)),
        before=zeros((blocks, SIZE)),
        root=zeros((groups, SIZE, SIZE)),
        bending=zeros((groups, SIZE, SIZE)),
        original=zeros(T.lu.size),
        factored=zeros(T.lu.size),
        work=workspace(T.lu),
        x=zeros(n + nf),
        v=zeros(2 * (n + nf)),
        lam_v=zeros(m + n + nf),
        b=zeros(mk),
        rest=zeros(mk),
        lam=zeros(mk),
        last=zeros(mk),
        y=zeros((groups, SIZE)),
        z=zeros((groups, SIZE)),
        dq=zeros(n),
        weak=np.random.default_rng(0).standard_normal(mk),
        probe=np.random.default_rng(1).standard_normal(mk) / np.sqrt(max(mk, 1)),
        bent_rows=zeros(mk),
        seen=np.array([np.inf, 0.0]),
        counts=counts,
    )
