"""The Newton matrix when K and C come from another source than the closed form."""

from typing import TYPE_CHECKING

import numpy as np

from rtmbs.integrators.settings import PAPER, StateArrays
from rtmbs.semirecursive.evaluation import assemble_tangent
from rtmbs.semirecursive.law_kernels import reevaluate_laws
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.rotations import take_rate_columns

if TYPE_CHECKING:
    from rtmbs.semirecursive.equations import SemiRecursiveEquations


def fill_from_source(
    equations: "SemiRecursiveEquations", velocity: float, position: float, terms: int, old: StateArrays
) -> None:
    """Take K and C from the source; M, penalties and the terms beyond -dQ/dz from the closed form.

    A source holds the states of force laws as they are; what states that follow add is one of the terms beyond.
    """
    ws, u, values = equations.ws, equations.u, equations.matrix.values
    K, C = equations.source(ws.z, ws.zd, old.R0, np.concatenate((u, ws.s)))
    C = np.ascontiguousarray(C)
    take_rate_columns(equations.tables.dofs, ws.z, C)
    equations.fill(1.0, velocity, position, terms, old)
    everything = values.copy()
    evaluate_laws_with_held_states(equations)
    no_alpha = np.zeros(equations.m)
    assemble_tangent(equations.tables, PAPER, 0.0, velocity, position, u, no_alpha, old, ws, values)
    values[:] = everything - values
    equations.matrix.add(velocity * C + position * K)


def evaluate_laws_with_held_states(equations: "SemiRecursiveEquations") -> None:
    """Let wrenches and derivatives of force laws be those at the states last solved for, held as they are."""
    ws = equations.ws
    if len(ws.s):
        base, half = ws.state_base.copy(), float(ws.state_half[0])
        hold_states(ws.s.copy(), ws)
        reevaluate_laws(equations.tables, ws.z, ws.zd, equations.u, ws)
        ws.state_base[:], ws.state_half[0] = base, half
