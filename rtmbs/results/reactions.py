"""Reactions of joints, with the shares that balance leaves free.

Reactions: the wrench that the first body of a joint exerts on the second through it.

It is the total: constraint forces, and motors, torsional springs and drivers of the joint as well. It is taken at the
joint point of the second body, in world axes: [f, n] [N, N m]. In the tree it follows from the balance of the bodies
beyond the joint, in a cut joint and a rod from the multipliers. What this balance leaves free is shared by all of them
(``shared_reactions``). ``JointReactions`` has all of them at one state.

Reactions that balance leaves free, shared by all joints as springs of equal stiffness (METHODS 1.40).

With r0 the reactions that multipliers and balance give, and N a basis of the states of self-stress, the reactions
r = r0 - N (N^T W N)^-1 N^T W r0 have the least energy r^T W r of all that balance the same loads; W holds the inverse
stiffness. This is the limit of bushings whose stiffness grows. What is unique has no part in N. N^T W N is assembled by
the flexibility method: of every pair of cuts, from the joints that wrenches of both pass through.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import splu

from rtmbs.errors import unknown_name
from rtmbs.results.motion_channels import body_motion, cross
from rtmbs.results.samples import Evaluation, entered_from, one_sample
from rtmbs.results.self_stress import Basis, LoopGroup, Scalar, combinations, find_basis, loop_groups
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.state import State
from rtmbs.system.components import WORLD
from rtmbs.system.system import JointInfo, System
from rtmbs.system.tables import Tables
from rtmbs.system.topology import CONSTRAINT, KNIFE_EDGE, ROD, ROLLING

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

RANK = 1e-8  # of arms in characteristic lengths: a column that differs less from others depends on them
LOOSE = 1e-6  # the same where a basis known from another pose is used again
GAP = 30.0  # times the gap of the loops: less is no reason to call columns independent
UNIQUE = 1e-6  # share of a component in states of self-stress of unit energy
ROUNDS, ENOUGH = 3, 1e-12  # of taking off what rounding left, and the share of the first round that may be left
MOST_KNOWN = 8  # bases of a group that are kept
BLOCK_BYTES = 16_000_000  # of the matrices of some samples
DENSE = 250  # states of self-stress; above, the pattern of their energies pays


@dataclass
class SharedReactions:
    """Additions of sharing to the reactions of S samples."""

    wrench: dict[str, Array]  # (S, 6) to the reaction of an element on b at its point, world axes [N, N m]
    force: dict[int, Array]  # (S,) to a multiplier, by row: couplers, driven coordinates, rods
    free: dict[str, Array]  # (S, 6) 1 for components that balance leaves free


class Posed(NamedTuple):
    """A group at S poses; places from the origin of its first dof, wrenches about it, moments over the length."""

    points: Array  # (S, E, 3)
    rows: Array  # (S, D, 6) component of a wrench along every direction of an element, over the root of its stiffness
    columns: Array  # (S, K, 6, 6) wrench of every slot
    loads: Array  # (S, 6 L + M) what columns do to coordinates
    found: Array  # (S, E, 6) wrench on b of every element
    scalars: Array  # (S, k) multipliers
    scale: Array  # (k,) unit of each: the length of a moment


def shared_reactions(resampled: Evaluation, marked: bool = False) -> SharedReactions:
    """Return the changes of reactions by sharing; ``marked`` with the components that balance leaves free."""
    if marked not in resampled.shared:
        resampled.shared[marked] = share(resampled, marked)
    found: SharedReactions = resampled.shared[marked]
    return found


def shared_multiplier(resampled: Evaluation, row: int) -> Array:
    """Return the multiplier (S,) of a rod, a coupler or a driver, shared where balance leaves it free [N, N m]."""
    return np.asarray(resampled.samples.lam[:, row] + shared_reactions(resampled).force.get(row, 0.0))


def shared_coordinate_forces(resampled: Evaluation, closure: int) -> Array:
    """Return the forces (S, k) of a coupler or a constraint on the coordinates that it joins, shared [N, N m]."""
    added = shared_reactions(resampled).force
    if not added:
        return resampled.coordinate_forces(closure)
    lam = resampled.samples.lam.copy()
    for row, force in added.items():
        lam[:, row] += force
    return resampled.with_multipliers(lam).coordinate_forces(closure)


def share(resampled: Evaluation, marked: bool) -> SharedReactions:
    """Return the changes of reactions by sharing, some samples at a time."""
    out, S = SharedReactions({}, {}, {}), len(resampled.samples.t)
    for group in loop_groups(resampled.system):
        known = group.known.get(resampled.drivers_given, ())
        if known and known[0].determined:
            continue
        size = len(group.filled) if len(group.filled) <= 2 * DENSE else 60
        numbers = size**2 + 36 * (len(group.pairs) + len(group.of) + len(group.elements)) + 6 * len(group.loads)
        width = max(1, BLOCK_BYTES // (8 * numbers + 1))
        for first in range(0, S, width):
            share_block(resampled, group, slice(first, min(first + width, S)), marked, out)
    return out


def share_block(resampled: Evaluation, group: LoopGroup, block: slice, marked: bool, out: SharedReactions) -> None:
    """Share the reactions of one group over some samples."""
    S = len(resampled.samples.t)
    part = resampled if block == slice(0, S) else resampled.some(block)
    posed = pose(part, group)
    for where, basis, X in bases(part, group, posed.loads):
        if not len(basis.free):
            continue
        here = posed if len(where) == len(posed.loads) else at_samples(posed, where)
        energy = Energy(group, here, basis, X)
        change = energy.least()
        place = block.start + where
        add(part, group, here, where, change, place, S, out)
        if marked:
            mark(group, here, basis, energy, place, S, out)


def at_samples(posed: Posed, where: Indices) -> Posed:
    """Return a group at some of its poses."""
    return posed._replace(**{name: getattr(posed, name)[where] for name in Posed._fields if name != "scale"})


def bases(resampled: Evaluation, group: LoopGroup, loads: Array) -> Iterator[tuple[Indices, Basis, Array]]:
    """Yield samples, a basis of their states of self-stress, and the combinations of used columns that tied ones are.

    The first basis of other poses whose loads vanish serves. Where there is none, the rank is found anew.
    """
    key, offset = resampled.drivers_given, offset_of(resampled)
    filled, waiting = group.filled & ~group.drivers if key else group.filled, np.arange(len(loads))
    for number in range(len(loads) + MOST_KNOWN):
        if not len(waiting):
            return
        known = group.known.get(key, ())
        if fresh := number >= len(known):
            tolerance = tolerance_of(resampled, offset, int(waiting[0]))
            found = find_basis(group, filled, loads[waiting[0]], tolerance, tolerance <= RANK)
            group.known[key] = (*known[: MOST_KNOWN - 1], found)
        else:
            found = known[number]
        X, good = combinations(found, loads[waiting], max(GAP * offset, LOOSE))
        good |= resampled.rank_held
        good[0] |= fresh
        if np.any(good):
            yield waiting[good], found, X[good]
        waiting = waiting[~good]


def offset_of(resampled: Evaluation) -> float:
    """Return the largest assembly offset, over the characteristic length."""
    system, offset = resampled.system, resampled.tables.closures.assembly_offset
    scale = np.where(system.row_is_rotation[: len(offset)], 1.0, system.length)
    return float(np.max(np.abs(offset) / scale, initial=0.0))


def tolerance_of(resampled: Evaluation, offset: float, sample: int) -> float:
    """Return what arms may differ by where loops stand as far open as at a sample, over the characteristic length."""
    system = resampled.system
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    gap = float(np.max(np.abs(resampled.closures[0][sample]) / scale, initial=0.0))
    return min(max(RANK, GAP * gap, GAP * offset), max(LOOSE, GAP * offset))


# ---- a group at its poses --------------------------------------------------------------------------------------------


class Frames(NamedTuple):
    """Frames of all dofs, ground last, places from an origin near a group."""

    A: Array  # (S, n + 1, 3, 3)
    r: Array  # (S, n + 1, 3)
    shift: Array  # (S, n + 1, 3) from the origin of each dof's part to that of the group


def frames_of(resampled: Evaluation, group: LoopGroup) -> Frames:
    """Return the frames that a group needs."""
    frames = resampled.all_frames()
    S = len(frames)
    ground = np.broadcast_to(np.concatenate((np.eye(3).reshape(9), np.zeros(18))), (S, 1, 27))
    frames = np.concatenate((frames, ground), axis=1)
    shift = frames[:, :, 24:27] - frames[:, group.first, None, 24:27]
    return Frames(frames[:, :, :9].reshape(S, -1, 3, 3), frames[:, :, 9:12] + shift, -shift)


def pose(resampled: Evaluation, group: LoopGroup) -> Posed:
    """Return a group over all samples."""
    L, frames = resampled.system.length, frames_of(resampled, group)
    points = frames.r[:, group.dof_b] + rotated(frames.A[:, group.dof_b], group.point)
    along = directions(resampled, group, frames)
    rows = wrench_rows(along, points[:, group.of], group.turns, L) * np.sqrt(group.compliance[: len(group.of), None])
    columns = column_wrenches(resampled, group, frames, points, along)
    axes = rotated(frames.A[:, group.dof_tip], group.dof_axis)
    felt = wrench_rows(axes, frames.r[:, group.dof_tip], group.dof_turns, L)
    felt[:, :, :3] += group.dof_pitch[:, None] / L * axes
    at, cut = group.loads.T
    loads = (columns[:, cut] @ felt[:, at, :, None])[..., 0] * group.load_sign[:, None]
    wrench = resampled.all_wrenches()[:, group.row] * group.sign[:, None]
    wrench[:, :, 3:] -= cross3(frames.shift[:, group.seeing], wrench[:, :, :3])  # about the origin of the group
    scale = np.array([L if one.turns else 1.0 for one in group.scalars])
    lam = resampled.samples.lam[:, [one.row for one in group.scalars]] / scale
    units = scale[group.slopes[:, 1]] / np.where(group.dof_turns[group.slopes[:, 0]], L, 1.0)
    slope = [slopes(resampled, one) for one in group.scalars]
    own = np.concatenate([np.zeros((len(points), 0)), *slope], axis=1) * units
    loads = np.concatenate((loads.reshape(len(points), -1), own), axis=1)
    return Posed(points, rows, columns, loads, wrench, lam, scale)


def rotated(A: Array, local: Array) -> Array:
    """Return A x (S, k, 3) for rotations (S, k, 3, 3) and vectors (k, 3)."""
    return np.asarray((A @ local[:, :, None])[..., 0])


def cross3(x: Array, y: Array) -> Array:
    """Return vector products (S, k, 3)."""
    return cross(x.reshape(-1, 3), y.reshape(-1, 3)).reshape(x.shape)


def wrench_rows(direction: Array, place: Array, turns: Mask, length: float) -> Array:
    """Return rows (S, k, 6) that take from a wrench its force along directions, or its moment about places over the
    length.
    """
    moment = turns[:, None] / length
    force = np.where(turns[:, None], cross3(place, direction) / length, direction)
    return np.concatenate((force, direction * moment), axis=2)


def directions(resampled: Evaluation, group: LoopGroup, frames: Frames) -> Array:
    """Return the unit directions of all components (S, D, 3), world axes."""
    u, v = (rotated(frames.A[:, group.component_dof[:, k]], group.component_axis[:, k]) for k in (0, 1))
    out = np.where(group.turns[:, None], cross3(v, u), u)
    for k in group.cuts:
        element = group.elements[k]
        if element.closure >= 0 and len(element.components) == 1:
            d = span(resampled, element.closure)
            out[:, group.padded[k, 0]] = d / np.linalg.norm(d, axis=1)[:, None]
    return np.asarray(out)


def span(resampled: Evaluation, closure: int) -> Array:
    """Return the way (S, 3) from point a to point b of a closure [m]."""
    tables = resampled.tables
    connector = int(tables.closures.connector[closure])
    ends = (
        (tables.connectors.a[connector], tables.closures.point_a[closure]),
        (tables.connectors.b[connector], tables.closures.point_b[closure]),
    )
    a, b = (motion.r + motion.A @ local for motion, local in ((resampled.motion(int(d)), p) for d, p in ends))
    return np.asarray(b - a)


def column_wrenches(resampled: Evaluation, group: LoopGroup, frames: Frames, points: Array, along: Array) -> Array:
    """Return the wrench of unit size of every slot (S, K, 6, 6), zero of an empty one."""
    L, S = resampled.system.length, len(points)
    place = np.repeat(points[:, group.cuts], 6, axis=1)
    number = group.slots.ravel()
    turns, direction = np.zeros(len(number), np.bool_), np.zeros((S, len(number), 3))
    plain = number >= 0
    if len(group.of):
        turns[plain], direction[:, plain] = group.turns[number[plain]], along[:, number[plain]]
    axis = -1 - number[~plain]
    turns[~plain], direction[:, ~plain] = axis >= 3, np.eye(3)[axis % 3]
    force = np.where(turns[:, None], 0.0, direction)
    moment = np.where(turns[:, None], L * direction, cross3(place, direction))
    out = np.concatenate((force, moment), axis=2) * group.filled[: len(number), None]
    out = out.reshape(S, -1, 6, 6)
    for k, cut in enumerate(group.cuts):
        element = group.elements[cut]
        if element.closure >= 0 and len(element.components) > 1:
            for slot in np.flatnonzero(group.filled[6 * k : 6 * k + 6]):
                out[:, k, slot] = constraint_wrench(resampled, group, int(cut), int(slot), frames, points[:, cut])
    return out


def constraint_wrench(
    resampled: Evaluation, group: LoopGroup, element: int, row: int, frames: Frames, place: Array
) -> Array:
    """Return the wrench (S, 6) of one equation of a constraint, of unit size at its point."""
    one, tables, L = group.elements[element], resampled.tables, resampled.system.length
    unit = unit_multiplier(resampled, int(tables.closures.row_pointer[one.closure]) + row)
    wrench = unit.connector_wrench(int(tables.closures.connector[one.closure])).copy()
    wrench[:, 3:] -= cross(frames.shift[:, one.seeing], wrench[:, :3])
    turn = (wrench[:, 3:] - cross(place, wrench[:, :3])) / L
    size = np.sqrt(np.sum(wrench[:, :3] ** 2 + turn**2, axis=1))
    return np.asarray(wrench / np.where(size > 0.0, size, 1.0)[:, None])


def slopes(resampled: Evaluation, scalar: Scalar) -> Array:
    """Return the derivatives of the equation of a scalar by its coordinates (S, k)."""
    if scalar.closure < 0:
        return np.ones((len(resampled.samples.t), 1))
    return -unit_multiplier(resampled, scalar.row).coordinate_forces(scalar.closure)


def unit_multiplier(resampled: Evaluation, row: int) -> Evaluation:
    """Return the samples with one multiplier of one, and all others zero."""
    lam = np.zeros_like(resampled.samples.lam)
    lam[:, row] = 1.0
    return resampled.with_multipliers(lam)


# ---- least energy ----------------------------------------------------------------------------------------------------


class Energy:
    """Energy of reactions r0 + N c of a group at S poses, by the flexibility of its joints."""

    def __init__(self, group: LoopGroup, posed: Posed, basis: Basis, X: Array) -> None:
        self.group, self.posed, self.basis, self.X = group, posed, basis, X
        S, E = posed.points.shape[:2]
        rows = np.concatenate((posed.rows, np.zeros((S, 1, 6))), axis=1)[:, group.padded]
        self.flexibility = np.swapaxes(rows, 2, 3) @ rows  # (S, E, 6, 6) of every element about the origin
        c, d = group.pairs.T
        Q = spread(group.shared, self.flexibility.reshape(S, E, 36)).reshape(S, -1, 6, 6)
        self.pairs = posed.columns[:, c] @ Q @ np.swapaxes(posed.columns[:, d], 2, 3)  # (S, P, 6, 6)

    def least(self) -> Array:
        """Return the forces of all columns (S, 6 K + k) that leave the least energy."""
        group, posed = self.group, self.posed
        wrench, scalars = posed.found, posed.scalars
        total, first = np.zeros((len(wrench), len(group.filled))), np.zeros(len(wrench))
        solve = self.solution()
        for turn in range(ROUNDS):
            slope = self.slope(wrench, scalars)
            size = np.abs(slope).max(axis=1, initial=0.0)
            first = first if turn else size
            if not np.any(left := size > ENOUGH * first):
                break
            total = total - np.where(left[:, None], self.columns(solve(slope)), 0.0)
            wrench = posed.found + passed(group, posed, total)
            scalars = posed.scalars + total[:, 6 * len(group.cuts) :]
        return total

    def slope(self, wrench: Array, scalars: Array) -> Array:
        """Return half the derivative of the energy (S, f) by all states, at wrenches (S, E, 6) and multipliers."""
        group, basis = self.group, self.basis
        felt = spread(group.passes, (self.flexibility @ wrench[..., None])[..., 0])
        found = (self.posed.columns @ felt[..., None])[..., 0].reshape(len(wrench), -1)
        found = np.concatenate((found, scalars * group.compliance[len(group.of) :]), axis=1)
        out = found[:, basis.free]
        used = np.take(found, basis.used, axis=1)  # in rows: the same bits for one sample and for many
        out[:, basis.tied] -= (np.swapaxes(self.X, 1, 2) @ used[:, :, None])[..., 0]
        return out

    def columns(self, change: Array) -> Array:
        """Return the forces of all columns (S, 6 K + k) of states (S, f)."""
        basis, out = self.basis, np.zeros((len(change), len(self.group.filled)))
        out[:, basis.free] = change
        out[:, basis.used] = -(self.X @ np.take(change, basis.tied, axis=1)[:, :, None])[..., 0]
        return out

    def solution(self) -> "Solve":
        """Return what solves with the energies N^T W N of all pairs of states."""
        return Solve(self.matrices()) if len(self.basis.free) <= DENSE else SparseSolve(self.sparse_matrices())

    def matrices(self) -> Array:
        """Return N^T W N (S, f, f)."""
        basis, S, f = self.basis, len(self.pairs), len(self.basis.free)
        count = f + len(basis.used)
        values = self.pairs.reshape(S, -1)[:, basis.source]
        i, j = np.divmod(basis.target, count)
        W = np.zeros((S, count * count))
        W[:, basis.target], W[:, j * count + i] = values, values
        numbers, at = basis.scalars
        W[:, at * count + at] = self.group.compliance[len(self.group.of) :][numbers]
        whole: Array = W.reshape(S, count, count)
        if not len(basis.used):
            return whole
        right = whole[:, :, :f].copy()
        right[:, :, basis.tied] -= whole[:, :, f:] @ self.X
        out = right[:, :f].copy()
        out[:, basis.tied] -= np.swapaxes(self.X, 1, 2) @ right[:, f:]
        return np.asarray(out)

    def sparse_matrices(self) -> Iterator[csr_array]:
        """Yield N^T W N of every sample, sparse."""
        group, basis, K = self.group, self.basis, len(self.group.cuts)
        c, d = (6 * one[:, None, None] for one in group.pairs.T)
        row, column = np.broadcast_arrays(c + np.arange(6)[:, None], d + np.arange(6))
        off = group.pairs[:, 0] != group.pairs[:, 1]
        last = np.arange(6 * K, len(group.filled))
        i = np.concatenate((row.ravel(), column[off].ravel(), last))
        j = np.concatenate((column.ravel(), row[off].ravel(), last))
        place = basis.free[basis.tied]
        states = np.zeros(len(group.filled), np.int64)
        states[basis.free] = np.arange(len(basis.free))
        own = np.meshgrid(basis.used, states[place], indexing="ij")
        for pairs, X in zip(self.pairs, self.X, strict=True):
            data = np.concatenate((pairs.ravel(), pairs[off].ravel(), group.compliance[len(group.of) :]))
            W = csr_array((data, (i, j)), shape=(len(group.filled),) * 2)
            ones = np.ones(len(basis.free))
            at = np.concatenate((basis.free, own[0].ravel())), np.concatenate((states[basis.free], own[1].ravel()))
            N = csr_array((np.concatenate((ones, -X.ravel())), at), shape=(len(group.filled), len(basis.free)))
            yield csr_array(N.T @ W @ N)


class Solve:
    """Solutions with dense symmetric matrices (S, f, f), one a sample."""

    def __init__(self, matrices: Array) -> None:
        self.matrices = matrices

    def __call__(self, right: Array) -> Array:
        """Return the solutions (S, f)."""
        return np.asarray(np.linalg.solve(self.matrices, right[:, :, None])[:, :, 0])

    def diagonal(self) -> Array:
        """Return the diagonals (S, f)."""
        return np.asarray(np.diagonal(self.matrices, axis1=1, axis2=2))


class SparseSolve(Solve):
    """The same with sparse ones."""

    def __init__(self, matrices: Iterator[csr_array]) -> None:
        self.found = [one.tocsc() for one in matrices]
        how: dict[str, Any] = {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
        self.factors = [splu(one, diag_pivot_thresh=0.0, **how) for one in self.found]

    def __call__(self, right: Array) -> Array:
        return np.array([factor.solve(one) for factor, one in zip(self.factors, right, strict=True)])

    def diagonal(self) -> Array:
        return np.array([one.diagonal() for one in self.found])


def spread(signs: csr_array | Array, values: Array) -> Array:
    """Return signs (p, q) times values (S, q, k), which is (S, p, k)."""
    if isinstance(signs, np.ndarray):
        return np.asarray(signs @ values)
    S, q, k = values.shape
    flat = signs @ np.ascontiguousarray(values.transpose(1, 0, 2)).reshape(q, S * k)
    return np.asarray(flat.reshape(-1, S, k).transpose(1, 0, 2))


# ---- what sharing adds -----------------------------------------------------------------------------------------------


def passed(group: LoopGroup, posed: Posed, columns: Array) -> Array:
    """Return the wrenches on b of every element (S, E, 6) by forces of columns (S, 6 K + k)."""
    S, K = posed.columns.shape[:2]
    own = columns[:, : 6 * K].reshape(S, K, 1, 6) @ posed.columns
    return spread(group.carried, own[:, :, 0])


def add(
    resampled: Evaluation, group: LoopGroup, posed: Posed, where: Indices, change: Array, place: Indices, S: int,
    out: SharedReactions,
) -> None:  # fmt: skip
    """Add the forces of columns (S, 6 K + k) to all elements and multipliers."""
    wrench = passed(group, posed, change)
    wrench[:, :, 3:] -= cross3(posed.points, wrench[:, :, :3])
    for k, element in enumerate(group.elements):
        out.wrench.setdefault(element.name, np.zeros((S, 6)))[place] = wrench[:, k]
        if element.closure >= 0 and len(element.components) == 1:
            d = span(resampled, element.closure)[where]
            row = int(resampled.tables.closures.row_pointer[element.closure])
            pulled = -np.sum(wrench[:, k, :3] * d, axis=1) / np.sum(d * d, axis=1)
            out.force.setdefault(row, np.zeros(S))[place] = pulled * resampled.tables.closures.length[row]
    for j, scalar in enumerate(group.scalars):
        found = change[:, 6 * len(group.cuts) + j] * posed.scale[j]
        out.force.setdefault(scalar.row, np.zeros(S))[place] = found


def mark(
    group: LoopGroup, posed: Posed, basis: Basis, energy: Energy, place: Indices, S: int, out: SharedReactions
) -> None:
    """Mark the components of reactions that states of self-stress of unit energy change."""
    root = np.sqrt(energy.solution().diagonal())
    size = of_single_columns(group, posed, basis, root)
    for state in basis.tied:
        change = np.zeros(root.shape)
        change[:, state] = 1.0 / root[:, state]
        wrench = passed(group, posed, energy.columns(change))
        wrench[:, :, 3:] -= cross3(posed.points, wrench[:, :, :3])
        size = np.maximum(size, np.abs(wrench))
    for k, element in enumerate(group.elements):
        out.free.setdefault(element.name, np.zeros((S, 6)))[place] = size[:, k] > UNIQUE


def of_single_columns(group: LoopGroup, posed: Posed, basis: Basis, root: Array) -> Array:
    """Return the largest size (S, E, 6) of every component in states of one column each, over the ``root`` (S, f) of
    their energy.
    """
    (S, E), K = posed.points.shape[:2], len(group.cuts)
    scale = np.zeros((S, len(group.filled)))
    alone = np.setdiff1d(np.arange(len(basis.free)), basis.tied)
    scale[:, basis.free[alone]] = 1.0 / root[:, alone]
    columns = np.abs(scale[:, : 6 * K].reshape(S, K, 6, 1)) * posed.columns
    out = np.zeros((E, S, 6))
    cut, element = np.nonzero(group.passes) if isinstance(group.passes, np.ndarray) else group.passes.nonzero()
    for slot in range(6):
        wrench = columns[:, cut, slot]
        wrench[:, :, 3:] -= cross3(posed.points[:, element], wrench[:, :, :3])
        np.maximum.at(out, element, np.swapaxes(np.abs(wrench), 0, 1))
    return out.transpose(1, 0, 2)


def reaction(equations: SemiRecursiveEquations, state: State, joint: str) -> Array:
    """Return the wrench [f, n] (6,) that the first body of a joint, rod or constraint exerts on the second, at the
    point of the second, world axes [N, N m].

    ``state`` must satisfy the equations of motion, as every state of a Simulation does; nothing is changed.
    Raises UnknownNameError with the nearest names.
    """
    system = equations.system
    resampled = Evaluation(system, equations.tables, one_sample(state))
    return reaction_values(resampled, system, joint)[0]


def reaction_values(resampled: Evaluation, system: System, name: str) -> Array:
    """Return the reaction of a joint, a rod or a constraint over all samples (S, 6)."""
    if not isinstance(name, str):  # nothing can be looked up by a list
        raise unknown_name("joint", name, [*system.joints, *held(system)])
    if name in system.joints:
        info = system.joints[name]
        at_origin, ground = joint_wrench(resampled, system, info)
        at_point = moved(at_origin, body_motion(resampled, system.bodies[info.b], ground).point(info.point_b))
        return at_point + shared_reactions(resampled).wrench.get(name, 0.0)
    if name in held(system):
        closure = system.closure_names.index(name)
        connector = int(resampled.tables.closures.connector[closure])
        at_point = moved(resampled.connector_wrench(connector), closure_point(resampled, closure, "b"))
        return at_point + shared_reactions(resampled).wrench.get(name, 0.0)
    raise unknown_name("joint", name, [*system.joints, *held(system)])


def rods(system: System) -> list[str]:
    """Return the names of all rods."""
    return [connector.name for connector in system.topology.connectors if connector.type == ROD]


def contact_names(system: System) -> list[str]:
    """Return the names of all rolling contacts and knife edges."""
    return [connector.name for connector in system.topology.connectors if connector.type in (ROLLING, KNIFE_EDGE)]


def held(system: System) -> list[str]:
    """Return the names of rods, constraints of the user between two frames, rolling contacts and knife edges."""
    kinds = ROD, CONSTRAINT, ROLLING, KNIFE_EDGE
    return [connector.name for connector in system.topology.connectors if connector.type in kinds]


def joint_wrench(resampled: Evaluation, system: System, info: JointInfo) -> tuple[Array, int]:
    """Return the wrench on body b through a joint (S, 6), and the row of ground whose origin it is taken about."""
    if info.closure >= 0:  # cut, or an auxiliary body, which is massless: what its closure passes on is what its dofs
        # carry
        connectors, connector = resampled.tables.connectors, int(resampled.tables.closures.connector[info.closure])
        ends = resampled.row(int(connectors.a[connector])), resampled.row(int(connectors.b[connector]))
        return resampled.connector_wrench(connector), min(ends)
    if not info.in_tree:  # a cut floating joint holds nothing
        return np.zeros((len(resampled.samples.t), 6)), WORLD
    child, backwards = entered_from(system, info.name)
    wrench = resampled.body_wrench(child)
    return (-wrench if backwards else wrench), resampled.row(int(resampled.graph.dof[child]))


def closure_point(resampled: Evaluation, closure: int, side: str) -> Array:
    """Return the places (S, 3) of point a or b of a closure, world axes from the origin of its part [m]."""
    closures, connectors = resampled.tables.closures, resampled.tables.connectors
    dof, local = (connectors.a, closures.point_a) if side == "a" else (connectors.b, closures.point_b)
    motion = resampled.motion(int(dof[closures.connector[closure]]))
    return np.asarray(motion.r + motion.A @ local[closure])


def moved(wrench: Array, x: Array) -> Array:
    """Return wrenches (S, 6) about an origin, taken about the points ``x`` (S, 3) from there instead."""
    force, moment = wrench[:, :3], wrench[:, 3:]
    return np.concatenate((force, moment - cross(x, force)), axis=1)


NOTHING = -1


class JointReactions:
    """Places of the reactions of all joints of a System among the wrenches of its bodies and connectors."""

    def __init__(self, system: System, tables: Tables) -> None:
        infos = list(system.joints.values())
        bodies = [system.bodies[info.b] for info in infos]
        origins = tables.origins.row
        found = [place(system, tables, info) for info in infos]
        self._names = [info.name for info in infos]
        self._row = np.array([row for row, _, _ in found], np.int64)
        self._sign = np.array([sign for _, sign, _ in found], np.float64)[:, None]
        self._dof = np.array([body.dof for body in bodies], np.int64)
        ends = [body.position + body.rotation @ info.point_b for body, info in zip(bodies, infos, strict=True)]
        self._point = np.array(ends).reshape(-1, 3)  # dof axes; ground: world
        # A body that stands still is seen from the origin of the other body's part: that of this dof.
        grounds = [ground if ground < WORLD else NOTHING for _, _, ground in found]
        self._seeing = np.array(
            [NOTHING if ground == NOTHING else np.flatnonzero(origins == ground)[0] for ground in grounds], np.int64
        )

    def read(self, resampled: Evaluation) -> Array:
        """Return what ``reaction_values`` returns of the first sample, for all joints in their order (nj, 6)."""
        if not len(self._row):
            return np.zeros((0, 6))
        frames = resampled.all_frames()[0]
        still = np.concatenate((np.eye(3).reshape(9), np.zeros(18)))
        frames = np.concatenate((frames, still[None]))  # the last row is ground
        at_dof = frames[self._dof]
        A, r = at_dof[:, :9].reshape(-1, 3, 3), at_dof[:, 9:12]
        x = r + np.einsum("kij,kj->ki", A, self._point)
        x -= np.where((self._dof < 0)[:, None], frames[self._seeing][:, 24:27], 0.0)
        wrench = self._sign * resampled.all_wrenches()[0][self._row]
        force = wrench[:, :3]
        added = shared_reactions(resampled).wrench
        shared = [added[name][0] if name in added else np.zeros(6) for name in self._names]
        return np.concatenate((force, wrench[:, 3:] - cross(x, force)), axis=1) + np.array(shared)


def place(system: System, tables: Tables, info: JointInfo) -> tuple[int, float, int]:
    """Return the row of a joint among all wrenches, the sign of its reaction, and the row of ground that it sees."""
    bodies, origins = len(system.topology.tree), tables.origins.row

    def seen(dof: int) -> int:
        return int(origins[dof]) if dof >= 0 else dof

    if info.closure >= 0:
        connector = int(tables.closures.connector[info.closure])
        ends = seen(int(tables.connectors.a[connector])), seen(int(tables.connectors.b[connector]))
        return bodies + connector, 1.0, min(ends)
    if not info.in_tree:  # a cut floating joint holds nothing
        return 0, 0.0, WORLD
    child, backwards = entered_from(system, info.name)
    dof = system.bodies[system.topology.bodies[system.topology.tree[child].child]].dof
    return child, -1.0 if backwards else 1.0, seen(dof)
