"""Calls of the compiled explicit steps of trees from Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.explicit_rules import ExplicitRule
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import INERTIA, Chunk, Settings, StateArrays
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.evaluation import assemble_tangent
from rtmbs.semirecursive.exit_codes import OUTCOMES
from rtmbs.semirecursive.explicit_step import explicit_scratch, follow_tree, march_tree
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.machine_code import LONGEST_CALL, MachineCode

Array = NDArray[np.float64]


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
