"""Compiled steps as Python calls them: plain ones many at a time, and further tries of one that fails."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.settings import (
    EVALUATIONS,
    FACTORISATIONS,
    JACOBIANS,
    PHASES,
    PROJECTIONS,
    RESIDUAL_TICKS,
    SHORTENED,
    TRIES,
    Chunk,
    Settings,
    StateArrays,
)
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.endings import CONVERGED, NEAR, NOT_CONVERGED, SMALL_PIVOT, UNBALANCED, UNFINISHED, UNPROJECTED
from rtmbs.semirecursive.retry import retry
from rtmbs.semirecursive.step import march

Array = NDArray[np.float64]
Ending = tuple[int, int]  # how the last step ended, and the number of accepted steps

TAKEN = (CONVERGED, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR)  # endings of a step that was taken, from best to worst
WORK = [  # what all tries of a step add to
    JACOBIANS, FACTORISATIONS, PROJECTIONS, TRIES, SHORTENED, EVALUATIONS,
    *range(RESIDUAL_TICKS, RESIDUAL_TICKS + len(PHASES)),
]  # fmt: skip


class FusedKernel:
    """The machine code of ``step.march`` and ``retry.retry``.

    The types of their arguments are always the same, and looking them up takes longer than a small step. Further tries
    are compiled, or loaded, when a step first fails; before the first step where work is to be the same in every one.
    """

    def __init__(self) -> None:
        self.march: Callable[..., Any] | None = None
        self.retry: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look up the machine code for themselves: it is an address in this process."""
        return {"march": None, "retry": None}

    def __call__(
        self, tables: Any, lu: Any, work: Any, settings: Settings, alpha: Array, old: StateArrays,
        chunk: Chunk, ws: Any, budget: int,
    ) -> Ending:  # fmt: skip
        """Take a step for every row, the first from ``old``, the next from the row before it; see ``march``."""
        given = (tables, lu, work, settings, alpha)
        if self.march is None:
            self.march = entry_for(march, (*given, old, chunk, ws, budget))
            if settings.fixed_iterations and settings.tries:
                self.look_up_retry((*given, old, chunk, ws))
        begun = time.perf_counter()
        ending, done = self.march(*given, old, chunk, ws, budget)
        while may_retry(ending, settings):
            before = row_of(chunk, done - 1) if done else old
            ending = self.try_further(given, before, chunk_from(chunk, done, 1), ws, budget)
            if ending not in TAKEN:
                break
            done += 1
            left = budget - round((time.perf_counter() - begun) / seconds_per_tick())
            if done == len(chunk.stats) or left <= 0:
                break
            ending, more = self.march(*given, row_of(chunk, done - 1), chunk_from(chunk, done), ws, left)
            done += more
        return ending, done

    def try_further(self, given: tuple[Any, ...], old: StateArrays, row: Chunk, ws: Any, budget: int) -> int:
        """Take the step of one row whose plain iteration failed; returns how it ended.

        When no try helps the plain iteration is done again, so that a report tells of it.
        """
        further = self.retry or self.look_up_retry((*given, old, row, ws))
        ending: int = further(*given, old, row, ws)
        settings: Settings = given[3]
        if ending in TAKEN or settings.fixed_iterations:
            return ending
        assert self.march is not None
        spent = row.stats[0, WORK]
        ending, _ = self.march(*given, old, row, ws, budget)
        row.stats[0, WORK] += spent
        return ending

    def look_up_retry(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the machine code of further tries."""
        with announced():
            self.retry = entry_for(retry, arguments)
        return self.retry


def may_retry(ending: int, settings: Settings) -> bool:
    """True when further tries of a failed step may help; a small pivot is left to the dense factor."""
    if ending in TAKEN or settings.tries == 0 or ending == SMALL_PIVOT:
        return False
    return not settings.fixed_iterations or ending == NOT_CONVERGED


def row_of(chunk: Chunk, k: int) -> StateArrays:
    """Return the state in row ``k``, shared."""
    return StateArrays(*(getattr(chunk, name)[k] for name in StateArrays._fields))


def chunk_from(chunk: Chunk, first: int, count: int | None = None) -> Chunk:
    """Return the rows of a chunk from ``first`` on, shared; ``count`` of them, or all."""
    return Chunk(*(values[first : None if count is None else first + count] for values in chunk))
