"""The sparse factor on the static pattern, and a solution with it. A round is a compiled loop of ``CALLS`` calls."""

import numpy as np

from bench.peers.kernels_rtmbs import factors, prepared, solutions, tangents

CALLS, ROUNDS = 20, 50


def test_factor(benchmark, mechanism):
    equations = filled(mechanism)
    benchmark.pedantic(factors, args=(CALLS, equations.lu, equations.work), rounds=ROUNDS, warmup_rounds=2)


def test_solve(benchmark, mechanism):
    equations = filled(mechanism)
    factors(1, equations.lu, equations.work)
    work, b = equations.work, np.zeros(equations.n)
    benchmark.pedantic(solutions, args=(CALLS, equations.lu, work, b), rounds=ROUNDS, warmup_rounds=2)


def filled(mechanism):
    """Return equations whose matrix is the tangent at the start of the motion."""
    e, _ = prepared(mechanism)
    tangents(1, e.tables, e.u, e.alpha, e.state_arrays(), e.ws, e.work.original)
    return e
