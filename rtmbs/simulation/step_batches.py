"""Batches of equal steps for step control: taken at once, taken back behind any of them, compared with halves."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.integrators.report import Outcome, StepReport, doubtful_steps
from rtmbs.integrators.settings import Chunk, chunk_for, first, take_row
from rtmbs.simulation.dense_output import Moment
from rtmbs.simulation.events import moment_of
from rtmbs.simulation.local_error import Track, increments
from rtmbs.state import State
from rtmbs.system.system import System
from rtmbs.system.tables import Array

SIZE = 16  # steps of a batch at most


@dataclass
class Batch:
    """Steps just taken; the Simulation stands behind the last of them."""

    start: State  # of its own
    moments: list[Moment]  # at the start and behind every step
    states: list[State] | None  # behind every step; None: the rows of the chunk tell
    chunk: Chunk | None
    reports: list[StepReport] | None
    failed: StepReport | None  # of the step behind the last one

    @property
    def count(self) -> int:
        """Steps."""
        return len(self.moments) - 1

    def track(self) -> Track:
        """Return the states, stacked."""
        stacked = {name: np.array([getattr(one, name) for one in self.moments]) for name in Track._fields}
        return Track(**stacked)

    def doubtful(self, k: int) -> bool:
        """True when step ``k`` ended other than CONVERGED."""
        if self.reports is not None:
            return self.reports[k].outcome is not Outcome.CONVERGED
        assert self.chunk is not None
        return bool(doubtful_steps(self.chunk.stats[k : k + 1])[0])

    def state(self, k: int) -> State:
        """Return the state behind ``k`` steps, a copy."""
        if k == 0:
            return self.start.copy()
        if self.states is not None:
            return self.states[k - 1].copy()
        assert self.chunk is not None
        state = self.start.copy()
        take_row(state, self.chunk, k - 1)
        state.u[:] = self.chunk.u[k - 1]
        state.k += k
        return state


def take_batch(sim: Any, steps: int, chunk: Chunk | None) -> Batch:
    """Take ``steps`` steps, fewer where one fails; in one kernel call when there is a chunk."""
    start = sim.state.copy()
    if chunk is not None:
        rows = first(chunk, steps)
        done, failed = sim._take_chunk(rows)
        if not failed:
            moments = [moment_of(start), *(moment_in(start, rows, k) for k in range(done))]
            return Batch(start, moments, None, rows, None, None)
        sim._store.stand_at(start.copy())
    moments, states, reports = [moment_of(start)], list[State](), list[StepReport]()
    for _ in range(steps):
        report = sim.step()
        if not report.outcome.accepted:
            return Batch(start, moments, states, None, reports, report)
        states.append(sim.state.copy())
        moments.append(moment_of(states[-1]))
        reports.append(report)
    return Batch(start, moments, states, None, reports, None)


def moment_in(start: State, rows: Chunk, k: int) -> Moment:
    """Return row ``k`` as a moment, copied: the next batch overwrites the row."""
    t = start.t_ref + (start.k + k + 1) * start.h
    values: list[Array] = [getattr(rows, name)[k].copy() for name in Moment._fields[1:]]
    return Moment(t, *values)


def chunk_of(sim: Any) -> Chunk:
    """Return a chunk for a batch."""
    return chunk_for(sim.state, SIZE)


PART = 4.0 / 3.0  # of the difference to halves: the error of a rule of order two


def error_of_positions(sim: Any, system: System, batch: Batch, count: int) -> float:
    """Return the error of coordinates after the first ``count`` steps of a batch, in typical sizes; inf: halves fail.

    The Simulation stands where it stood. Rates are not compared: off their loops they come back by themselves.
    """
    here, start = sim.state.copy(), batch.start.copy()
    sim._store.stand_at(start)
    sim._store.step_from_here(0.5 * start.h)
    halves = take_batch(sim, 2 * count, None)
    sim._store.stand_at(here)
    if halves.failed is not None:
        return np.inf
    ends = batch.moments[count], halves.moments[-1]
    both = Track(**{name: np.array([getattr(one, name) for one in ends]) for name in Track._fields})
    return PART * float(np.max(np.abs(increments(system.tables.dofs, both)) / system.typical, initial=0.0))
