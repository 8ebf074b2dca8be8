"""Extrapolated variational midpoint steps in plain Python (METHODS 6.10); the oracle of ``extrapolated_step.py``.

It also serves where force laws need Python, and where the kernel does not accept a step.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.contract import Equations, NotFinite, SingularTangent
from rtmbs.integrators.explicit import complete_step
from rtmbs.integrators.midpoint_arithmetic import FOURTH, MIDDLE, SIXTH, SMALL_ERROR, SMALL_TURN
from rtmbs.integrators.newton import PROGRESS, ROUNDS, STIFFER
from rtmbs.integrators.report import TAKEN, Outcome, StepReport
from rtmbs.integrators.variational_midpoint import MidpointStep, VariationalMidpoint, Work
from rtmbs.state import State

Array = NDArray[np.float64]

PARTS = 1, 2, 4


class Extrapolated(NamedTuple):
    """One step, judged."""

    report: StepReport
    new: State
    error: Array  # (2, n) of positions and rates
    second: Array  # (2, n) the same part of the difference between two and four midpoint steps
    coarse: State  # where one midpoint step ends


class ExtrapolatedMidpoint:
    """Steps of one, two and four midpoint steps, extrapolated to order six and put back on the loops."""

    def __init__(self, method: VariationalMidpoint, equations: Equations, work: Work) -> None:
        self.method, self.equations, self.work = method, equations, work

    def take(self, old: State, h: float, inputs: Array) -> Extrapolated:
        """Take one step of ``h`` [s]; ``inputs`` (4, nu) are those at the ends of its quarters."""
        zero = np.zeros((2, self.equations.n))
        ends, wrenches = [], []
        for parts in PARTS:
            report, end, P = self.run(old, h, parts, inputs)
            if report.outcome not in TAKEN:
                return Extrapolated(report, end, zero, zero, end)
            ends.append(end)
            wrenches.append(P)
        with np.errstate(all="ignore"):
            report, new, error, second = self.combine(old, h, ends, wrenches)
        return Extrapolated(report, new, error, second, ends[0])

    def run(self, old: State, h: float, parts: int, inputs: Array) -> tuple[StepReport, State, Array]:
        """Take a step in equal parts; returns the report of the last one, the state, and the momenta of all dofs."""
        before = placed(old, old.t, h / parts)
        for i in range(parts):
            new = before.copy()
            new.k, new.u[:] = before.k + 1, inputs[(i + 1) * (4 // parts) - 1]
            report = self.method.advance(self.equations, self.work, before, new)
            if report.outcome not in TAKEN:
                return report, new, np.zeros((0, 6))
            before = new
        midpoint = self.work.midpoint
        midpoint.end(before.z, before.R0, before.u)
        return report, before, midpoint.wrenches(before.zd)

    def combine(
        self, old: State, h: float, ends: list[State], wrenches: list[Array]
    ) -> tuple[StepReport, State, Array, Array]:
        """Return the extrapolation, on the loops, with its errors."""
        one, two, four = ends
        midpoint, new = self.work.midpoint, placed(four, old.t, h)
        new.k = 1
        parts = {}
        for name in ("z", "zd", "s"):
            fine = getattr(four, name)
            parts[name] = getattr(one, name) - fine, getattr(two, name) - fine
        turns = midpoint.turns(four.R0, one.R0), midpoint.turns(four.R0, two.R0)
        parts["z"] = parts["z"][0] + turns[0], parts["z"][1] + turns[1]  # the positions of rotation dofs are zero
        for name, (a, b) in parts.items():
            getattr(new, name)[:] += SIXTH * a - MIDDLE * b
        error = np.array([FOURTH * (a - 5.0 * b) for a, b in (parts["z"], parts["zd"])])
        second = np.array([4.0 * FOURTH * b for _, b in (parts["z"], parts["zd"])])
        self.equations.commit(new)
        report = StepReport(Outcome.SINGULAR_TANGENT, new.t)
        for solver in self.equations.solvers:
            self.equations.solver = solver
            report = self.end(new, wrenches)
            if report.outcome is not Outcome.SINGULAR_TANGENT:
                break
        return report, new, error, second

    def end(self, new: State, wrenches: list[Array]) -> StepReport:
        """Put an extrapolated state on the loops, with rates of the extrapolated momenta, and accelerations."""
        midpoint = self.work.midpoint
        try:
            self.close_loops(new)
            P = wrenches[2] + SIXTH * (wrenches[0] - wrenches[2]) - MIDDLE * (wrenches[1] - wrenches[2])
            midpoint.end(new.z, new.R0, new.u)
            step = MidpointStep(self.equations, midpoint, self.work.settings, self.work.weight)
            new.zd[:] = step.rates(midpoint.along(P), new.zd, new, new)
        except SingularTangent:
            return StepReport(Outcome.SINGULAR_TANGENT, new.t)
        except NotFinite:
            return StepReport(Outcome.NOT_FINITE, new.t)
        return complete_step(self.equations, new, new)

    def close_loops(self, new: State) -> None:
        """Move positions to the loops by the least change in the metric of M."""
        equations, midpoint, stiff = self.equations, self.work.midpoint, STIFFER * self.work.weight
        before = np.inf
        for number in range(ROUNDS):
            Phi = midpoint.end(new.z, new.R0, new.u)
            left = float(np.max(np.abs(Phi) / self.work.settings.scale, initial=0.0))
            if not left > SMALL_ERROR or left > PROGRESS * before:
                return
            before = left
            if number == 0:
                midpoint.factor_end(stiff)
            new.z += equations.solve(-equations.pull_back(stiff * Phi), refined=True)
            equations.commit(new)

    def grown(self, old: State, h: float, taken: Extrapolated, last: Array) -> Array:
        """Return the error (2, n) after a step: that of before, moved as a neighbour of the motion, and its own."""
        typical, midpoint = self.work.settings.typical, self.work.midpoint
        size = float(np.max(np.abs(last) * [[1.0], [h]] / typical, initial=0.0))
        moved = np.array([last[0] + h * last[1], last[1]])
        if size > 0.0:
            scale = SMALL_TURN / size
            start = placed(old, old.t, h)
            start.z += scale * last[0]
            start.zd += scale * last[1]
            self.equations.commit(start)
            end = start.copy()
            end.k, end.u[:] = 1, taken.coarse.u
            if self.method.advance(self.equations, self.work, start, end).outcome in TAKEN:
                apart = end.z - taken.coarse.z + midpoint.turns(taken.coarse.R0, end.R0)
                moved = np.array([apart, end.zd - taken.coarse.zd]) / scale
        return moved + taken.error


def placed(state: State, t: float, h: float) -> State:
    """Return a copy from which steps of ``h`` [s] go, at ``t`` [s]."""
    copy = state.copy()
    copy.t_ref, copy.k, copy.h = float(t), 0, float(h)
    return copy
