"""Linear solvers with ``factor`` and ``solve``, rank and least change; nothing about mechanics.

``SOLVERS`` holds the classes by name. A class is loaded when it is asked for.
"""

from typing import Any

from rtmbs.core.names import Register

PLACES = {  # name: (module, class)
    "sparse": ("sparse_solver", "SparseSolver"),  # static pattern, no row exchanges
    "dense": ("solver", "DenseSolver"),  # row exchanges
    "sparse, row exchanges": ("solver", "SuperLUSolver"),
    "saddle point": ("least_change", "KKTSolver"),  # a matrix and equations with multipliers; without them the matrix
}
SOLVERS: Register[Any] = Register("linear solver", "rtmbs.numerics.linear", PLACES)
