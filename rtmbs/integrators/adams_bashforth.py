"""Adams-Bashforth methods of order three: one solution for the accelerations a step, from those of steps before."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rtmbs.errors import StartError
from rtmbs.integrators.base import Equations
from rtmbs.integrators.explicit import finished, integrated
from rtmbs.integrators.method import Array, Method
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.tableaux import RK4, stepped
from rtmbs.state import State

STEPS = 3  # accelerations that a step is taken with: its own, and those of the steps before


@dataclass(frozen=True)
class AdamsBashforth(Method):
    """The Adams-Bashforth method of order three, with accelerations that keep Phidd = 0.

    Accelerations of three steps are extrapolated; rates are their integral, and positions that of the rates. The first
    steps, and those after a change of inputs, of h or of the state, are Runge-Kutta steps. Loops drift as there.
    ``State.memory`` holds the accelerations of earlier steps and behind them the rates of force states, ``history``
    (2, n + ns), how many there are, ``known``, and z, zd and s of the path that they belong to, ``path`` (2 n + ns,).

        Simulation(system, h=1e-3, method=AdamsBashforth())
    """

    order: ClassVar[int] = 3

    def remember(self, equations: Equations, h: float) -> dict[str, Array]:
        """Return a history that is empty."""
        rates = equations.n + equations.states
        return {"history": np.zeros((STEPS - 1, rates)), "known": np.zeros(1), "path": np.zeros(equations.n + rates)}

    def moved(self, equations: Equations, state: State) -> None:
        """Forget the history of another path."""
        if not np.array_equal(state.memory["path"], np.concatenate((state.z, state.zd, state.s))):
            self.pushed(equations, None, state)

    def pushed(self, equations: Equations, work: Any, state: State, roughly: bool = False) -> bool:
        """Forget the history: accelerations jump with the inputs."""
        state.memory["known"][:] = 0.0
        return False

    def advance(self, equations: Equations, work: Any, old: State, new: State) -> StepReport:
        """Take a step, and remember the accelerations that it began with."""
        known = int(old.memory["known"][0])
        try:
            if known < STEPS - 1:
                new.z[:], new.zd[:], new.s[:] = integrated(equations, RK4, old, new.u)
            else:
                new.z[:], new.zd[:], new.s[:] = extrapolated(equations, old)
        except StartError:
            new.z[:] = np.nan
        new.memory["history"][:] = [rates_of(old), *old.memory["history"][:-1]]
        new.memory["known"][:] = min(known + 1, STEPS - 1)
        report = finished(equations, old, new)
        new.memory["path"][:] = np.concatenate((new.z, new.zd, new.s))
        return report


def rates_of(state: State) -> Array:
    """Return what is extrapolated (n + ns,): accelerations, then the rates of force states."""
    return np.concatenate((state.zdd, state.sd))


def extrapolated(equations: Equations, old: State) -> tuple[Array, Array, Array]:
    """Return z, zd and s at the end of the step, of the polynomial through the rates that are known."""
    values, n = np.array([rates_of(old), *old.memory["history"]]), equations.n
    powers = np.linalg.solve(np.vander(-np.arange(STEPS), increasing=True).astype(np.float64), values)
    whole = powers / np.arange(1, STEPS + 1)[:, None] * old.h

    def rate(c: float) -> Array:
        """zd at t_n + c h."""
        return old.zd + np.array([c**k for k in range(1, STEPS + 1)]) @ whole[:, :n]

    slope = equations.coordinate_rates(old.z, rate(0.0))
    z = stepped(RK4, old.h, old.z, slope, lambda z, c: equations.coordinate_rates(z, rate(c)))
    return z, rate(1.0), old.s + whole[:, n:].sum(axis=0)
