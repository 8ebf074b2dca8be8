"""Assembly: the pose nearest to given values that closes every loop, and nearest rates (METHODS 1.15).

Nearest are those of min 1/2 (z - z0)^T W (z - z0) subject to gap(z) = 0, by Gauss-Newton and Lagrange-Newton steps with
kept coordinates eliminated exactly (METHODS 2.9).

Dot products of axes, the loop equations of a cut joint, are closed as well where axes point against each other, and
have minima in between. The rotation vector that leads one side onto the other has neither. Where the pose of the loop
equations faces the wrong way, it takes the place of the rotation equations of each cut joint that has axes to align.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from rtmbs.errors import RtmbsError, StartError
from rtmbs.numerics.linear.least_change import SMALL, converged, least_change, least_change_of_few
from rtmbs.numerics.linear.sparse_solver import same_pattern
from rtmbs.numerics.rotations.quaternions import quaternions, right_jacobian
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.loop_jacobian import Group, loop_groups, loop_jacobian
from rtmbs.semirecursive.start.checks import facing_away
from rtmbs.system.contact_tables import rate_mask
from rtmbs.system.tables import REVOLUTE

Indices = NDArray[np.int64]
Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def block_of(J: csc_array, rows: Indices, columns: Indices) -> csc_array:
    """Return these rows and columns of J, each at most once and in ascending order; all of them are J itself."""
    return J if J.shape == (len(rows), len(columns)) else J[rows][:, columns]


def dense_block(J: Array, rows: Indices, columns: Indices) -> Array:
    """Return these rows and columns of a dense J in the order of memory that ``toarray`` of a sparse block has."""
    return J if J.shape == (len(rows), len(columns)) else np.asfortranarray(J[np.ix_(rows, columns)])


def times(J: Array, x: Array) -> Array:
    """Return J x (m,), its terms added up in the order of the sparse product, so that both give the same bytes."""
    found = np.zeros(len(J))
    for column, value in zip(J.T, x.tolist(), strict=True):
        found += column * value
    return found


def scaled_entries(J: csc_array, row: Array, column: Array) -> csc_array:
    """Return diag(row) J diag(column) (m, n), in new memory for the entries alone."""
    return same_pattern(J, row[J.indices] * J.data * np.repeat(column, np.diff(J.indptr)))


RANK = 1e-8  # singular values below this part of the largest count as zero
OPEN = 3.0  # of the gap: smaller singular values may be zero where it is closed, and a step that needs them is too far
CONVEX = 0.1  # least eigenvalue of the Lagrangian along the equations, 1 without curvature
DIFFERENCE = 1e-6  # of a typical size
MOST = 200  # coordinates beyond which a dense factor costs more than slow steps
MANY = 400  # groups of loops beyond which least changes of all are solved for at once
WAYS = 20  # degrees of freedom likewise: two Jacobians each


def curved_step(
    J: Array, gap: Array, way: Array, weights: Array, jacobian: Callable[[Array], Array]
) -> tuple[Array, Array] | None:
    """Return the two parts of the step (n,), -J^+ gap and N x, or None where the Lagrangian has no minimum.

    They are in the coordinates of J (m, n). N spans the null space of J, and x makes y + J^T lam stationary along it,
    with the curvature of lam . gap by central differences of ``jacobian(change)``. ``way`` (n,) leads back to y = 0,
    and ``weights`` (n,) are W (METHODS 2.9).
    """
    if len(way) > MOST:
        return None
    near = 1.0 / np.sqrt(weights)
    U, values, Vt = scipy.linalg.svd(J * near, check_finite=False)
    rank = int(np.count_nonzero(values > max(RANK * values.max(initial=0.0), OPEN * float(np.linalg.norm(gap)))))
    if not 0 < Vt.shape[0] - rank <= WAYS:
        return None
    U, values, rows, N = U[:, :rank], values[:rank], Vt[:rank], Vt[rank:].T
    y, back = -way / near, -rows.T @ (U.T @ gap / values)
    lam = -U @ (rows @ y / values)
    bend = curvature(near, lam, np.column_stack((N, back)), jacobian)
    along = N.T @ bend[:, :-1]
    H = np.eye(len(along)) + 0.5 * (along + along.T)
    if not np.all(np.isfinite(bend)) or np.linalg.eigvalsh(H)[0] <= CONVEX:
        return None
    return near * back, -near * (N @ np.linalg.solve(H, N.T @ (y + bend[:, -1])))


def curvature(near: Array, lam: Array, ways: Array, jacobian: Callable[[Array], Array]) -> Array:
    """Return (J^T lam)_y times each of the ways (n, k), y = change / near."""
    found = np.zeros(ways.shape)
    for k, way in enumerate((near[:, None] * ways).T):
        size = float(np.abs(way).max(initial=0.0))
        if size > 0.0:
            step = DIFFERENCE / size
            found[:, k] = near * ((jacobian(step * way) - jacobian(-step * way)).T @ lam) / (2.0 * step)
    return found


MAX_ITERATIONS = 60
CLOSED = 1e-12  # of the row scale: assembled
REFUSED = 1e-8  # of the row scale: a start with a larger gap is refused
STILL = 1e-12  # change of a coordinate, in typical sizes, below which the nearest pose is found
ROUNDING = 1e-9  # likewise, of a change that no longer shrinks
HALVINGS = 10
ALMOST = 1e-3  # of the row scale: the next step closes a gap of this size for good
SLOW = 0.3  # contraction of Gauss-Newton beyond which the curvature of the equations is taken in
SHORTER = 0.9  # a step longer than this share of the last one does not settle
NEAR = 0.03  # likewise, of what a step along the equations may open, where their curvature is known
LARGEST = 0.5  # change of a coordinate in one iteration, in typical sizes: beyond, the Jacobian says little
SHORT, STUCK = 1.0 / 64.0, 4  # steps in a row that are taken to a share as small
AROUND = 1.0  # typical sizes about a closed pose within which the nearest is looked for
ROUNDS = 3  # of least changes of rates: near a singular pose the first leaves rounding over the square of its smallness


class NearestPose(ABC):
    """Damped Gauss-Newton, with Newton on the Lagrangian where that is slow.

    Attributes
    ----------
    typical : (n,) sizes of the coordinates
    groups : rows and coordinates that equations couple
    closed, still : of gap and change, below which the iteration ends
    iterations, taken : most iterations of an approach, and how many the last one took
    bounded : whether steps that stay short go on without singular directions (``change``)
    settled : whether the last ``approach`` ended at a pose that no small change brings nearer
    """

    typical: Array
    groups: Sequence[Group]
    closed, still = CLOSED, STILL
    iterations, taken = MAX_ITERATIONS, 0
    bounded = True
    settled = False

    @abstractmethod
    def gap(self, z: Array) -> Array:
        """Return the violation at z over its scale (m,), of order one."""

    @abstractmethod
    def scaled_jacobian(self, z: Array) -> csc_array:
        """Return the derivative (m, n) of the gap by z / typical, at the z of the latest gap."""

    def unwound(self, z: Array, wanted: Array, kept: Mask) -> Array:
        """Return the same pose in the coordinates nearest to the initial ones."""
        return z

    @contextmanager
    def patience(self, iterations: int) -> Iterator[None]:
        """Give up after so many iterations, for a while."""
        before, self.iterations = self.iterations, iterations
        try:
            yield
        finally:
            self.iterations = before

    def solve(self, wanted: Array, kept: Mask, weights: Array) -> Array:
        """Return the pose (n,) next to ``wanted`` at which the iteration ends; ``gap`` says whether it is closed.

        Near a singular pose, and against weights that differ by thousands, the pull towards ``wanted`` may keep the
        equations open; they are then closed from the pose reached, without it.
        """
        z, nearest = self.closed_pose(wanted, kept, weights)
        return z if nearest or worst_of(self.gap(z)) > self.closed else self.minimised(z, wanted, kept, weights)

    def closed_pose(self, wanted: Array, kept: Mask, weights: Array) -> tuple[Array, bool]:
        """Return a pose (n,) beside ``wanted`` at which the iteration ends, and whether none near it is nearer."""
        z = self.approach(wanted, wanted, kept, weights, 1.0)
        if worst_of(self.gap(z)) <= self.closed and self.settled:
            return z, True
        return self.approach(z, wanted, kept, weights, 0.0), False

    def minimised(self, z: Array, wanted: Array, kept: Mask, weights: Array) -> Array:
        """Return the closed pose (n,) of least distance that sequential quadratic programming finds from a closed one.

        It serves where the iteration of ``approach`` circles, or stands where the Lagrangian bends the other way. Rows
        that depend on others are left out, in the directions that are independent at z.
        """
        from scipy.optimize import minimize  # takes long to load, and few starts need it

        free = np.flatnonzero(~kept & (self.typical > 0.0))
        if not 0 < len(free) <= MOST:
            return z
        typical, weight = self.typical[free], weights[free]
        begin = (z[free] - wanted[free]) / typical

        def at(x: Array) -> Array:
            moved = z.copy()
            moved[free] = wanted[free] + x * typical
            return moved

        def jacobian(x: Array) -> Array:
            self.gap(at(x))
            return np.asarray(self.scaled_jacobian(at(x)).toarray()[:, free])

        def distance(x: Array) -> float:
            return 0.5 * float(weight @ x**2)

        U, values, _ = scipy.linalg.svd(jacobian(begin), full_matrices=False)
        rows = U[:, values > RANK * values.max(initial=0.0)].T
        closed = {"type": "eq", "fun": lambda x: rows @ self.gap(at(x)), "jac": lambda x: rows @ jacobian(x)}
        options = {"ftol": STILL**2, "maxiter": 10 * MAX_ITERATIONS}
        around = [(x - AROUND, x + AROUND) for x in begin]
        try:
            found = minimize(
                distance, begin, jac=lambda x: weight * x, bounds=around, constraints=closed, method="SLSQP",
                options=options,
            )  # fmt: skip
        except RtmbsError:  # coordinates have no values everywhere, such as rotation vectors of a whole turn
            return z
        if not np.all(np.isfinite(found.x)):
            return z
        nearer = self.approach(at(found.x), wanted, kept, weights, 0.0)
        change = (nearer[free] - wanted[free]) / typical
        less = worst_of(self.gap(nearer)) <= self.closed and distance(change) < distance(begin)
        return nearer if less else z

    def approach(self, z: Array, wanted: Array, kept: Mask, weights: Array, pull: float) -> Array:
        """Iterate from z; ``pull`` is the share of the way back to ``wanted`` that each step would like to take.

        Where steps shrink slowly the equations bend more than the weights allow. Their curvature then joins; where
        that leaves no minimum, the pull is halved: a share below 2 / (1 + bend) settles.
        """
        previous, gap, bent, reach, short = np.inf, self.gap(z), False, LARGEST, 0
        self.settled = False
        for iteration in range(self.iterations):
            self.taken = iteration
            if (worst := worst_of(gap)) <= self.closed and previous <= self.still:
                self.settled = bool(previous <= ROUNDING * pull)
                break
            opened = bent and worst > ALMOST  # by a long step along the equations: closed before the next one
            if bent and not opened:
                step = self.curved_change(z, wanted - z, pull, gap, kept, weights, reach)
            else:
                back = 0.0 * z if opened else pull * (wanted - z)
                step = self.change(z, back, gap, kept, weights, self.bounded and short >= STUCK)
            z, gap, share = self.damped(z, step, gap, NEAR if bent else ALMOST)
            z = self.unwound(z, wanted, kept)
            short = short + 1 if share <= SHORT else 0
            size = np.max(np.abs(step) / self.typical, initial=0.0)
            if converged(size, previous, self.still, ROUNDING if worst <= REFUSED else 0.0):
                self.settled = bool(size <= ROUNDING * pull)
                break
            if opened:
                continue
            if bent:
                pull *= 0.5 if size > SHORTER * previous else 1.0
                reach = share * size if share < 1.0 else 2.0 * reach
            bent = bent or bool(pull > 0.0 and worst <= ALMOST and size > SLOW * previous)
            previous = size
        self.gap(z)
        return z

    def few_groups(self) -> Sequence[Group]:
        """Return the groups; all as one where a factor of each would take longer than one of all."""
        if len(self.groups) <= MANY:
            return self.groups
        rows, columns = ([getattr(group, side) for group in self.groups] for side in ("rows", "columns"))
        return (Group(np.sort(np.concatenate(rows)), np.sort(np.concatenate(columns))),)

    def change(self, z: Array, back: Array, gap: Array, kept: Mask, weights: Array, bounded: bool = False) -> Array:
        """Return the Gauss-Newton step: towards ``back`` where the equations allow, and onto them.

        ``bounded`` leaves out what asks for more than LARGEST: far from a closed pose, equations that depend on each
        other there look independent, and ask for steps without end.
        """
        J = self.scaled_jacobian(z)
        step = np.where(kept, 0.0, back)
        dense = None if bounded or max(J.shape) > SMALL else J.toarray()
        for group in self.few_groups():
            free = group.columns[~kept[group.columns]]
            way = back[free] / self.typical[free]
            if dense is not None:
                block = dense_block(dense, group.rows, free)
                found = least_change_of_few(block, -gap[group.rows] - times(block, way), weights[free])
            else:
                sparse = block_of(J, group.rows, free)
                change = bounded_change if bounded and len(free) <= MOST else least_change
                found = change(sparse, -gap[group.rows] - sparse @ way, weights[free])
            step[free] += found * self.typical[free]
        return step

    def curved_change(
        self, z: Array, back: Array, pull: float, gap: Array, kept: Mask, weights: Array, reach: float
    ) -> Array:
        """Return Newton's step on the Lagrangian, at most ``reach`` along the equations, or Gauss-Newton's."""
        step, J = self.change(z, pull * back, gap, kept, weights), self.scaled_jacobian(z)
        for group in self.groups:
            free = group.columns[~kept[group.columns]]

            def jacobian(change: Array, group: Group = group, free: NDArray[np.int64] = free) -> Array:
                moved = z.copy()
                moved[free] += change * self.typical[free]
                self.gap(moved)
                return np.asarray(block_of(self.scaled_jacobian(moved), group.rows, free).toarray())

            block = block_of(J, group.rows, free).toarray()
            found = curved_step(block, gap[group.rows], back[free] / self.typical[free], weights[free], jacobian)
            if found is not None:
                onto, along = found
                longest = float(np.max(np.abs(along), initial=0.0))
                step[free] = (onto + along * min(1.0, reach / max(longest, STILL))) * self.typical[free]
        self.gap(z)
        return step

    def damped(self, z: Array, step: Array, gap: Array, allowed: float) -> tuple[Array, Array, float]:
        """Take the largest share of the step that leaves the equations open by ``allowed``, or hardly more than before.

        Return z, the gap and the share, one of 1, 1/2, 1/4, ... or less where the step is long.
        """
        largest, before = np.max(np.abs(step) / self.typical, initial=0.0), length_of(gap)
        factor = min(1.0, LARGEST / largest) if largest > 0.0 else 1.0
        for halving in range(HALVINGS):
            factor *= 0.5 if halving else 1.0
            trial = z + factor * step
            opened = self.gap(trial)
            if length_of(opened) <= max(before * (1.0 - 1e-3 * factor), allowed):
                break
        return trial, opened, factor

    def nearest_rates(
        self, J: csc_array, wanted: Array, left: Callable[[Array], Array], kept: Mask, weights: Array, enough: float
    ) -> tuple[Array, Array]:
        """Return rates (n,) and the violation of their equations over its scale (m,), at most ``enough`` if possible.

        ``J`` (m, n) is the derivative of ``left(rates)`` by rates / typical. Rates change by as little as they can.
        """
        rates, remaining = wanted.copy(), left(wanted)
        dense = None if max(J.shape) > SMALL else J.toarray()
        for _ in range(ROUNDS):
            for group in self.few_groups():
                free = group.columns[~kept[group.columns]]
                change = (
                    least_change(block_of(J, group.rows, free), -remaining[group.rows], weights[free])
                    if dense is None
                    else least_change_of_few(
                        dense_block(dense, group.rows, free), -remaining[group.rows], weights[free]
                    )
                )
                rates[free] += change * self.typical[free]
            remaining = left(rates)
            if np.max(np.abs(remaining), initial=0.0) <= enough:
                break
        return rates, remaining


def bounded_change(J: csc_array, r: Array, weights: Array) -> Array:
    """Return the least weighted x (n,) of J x = r without the singular directions that ask for more than LARGEST."""
    near = 1.0 / np.sqrt(weights)
    U, values, Vt = np.linalg.svd(J.toarray() * near, full_matrices=False)
    parts = U.T @ r
    taken = (values > 0.0) & (np.abs(parts) <= LARGEST * values)
    return near * (Vt[taken].T @ (parts[taken] / values[taken]))


def length_of(values: Array) -> float:
    """Return the length of a vector; infinite where its squares are beyond all numbers."""
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(values))


def worst_of(values: Array) -> float:
    """Return the largest absolute value; infinite when one is not finite."""
    return float(np.max(np.abs(values), initial=0.0)) if np.all(np.isfinite(values)) else np.inf


FACING_EVALUATIONS = 200
PARALLEL = 1e-9  # sine below which two axes are parallel


class LoopEquations(Protocol):
    """Loop equations of joint coordinates, as ``Assembly`` has them."""

    equations: SemiRecursiveEquations
    typical: Array

    def gap(self, z: Array) -> Array:
        """Return Phi over its scale (m,)."""

    def scaled_jacobian(self, z: Array) -> csc_array:
        """Return the derivative (m, n) of the gap by z / typical."""

    def turns_of(self, z: Array) -> csc_array:
        """Return the matrix (n, n) from changes of z to turns."""


def turned_to_face(loops: LoopEquations, wanted: Array, free: NDArray[np.int64]) -> Array | None:
    """Return the pose (n,) to which least squares lead from ``wanted``; None without axes to align or without a pose.

    ``free`` are the coordinates that may change.
    """
    from scipy.optimize import least_squares  # takes long to load, and few starts need it

    if not len(free) or not any(len(one.aligned_a) for one in loops.equations.system.closures):
        return None

    def at(x: Array) -> Array:
        z = wanted.copy()
        z[free] += x * loops.typical[free]
        return z

    try:
        found = least_squares(
            lambda x: facing_gap(loops, at(x))[0],
            np.zeros(len(free)),
            lambda x: facing_gap(loops, at(x))[1][:, free],
            max_nfev=FACING_EVALUATIONS,
        )
    except (RtmbsError, ValueError):  # a rotation vector of a whole turn, a gap beyond all numbers
        return None
    return at(found.x)


def facing_gap(loops: LoopEquations, z: Array) -> tuple[Array, Array]:
    """Return the gap with angles in place of dot products (k,), and its derivative (k, n) by z / typical."""
    equations, system = loops.equations, loops.equations.system
    gap, J = loops.gap(z), loops.scaled_jacobian(z).toarray()
    ws, connectors = equations.ws, equations.tables.connectors
    reference = equations.tables.dofs.reference
    turns = loops.turns_of(z) if np.any(reference >= 0) else None
    kept = np.ones(len(gap), np.bool_)
    errors, slopes = [gap], [J]
    for k, info in enumerate(system.closures):
        if not len(info.aligned_a):
            continue
        c = int(equations.tables.closures.connector[k])
        kept[(system.closure_of_row == k) & system.row_is_rotation] = False
        a, b = (
            A @ axes.T for A, axes in ((ws.A[connectors.a[c]], info.aligned_a), (ws.A[connectors.b[c]], info.aligned_b))
        )
        own = slice(connectors.pointer[c], connectors.pointer[c + 1])
        spin = np.zeros((3, len(z)))
        np.add.at(spin.T, connectors.dof[own], connectors.sign[own, None] * ws.S[connectors.dof[own], 3:])
        spin = spin if turns is None else spin @ turns
        error, slope = turn_onto(a, b)
        errors.append(error)
        slopes.append(slope @ spin * loops.typical)
    errors[0], slopes[0] = gap[kept], J[kept]
    return np.concatenate(errors), np.concatenate(slopes)


def turn_onto(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rotation vector (3,) that leads directions a (3, k) onto b, its derivative (3, 3) by turns of b."""
    if a.shape[1] == 1:
        axis, other = a[:, 0], b[:, 0]
        normal, cosine = np.cross(axis, other), float(axis @ other)
        sine = float(np.linalg.norm(normal))
        if sine < PARALLEL:  # parallel, or against each other: then about any normal
            normal = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))]) if cosine < 0.0 else normal
        size = float(np.linalg.norm(normal))
        vector = normal * (np.arctan2(sine, cosine) / size) if size > 0.0 else normal
        across = np.eye(3) - np.outer(axis, axis)
    else:
        U, _, Vt = np.linalg.svd(b @ a.T)
        R = U @ np.diag((1.0, 1.0, np.linalg.det(U @ Vt))) @ Vt
        w, *xyz = quaternions(R[None])[0]
        size = float(np.linalg.norm(xyz))
        vector = np.array(xyz) * (2.0 * np.arctan2(size, w) / size if size > 0.0 else 2.0)
        across = np.eye(3)
    return vector, across @ np.linalg.inv(right_jacobian(-vector))


