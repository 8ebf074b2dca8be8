"""Explicit Runge-Kutta methods on the accelerations of the constrained equations (index 1, no projections)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rtmbs.errors import StartError
from rtmbs.integrators.base import Equations
from rtmbs.integrators.checks import one_of
from rtmbs.integrators.explicit import finished
from rtmbs.integrators.method import Array, Method
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.tableaux import RK4, THREE_EIGHTHS, Tableau, stepped
from rtmbs.state import State

TABLEAUX = {"classical": RK4, "three-eighths": THREE_EIGHTHS}


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
    equations.u = u

    def rates(values: Array, c: float) -> Array:
        z, zd, s = np.split(values, parts)
        equations.at(old.t + c * old.h)
        zdd, _, sd = equations.accelerations(z, zd, old.R0, s)
        return np.concatenate((equations.coordinate_rates(z, zd), zdd, sd))

    start = np.concatenate((old.z, old.zd, old.s))
    slope = np.concatenate((equations.coordinate_rates(old.z, old.zd), old.zdd, old.sd))
    return tuple(np.split(stepped(tableau, old.h, start, slope, rates), parts))
