"""Nearest pose and nearest rates that satisfy equations, by Gauss-Newton and Lagrange-Newton steps.

min 1/2 (z - z0)^T W (z - z0) subject to gap(z) = 0, kept coordinates eliminated exactly (METHODS 1.15, 2.9).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.errors import RtmbsError
from rtmbs.numerics.linear.least_change import SMALL, converged, least_change, least_change_of_few
from rtmbs.numerics.linear.sparse_solver import same_pattern
from rtmbs.semirecursive.loop_jacobian import Group

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
