"""Refusal of matrices that LAPACK cannot factorise, by name of the calculation."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from numpy.linalg import LinAlgError

from rtmbs.errors import RtmbsError

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
