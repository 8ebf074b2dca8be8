"""Register of linear solvers by name."""

from rtmbs.linear.dense_solver import DenseSolver
from rtmbs.linear.kkt_solver import KKTSolver
from rtmbs.linear.solver import LinearSolver
from rtmbs.linear.sparse_solver import SparseSolver
from rtmbs.linear.superlu_solver import SuperLUSolver

SOLVERS: dict[str, type[LinearSolver]] = {
    "sparse": SparseSolver,  # static pattern, no row exchanges
    "dense": DenseSolver,  # row exchanges
    "sparse, row exchanges": SuperLUSolver,  # SuperLU
    "saddle point": KKTSolver,  # a matrix and equations with multipliers; without equations the matrix alone
}
