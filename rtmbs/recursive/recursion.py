"""Accelerations and multipliers of a System by recursion over its bodies (METHODS 3), by the compiled kernels."""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.jit.compiled import entry_for
from rtmbs.recursive.passes import INDEFINITE, accelerations_here, judge, leave, load_bodies, respond
from rtmbs.recursive.reduced_system import Border, balance, border_of, massless, scratch_of
from rtmbs.semirecursive.equations import SemiRecursiveEquations

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

DEPENDENT = 1e-12  # pivot of Phi M^-1 Phi^T, scaled to a unit diagonal, that counts as zero
ROUNDS = 1  # of correction: multipliers by Phi M^-1 Phi^T lose twice the digits of those by Phi


class Accelerations(NamedTuple):
    """Accelerations and multipliers at a state."""

    zdd: Array  # (n,)
    lam: Array  # (m,)
    dependent: Integers  # rows that the other rows give, ascending
    row: int  # that the accelerations miss most, -1 without rows
    left: float  # of Phidd of this row
    size: float  # largest of the terms of Phidd
    weightless: int = -1  # a coordinate that moves without inertia: then there is no answer


class Recursion:
    """The recursion over the bodies of ``equations``, which are evaluated at zdd = 0 before each answer.

    Coordinates without inertia of their own, as of a massless frame that a closure holds, join the multipliers as
    unknowns of the reduced system. ``tolerance``: see DEPENDENT.
    """

    def __init__(self, equations: SemiRecursiveEquations, tolerance: float = DEPENDENT) -> None:
        self.equations, self.tolerance = equations, tolerance
        self.keep(massless(equations.tables))

    def keep(self, kept: Integers) -> None:
        """Let these coordinates stay unknown until the end of the backward pass."""
        self.kept = kept
        self.border: Border = border_of(self.equations.tables, kept)
        self.scratch = scratch_of(self.border, self.equations.m, len(self.equations.ws.Phi_z))
        self.gamma: Array = np.zeros(self.equations.m)
        self.entry: Any = entry_for(accelerations_here, self.arguments(0.0, 0.0))

    def arguments(self, alpha: float, beta: float) -> tuple[Any, ...]:
        """Return the arguments of the kernel for these gains."""
        equations = self.equations
        how, written = (self.border, self.tolerance, ROUNDS, alpha, beta), (equations.ws, self.scratch, self.gamma)
        return (equations.tables, *how, equations.u, *written)

    def answer(self, alpha: float = 0.0, beta: float = 0.0) -> Accelerations:
        """Return accelerations with Phidd + 2 alpha Phid + beta^2 Phi = 0 at the state last evaluated, zdd = 0 there.

        The gains are Baumgarte's [1/s].
        """
        status = self.entry(*self.arguments(alpha, beta))
        while status > 0:
            self.keep(np.union1d(self.kept, [status - 1]))
            status = self.entry(*self.arguments(alpha, beta))
        if status == INDEFINITE:
            return self.indefinite()
        return self.answered(self.dependent())

    def answered(self, dependent: Integers) -> Accelerations:
        """Return accelerations and multipliers from the scratch."""
        sc, row = self.scratch, int(np.argmax(self.scratch.left)) if self.equations.m else -1
        left, size = (float(sc.left[row]), float(sc.terms.max())) if row >= 0 else (0.0, 0.0)
        return Accelerations(sc.zdd.copy(), sc.lam.copy(), dependent, row, left, size)

    def dependent(self) -> Integers:
        """Return the rows that the pivots of the last factor leave out, ascending."""
        border, sc, found = self.border, self.scratch, []
        for g, rank in enumerate(sc.rank):
            rows = border.member[border.start[g] : border.start[g + 1]]
            found.append(rows[sc.order[border.start[g] : border.start[g + 1]][rank:]])
        return np.sort(np.concatenate([np.zeros(0, np.int64), *found]))

    # ---- with coordinates that are kept -----------------------------------------------------------------------------

    def indefinite(self) -> Accelerations:
        """Return the answer where the reduced system holds coordinates as well: it is symmetric, and indefinite."""
        m, sc, gamma, tables = self.equations.m, self.scratch, self.gamma, self.equations.tables
        solvers = [BorderGroup.of(self.border, sc.C, g, self.tolerance) for g in range(len(self.border.start) - 1)]
        for one in solvers:
            if (weightless := one.weightless(m)) >= 0:
                return Accelerations(
                    sc.zdd, sc.lam, np.zeros(0, np.int64), -1, 0.0, 0.0, int(self.kept[weightless - m])
                )
        sc.gamma[:] = gamma
        self.solve(solvers)
        for _ in range(ROUNDS):
            leave(tables, self.equations.u, gamma, self.equations.ws, sc)
            self.solve(solvers)
        judge(tables, self.border, self.equations.ws, sc, gamma)
        return self.answered(np.sort(np.concatenate([np.zeros(0, np.int64), *(one.dependent(m) for one in solvers)])))

    def solve(self, solvers: "list[BorderGroup]") -> None:
        """Add the answer to f and gamma of the scratch to zdd and lam."""
        dofs, ws, sc = self.equations.tables.dofs, self.equations.ws, self.scratch
        load_bodies(dofs, self.border, ws, sc)
        for one in solvers:
            sc.x[one.rows] = one.solve(sc.right[one.rows])
        respond(dofs, self.border, ws, sc)


class BorderGroup(NamedTuple):
    """A symmetric matrix C of border unknowns, scaled by rows and split into directions."""

    rows: Integers  # unknowns
    scale: Array
    values: Array  # eigenvalues of the scaled matrix
    directions: Array  # its eigenvectors, in columns
    lost: NDArray[np.bool_]  # which of them are rounding

    @classmethod
    def of(cls, border: Border, C: Array, g: int, tolerance: float) -> "BorderGroup":
        """Return the matrix of group ``g``, from its lower half."""
        rows = border.member[border.start[g] : border.start[g + 1]]
        lower = np.tril(C[border.square[g] : border.square[g + 1]].reshape(len(rows), len(rows)))
        whole = lower + np.tril(lower, -1).T
        scale = balance(whole)
        values, directions = np.linalg.eigh(scale[:, None] * whole * scale)
        return cls(rows, scale, values, directions, np.abs(values) <= tolerance * np.abs(values).max(initial=0.0))

    def solve(self, right: Array) -> Array:
        """Return the shortest least-squares solution."""
        inverse = np.divide(1.0, self.values, out=np.zeros(len(self.rows)), where=~self.lost)
        return np.asarray(self.scale * (self.directions @ (inverse * (self.directions.T @ (self.scale * right)))))

    def weightless(self, m: int) -> int:
        """Return a kept coordinate, from m on, that can move while no row and no inertia notices it; or -1."""
        part = np.where(self.rows >= m, np.sum(self.directions[:, self.lost] ** 2, axis=1), 0.0)
        return int(self.rows[np.argmax(part)]) if part.max(initial=0.0) > 1e-6 else -1

    def dependent(self, m: int) -> Integers:
        """Return the rows that the others give."""
        if not self.lost.any():
            return np.zeros(0, np.int64)
        order = scipy.linalg.qr(self.directions[:, self.lost].T, mode="r", pivoting=True)[1]
        found = self.rows[order[: int(self.lost.sum())]]
        return found[found < m]
