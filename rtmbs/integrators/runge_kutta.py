"""Explicit Runge-Kutta methods on the accelerations of the constrained equations (index 1, no projections)."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rtmbs.errors import StartError
from rtmbs.integrators.base import Equations
from rtmbs.integrators.checks import one_of
from rtmbs.integrators.explicit import finished
from rtmbs.integrators.method import Array, Method
from rtmbs.integrators.report import StepReport
from rtmbs.state import State


class Tableau(NamedTuple):
    """Butcher's table of an explicit method."""

    a: tuple[tuple[float, ...], ...]  # of stage 1, 2, ... from the stages before it
    b: tuple[float, ...]

    @property
    def c(self) -> tuple[float, ...]:
        """Times of the stages in steps."""
        return (0.0, *(sum(row) for row in self.a))


TABLEAUX = {
    "classical": Tableau(((0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
    "three-eighths": Tableau(((1 / 3,), (-1 / 3, 1.0), (1.0, -1.0, 1.0)), (1 / 8, 3 / 8, 3 / 8, 1 / 8)),
}


@dataclass(frozen=True)
class RungeKutta(Method):
    """A Runge-Kutta method of order four; ``tableau`` is "classical" or "three-eighths".

    Each stage solves for the accelerations that keep Phidd = 0. Loops and drivers drift apart with order four, so a
    long run ends LOOP_OPEN; forces are to be smooth within a step. Raises InputError for an unknown tableau.

        Simulation(system, h=1e-3, method=RungeKutta())
    """

    order: ClassVar[int] = 4

    tableau: str = "classical"

    def __post_init__(self) -> None:
        one_of("tableau", self.tableau, TABLEAUX)

    def advance(self, equations: Equations, work: Any, old: State, new: State) -> StepReport:
        """Take a step; functions of time are asked at every stage."""
        try:
            new.z[:], new.zd[:], new.s[:] = integrated(equations, TABLEAUX[self.tableau], old, new.u)
        except StartError:
            new.z[:] = np.nan
        return finished(equations, old, new)


def integrated(equations: Equations, tableau: Tableau, old: State, u: Array) -> tuple[Array, ...]:
    """Return z, zd and s at the end of the step from ``old``; ``u`` (nu,) are its inputs. Raises StartError."""
    h, a, start = old.h, ((), *tableau.a), (old.z, old.zd, old.s)
    slopes: list[tuple[Array, ...]] = []
    for row, c in zip(a, tableau.c, strict=True):
        z, zd, s = (
            values + h * sum((w * k[i] for w, k in zip(row, slopes, strict=True)), np.zeros_like(values))
            for i, values in enumerate(start)
        )
        equations.u = u
        equations.at(old.t + c * h)
        zdd, _, sd = equations.accelerations(z, zd, old.R0, s) if slopes else (old.zdd, old.lam, old.sd)
        slopes.append((equations.coordinate_rates(z, zd), zdd, sd))
    b = np.array(tableau.b)
    return tuple(values + h * b @ np.array([k[i] for k in slopes]) for i, values in enumerate(start))
