"""Calls of the compiled trapezoidal step from Python, with further tries and groups on threads; the register of steps.

The steps of other rules are loaded where a method asks for them.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import TAKEN, Outcome
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
    chunk_from,
    row_of,
)
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.groups import Groups
from rtmbs.semirecursive.input_jump import FollowKernel
from rtmbs.semirecursive.machine_code import (
    ACCEPTED,
    LONGEST_CALL,
    NOT_CONVERGED,
    OUTCOMES,
    SMALL_PIVOT,
    Ending,
)
from rtmbs.semirecursive.step import march, take_changed_step

Array = NDArray[np.float64]
WORK = [  # what all tries of a step add to
    JACOBIANS, FACTORISATIONS, PROJECTIONS, TRIES, SHORTENED, EVALUATIONS,
    *range(RESIDUAL_TICKS, RESIDUAL_TICKS + len(PHASES)),
]  # fmt: skip


class FusedKernel:
    """The machine code of ``step.march`` and ``newton_restarts.retry``.

    The types of their arguments are always the same, and looking them up takes longer than a small step. Further tries
    are compiled, or loaded, when a step first fails; before the first step where work is to be the same in every one.
    """

    def __init__(self) -> None:
        self.march: Callable[..., Any] | None = None
        self.retry: Callable[..., Any] | None = None
        self.changed: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look up the machine code for themselves: it is an address in this process."""
        return {"march": None, "retry": None, "changed": None}

    def __call__(
        self, tables: Any, lu: Any, work: Any, settings: Settings, alpha: Array, old: StateArrays,
        chunk: Chunk, ws: Any, budget: int,
    ) -> Ending:  # fmt: skip
        """Take a step for every row, the first from ``old``, the next from the row before it; see ``march``."""
        given = (tables, lu, work, settings, alpha)
        if self.march is None:
            self.march = entry_for(march, (*given, old, chunk, ws, budget, chunk.u[0], chunk.u[0], False))
            if settings.fixed_iterations and settings.tries:
                self.look_up_retry((*given, old, chunk, ws))
        begun = time.perf_counter()
        ending, done = self.march(*given, old, chunk, ws, budget, chunk.u[0], chunk.u[0], False)
        while may_retry(ending, settings):
            before = row_of(chunk, done - 1) if done else old
            ending = self.try_further(given, before, chunk_from(chunk, done, 1), ws, budget)
            if ending not in ACCEPTED:
                break
            done += 1
            left = budget - round((time.perf_counter() - begun) / seconds_per_tick())
            if done == len(chunk.stats) or left <= 0:
                break
            before, rest = row_of(chunk, done - 1), chunk_from(chunk, done)
            ending, more = self.march(*given, before, rest, ws, left, rest.u[0], rest.u[0], False)
            done += more
        return ending, done

    def try_further(self, given: tuple[Any, ...], old: StateArrays, row: Chunk, ws: Any, budget: int) -> int:
        """Take the step of one row whose plain iteration failed; returns how it ended.

        When no try helps the plain iteration is done again, so that a report tells of it.
        """
        further = self.retry or self.look_up_retry((*given, old, row, ws))
        ending: int = further(*given, old, row, ws)
        settings: Settings = given[3]
        if ending in ACCEPTED or settings.fixed_iterations:
            return ending
        assert self.march is not None
        spent = row.stats[0, WORK]
        ending, _ = self.march(*given, old, row, ws, budget, row.u[0], row.u[0], False)
        row.stats[0, WORK] += spent
        return ending

    def take_changed(self, arguments: tuple[Any, ...]) -> int:
        """Take one step with changed inputs, by ``step.take_changed_step``; returns how it ended."""
        if self.changed is None:
            with announced():
                self.changed = entry_for(take_changed_step, arguments)
        return int(self.changed(*arguments))

    def look_up_retry(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the machine code of further tries, whose kernels are loaded for it."""
        from rtmbs.semirecursive.newton_restarts import retry

        with announced():
            self.retry = entry_for(retry, arguments)
        return self.retry


def may_retry(ending: int, settings: Settings) -> bool:
    """True when further tries of a failed step may help; a small pivot is left to the dense factor."""
    if ending in ACCEPTED or settings.tries == 0 or ending == SMALL_PIVOT:
        return False
    return not settings.fixed_iterations or ending == NOT_CONVERGED


# ---- groups of a mechanism -------------------------------------------------------------------------------------------


class FusedSteps:
    """Machine code of the trapezoidal step, and the groups of the mechanism, for calls from Python."""

    outcomes = OUTCOMES

    def __init__(self, equations: EvaluatedEquations) -> None:
        self.equations, self.kernel, self.follow_kernel = equations, FusedKernel(), FollowKernel()
        self._groups: Groups | None = None

    def of(self, equations: EvaluatedEquations) -> "FusedSteps":
        """Return this for equations of the same types and sizes; its machine code serves, and looking up takes long."""
        other = FusedSteps(equations)
        other.kernel, other.follow_kernel, other._groups = self.kernel, self.follow_kernel, self._groups
        return other

    @property
    def tick(self) -> float:
        """Length of a phase unit [s]."""
        return seconds_per_tick()

    @property
    def budget(self) -> int:
        """Ticks of the longest kernel call."""
        return round(LONGEST_CALL / seconds_per_tick())

    def arguments(self, settings: Settings, old: StateArrays, chunk: Chunk) -> tuple[Any, ...]:
        """Return the arguments of the kernel for a step for every row."""
        equations = self.equations
        return (
            equations.tables, equations.lu, equations.work, settings, equations.alpha, old, chunk, equations.ws,
            self.budget,
        )  # fmt: skip

    def follow(self, settings: Settings, state: StateArrays, u: Array, push: bool) -> bool:
        """Let accelerations of ``state`` follow ``u``, and with ``push`` balances; False when accelerations did not."""
        equations = self.equations
        given = (equations.tables, equations.lu, equations.work)
        return self.follow_kernel(*given, settings, u, state, equations.ws, push)

    def take_changed(self, settings: Settings, u: Array, known: Array, old: StateArrays, row: Chunk) -> Outcome | None:
        """Take one step from ``old``, whose accelerations are of ``known``, not of ``u``; None where that failed."""
        equations = self.equations
        given = (equations.tables, equations.lu, equations.work, settings, equations.alpha)
        code = self.kernel.take_changed((*given, u, known, old, row, equations.ws, self.budget))
        return OUTCOMES[code] if code in ACCEPTED else None

    @property
    def groups(self) -> Groups | None:
        """The groups that the mechanism is stepped in, or None when it is stepped as a whole."""
        equations = self.equations
        if equations.threads == 1 or equations.timed:
            return None
        tables, threads = equations.tables, equations.threads
        if self._groups is None or self._groups.tables is not tables or self._groups.threads != threads:
            self._groups = Groups(tables, equations.lu, threads, self.kernel)
        return self._groups if len(self._groups) > 1 else None

    def in_groups(self, settings: Settings, old: StateArrays, row: Chunk) -> Outcome:
        """Take one step, the groups in turns."""
        code, _ = self.step_groups(settings, old, row, side_by_side=False)
        return OUTCOMES[code]

    def many_in_groups(self, settings: Settings, old: StateArrays, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row, the groups side by side; (accepted steps, whether the next one failed)."""
        code, done = self.step_groups(settings, old, chunk, side_by_side=True)
        return done, OUTCOMES[code] not in TAKEN

    def step_groups(self, settings: Settings, old: StateArrays, chunk: Chunk, side_by_side: bool) -> tuple[int, int]:
        """Call the kernel once for every group."""
        groups = self.groups
        assert groups is not None
        try:
            return groups.advance(settings, self.equations.alpha, old, chunk, self.budget, side_by_side)
        except BaseException:  # an interrupt: a thread may still be writing, to what nobody will read
            self._groups = None
            raise


# ---- the compiled steps by name -------------------------------------------------------------------------------------


def by_own_tangent(made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a maker of a kernel that has the structured tangent: none where K and C have another source."""
    return lambda equations: made(equations) if equations.source is None else None


def in_momenta(made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a maker of a kernel of equations in momenta."""

    def maker(equations: Any) -> Any:
        equations.in_momenta()  # closures get their blocks
        return made(equations)

    return maker


def of_trees(made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a maker of a kernel of mechanisms without loops and drivers: none for others."""
    return lambda equations: made(equations) if equations.m == 0 else None


def midpoint_step(equations: Any) -> Any:
    """Return the compiled variational midpoint step."""
    from rtmbs.semirecursive.compiled_calls import FusedMidpoint

    return FusedMidpoint(equations)


def trbdf2_step(equations: Any) -> Any:
    """Return the compiled TR-BDF2 step."""
    from rtmbs.semirecursive.compiled_calls import FusedTRBDF2

    return FusedTRBDF2(equations)


def extrapolated_step(equations: Any) -> Any:
    """Return the compiled extrapolated midpoint step."""
    from rtmbs.semirecursive.compiled_calls import FusedExtrapolation

    return FusedExtrapolation(equations)


def explicit_step(equations: Any) -> Any:
    """Return the compiled explicit steps."""
    from rtmbs.semirecursive.compiled_calls import FusedExplicit

    return FusedExplicit(equations)


STEP_KERNELS: dict[str, Callable[[Any], Any]] = {  # by the name that a method asks for, made of the equations
    "penalty-trapezoidal": by_own_tangent(lambda equations: equations.own_steps),
    "trbdf2": by_own_tangent(trbdf2_step),
    "variational-midpoint": in_momenta(midpoint_step),
    "extrapolated-midpoint": in_momenta(extrapolated_step),
    "explicit": of_trees(explicit_step),
}
