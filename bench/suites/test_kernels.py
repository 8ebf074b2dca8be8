"""Residual and tangent, on the tree alone and with loops. A round is a compiled loop of ``CALLS`` calls."""

from dataclasses import replace
from typing import Any

import pytest

from bench.peers.kernels_rtmbs import prepared, residuals, tangents

CALLS, ROUNDS = 20, 50


@pytest.fixture(params=["tree", "loops"])
def equations(request, mechanism) -> Any:
    """Equations at the start of the motion."""
    return prepared(mechanism if request.param == "loops" else replace(mechanism, loops=[]))


def test_residual(benchmark, equations):
    e, R0 = equations
    rounds(benchmark, residuals, e.tables, R0, e.u, e.alpha, e.ws)


def test_tangent(benchmark, equations):
    e, _ = equations
    rounds(benchmark, tangents, e.tables, e.u, e.alpha, e.state_arrays(), e.ws, e.work.original)


def rounds(benchmark: Any, loop: Any, *arguments: Any) -> None:
    """Measure the loop; it has been compiled before."""
    benchmark.extra_info["calls in a round"] = CALLS
    benchmark.pedantic(loop, args=(CALLS, *arguments), rounds=ROUNDS, warmup_rounds=2)
