"""Linear solvers that a formulation takes: which class serves, and which is chosen where none is given."""

from typing import Any

from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.sparse_forms import SparseForms
from rtmbs.linear.dense_solver import DenseSolver
from rtmbs.linear.superlu_solver import SuperLUSolver

Solver = Any  # a class with the verbs of ``rtmbs.linear.solver.LinearSolver``, or KKTSolver

SPARSE_FROM = 300  # unknowns n + m from which SuperLU is faster than dense LU: bench/methods/solvers.py


def check_solver(name: str, solver: Solver | None) -> None:
    """Raise InputError unless ``solver`` is None, or a class of linear solver that exchanges rows."""
    verbs = isinstance(solver, type) and all(hasattr(solver, verb) for verb in ("of", "factor", "solve"))
    if solver is not None and not (verbs and getattr(solver, "pivoted", False)):
        raise InputError(
            f"{name} is {shown(solver)}; a class of linear solver that exchanges rows is wanted, such as DenseSolver, "
            "SuperLUSolver or KKTSolver of rtmbs.linear"
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
