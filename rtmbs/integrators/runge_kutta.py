"""Explicit Runge-Kutta methods on the accelerations of the constrained equations (index 1, no projections)."""

from collections.abc import Callable
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
    parts = equations.n, 2 * equations.n

    def rates(values: Array, c: float) -> Array:
        z, zd, s = np.split(values, parts)
        equations.u = u
        equations.at(old.t + c * old.h)
        zdd, _, sd = equations.accelerations(z, zd, old.R0, s) if c > 0.0 else (old.zdd, old.lam, old.sd)
        return np.concatenate((equations.coordinate_rates(z, zd), zdd, sd))

    return tuple(np.split(stepped(tableau, old.h, np.concatenate((old.z, old.zd, old.s)), rates), parts))


def stepped(tableau: Tableau, h: float, start: Array, rates: Callable[[Array, float], Array]) -> Array:
    """Return the values at the end of a step of ``h`` from ``start``; ``rates(values, c)`` are theirs c h later."""
    slopes: list[Array] = []
    for row, c in zip(((), *tableau.a), tableau.c, strict=True):
        slopes.append(rates(start + h * sum((w * k for w, k in zip(row, slopes, strict=True)), 0.0 * start), c))
    return np.asarray(start + h * np.array(tableau.b) @ np.array(slopes))
