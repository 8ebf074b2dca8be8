"""Augmented system [[M, Phi_q^T], [Phi_q, -D]] [a; lam] = [F; gamma], D >= 0, scaled, and its linear solvers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, diags_array, issparse

from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import ConstrainedSystem, FormulationError, SparseForms, Terms, inertias, terms_at
from rtmbs.formulations.reduction import (
    RANK_TOLERANCE,
    contradiction,
    demand_agreement,
    demand_full_rank,
    refuse_dependent,
    refuse_singular,
    refuse_weightless,
    row_factor,
    solve_positive,
)
from rtmbs.numerics.linear.least_change import KKTSolver
from rtmbs.numerics.linear.solver import Contradiction, DenseSolver, SuperLUSolver

Array = NDArray[np.float64]
Solver = Any  # a class with the verbs of ``rtmbs.numerics.linear.solver.LinearSolver``, or KKTSolver

SPARSE_FROM = 300  # unknowns n + m from which SuperLU is faster than dense LU: bench/methods/solvers.py

REFINEMENTS = 2  # of the solution: Euler parameters at rest have next to no inertia along themselves, and scale badly
SINGULAR = 1e-15  # reciprocal condition number of the scaled matrix that counts as zero
DEPENDENT = 1e-13  # likewise, of a sparse matrix without D: that of rows which depend on each other to 3e-7


def check_solver(name: str, solver: Solver | None) -> None:
    """Raise InputError unless ``solver`` is None, or a class of linear solver that exchanges rows."""
    verbs = isinstance(solver, type) and all(hasattr(solver, verb) for verb in ("of", "factor", "solve"))
    if solver is not None and not (verbs and getattr(solver, "pivoted", False)):
        raise InputError(
            f"{name} is {shown(solver)}; a class of linear solver that exchanges rows is wanted, such as DenseSolver, "
            "SuperLUSolver or KKTSolver of rtmbs.numerics.linear"
        )


def solver_for(system: ConstrainedSystem, solver: Solver | None) -> Solver:
    """Return the solver that was given; else the one that is faster for a system of this size and these forms."""
    if solver is not None:
        return solver
    large = system.n + system.m >= SPARSE_FROM
    return SuperLUSolver if large and isinstance(system, SparseForms) else DenseSolver


def is_sparse(solver: Solver) -> bool:
    """Return whether a solver takes sparse arrays as they are."""
    return bool(getattr(solver, "sparse", False))


def takes_parts(solver: Solver) -> bool:
    """Return whether a solver takes M and Phi_q apart, and dependent rows with them."""
    return hasattr(solver, "solve_parts")


def augmented_accelerations(
    system: ConstrainedSystem, q: Array, v: Array, t: float, solver: Solver, tolerance: float, who: str
) -> tuple[Array, Array]:
    """Return a (n,) and lam (m,) of the augmented system by ``solver``.

    KKTSolver accepts them: rows share their load by the masses that they feel. The others refuse them by name, a dense
    one beyond ``tolerance`` of QR, a sparse one beyond DEPENDENT. Raises FormulationError.
    """
    terms = terms_at(system, q, v, t, is_sparse(solver))
    if takes_parts(solver):
        return solve_parts(terms)
    if not issparse(terms.M):
        demand_full_rank(terms, tolerance, who)
    return solve_saddle(terms, solver=solver, who=who)


def solve_saddle(
    terms: Terms, softness: Array | None = None, solver: Solver = DenseSolver, who: str = "this formulation"
) -> tuple[Array, Array]:
    """Return a (n,) and lam (m,) with M a + Phi_q^T lam = F and Phi_q a - softness lam = gamma (METHODS 2.1).

    ``softness`` (m,) is 0 for rigid constraints. Coordinates are scaled by roots of their masses, and rows to length
    one, so that units do not matter. Raises FormulationError naming the coordinate when the matrix is singular, or the
    row where terms are sparse.
    """
    n, m = terms.system.n, terms.system.m
    soft = np.zeros(m) if softness is None else softness
    column, row = scales(terms, soft)
    A = scaled_saddle(terms, soft, column, row)
    b = np.concatenate((column * terms.F, row * terms.gamma))
    inner = solver.of(A)
    status = inner.factor(A)
    condition = getattr(inner, "reciprocal_condition", 1.0)
    if soft.any() and status and condition > 0.0:
        inner.status = status = 0  # dependent rows that are next to rigid: a bad condition, and a good solution
    if issparse(A):
        i = status - 1 if status else getattr(inner, "weakest", 0)
        if status or (condition < SINGULAR and i < n) or (condition < DEPENDENT and not soft.any()):
            refuse_weakest(terms, i, who)
    elif status or condition < SINGULAR:
        demand_inertia(terms, certain=status > 0)
    x = inner.solve(b)
    for _ in range(REFINEMENTS):
        x = x + inner.solve(b - A @ x)
    return column * x[:n], row * x[n:]


def scaled_saddle(terms: Terms, soft: Array, column: Array, row: Array) -> Any:
    """Return the matrix (n + m, n + m), sparse where its parts are."""
    if issparse(terms.M):
        C, R = diags_array(column), diags_array(row)
        P = R @ terms.Phi_q @ C
        return block_array([[C @ terms.M @ C, P.T], [P, diags_array(-row * soft * row)]], format="csc")
    n, m = terms.system.n, terms.system.m
    A = np.zeros((n + m, n + m))
    A[:n, :n] = column[:, None] * terms.M * column
    A[n:, :n] = row[:, None] * terms.Phi_q * column
    A[:n, n:] = A[n:, :n].T
    A[n:, n:] = -np.diag(row * soft * row)
    return A


def solve_parts(terms: Terms) -> tuple[Array, Array]:
    """Return a (n,) and lam (m,) by KKTSolver: dependent rows share their load by the masses that they feel."""
    column, row = scales(terms, np.zeros(terms.system.m))
    inner = KKTSolver()
    if inner.factor(column[:, None] * terms.M * column, row[:, None] * terms.Phi_q * column):
        demand_inertia(terms, certain=True)
    try:
        a, lam = inner.solve_parts(column * terms.F, row * terms.gamma, refined=True)
    except Contradiction as error:
        raise FormulationError(contradiction(terms.system, error.row, error.missed / row[error.row])) from None
    demand_agreement(terms, column * a)
    return column * a, row * lam


def refuse_weakest(terms: Terms, i: int, who: str) -> None:
    """Raise FormulationError naming the coordinate or row of the zero pivot of the sparse matrix."""
    n = terms.system.n
    if i < n:
        refuse_weightless(terms.system, i)
    refuse_dependent(terms.system, np.array([i - n]), who)


def demand_inertia(terms: Terms, certain: bool) -> None:
    """Raise FormulationError naming the coordinate when M is singular on the null space of Phi_q, or ``certain``."""
    N = row_factor(terms.Phi_q, RANK_TOLERANCE).Q2
    A = N.T @ terms.M @ N
    if len(A):
        solve_positive(terms, N, A, np.zeros(len(A)))
    if certain:
        refuse_singular(terms, N if len(A) else np.eye(terms.system.n), A if len(A) else terms.M)


def scales(terms: Terms, soft: Array) -> tuple[Array, Array]:
    """Return scales of coordinates (n,) and of rows (m,) of the saddle point."""
    inertia, positive = inertias(terms)
    inertia[~positive] = np.exp(np.mean(np.log(inertia[positive]))) if positive.any() else 1.0
    column = 1.0 / np.sqrt(inertia)
    length = np.sqrt(terms.Phi_q**2 @ column**2 + soft)
    return column, 1.0 / np.where(length > 0.0, length, 1.0)
