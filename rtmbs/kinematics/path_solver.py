"""Solution at the next time of a path, and its linear solvers.

Solution at the next time of a path: compiled with the least change, or readable with frozen unknowns.

The under-constrained linear solver of MKSim (METHODS 4), and the readable solution of least change.

A x = b with fewer equations than unknowns, or dependent ones: elimination picks as many unknowns as there are
independent equations, and leaves the others frozen at their previous values.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.kinematics.assembly import rows_to_solve, scaled_jacobian
from rtmbs.kinematics.coordinates import KinematicSamples
from rtmbs.kinematics.equations import Programs
from rtmbs.kinematics.path_kernel import NOT_CONVERGED, NOT_FINITE, WORN, WORN_AT, march
from rtmbs.kinematics.path_tables import COUNTS, build_metric, build_scratch, build_tables

Array = NDArray[np.float64]
KEEP = 0.1  # share of the row maximum above which a pivot of the last time is taken again


@kernel
def eliminate_rows(U, y, x, columns, rows, old, kept, dropped, least, full):
    """Eliminate in place; x holds the previous values and becomes the solution. Returns the rank.

    ``kept`` and ``dropped`` are places of rows in U. Columns are exchanged by number, and rows too where ``full``.
    """
    m, n = U.shape
    rank, gone = 0, 0
    for i in range(m):
        if full:
            bring_largest(U, y, columns, rows, i, rank)
        largest, place = -1.0, rank
        for j in range(rank, n):
            if abs(U[i, columns[j]]) > largest:
                largest, place = abs(U[i, columns[j]]), j
        if not largest > least:
            dropped[gone] = i
            gone += 1
            continue
        if old[i] >= 0:
            for j in range(rank, n):
                if columns[j] == old[i] and abs(U[i, old[i]]) >= KEEP * largest:
                    place = j
        columns[rank], columns[place] = columns[place], columns[rank]
        eliminate_column(U, y, columns, i, rank)
        kept[rank] = i
        rank += 1
    for r in range(rank - 1, -1, -1):
        total = y[kept[r]]
        for j in range(r + 1, n):
            total -= U[kept[r], columns[j]] * x[columns[j]]
        x[columns[r]] = total
    return rank


@inner_kernel
def bring_largest(U, y, columns, rows, i, rank):
    """Exchange row i with the one below that has the largest entry left."""
    m, n = U.shape
    best, at = -1.0, i
    for k in range(i, m):
        for j in range(rank, n):
            if abs(U[k, columns[j]]) > best:
                best, at = abs(U[k, columns[j]]), k
    for j in range(n):
        U[i, j], U[at, j] = U[at, j], U[i, j]
    y[i], y[at] = y[at], y[i]
    rows[i], rows[at] = rows[at], rows[i]


@inner_kernel
def eliminate_column(U, y, columns, i, rank):
    """Divide row i by its pivot and take its multiples from the rows below."""
    m, n = U.shape
    column = columns[rank]
    pivot = U[i, column]
    for j in range(rank, n):
        U[i, columns[j]] /= pivot
    y[i] /= pivot
    for k in range(i + 1, m):
        share = U[k, column]
        if share != 0.0:
            for j in range(rank, n):
                U[k, columns[j]] -= share * U[i, columns[j]]
            y[k] -= share * y[i]


PIVOTS = ("row", "full")


class Solution(NamedTuple):
    """Solution of an elimination, with its pivots."""

    x: Array  # (n,)
    pivots: NDArray[np.int64]  # (r,) the unknowns solved for, in the order of the rows kept
    dependent: NDArray[np.int64]  # rows dropped
    inconsistency: Array  # (m - r,) what was left of b in them


def eliminate(
    A: Any,
    b: Any,
    previous: Any = None,
    *,
    pivot: str = "full",
    tolerance: float = 1e-10,
    last: NDArray[np.int64] | None = None,
) -> Solution:
    """Solve A x = b (m, n) by elimination; unknowns that no pivot takes keep their value in ``previous`` (zero).

    Parameters
    ----------
    A : object
        Matrix (m, n).
    b : object
        Right-hand side (m,).
    previous : object, optional
        Values (n,) of unknowns without a pivot; zero unless given.
    pivot : str, default "full"
        "row" takes the rows in their order and the largest entry of each (the paper's rule); "full" takes the largest
        entry of all that is left, which reveals the rank and does not depend on the order of the rows.
    tolerance : float, default 1e-10
        A pivot is zero when it is at most this share of the largest entry of A.
    last : ndarray of int, optional
        Unknowns (m,) by row that were pivots before; with "row" they are taken again while above 0.1 of the maximum.

    Returns
    -------
    Solution
        Solution with its pivots and rank.

    Raises
    ------
    InputError
        For arguments out of range.
    """
    if pivot not in PIVOTS:
        raise InputError(f"pivot is {shown(pivot)}; it must be {' or '.join(map(repr, PIVOTS))}")
    U, y = np.array(A, np.float64), np.array(b, np.float64)
    m, n = U.shape
    x = np.zeros(n) if previous is None else np.array(previous, np.float64)
    kept, dropped = np.zeros(m, np.int64), np.zeros(m, np.int64)
    columns, rows = np.arange(n), np.arange(m)
    old = np.full(m, -1) if last is None else np.asarray(last, np.int64)
    rank = eliminate_rows(
        U, y, x, columns, rows, old, kept, dropped, tolerance * np.abs(U).max(initial=0.0), pivot == "full"
    )
    gone = dropped[: m - rank]
    return Solution(x, columns[:rank].copy(), rows[gone] if pivot == "full" else gone, y[gone])


def least_norm(A: Any, b: Any, previous: Any = None, size: Any = None, tolerance: float = 1e-10) -> Array:
    """Return x with A x = b (least squares where that is impossible) and the least change from ``previous`` (zero).

    Parameters
    ----------
    A : object
        Matrix (m, n).
    b : object
        Right-hand side (m,).
    previous : object, optional
        Values (n,) to stay near; zero unless given.
    size : object, optional
        (n,) what each unknown typically changes by; changes are weighed by it. Singular values below ``tolerance`` of
        the largest count as zero.
    tolerance : float, default 1e-10
        Smallest singular value that counts, relative to the largest.

    Returns
    -------
    ndarray
        X with A x = b (least squares where that is impossible) and the least change from ``previous`` (zero).
    """
    A = np.asarray(A, np.float64)
    x = np.zeros(A.shape[1]) if previous is None else np.array(previous, np.float64)
    scale = np.ones(A.shape[1]) if size is None else np.asarray(size, np.float64)
    change = np.linalg.lstsq(A * scale, np.asarray(b) - A @ x, rcond=tolerance)[0]
    return np.asarray(x + scale * change)


Mask = NDArray[np.bool_]


class PathSolver(Protocol):
    """Fills samples; ``weak_rows`` says how much each row of Phi (m,) takes part in the smallest singular value.

    ``integrates``: positions are the integral of the rates, which frozen unknowns are not.
    """

    programs: Programs
    keep: Mask
    tolerance: float

    @property
    def integrates(self) -> bool: ...

    def fill(self, samples: KinematicSamples, first: int, last: int) -> int:
        """Fill rows; return the first that was not filled. Row 0 holds where the search begins."""

    def rechosen(self, q: Array, f: Array) -> "PathSolver | None":
        """Return the same march with rows chosen anew at a pose; None where they stay the same."""

    def weak_rows(self) -> Array: ...

    def counts(self) -> dict[str, int]: ...


class LeastChangeSolver:
    """Newton, rates and accelerations by the least change, in one compiled call."""

    integrates = True

    def __init__(
        self, programs: Programs, keep: Mask, weights: str, tolerance: float, most: int, counts: Array | None = None
    ) -> None:
        self.programs, self.keep, self.weights, self.tolerance, self.most = programs, keep, weights, tolerance, most
        self.tables = build_tables(programs, keep, build_metric(programs.equations, weights))
        self.scratch = build_scratch(self.tables, np.zeros(len(COUNTS), np.int64) if counts is None else counts)

    def rechosen(self, q: Array, f: Array) -> "LeastChangeSolver | None":
        keep = rows_to_solve(self.programs, q, f)
        if np.array_equal(keep, self.keep) or keep.sum() < self.keep.sum():
            return None
        return LeastChangeSolver(self.programs, keep, self.weights, self.tolerance, self.most, self.scratch.counts)

    def fill(self, samples: KinematicSamples, first: int, last: int) -> int:
        t, drivers, q, qd, qdd, f, weak, iterations, bend = samples
        return int(
            march(
                self.tables,
                self.scratch,
                t,
                drivers,
                q,
                qd,
                qdd,
                f,
                weak,
                iterations,
                bend,
                first,
                last,
                self.tolerance,
                self.most,
            )
        )

    def weak_rows(self) -> Array:
        found = np.zeros(len(self.keep))
        found[self.keep] = np.abs(self.scratch.weak)
        return found

    def counts(self) -> dict[str, int]:
        return dict(zip(COUNTS, self.scratch.counts.tolist(), strict=True))


class EliminationSolver:
    """The paper's solver: elimination on all rows and unknowns; unknowns without a pivot are frozen.

    Frozen means: the position of the time before, velocity and acceleration zero. With frozen unknowns Newton starts at
    the pose before. A prediction would move an unknown that a pivot took before and none takes now.
    """

    def __init__(
        self, programs: Programs, keep: Mask, pivot: str, pivot_tolerance: float, tolerance: float, most: int,
        keep_pivots: bool,
    ) -> None:  # fmt: skip
        self.programs, self.keep, self.pivot, self.keep_pivots = programs, keep, pivot, keep_pivots
        self.pivot_tolerance, self.tolerance, self.most = pivot_tolerance, tolerance, most
        self.scale = np.where(programs.equations.is_length, 1.0 / programs.equations.length, 1.0)
        self.size = programs.equations.sizes()
        self.rows = np.flatnonzero(keep | programs.equations.fixed_rows)
        self._weak = np.zeros(programs.m)
        self._counts = {"factorisations": 0, "solutions": 0}
        self._pivots: NDArray[np.int64] | None = None

    def rechosen(self, q: Array, f: Array) -> "EliminationSolver | None":
        keep = rows_to_solve(self.programs, q, f)
        if np.array_equal(keep, self.keep) or keep.sum() < self.keep.sum():
            return None
        self.keep, self.rows, self._pivots = keep, np.flatnonzero(keep | self.programs.equations.fixed_rows), None
        return self

    @property
    def integrates(self) -> bool:
        return len(self.rows) == self.programs.equations.n

    def solve(self, A: Array, b: Array) -> Array:
        """Solve by elimination, zero for frozen unknowns; rows that others hold already are left out."""
        A, b = A[self.rows], b[self.rows]
        self._counts["factorisations"] += 1
        self._counts["solutions"] += 1
        last = self._pivots if self.keep_pivots else None
        found = eliminate(A, b, pivot=self.pivot, tolerance=self.pivot_tolerance, last=last)
        if self.keep_pivots and self.pivot == "row":
            rows = np.setdiff1d(np.arange(len(A)), found.dependent)
            self._pivots = np.full(len(A), -1)
            self._pivots[rows] = found.pivots
        return found.x

    def fill(self, samples: KinematicSamples, first: int, last: int) -> int:
        for k in range(first, last):
            before = max(k - 1, 0)
            f = np.concatenate(
                (samples.drivers[k, 0, : self.programs.drivers], samples.f[before, self.programs.drivers :])
            )
            q = self.predicted(samples, before, k)
            samples.iterations[k] = self.newton(q, f)
            if samples.iterations[k] < 0:
                return k
            f = self.programs.turns(q, f)
            samples.q[k], samples.f[k] = q, f
            A, drivers = self.programs.jacobian(q, f).toarray(), np.vstack((f, samples.drivers[k, 1:]))
            qd = self.solve(A, -self.programs.by_time(q, f, drivers[1]))
            samples.qd[k] = qd
            samples.qdd[k] = self.solve(A, self.programs.acceleration_side(q, qd, drivers))
            samples.weak[k], A = self.weakest(q, f)
            samples.bend[k] = self.bend(samples, before, A) if k else 0.0
            if k + 1 < last and len(self.rows) < self.programs.m and samples.weak[k] < WORN_AT * samples.weak[first]:
                samples.iterations[k + 1] = -1 - WORN
                return k + 1
        return last

    def predicted(self, samples: KinematicSamples, before: int, k: int) -> Array:
        """Return where Newton starts (n,): on the parabola of the motion, or at the pose before where any is free."""
        if not self.integrates:
            return samples.q[before].copy()
        h = samples.t[k] - samples.t[before]
        return np.asarray(samples.q[before] + h * samples.qd[before] + 0.5 * h * h * samples.qdd[before])

    def newton(self, q: Array, f: Array) -> int:
        """Move q in place; return the iterations, or minus one minus the reason.

        The loop stands alone: its directions are those of an elimination, which freezes unknowns.
        """
        for iteration in range(self.most):
            phi = self.programs.phi(q, f)
            if not np.all(np.isfinite(phi)):
                return -1 - NOT_FINITE
            change = self.solve(self.programs.jacobian(q, f).toarray(), -phi)
            q += change
            if (
                np.max((np.abs(phi) * self.scale)[self.rows]) <= self.tolerance
                and np.max(np.abs(change) / self.size) <= self.tolerance
            ):
                return iteration + 1
        return -1 - NOT_CONVERGED

    def weakest(self, q: Array, f: Array) -> tuple[float, Array]:
        """Return the smallest singular value of the independent rows, without unit, and these rows."""
        rows = np.flatnonzero(~self.programs.equations.fixed_rows)
        kept = self.keep[rows]
        A = scaled_jacobian(self.programs, q, f).toarray()[kept]
        if not np.any(kept):
            return np.inf, A
        U, values, _ = np.linalg.svd(A, full_matrices=False)
        self._weak[:] = 0.0
        self._weak[rows[kept]] = np.abs(U[:, -1])
        return float(values[-1]), A

    def bend(self, samples: KinematicSamples, before: int, A: Array) -> float:
        """Return the norm of D A^+, D the change of the independent rows since the row before; zero where any is free.

        Frozen unknowns leave no branch to stay on.
        """
        if not self.integrates:
            return 0.0
        kept = self.keep[~self.programs.equations.fixed_rows]
        last = scaled_jacobian(self.programs, samples.q[before], samples.f[before]).toarray()[kept]
        try:
            return float(np.linalg.norm((last - A) @ np.linalg.pinv(A), 2))
        except np.linalg.LinAlgError:
            return np.inf

    def weak_rows(self) -> Array:
        return self._weak

    def counts(self) -> dict[str, int]:
        return {**self.programs.calls, **self._counts}