TURN = 2.0 * np.pi
STAGES = 24  # poses on the way from the reference pose to far pinned values
BESIDE = (0.03, 0.3, 1.0, 3.0)  # in typical sizes: how far beside a pose others are tried
AGAIN = 6 * (1.0, 3.0)  # likewise, where loops close and axes face away
DRAWS = 4  # of a size, each to both sides
PATIENCE = 30  # iterations of a try
ANYWHERE, MOST_EVALUATIONS = 24, 100  # poses from which least squares begin, and evaluations of each
TIGHT: Any = {"max_nfev": 1000, "xtol": 1e-15, "ftol": 1e-15}  # of one loop alone
NEARLY = 1e-3  # gap below which they are closed for good by the iteration
LOOKED_BESIDE = 200  # coordinates; beyond, every try takes long
LESS = 0.9  # of the gap: a pose is taken for less open below it, and for another one of the same minimum above
AS_NEAR = 1e-3  # relative difference of the distances of two assemblies that are as near
DIFFERENT = 1e-3  # in typical sizes: two assemblies further apart than this are two


class Assembly(NearestPose):
    """Loops and drivers as equations of joint coordinates, pins kept."""

    def __init__(self, equations: SemiRecursiveEquations, R0: Array, scale: Array, typical: Array) -> None:
        self.equations, self.R0 = equations, R0
        self.scale, self.typical = scale, typical
        self.jacobian = loop_jacobian(equations.system)
        self.groups = loop_groups(equations.system)
        binds_rates = rate_mask(equations.tables.contacts, equations.m)
        self.of_positions = np.where(binds_rates, 0.0, 1.0 / scale)  # factor of each row where poses are looked for
        self.other_way: Array | None = None  # an assembly (n,) as near as the one that was taken

    def gap(self, z: Array) -> Array:
        """Return Phi over its scale (m,), order one."""
        return np.asarray(self.equations.close(z, self.R0) / self.scale)

    def scaled_jacobian(self, z: Array) -> csc_array:
        """Return the derivative of the gap by z / typical; rotation dofs change by their rotation vector.

        Rows that bind rates alone are zero: no pose is nearer for them.
        """
        J, reference = self.jacobian.matrix(self.equations), self.equations.tables.dofs.reference
        J = J @ self.turns_of(z) if np.any(reference >= 0) else J
        return scaled_entries(J, self.of_positions, self.typical)

    def turns_of(self, z: Array) -> csc_array:
        """Return the matrix (n, n) from changes of z to what Phi_z takes."""
        return turns(self.equations.tables.dofs.reference, z)

    def scaled(self, J: csc_array) -> csc_array:
        """Return a matrix (m, n) in row scales and typical sizes."""
        return scaled_entries(J, 1.0 / self.scale, self.typical)

    def assemble(self, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
        """Return the assembled z (n,), pinned coordinates led from zero to their values when the direct way fails.

        Far from a closed pose |Phi| has minima that are no assembly; on the way from the reference pose there is none.
        Bars drawn in one line, or all bodies at one point, stand between several ways to assemble: Gauss-Newton cannot
        leave such a pose, so poses beside it are tried, and those on which a cut joint faces the right way.
        ``self.other_way`` is then the other assembly that is as near. The caller judges the gap that is left.
        """
        self.other_way = None
        if not self.equations.m:
            self.gap(wanted)
            return self.unwound(wanted + 0.0, wanted, pinned)
        direct = self.solve(wanted, pinned, weights)
        if self.assembled(direct):
            return direct
        closed = worst_of(self.gap(direct)) <= REFUSED  # but some axes face away
        found = None if closed else self.led(wanted, pinned, weights)
        if found is None:
            found = self.from_beside(direct, wanted, pinned, weights)
        self.gap(found)
        return found

    def assembled(self, z: Array) -> bool:
        """Return whether every loop is closed at z, and every cut joint faces the right way."""
        return worst_of(self.gap(z)) <= REFUSED and not facing_away(self.equations)

    def led(self, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array | None:
        """Return the pose (n,) on the way from the reference pose, pinned coordinates led to their values; or None."""
        if not np.any(pinned):
            return None
        z = np.where(pinned, 0.0, wanted)
        for share in np.linspace(0.0, 1.0, STAGES + 1):
            z = self.solve(np.where(pinned, share * wanted, z), pinned, weights)
            if worst_of(self.gap(z)) > REFUSED:
                return None
        z = self.unwound(z, wanted, pinned)
        return z if self.assembled(z) else None

    def from_beside(self, direct: Array, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
        """Return the nearest of the assemblies (n,) that poses beside ``wanted`` lead to, or the least open pose found.

        ``direct`` (n,) is where the direct way ended. Directions are drawn with one seed, so that a model assembles the
        same way in every process.
        """
        least, draws, closes = direct, np.random.default_rng(0), worst_of(self.gap(direct)) <= REFUSED
        for k, size in enumerate(BESIDE + AGAIN if len(wanted) <= LOOKED_BESIDE else ()):
            if k >= len(BESIDE) and not closes:
                break
            shakes = size * self.typical * draws.standard_normal((DRAWS, len(wanted)))
            tried = [
                self.near(wanted + side * np.where(pinned, 0.0, shake), wanted, pinned, weights)
                for shake in shakes
                for side in (1.0, -1.0)
            ]
            if found := [z for z in tried if self.assembled(z)]:
                return self.nearest(found, wanted, weights)
            opened = [float(np.linalg.norm(self.gap(z))) for z in (least, *tried)]
            closes |= any(worst_of(self.gap(z)) <= REFUSED for z in tried)
            if min(opened) < LESS * opened[0]:
                least = tried[int(np.argmin(opened)) - 1]
        found = self.from_anywhere(wanted, pinned, weights)
        return self.nearest(found, wanted, weights) if found else least

    def from_anywhere(self, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> list[Array]:
        """Return the assemblies (n,) that SciPy's least squares lead to from poses all around ``wanted``.

        A trust region leaves flat valleys of the gap, as those of long slides, in which the damped iteration stays.
        """
        from scipy.optimize import least_squares  # takes long to load, and few starts need it

        free = np.flatnonzero(~pinned & (self.typical > 0.0))
        if not 0 < len(free) <= LOOKED_BESIDE:
            return []
        faced = turned_to_face(self, wanted, free)
        if faced is not None and self.assembled(faced := self.near(faced, wanted, pinned, weights)):
            return [faced]

        def at(x: Array) -> Array:
            z = wanted.copy()
            z[free] += x * self.typical[free]
            return z

        def jacobian(x: Array) -> Array:
            self.gap(at(x))
            return self.scaled_jacobian(at(x)).toarray()[:, free]

        draws, found = np.random.default_rng(1), []
        for k in range(ANYWHERE):
            begin = AGAIN[k % len(AGAIN)] * draws.standard_normal(len(free))
            try:
                end = least_squares(lambda x: self.gap(at(x)), begin, jacobian, max_nfev=MOST_EVALUATIONS)
            except (RtmbsError, ValueError):  # a rotation vector of a whole turn, a gap beyond all numbers
                continue
            if length_of(end.fun) <= NEARLY:
                z = self.near(at(end.x), wanted, pinned, weights)
                found += [z] if self.assembled(z) else []
        return found

    def gap_alone(self, rows: NDArray[np.int64], pinned: NDArray[np.bool_]) -> float:
        """Return the largest gap over its scale that least squares leave of some rows, all others open."""
        from scipy.optimize import least_squares

        free, start = np.flatnonzero(~pinned & (self.typical > 0.0)), self.equations.system.z0
        if not 0 < len(free) <= LOOKED_BESIDE:
            return 0.0

        def at(x: Array) -> Array:
            z = start.copy()
            z[free] += x * self.typical[free]
            return z

        def jacobian(x: Array) -> Array:
            self.gap(at(x))
            return np.asarray(self.scaled_jacobian(at(x)).toarray()[np.ix_(rows, free)])

        try:
            found = least_squares(lambda x: self.gap(at(x))[rows], np.zeros(len(free)), jacobian, **TIGHT)
        except (RtmbsError, ValueError):
            return 0.0
        return worst_of(found.fun)

    def nearest(self, found: list[Array], wanted: Array, weights: Array) -> Array:
        """Return the assembly (n,) nearest to ``wanted``; another one that is as near becomes ``other_way``."""
        costs = [float(np.sum(weights * ((z - wanted) / self.typical) ** 2)) for z in found]
        best = found[int(np.argmin(costs))]
        equal = [z for z, cost in zip(found, costs, strict=True) if cost <= (1.0 + AS_NEAR) * min(costs)]
        apart = [float(np.max(np.abs(z - best) / self.typical, initial=0.0)) for z in equal]
        self.other_way = equal[int(np.argmax(apart))] if max(apart) > DIFFERENT else None
        return best

    def near(self, begin: Array, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
        """Return the pose (n,) that ``begin`` leads to, as near to ``wanted`` as its branch comes."""
        with self.patience(PATIENCE):
            z = self.approach(begin, wanted, pinned, weights, 0.0)
        if not self.assembled(z):
            return z
        nearest = self.approach(z, wanted, pinned, weights, 1.0)
        return nearest if self.assembled(nearest) else z

    def unwound(self, z: Array, wanted: Array, pinned: NDArray[np.bool_]) -> Array:
        """Take whole turns off free angles, so that each lies within half a turn of what was wanted: the same pose."""
        tables = self.equations.tables
        free = ~pinned & (tables.dofs.kind == REVOLUTE) & (tables.dofs.pitch == 0.0)
        free[tables.drivers.dof] = False
        z = np.where(free, z - TURN * np.round((z - wanted) / TURN), z)
        for i in np.flatnonzero(tables.dofs.reference >= 0):
            size = np.linalg.norm(z[i : i + 3])
            if not pinned[i] and size > 0.5 * TURN:
                z[i : i + 3] *= 1.0 - TURN / size  # the same rotation, the other way round
        return z


def turns(reference: NDArray[np.int64], z: Array) -> csc_array:
    """Return the matrix (n, n) from changes of z to what Phi_z takes: T(delta) of rotation dofs, else the identity."""
    n, first = len(z), np.flatnonzero(reference >= 0)
    own = (first[:, None] + np.arange(3)).ravel()
    plain = np.setdiff1d(np.arange(n), own)
    rows = np.concatenate((plain, np.repeat(own, 3)))
    columns = np.concatenate((plain, np.tile(own.reshape(-1, 1, 3), (1, 3, 1)).ravel()))
    blocks = right_jacobian(z[own.reshape(-1, 3)])
    return csc_array(coo_array((np.concatenate((np.ones(len(plain)), blocks.ravel())), (rows, columns)), shape=(n, n)))


def check_closed(assembly: Assembly, gap: Array, pinned: NDArray[np.bool_]) -> None:
    """Refuse a start whose loops stay open; raises StartError naming the joint, the gap and the pins."""
    if worst_of(gap) <= REFUSED:
        return
    system, scale = assembly.equations.system, assembly.scale
    row = int(np.argmax(np.where(np.isfinite(gap), np.abs(gap), np.inf)))
    closure, unit = system.closure_of_row[row], "" if system.row_is_rotation[row] else " m"
    name = system.closure_names[closure] if closure >= 0 else system.row_names[row]
    together = system.block_of_row == system.block_of_row[row]
    size = float(np.linalg.norm((gap * scale)[together]))
    alone = assembly.gap_alone(np.flatnonzero(system.closure_of_row == closure), pinned) if closure >= 0 else 0.0
    alone_told = ", and it stays open where all other loops may be open" if alone > REFUSED else ""
    pins = [name for name, pin in zip(system.coordinate_names, pinned, strict=True) if pin]
    hint = f"; pinned initial values: {', '.join(pins[:6])}{' ...' if len(pins) > 6 else ''}" if pins else ""
    if any(joint.type == "Floating" and pinned[list(joint.dofs)].any() for joint in system.joints.values()):
        hint += " (the position of a Floating joint leads from its point on the one body to its point on the other)"
    raise StartError(
        f"the loop at {name!r} cannot close: a gap of {size:.4g}{unit} is left at"
        f" the nearest pose found{alone_told}; check the points and lengths of this loop{hint}, or give an initial"
        " value closer to a closed pose"
    )
