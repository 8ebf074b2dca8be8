"""Explicit Runge-Kutta methods: Butcher's tables as data, and the step that takes one."""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

R2 = sqrt(2.0)


class Tableau(NamedTuple):
    """Butcher tableau of an explicit Runge-Kutta method.

    Parameters
    ----------
    name : str
        Name of the method.
    order : int
        Order of the method.
    a : tuple[tuple[float, ...], ...]
        Rows of the strictly lower triangle of A: row i makes stage i + 1 from the stages before it.
    b : tuple[float, ...]
        Weights of the stages.
    """

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]

    @property
    def c(self) -> tuple[float, ...]:
        """Times of the stages in steps."""
        return (0.0, *(sum(row) for row in self.a))

    @property
    def matrix(self) -> Array:
        """A (s, s), strictly lower triangle."""
        A = np.zeros((len(self.b), len(self.b)))
        for i, row in enumerate(self.a, 1):
            A[i, : len(row)] = row
        return A


EULER = Tableau("euler", 1, (), (1.0,))
HEUN = Tableau("heun", 2, ((1.0,),), (0.5, 0.5))
KUTTA = Tableau("kutta", 3, ((0.5,), (-1.0, 2.0)), (1 / 6, 2 / 3, 1 / 6))
RK4 = Tableau("runge-kutta-4", 4, ((0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))
THREE_EIGHTHS = Tableau("three-eighths", 4, ((1 / 3,), (-1 / 3, 1.0), (1.0, -1.0, 1.0)), (1 / 8, 3 / 8, 3 / 8, 1 / 8))
GILL = Tableau(
    "gill",
    4,
    ((0.5,), ((R2 - 1.0) / 2.0, (2.0 - R2) / 2.0), (0.0, -R2 / 2.0, 1.0 + R2 / 2.0)),
    (1 / 6, (2.0 - R2) / 6.0, (2.0 + R2) / 6.0, 1 / 6),
)
DORMAND_PRINCE = Tableau(
    "dormand-prince",
    5,
    (
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    ),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
TABLEAUX = {table.name: table for table in (EULER, HEUN, KUTTA, RK4, THREE_EIGHTHS, GILL, DORMAND_PRINCE)}


def stepped(tableau: Tableau, h: float, start: Array, slope: Array, rates: Callable[[Array, float], Array]) -> Array:
    """Return the values (k,) at the end of a step of ``h`` from ``start``.

    ``slope`` (k,) is their derivative at the start, ``rates(values, c)`` that at the other stages, c h later.
    """
    slopes = [slope]
    for row, c in zip(tableau.a, tableau.c[1:], strict=True):
        slopes.append(rates(start + h * sum((w * k for w, k in zip(row, slopes, strict=True)), 0.0 * start), c))
    return np.asarray(start + h * np.array(tableau.b) @ np.array(slopes))


def growth(table: Tableau, z: complex) -> float:
    """Return |R(z)|, R(z) = 1 + sum of z^k b^T A^(k-1) 1: what a step does to y' = s y with z = h s."""
    A, power, R = table.matrix, np.ones(len(table.b)), 1.0 + 0.0j
    for k in range(1, len(table.b) + 1):
        R += z**k * float(np.dot(table.b, power))
        power = A @ power
    return abs(R)
