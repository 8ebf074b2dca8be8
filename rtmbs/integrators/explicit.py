"""Explicit steps in joint coordinates: stages, loop check, accelerations at the end, and Adams-Bashforth steps."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import StartError
from rtmbs.integrators.contract import Equations, Method
from rtmbs.integrators.report import TAKEN, Outcome, StepReport
from rtmbs.integrators.settings import LOOP_TOLERANCE, arrays_of
from rtmbs.integrators.tableaux import RK4, Tableau, stepped
from rtmbs.state import State

Array = NDArray[np.float64]

DRIFT = 1e-8  # of the sizes: what a loop opens by in one step
STEPS = 3  # accelerations that a step is taken with: its own, and those of the steps before


def runge_kutta_step(equations: Equations, tableau: Tableau, old: State, u: Array) -> tuple[Array, ...]:
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


def complete_step(equations: Equations, old: State, new: State) -> StepReport:
    """Complete ``new``, whose z, zd and s are those of the end, and return the report of the step.

    LOOP_OPEN or NOT_FINITE where it is not taken; UNPROJECTED or UNBALANCED where rates drift off the loops, or no
    accelerations satisfy the equations of motion.
    """
    scale, rotation = equations.sizes.scale, equations.sizes.rotation
    new.R0[:], equations.u = old.R0, new.u
    if bad := equations.not_finite_inputs():
        return StepReport(Outcome.NOT_FINITE, new.t, worst=bad)
    outcome, Phi, Phid, Phidd = Outcome.NOT_FINITE, *np.zeros((3, equations.m))
    if in_range(new.z, new.zd, new.s):
        Phi = equations.close(new.z, new.R0)
        Phid = equations.closure_velocities(new.zd)
        still_closed = np.max(np.abs(Phi) / scale, initial=0.0) <= LOOP_TOLERANCE
        outcome = solve_accelerations(equations, new) if still_closed else Outcome.LOOP_OPEN
    if outcome not in TAKEN:
        return StepReport(outcome, new.t, worst=equations.worst(outcome, arrays_of(old), scale))
    if equations.m:
        outcome, Phidd = drift_outcome(equations, new, Phid)
    equations.commit(new)
    largest = [
        float(np.max(np.abs(x[rows]), initial=0.0)) for x in (Phi, Phid, Phidd) for rows in (~rotation, rotation)
    ]
    return StepReport(
        outcome, new.t, position_violation=largest[0], position_violation_rotation=largest[1],
        velocity_violation=largest[2], velocity_violation_rotation=largest[3],
        acceleration_violation=largest[4], acceleration_violation_rotation=largest[5],
    )  # fmt: skip


def drift_outcome(equations: Equations, new: State, Phid: Array) -> tuple[Outcome, Array]:
    """Return the Outcome of a step from its accelerations, and their Phidd (m,).

    Rates may drift as far as positions may: by LOOP_TOLERANCE of the largest rate, or of that which an acceleration
    makes of it in a step. A drift that opens no loop by more than DRIFT in a step is none.
    """
    sizes, found = equations.sizes, equations.missed(arrays_of(new), new.h)
    rate = np.max((np.abs(new.zd) + new.h * np.abs(new.zdd)) / sizes.typical, initial=0.0)
    drifted = np.max(np.abs(Phid) / sizes.scale, initial=0.0) > LOOP_TOLERANCE * rate + DRIFT / new.h
    if drifted or np.any(found.loops):
        return Outcome.UNPROJECTED, found.violation
    return (Outcome.UNBALANCED if np.any(found.forces) else Outcome.CONVERGED), found.violation


def solve_accelerations(equations: Equations, new: State) -> Outcome:
    """Solve for zdd and lam of ``new``; returns CONVERGED, or NOT_FINITE where there are none."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            new.zdd[:], new.lam[:], new.sd[:] = equations.accelerations(new.z, new.zd, new.R0, new.s)
    except StartError:
        return Outcome.NOT_FINITE
    return Outcome.CONVERGED if in_range(new.zdd, new.lam, new.sd) else Outcome.NOT_FINITE


def in_range(*arrays: Array) -> bool:
    """True when every entry is a number that a mechanism may have."""
    return all(float(np.abs(values).max(initial=0.0)) <= BEYOND for values in arrays)  # NaN is not


@dataclass(frozen=True)
class AdamsBashforth(Method):
    """Adams-Bashforth method of order three, with accelerations that keep Phidd = 0.

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

    def pushed(self, equations: Equations, work: Any, state: State, seen: bool = False) -> bool:
        """Forget the history: accelerations jump with the inputs."""
        if not seen:
            state.memory["known"][:] = 0.0
        return False

    def advance(self, equations: Equations, work: Any, old: State, new: State) -> StepReport:
        """Take a step, and remember the accelerations that it began with."""
        known = int(old.memory["known"][0])
        try:
            if known < STEPS - 1:
                new.z[:], new.zd[:], new.s[:] = runge_kutta_step(equations, RK4, old, new.u)
            else:
                new.z[:], new.zd[:], new.s[:] = adams_bashforth_step(equations, old)
        except StartError:
            new.z[:] = np.nan
        new.memory["history"][:] = [rates_to_extrapolate(old), *old.memory["history"][:-1]]
        new.memory["known"][:] = min(known + 1, STEPS - 1)
        report = complete_step(equations, old, new)
        new.memory["path"][:] = np.concatenate((new.z, new.zd, new.s))
        return report


def rates_to_extrapolate(state: State) -> Array:
    """Return accelerations, then rates of force states (n + ns,)."""
    return np.concatenate((state.zdd, state.sd))


def adams_bashforth_step(equations: Equations, old: State) -> tuple[Array, Array, Array]:
    """Return z, zd and s at the end of the step, of the polynomial through the rates that are known."""
    values, n = np.array([rates_to_extrapolate(old), *old.memory["history"]]), equations.n
    powers = np.linalg.solve(np.vander(-np.arange(STEPS), increasing=True).astype(np.float64), values)
    whole = powers / np.arange(1, STEPS + 1)[:, None] * old.h

    def rate(c: float) -> Array:
        """zd at t_n + c h."""
        return old.zd + np.array([c**k for k in range(1, STEPS + 1)]) @ whole[:, :n]

    slope = equations.coordinate_rates(old.z, rate(0.0))
    z = stepped(RK4, old.h, old.z, slope, lambda z, c: equations.coordinate_rates(z, rate(c)))
    return z, rate(1.0), old.s + whole[:, n:].sum(axis=0)
