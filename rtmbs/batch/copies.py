"""Rows of states of all copies, and threads that step slices of them by one kernel call each."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.batch.kernels import (
    Bench,
    CopyRun,
    CopyStates,
    ExplicitRoom,
    MidpointRoom,
    Room,
    TRBDF2Room,
    follow_copies,
    follow_copies_explicit,
    step_copies,
    step_copies_explicit,
    step_copies_midpoint,
    step_copies_trbdf2,
)
from rtmbs.batch.own_numbers import NO_LAYOUT, OwnLayout
from rtmbs.integrators.settings import STATS_SIZE, Settings, StateArrays, kept_by
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.numerics.linear.sparse_lu import workspace as factor_workspace
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.explicit_step import explicit_scratch
from rtmbs.semirecursive.machine_code import LONGEST_CALL
from rtmbs.semirecursive.midpoint_step import Scratch, scratch_for
from rtmbs.semirecursive.trbdf2_step import stage_scratch
from rtmbs.semirecursive.workspace import workspace
from rtmbs.state import State

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

NEVER, NO_LIMIT = False, 2**62
ENERGY = "energy"
ROWS = ("z", "zd", "zdd", "lam", "R0", "energy", "s", "sd", "u")  # of ``CopyStates``, that a State has


class CopyKernel(NamedTuple):
    """Kernels of a step rule, and the scratch that they take."""

    step: Callable[..., Any]
    follow: Callable[..., Any]
    room: Callable[[SemiRecursiveEquations, Any], Any]


def midpoint_scratch(equations: SemiRecursiveEquations) -> Scratch:
    """Return the scratch of a step in momenta."""
    return scratch_for(len(equations.ws.Phi_z), len(equations.u), equations.n, equations.m)


def trbdf2_room(equations: SemiRecursiveEquations, work: Any) -> TRBDF2Room:
    """Return the scratch of TR-BDF2."""
    stage = stage_scratch(len(equations.u), equations.n, equations.states)
    return TRBDF2Room(midpoint_scratch(equations), stage)


def explicit_room(equations: SemiRecursiveEquations, work: Any) -> ExplicitRoom:
    """Return the rule and the scratch of explicit steps."""
    return ExplicitRoom(work.rule, explicit_scratch(equations.n, equations.states, len(work.rule.b)))


COPY_KERNELS = {  # by the name of the compiled step of a method
    "penalty-trapezoidal": CopyKernel(step_copies, follow_copies, lambda equations, work: Room(np.zeros(0))),
    "variational-midpoint": CopyKernel(
        step_copies_midpoint, follow_copies, lambda equations, work: MidpointRoom(midpoint_scratch(equations))
    ),
    "trbdf2": CopyKernel(step_copies_trbdf2, follow_copies, trbdf2_room),
    "explicit": CopyKernel(step_copies_explicit, follow_copies_explicit, explicit_room),
}


def copies_of(state: State, n: int, m: int) -> CopyStates:
    """Return ``n`` rows with the numbers of one State; loop weights are zero."""
    arrays = {name: kept_by(state) if name == ENERGY else getattr(state, name) for name in ROWS}
    rows = {name: np.repeat(value[None], n, axis=0) for name, value in arrays.items()}
    return CopyStates(**rows, alpha=np.zeros((n, m)), weight=np.zeros((n, m)), own=np.zeros((n, 0)))


def write_row(copies: CopyStates, i: int, state: State) -> None:
    """Write a State to row ``i``."""
    for name in ROWS:
        getattr(copies, name)[i] = kept_by(state) if name == ENERGY else getattr(state, name)


class Worker:
    """Tables, factor and scratch of one thread."""

    def __init__(self, equations: SemiRecursiveEquations, step: str, work: Any, layout: OwnLayout) -> None:
        self.kernel, self.layout = COPY_KERNELS[step], layout
        self.given, self.lu = equations.tables, equations.lu
        self.ws, self.work = workspace(equations.tables), factor_workspace(equations.lu)
        self.room = self.kernel.room(equations, work)
        self.entry: Callable[..., Any] | None = None
        self.follow_entry: Callable[..., Any] | None = None
        self.bench: Bench | None = None

    def bench_for(self, copies: CopyStates) -> Bench:
        """Return the scratch row for these copies."""
        if self.bench is None or len(self.bench.own) != copies.own.shape[1]:
            rows = {name: np.zeros((1, *getattr(copies, name).shape[1:])) for name in ROWS}
            self.bench = Bench(**rows, stats=np.zeros((1, STATS_SIZE)), own=np.zeros(copies.own.shape[1]))
        return self.bench

    def step(self, settings: Settings, copies: CopyStates, run: CopyRun, which: Integers) -> int:
        """Step the copies ``which``; returns how many of them were looked at before the time was over."""
        bench, budget = self.bench_for(copies), round(LONGEST_CALL / seconds_per_tick())
        tables, settings = self.layout.looking_at(self.given, settings, bench.own)
        arguments = (
            tables, self.lu, self.work, settings, self.ws, self.room, copies, run, bench, which, NEVER, NO_LIMIT,
            budget,
        )  # fmt: skip
        if self.entry is None:
            with announced():
                self.entry = entry_for(self.kernel.step, arguments)
        return int(self.entry(*arguments))

    def follow(self, settings: Settings, copies: CopyStates, which: Integers, failed: Integers) -> None:
        """Let accelerations of the copies ``which`` follow their inputs; ``failed`` (n,) is 1 where they did not."""
        bench = self.bench_for(copies)
        tables, settings = self.layout.looking_at(self.given, settings, bench.own)
        arguments = tables, self.lu, self.work, settings, self.ws, self.room, copies, bench, which, failed, NEVER
        if self.follow_entry is None:
            with announced():
                self.follow_entry = entry_for(self.kernel.follow, arguments)
        self.follow_entry(*arguments)


class Workers:
    """Threads that share the copies among them; every copy is stepped by one, so their number changes no byte."""

    def __init__(
        self, equations: SemiRecursiveEquations, step: str, work: Any, threads: int, layout: OwnLayout = NO_LAYOUT
    ) -> None:
        self.threads = threads
        self.members = [Worker(equations, step, work, layout) for _ in range(threads)]
        self.pool = ThreadPoolExecutor(threads - 1, "rtmbs-batch") if threads > 1 else None

    def step(self, settings: Settings, copies: CopyStates, run: CopyRun, which: Integers) -> None:
        """Step the copies ``which`` until every thread is through with its part, or its time is over."""
        shares = [one for one in np.array_split(which, len(self.members)) if len(one)]
        calls = list(zip(self.members, shares, strict=False))
        self.members[0].bench_for(copies)
        if self.pool is None or len(calls) < 2:
            for worker, share in calls:
                worker.step(settings, copies, run, share)
            return
        others = [self.pool.submit(worker.step, settings, copies, run, share) for worker, share in calls[1:]]
        try:
            calls[0][0].step(settings, copies, run, calls[0][1])
        finally:  # an interrupt waits for the others, which write to the same arrays
            wait(others)
        for other in others:
            other.result()


def state_row(copies: CopyStates, i: int) -> StateArrays:
    """Return the arrays of row ``i``, shared."""
    return StateArrays(*(getattr(copies, name)[i] for name in ROWS[:-1]))


def whole_numbers(values: Sequence[int] | Integers) -> Integers:
    """Return whole numbers as an array."""
    return np.ascontiguousarray(values, np.int64)
