"""Kinks and jumps of recorded force laws within steps: their location on dense output (METHODS 6.10).

A law switches where one of its switching functions changes sign (``ad/tape.py``). A step that holds such a time is
taken again so that it ends there: then every step sees a smooth force.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rtmbs.ad.evaluator import ProgramRunner
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.simulation.access import ASKED, NOTHING, callback_rights
from rtmbs.simulation.dense_output import Moment, Stretch
from rtmbs.simulation.zeros import FEWEST, shares, transform, zeros_within
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.tables import Array

LOCATED = 1e-8  # of the step that held a kink: the nearest that the time of a kink needs to be known
RETAKEN = 4  # times at most that a step is taken again to end nearer to a kink
CROWDED = 6  # zeros of a function in one step, beyond which steps do not end at them
HASTY, IN_A_ROW = 1e-7, 12  # of the run: gaps between kinks of a function; so many in a row have no end
RESTING = 1e-10  # of the largest value of a function: it stands at its zero
BEHIND = 1e-3  # of a step: where the slope at its end is taken from


class Kink(NamedTuple):
    """A kink ahead, at which a step is to end."""

    t: float  # [s]
    functions: tuple[int, ...]  # switching functions with a zero there
    h: float  # step that held it [s]
    tries: int  # times that its place was found anew


class KinkFinder:
    """Switching functions of recorded laws along a run, and the kink ahead."""

    def __init__(self, sim: Any, span: float) -> None:
        switches = sim.system.switches
        self.sim, self.system, self.span, self.forces = sim, sim.system, span, switches.forces
        self.run = ProgramRunner(switches.tape)
        count = len(switches.forces)
        self.last, self.resting = np.zeros(count), np.zeros(count, np.bool_)  # at the start of the next step
        self.scale = np.zeros(count)  # largest value so far
        self.left_out = np.zeros(count, np.bool_)  # functions whose kinks steps do not end at
        self.crowded = np.zeros(count, np.bool_)
        self.at, self.hasty = np.full(count, -np.inf), np.zeros(count, np.int64)  # last kink [s]; hasty ones in a row
        self.ahead: Kink | None = None
        self.known: dict[float, Array] = {}  # values of the present step, by time

    @property
    def unseen(self) -> list[str]:
        """Names of laws with kinks that steps did not end at."""
        return list(dict.fromkeys(self.forces[k] for k in np.flatnonzero(self.left_out | self.crowded)))

    def law_at(self, t: float) -> str:
        """Return the name of the law that had kinks just before ``t`` [s] without end; empty for none."""
        just = np.flatnonzero((self.hasty > 0) & (self.at >= t - HASTY * self.span))
        return self.forces[just[0]] if len(just) else ""

    def values(self, moment: Moment) -> Array:
        """Return the switching functions at a moment."""
        equations, u = self.sim.equations, moment.u
        if self.system.signals:
            u = u.copy()
            with callback_rights(self.sim, NOTHING, ASKED):
                evaluate_signals(self.system, moment.t, u)
        before, equations.u = equations.u, u
        hold_states(moment.s, equations.ws)
        equations.evaluate(moment.z, moment.zd, moment.zdd, moment.R0)
        equations.u = before
        return self.run(equations.ws.law_number, equations.ws.law_parameter).copy()

    def begin(self, moment: Moment, landed: tuple[int, ...] = ()) -> None:
        """Stand at a moment, at which the functions ``landed`` have their zeros."""
        self.last, self.ahead = self.values(moment), None
        self.resting = np.abs(self.last) <= RESTING * self.scale
        self.resting[list(landed)] = True

    # ---- zeros within a step ----------------------------------------------------------------------------------------

    def look(self, stretch: Stretch) -> tuple[float, tuple[int, ...]] | None:
        """Return the first kink within a step and the functions that have it; None moves on to the end of the step."""
        start, h = stretch.before.t, stretch.h
        self.known = {}
        times = [start, *(start + h * shares(FEWEST)[1:-1]).tolist(), stretch.after.t]
        looks = np.array([self.last, *(self.value(stretch, t) for t in times[1:])])
        coefficients = np.abs(transform(FEWEST) @ looks)
        tail = coefficients[-1] + coefficients[-2]
        away = ~self.resting & (2.0 * coefficients[0] > coefficients.sum(axis=0) + 2.0 * tail)
        largest = np.abs(looks).max(axis=0)
        resting = np.zeros_like(self.resting)
        found: list[tuple[float, int]] = []
        for k in np.flatnonzero(~away & (largest > 0.0) & ~self.left_out).tolist():
            value = partial(self.number, stretch, k)
            zeros = zeros_within(value, start, stretch.after.t, float(looks[0, k]), bool(self.resting[k]))
            resting[k] = zeros.side == 0
            if len(zeros.zeros) > CROWDED:
                self.crowded[k] = True
            elif zeros.zeros:
                found.append((zeros.zeros[0].t, k))
        if found:
            first = min(found)[0]
            return first, tuple(k for t, k in found if t <= first + LOCATED * h)
        self.last, self.resting = looks[-1], resting | (largest == 0.0)
        self.scale = np.maximum(self.scale, largest)
        return None

    def value(self, stretch: Stretch, t: float) -> Array:
        """Return the functions at a time of a step."""
        if t not in self.known:
            self.known[t] = self.values(stretch.at(t))
        return self.known[t]

    def number(self, stretch: Stretch, k: int, t: float) -> float:
        """Return function ``k`` at a time of a step."""
        return float(self.value(stretch, t)[k])

    # ---- the kink ahead ---------------------------------------------------------------------------------------------

    def find(self, stretch: Stretch, edge: float) -> bool:
        """Look for a kink within a step; True when one is ahead of its start, and the step is not to be taken.

        A step that ends ``edge`` [s] before the kink ahead is taken when the kink is known well enough.
        """
        ahead, resting, last = self.ahead, self.resting, self.last
        arrives = ahead is not None and abs(stretch.after.t - (ahead.t - edge)) <= 0.5 * edge
        tries = 0 if ahead is None else ahead.tries
        near = edge if ahead is None else max(edge, LOCATED * ahead.h)
        found = self.look(stretch)
        if found is not None:
            t, functions = found
            if arrives and ahead is not None and set(functions) <= set(ahead.functions) and (
                tries >= RETAKEN or abs(t - ahead.t) <= near
            ):  # fmt: skip
                return False
            again = ahead is not None and bool(set(functions) & set(ahead.functions))
            h = ahead.h if again and ahead is not None else stretch.h
            self.ahead = Kink(t, functions, h, tries + 1 if again else 0)
            return True
        if not arrives or ahead is None or tries >= RETAKEN:
            return False
        later = max((self.later(stretch, k, ahead.t) for k in ahead.functions), key=abs, default=0.0)
        if abs(later) <= near or not abs(later) <= 0.5 * ahead.h:
            return False
        self.ahead, self.last, self.resting = ahead._replace(t=ahead.t + later, tries=tries + 1), last, resting
        return True

    def later(self, stretch: Stretch, k: int, t: float) -> float:
        """Return how much later than ``t`` [s], near the end of a step, a function has its zero [s]."""
        before = stretch.after.t - BEHIND * stretch.h
        here, there = (float(self.value(stretch, one)[k]) for one in (t, before))
        slope = (here - there) / (t - before) if t > before else 0.0
        return -here / slope if slope else 0.0

    def cross(self, moment: Moment) -> float:
        """Go on behind the kink ahead, at ``moment``; returns the step that held the kink [s]."""
        ahead = self.ahead
        assert ahead is not None
        for k in ahead.functions:
            self.hasty[k] = self.hasty[k] + 1 if ahead.t - self.at[k] < HASTY * self.span else 0
            self.at[k] = ahead.t
            self.left_out[k] |= bool(self.hasty[k] > IN_A_ROW)
        self.begin(moment, ahead.functions)
        return ahead.h
