"""Interface of linear solvers, ``factor`` and ``solve``, and the errors of matrices without a solution.

``factor(A)`` factors a square matrix (n, n), or what the solver accepts in place of one, and returns a status.
``solve(b)`` solves with the last factor. A solver knows nothing of where its matrix comes from.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from rtmbs.errors import RtmbsError

Array = NDArray[np.float64]


class Unsolved(ArithmeticError):
    """Error of ``solve`` where the last factor gives no solution; the message says why."""


class Contradiction(Unsolved):
    """Error of dependent equations that contradict each other: ``missed`` is the residual of the equation ``row``."""

    def __init__(self, row: int, missed: float) -> None:
        super().__init__(f"row {row} contradicts the others: they leave it {missed:g}")
        self.row, self.missed = row, missed


class LinearSolver(Protocol):
    """Solver that factors a matrix once and solves for many right-hand sides."""

    @classmethod
    def of(cls, A: Array) -> "LinearSolver":
        """Return a solver for matrices of the size of A (n, n), with its entries or fewer."""

    @property
    def pivoted(self) -> bool:
        """True when rows are exchanged, so that only a singular matrix is refused."""

    def factor(self, A: Any) -> int:
        """Factor ``A`` (n, n), which is not changed; return 0, or why there is no factor.

        i + 1 names column i, whose pivot is too small or not finite; n + 1 a pivot that is none of the n unknowns.
        """

    def solve(self, b: Array, refined: bool = False) -> Array:
        """Return x (n,) with A x = b (n,); ``b`` is not changed.

        ``refined`` checks the residual, and improves x while that asks for it. Raises Unsolved.
        """


P = ParamSpec("P")
T = TypeVar("T")


def refuses_unfactorised(error: type[RtmbsError], what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that raises ``error`` for a LinAlgError; ``what`` names the calculation.

    Numbers of a mechanism that differ by more than double precision holds make inertias vanish and products overflow.
    """

    def decorate(call: Callable[P, T]) -> Callable[P, T]:
        @wraps(call)
        def checked(*args: P.args, **options: P.kwargs) -> T:
            try:
                return call(*args, **options)
            except LinAlgError as raised:
                raise error(
                    f"{what}: a matrix of the mechanism cannot be factorised ({raised}); look for masses, inertias, "
                    "stiffnesses and lengths that differ by more than double precision holds"
                ) from raised

        return checked

    return decorate
