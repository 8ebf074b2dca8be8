"""Calls of the compiled steps of other rules from Python: variational midpoint, extrapolated, TR-BDF2 and explicit."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.midpoint_arithmetic import LANDED, LEFT, TRIED
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import (
    INERTIA,
    KEPT_WHOLE,
    PASSED,
    Chunk,
    ExplicitRule,
    Settings,
    StateArrays,
    chunk_from,
    row_of,
)
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.evaluation import assemble_tangent
from rtmbs.semirecursive.explicit_step import explicit_scratch, follow_tree, march_tree
from rtmbs.semirecursive.extrapolated_step import REFUSED, Judged, march_extrapolated, scratch_between
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.machine_code import ACCEPTED, CONVERGED, LONGEST_CALL, OUTCOMES, MachineCode
from rtmbs.semirecursive.midpoint_step import march_midpoint, scratch_for
from rtmbs.semirecursive.trbdf2_step import march_trbdf2, stage_scratch

Array = NDArray[np.float64]
COMPLETE_STEPS = 1_000_000  # behind steps that were lost


class FusedMidpoint(MachineCode):
    """The machine code of ``midpoint_step.march_midpoint`` and its scratch."""

    def __init__(self, equations: EvaluatedEquations) -> None:
        self.equations, self.complete_steps = equations, 0
        self.own = scratch_for(len(equations.ws.Phi_z), len(equations.u), equations.n, equations.m)

    def __call__(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk
    ) -> tuple[Outcome, int]:
        """Take a step for every row from ``old`` with inputs ``u``; how the last one ended, and the accepted steps.

        Steps that are lost, for want of rates where the next one fails, are taken again, each complete. The next steps
        then leave nothing out. An interrupt between two calls of the kernel takes all rows back.
        """
        passed = chunk.stats[:, PASSED].copy()
        passed[: self.complete_steps] = np.minimum(passed[: self.complete_steps], 0.0)
        ending, done, lost = self.marched(settings, weight, old, u, chunk, passed)
        if lost:
            self.complete_steps = done + COMPLETE_STEPS
            passed[done:] = KEPT_WHOLE
            ending, done, _ = self.marched(settings, weight, old, u, chunk, passed)
        self.complete_steps = max(self.complete_steps - done, 0)
        return OUTCOMES[ending], done

    def marched(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk, passed: Array
    ) -> tuple[int, int, int]:
        """Take the steps in calls of the kernel that end in time; exit code, accepted steps and lost ones.

        Where a call ends completes no row: that row's report would depend on the clock.
        """
        equations, ending, begun, done, lost = self.equations, 0, 0, 0, 0
        given = (
            equations.tables, equations.lu, equations.work, settings, weight, old, u, chunk, equations.ws, self.own,
            round(LONGEST_CALL / seconds_per_tick()),
        )  # fmt: skip
        if self.march is None:
            self.march = entry_for(march_midpoint, (*given, begun, done))
        chunk.stats[:, PASSED] = passed
        for _ in range(len(chunk.stats)):  # each call takes a step at least
            ending, done, lost, begun = self.march(*given, begun, done)
            if not begun:
                break
        return ending, int(done), int(lost)


class FusedTRBDF2(MachineCode):
    """The machine code of ``trbdf2_step.march_trbdf2`` and its scratch."""

    def __init__(self, equations: EvaluatedEquations) -> None:
        inputs, n, m, states = len(equations.u), equations.n, equations.m, equations.states
        self.equations, self.stage = equations, stage_scratch(inputs, n, states)
        self.own = scratch_for(len(equations.ws.Phi_z), inputs, n, m)

    def __call__(
        self, settings: Settings, alpha: Array, weight: Array, old: StateArrays, u: Array, chunk: Chunk, anyhow: bool
    ) -> tuple[Outcome, int]:
        """Take a step for every row from ``old`` with inputs ``u``; how the last one ended, and the accepted steps."""
        equations = self.equations
        arguments = (
            equations.tables, equations.lu, equations.work, settings, alpha, weight, old, u, chunk, equations.ws,
            self.own, self.stage, anyhow, round(LONGEST_CALL / seconds_per_tick()),
        )  # fmt: skip
        if self.march is None:
            self.march = entry_for(march_trbdf2, arguments)
        ending, done = self.march(*arguments)
        return OUTCOMES[ending], int(done)


class FusedExtrapolation(MachineCode):
    """The machine code of ``extrapolated_step.march_extrapolated`` and its scratch."""

    def __init__(self, equations: EvaluatedEquations) -> None:
        self.equations, self.between = equations, scratch_between(equations.n)
        self.own = scratch_for(len(equations.ws.Phi_z), len(equations.u), equations.n, equations.m)

    @property
    def error(self) -> Array:
        """Error (2, n) of positions and rates of the last step that was tried."""
        return np.asarray(self.between.error)

    def __call__(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk, inputs: Array, rows: Chunk,
        control: Array, first: Array, judged: Judged,
    ) -> tuple[Outcome | None, int]:  # fmt: skip
        """Take a step for every row from ``old``; how the last one ended, None: refused, and the steps taken.

        Kernel calls that are out of time are followed by others, so where they end decides nothing.
        """
        before, inputs_before, error = old, u, first
        done = tries = 0
        ending, more = CONVERGED, 0
        for _ in range(len(chunk.stats)):
            control[TRIED] = 0.0
            part = Judged(judged.h[done:], judged.growth[done:], judged.tried[tries:])
            ending, more = self.call(
                settings, weight, before, inputs_before, chunk_from(chunk, done), inputs[4 * done :], rows, control,
                error, part,
            )  # fmt: skip
            done, tries = done + more, tries + int(control[TRIED])
            if not (more and out_of_time(ending, control, chunk, judged, done, tries)):
                break
            before, inputs_before, error = row_of(chunk, done - 1), inputs[4 * done - 1], judged.growth[done - 1]
        control[TRIED] = tries
        return None if ending == REFUSED else OUTCOMES[ending], done

    def call(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk, inputs: Array, rows: Chunk,
        control: Array, error: Array, judged: Judged,
    ) -> tuple[int, int]:  # fmt: skip
        """Call the kernel once; returns its exit code and the steps taken."""
        equations = self.equations
        arguments = (
            equations.tables, equations.lu, equations.work, settings, weight, old, u, chunk, inputs, rows, control,
            error, judged, equations.ws, self.own, self.between, round(LONGEST_CALL / seconds_per_tick()),
        )  # fmt: skip
        if self.march is None:
            self.march = entry_for(march_extrapolated, arguments)
        ending, done = self.march(*arguments)
        return int(ending), int(done)


def out_of_time(ending: int, control: Array, chunk: Chunk, judged: Judged, done: int, tries: int) -> bool:
    """Return whether a call that took step ``done - 1`` in its last try left others to take."""
    room = done < len(chunk.stats) and tries < len(judged.tried)
    taken = ending in ACCEPTED and judged.tried[tries - 1, 3] > 0.0
    return bool(room and taken and control[LEFT] > LANDED * judged.h[done - 1])


class FusedExplicit(MachineCode):
    """The machine code of ``explicit_step.march_tree`` and of accelerations that follow inputs, and their scratch."""

    follow_entry: Callable[..., Any] | None = None

    def __init__(self, equations: EvaluatedEquations) -> None:
        self.equations, self.own = equations, explicit_scratch(equations.n, equations.states, 1)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "follow_entry": None}

    def __call__(self, settings: Settings, rule: ExplicitRule, old: StateArrays, chunk: Chunk) -> tuple[Outcome, int]:
        """Take a step for every row from ``old``; how the last one ended, and the accepted steps."""
        equations = self.equations
        if len(self.own.zdd) < len(rule.b):
            self.own = explicit_scratch(equations.n, equations.states, len(rule.b))
        arguments = (
            equations.tables, equations.lu, equations.work, settings, rule, old, chunk, equations.ws, self.own,
            round(LONGEST_CALL / seconds_per_tick()),
        )  # fmt: skip
        if self.march is None:
            self.march = entry_for(march_tree, arguments)
        ending, done = self.march(*arguments)
        return OUTCOMES[ending], int(done)

    def follow(self, state: StateArrays, u: Array) -> bool:
        """Let accelerations of ``state`` follow its inputs; False, as they were, where there are none."""
        equations = self.equations
        equations.work.step[0] = 0.0  # its factor may be of another state
        arguments = (equations.tables, equations.lu, equations.work, state, u, equations.ws, self.own)
        if self.follow_entry is None:
            with announced():
                self.follow_entry = entry_for(follow_tree, arguments)
        return bool(self.follow_entry(*arguments))

    def linearised(self, state: StateArrays, u: Array) -> tuple[Array, Array] | None:
        """Return M^-1 K and M^-1 C (n, n) at a state; None where nothing gives stiffness or damping."""
        equations = self.equations
        tables = equations.tables
        acting = len(tables.connectors.a) or len(tables.joint_forces.dof) or len(tables.laws.row)
        if not acting or len(tables.interfaces.dof) or not all(map(finite, state)):
            return None
        own, equations.u = equations.u, u
        hold_states(state.s, equations.ws)
        equations.evaluate(state.z, state.zd, state.zdd, state.R0)
        found = []
        for shares in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)):
            assemble_tangent(tables, INERTIA, *shares, u, equations.alpha, state, equations.ws, equations.matrix.values)
            found.append(np.asarray(equations.matrix))
        equations.u = own
        try:
            K, C = (np.asarray(np.linalg.solve(found[0], one), np.float64) for one in found[1:])
        except np.linalg.LinAlgError:
            return None
        return K, C


def finite(values: Array) -> bool:
    """Return whether all entries are numbers."""
    return bool(np.all(np.isfinite(values)))
