"""The kernels of rtmbs: residual and tangent, on the tree alone and with loops, factor and solution, at the start.

A compiled loop calls the kernel many times, so that no call from Python is in the time. A tree alone is the same
mechanism without its cuts; loops add closures, penalty forces and the penalty part of the tangent.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bench.peers.mechanism import Mechanism
from bench.peers.rtmbs_joints import model
from rtmbs import Simulation
from rtmbs.integrators.settings import TANGENT_TERMS
from rtmbs.jit.compiled import kernel
from rtmbs.numerics.linear.sparse_lu import factor, solve
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.evaluation import assemble_tangent, evaluate_residual

STEP = 5e-3  # [s]; weighs the parts of the tangent, which costs the same for any
INERTIA = TANGENT_TERMS.index("inertia")
CALLS, REPEATS = 200, 5


@kernel
def residuals(count, tables, R0, u, alpha, ws):
    """Evaluate the residual ``count`` times."""
    for _ in range(count):
        evaluate_residual(tables, R0, u, alpha, ws)


@kernel
def tangents(count, tables, u, alpha, old, ws, values):
    """Assemble M + h/2 C + h^2/4 (K + penalty) ``count`` times."""
    for _ in range(count):
        assemble_tangent(tables, INERTIA, 1.0, 0.5 * STEP, 0.25 * STEP * STEP, u, alpha, old, ws, values)


@kernel
def factors(count, lu, work):
    """Copy the values of the matrix and factor them ``count`` times."""
    for _ in range(count):
        for k in range(len(work.original)):
            work.factored[k] = work.original[k]
        factor(lu, work.factored, work)


@kernel
def solutions(count, lu, work, b):
    """Solve ``count`` times with the last factor."""
    for _ in range(count):
        solve(lu, work.factored, work, b)


def measure(mechanism: Mechanism) -> dict[str, float]:
    """Return microseconds a call."""
    answer = {}
    for name, loops in (("tree", []), ("loops", mechanism.loops)):
        equations, R0 = prepared(replace(mechanism, loops=loops))
        tables, u, alpha, ws = equations.tables, equations.u, equations.alpha, equations.ws
        old, values = equations.state_arrays(), equations.work.original
        answer[f"residual, {name}"] = timed(residuals, tables, R0, u, alpha, ws)
        answer[f"tangent, {name}"] = timed(tangents, tables, u, alpha, old, ws, values)
        if not loops:
            answer["residual and tangent, tree"] = answer["residual, tree"] + answer["tangent, tree"]
    lu, work = equations.lu, equations.work
    answer["factor, loops"] = timed(factors, lu, work)
    answer["solve, loops"] = timed(solutions, lu, work, np.zeros(equations.n))
    return answer


def prepared(mechanism: Mechanism) -> tuple[SemiRecursiveEquations, Any]:
    """Return the equations, evaluated at the start, and the reference rotations."""
    sim = Simulation(model(mechanism).compile(), h=STEP)
    equations, state = sim.equations, sim.state
    equations.alpha = state.memory["alpha"]
    equations.residual(state.z, state.zd, state.zdd, state.R0)
    return equations, state.R0


def timed(loop: Callable[..., None], *arguments: Any) -> float:
    """Return the median time of a call [us]."""
    loop(1, *arguments)
    samples = []
    for _ in range(REPEATS):
        before = time.perf_counter()
        loop(CALLS, *arguments)
        samples.append((time.perf_counter() - before) / CALLS)
    return 1e6 * float(np.median(samples))
